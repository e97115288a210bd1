//! Plans as C99: one source file and one header, which need only a C compiler and `math.h`.
//!
//! The program has a struct for the values that outlive windows, one for the values of a window, one for the inputs of
//! a cycle and one for its outputs. One function gives states their initial values; another one runs a window or, in a
//! program without windows, any number of cycles. The structs are the only memory: there is no allocation, no global
//! state and no recursion.
//!
//! A plan becomes [loop nests](rml_nest), which are fused. Each node becomes a C function, which runs all ticks of a
//! window. Values that are read only at the same tick have space for one tick. Values share memory if no function needs
//! both. The printer of loops, [`loops`], is also used by other printers of nests.

use std::sync::Arc;

use rml_ir::Value;
use rml_plan::{Lifetime, Plan};

mod call;
mod checkpoint;
mod exprs;
mod function;
mod functions;
mod header;
mod layout;
mod lines;
pub mod loops;
mod names;
mod nest;
mod operand;
mod picked;
mod positions;
mod prelude;
mod products;
mod registers;
mod rings;
mod run;
mod scalars;
mod scope;
mod sliding;
mod sort;
mod source;
mod store;
mod tensor;
mod want;

pub use names::refuses;
pub use scalars::Scalars;
pub use store::Memory;

/// The source of the elementary functions.
///
/// ```
/// use rml::{CExport, CMath};
///
/// let export = CExport { math: CMath::Library, ..CExport::default() };
/// assert_ne!(export.math, CMath::default());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Math {
    /// The program contains its own functions, with the bits of `rml`; products are fused with additions, as in `rml`.
    #[default]
    Own,
    /// From `math.h`; the compiler may round products differently.
    Library,
}

/// The options of an export.
#[derive(Clone, Debug)]
pub struct Options {
    /// The prefix of the names of its types, functions and files.
    pub name: String,
    /// The most cycles that a call runs.
    pub cycles: usize,
    /// The source of the elementary functions.
    pub math: Math,
    /// A comment at the top of both files.
    pub note: String,
}

/// A program in C.
#[derive(Clone, Debug)]
pub struct Exported {
    /// The text of `NAME.h`.
    pub header: String,
    /// The text of `NAME.c`.
    pub source: String,
    /// The memory of its structs.
    pub memory: Memory,
    /// The fields of the inputs, in order.
    pub inputs: Vec<String>,
    /// The fields of the outputs, in order.
    pub outputs: Vec<String>,
    /// The inputs and outputs whose fields have other names, with these names.
    pub renamed: Vec<(String, String)>,
}

/// Why a plan cannot be exported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The blocks of the plan wait for conditions of later cycles, which may be any number of cycles later.
    Waits,
    /// A call needs at least this many cycles to run any.
    Cycles(usize),
    /// The arrays of the plan take more bytes than a program can address in one object.
    Memory(u64),
}

/// The most bytes of a struct: the range of `int` on the smallest supported machines.
const MOST: u64 = i32::MAX as u64;

/// Exports a plan as C. `state` gives the start values of states that differ from those of the program.
///
/// # Errors
/// A plan that does not have a fixed size of memory in C.
pub fn export(
    plan: &Plan,
    state: &dyn Fn(&str) -> Option<Value>,
    options: &Options,
) -> Result<Exported, Refused> {
    if plan.waits {
        return Err(Refused::Waits);
    }
    let fewest = plan.ahead() as usize + 1;
    if options.cycles < fewest {
        return Err(Refused::Cycles(fewest));
    }
    let scope = scope::Scope::new(plan, options);
    let starts = registers::Starts::new(plan, &scope.registers, state);
    let (source, constants, arrays) = source::source(&scope, &starts, options);
    let mut memory = scope.memory(&arrays);
    let most = memory.state.max(memory.work);
    if most > MOST {
        return Err(Refused::Memory(most));
    }
    memory.constants = constants;
    let header = header::header(&scope, (&memory, &arrays), options);
    let renamed = renamed(&scope);
    Ok(Exported { header, source, memory, inputs: scope.inputs, outputs: scope.outputs, renamed })
}

fn renamed(scope: &scope::Scope<'_>) -> Vec<(String, String)> {
    let inputs = scope.plan.inputs.iter().map(|(name, _)| name).zip(&scope.inputs);
    let outputs = scope.plan.outputs.iter().map(|output| &output.name).zip(&scope.outputs);
    let mut all: Vec<(String, String)> = Vec::new();
    for (name, field) in inputs.chain(outputs).filter(|(name, field)| name.as_ref() as &str != field.as_str())
    {
        let pair = (name.to_string(), field.clone());
        if !all.contains(&pair) {
            all.push(pair);
        }
    }
    all
}

/// The keys of the states of a plan.
pub fn states(plan: &Plan) -> impl Iterator<Item = &Arc<str>> {
    plan.registers.iter().filter_map(|register| match &register.kind {
        Lifetime::State { key, .. } => Some(key),
        Lifetime::Local | Lifetime::Hidden => None,
    })
}
