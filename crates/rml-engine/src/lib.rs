//! The contract of engines, which run a program cycle by cycle or window by window.
//!
//! - [`ProgramEngine`] opens a flat program for a [`Use`], or [declines](Declined) it with a reason and a place in the
//!   source. [`FirstOf`] asks several engines.
//! - [`Run`] is a running program. It is fed one cycle at a time or a [`Block`] of columns, and returns
//!   [`KnownOutputs`] in the order of cycles, as soon as they are known. [`States`] pass from run to run as handles,
//!   without a copy to the host.
//! - [`Exact`] makes a run out of a [`Fast`] engine. A fast engine is simpler: it computes blocks, and can only
//!   *suspect* an error in them. A reference engine runs the suspect cycles again, from the states before them, and
//!   finds the exact error.
//! - [`Inspect`] gives access to every cell of a run, for traces and chronograms. Only the simulator has it.
//!
//! The simulator implements all of these traits and runs every program. Sessions, training, inference and gradients
//! depend only on these traits. The crate does not depend on a scheduler, a plan, a file or the surface syntax.
//!
//! # An engine of your own
//!
//! This engine runs programs of one equation, `o = x + y`, and adds the inputs of a whole block at once. It shows the
//! duties of an engine that runs plans of windows:
//!
//! 1. In [`ProgramEngine::open`], decline programs that the engine does not run. A decline has a kind, which tables can
//!    count, a text for people, and a place.
//! 2. In [`Fast::run`], compute the whole block from contiguous columns, not cycle by cycle.
//! 3. Suspect any error that the engine cannot rule out: here, an input that is absent in some cycle, and integers that
//!    do not fit. The engine need not find the cycle.
//! 4. Return the states and accept them back. This program has no states. An engine with states returns handles to its
//!    own buffers, and writes new states only at the end of a window, when an error is no longer possible: a suspect
//!    window changes no state.
//!
//! ```
//! use std::sync::Arc;
//!
//! use rml_base::Diagnostic;
//! use rml_engine::{
//!     Block, BlockColumn, BlockResult, Declined, Exact, Fast, Feeding, Inputs, KnownOutputs, Present, ProgramEngine,
//!     Reason, Run, States, Usage, Use,
//! };
//! use rml_ir::flat::{Drawn, Rhs, Var};
//! use rml_ir::op::{Binary, Op, eval};
//! use rml_ir::{Data, Precision, Shape, Value};
//!
//! #[derive(Debug)]
//! struct Adder {
//!     reference: Arc<dyn ProgramEngine>,
//! }
//!
//! impl ProgramEngine for Adder {
//!     fn name(&self) -> &str {
//!         "adder"
//!     }
//!
//!     fn open(&self, program: &Arc<Drawn>, wish: &Use) -> Result<Box<dyn Run>, Declined> {
//!         if wish.record || matches!(wish.feeding, Feeding::Stream { .. }) {
//!             return Err(Declined::new(Reason::Use, "it adds whole blocks, and keeps no record"));
//!         }
//!         let inputs: Vec<Var> = program.inputs.iter().map(|input| input.var).collect();
//!         for equation in &program.equations {
//!             match &equation.rhs {
//!                 Rhs::Apply { op: Op::Binary(Binary::Add), args } if *args == inputs && program.outputs == [equation.lhs] => {}
//!                 _ => return Err(Declined::new(Reason::Operator, "it adds two inputs").at(equation.span)),
//!             }
//!         }
//!         let fast = Sum { precision: program.precision, blocks: 0 };
//!         Ok(Box::new(Exact::new(fast, self.reference.clone(), program.clone(), wish.clone())))
//!     }
//! }
//!
//! #[derive(Debug)]
//! struct Sum {
//!     precision: Precision,
//!     blocks: u64,
//! }
//!
//! impl Fast for Sum {
//!     fn run(&mut self, first: u64, inputs: Inputs<'_>) -> Result<BlockResult, Diagnostic> {
//!         let Inputs::Block(block) = inputs else { return Ok(BlockResult::SUSPECT) };
//!         self.blocks += 1;
//!         let columns = block.columns();
//!         if columns.iter().any(|column| *column.present() != Present::Always) {
//!             return Ok(BlockResult::SUSPECT);
//!         }
//!         let values = columns.iter().flat_map(BlockColumn::values).map(|held| held.to_host());
//!         let values = values.collect::<Result<Vec<Value>, _>>()?;
//!         Ok(match eval(&Op::Binary(Binary::Add), &values.iter().collect::<Vec<_>>(), self.precision) {
//!             Ok(sum) => {
//!                 let sum = BlockColumn::new(Present::Always, sum);
//!                 BlockResult::Done(KnownOutputs::Block { first, block: Block::new(block.cycles(), vec![sum]) })
//!             }
//!             Err(_) => BlockResult::SUSPECT,
//!         })
//!     }
//!
//!     fn states(&self) -> Result<States, Diagnostic> {
//!         Ok(States::default())
//!     }
//!
//!     fn set_states(&mut self, _: &States) -> Result<(), Diagnostic> {
//!         Ok(())
//!     }
//!
//!     fn usage(&self) -> Usage {
//!         Usage { activations: self.blocks, bytes: 0 }
//!     }
//! }
//!
//! # use rml_testkit::flat::{Builder, INT};
//! # let mut program = Builder::new();
//! # let (x, y) = (program.input("x", INT), program.input("y", INT));
//! # let sum = program.apply(Op::Binary(Binary::Add), &[x, y]);
//! # program.output(sum);
//! # let program = program.build();
//! // `node main(x: int [], y: int []) -> (o) o = x + y;`
//! let adder = Adder { reference: Arc::new(rml_sim::SimulatorEngine::new()) };
//! let mut run = adder.open(&program, &Use::new(Feeding::Windows { cycles: None })).unwrap();
//! let ints = |elements: Vec<i64>| {
//!     BlockColumn::new(Present::Always, Value::new(Shape::new(&[elements.len()]), Data::Int(elements)))
//! };
//!
//! // One addition for three cycles.
//! run.feed(Inputs::Block(&Block::new(3, vec![ints(vec![1, 2, 3]), ints(vec![10, 20, 30])]))).unwrap();
//! let outputs = run.next_outputs().unwrap();
//! assert_eq!((outputs.cycles(), run.usage().activations), (3, 1));
//!
//! // Somewhere in this block a sum does not fit 64 bits. The simulator says where, and what was known by then.
//! let block = Block::new(3, vec![ints(vec![4, i64::MAX, 6]), ints(vec![40, 50, 60])]);
//! let error = run.feed(Inputs::Block(&block)).unwrap_err();
//! assert!(error.message.contains("an integer overflows in cycle 4"));
//! let before: Vec<_> = std::iter::from_fn(|| run.next_outputs()).collect();
//! assert_eq!(before.len(), 1);
//!
//! // What it does not run it declines.
//! let stream = Use::new(Feeding::Stream { look_ahead: None });
//! assert_eq!(adder.open(&program, &stream).unwrap_err().reason, Reason::Use);
//! ```

mod block;
mod declined;
mod exact;
mod first_of;
mod kept;
mod run;
mod states;
mod status;

pub use block::{Block, BlockColumn, CycleRow, CycleRows, Inputs, KnownOutputs, Present};
pub use declined::{Declined, Reason};
pub use exact::{BlockResult, Exact, Fast};
pub use first_of::FirstOf;
pub use run::{End, Feeding, Inspect, ProgramEngine, Run, Undetermined, Usage, Use, trace_ended};
pub use states::{Snapshot, States};
pub use status::{InputCell, Status};
