//! Loop nests: the form below the plan. It says what each stage of a tick does to elements.
//!
//! A plan says which value is computed at which tick. Here a value is a [slot](SlotData) of elements, row-major, and a
//! [stage](NestStage) that fills it is a [nest](Nest) or a [call](Call). A nest has dimensions and a body. The body
//! loads elements by [accesses](Access) with strides, applies operators of scalars, folds dimensions and stores
//! results. So a transpose, a slice, a broadcast or most reshapes are accesses of whoever reads them, and no element
//! moves. A call is an operator with an order or an algorithm of its own: a product, a convolution, a sort, a random
//! draw.
//!
//! ```text
//! nest for i0<4, i1<64 at behind first {
//!   v0 = load h@-1(64, 1)
//!   v1 = load bias(0, 1)
//!   v2 = add(v0, v1)
//!   t5(64, 1) = v2
//! }
//! ```
//!
//! A value `v2` has one element for each point of the dimensions that it depends on. The body says nothing about the
//! order of its loops: an executor decides which loops are shared, which values are kept in rows and which are computed
//! again. Only a [fold](Fold) fixes an order, that of its terms, because it decides the bits of the result.
//!
//! A choice between whole tensors is part of the load: its [variants](Variant) are tried in order, and the first one
//! that applies, at this position and under its conditions, says where the elements are. The initial value of a delay,
//! a branch, a delay that restarts, and a register that is not set yet are all variants.
//!
//! [NestNodes](NestNode) are the regions of the plan: stages over all ticks, or tick by tick, forward or backward. A
//! sum over ticks is a loop whose accumulator adds one term at each tick. Ends, waiting, ticks ahead and registers are
//! those of [`rml_plan`].
//!
//! [`lower`] translates a plan to nests, one for each part, and [`fuse`] merges them. [`evaluate`] runs them element by
//! element, and [`check`] compares symbolically what two programs compute.
//!
//! Invariants, checked by [`verify`] in time linear in the text and in the elements of slots that several stores fill:
//! - **N1** each element of a slot is filled once at each tick at which the slot may be present: at a position, all
//!   stages that fill it have the same guards, and their stores are injective, disjoint and complete.
//! - **N2** an access stays within its slot.
//! - **N3** what is read is available: an earlier node or stage has filled it at the same tick; or it is at another
//!   tick, which an earlier node has filled, or which its own node has already passed.
//! - **N4** exactly one variant applies: at each position of the reader, one variant has no conditions, and it is the
//!   last one there.
//! - **N5** each value has a type and the dimensions it depends on: operands have the types that operators take, a fold
//!   takes the type of its operand and removes its dimension, and a store has a stride for each dimension of its value.
//! - **N6** the slots that one stage fills are filled equally far ahead, and not farther than what it reads; where the
//!   program waits, a stage fills one slot.
//! - **N7** only writes change registers, with values of their type. If a node writes a register, only that node reads
//!   it.
//! - **N8** a stage says that it may fail if, and only if, one of its operators may.
//! - **N9** the operands of a call are tensors of the types that its operator takes, and its result is a whole slot
//!   that it does not read at the same tick.
//! - **N10** a node with `by` conditions reads its own slots at other ticks only through a variant that follows one
//!   whose tests include all these conditions.
//! - **N11** if the program finds the end of its windows, the first node does: it is forward, its head is not empty,
//!   and the stages of the head do not distinguish the last tick.

use std::sync::Arc;

use rml_base::{IndexVec, Span, entity_id};
use rml_ir::op::Op;
use rml_ir::{Precision, Shape, Type, Value};
pub use rml_plan::{Lifetime, Position, Positions, Tick};

mod contraction;
pub mod evaluate;
mod fold;
mod fuse;
mod lower;
mod parse;
mod print;
pub mod rooms;
mod slides;
mod symbolic;
mod verify;

pub use contraction::Contraction;
pub use fold::Fold;
pub use fuse::fuse;
pub use lower::lower;
pub use parse::parse;
pub use print::print;
pub use slides::{Slide, slides};
pub use symbolic::{Extent, Mismatch, check};
pub use verify::{dtypes, verify};

entity_id!(
    /// A slot.
    Slot,
    "s"
);
entity_id!(
    /// A value in the body of a nest.
    Val,
    "v"
);
entity_id!(
    /// A dimension of a nest.
    Dim,
    "i"
);

/// How to run one window, in nests.
#[derive(Clone, Debug)]
pub struct NestProgram {
    /// The node's name.
    pub name: Arc<str>,
    /// How `num` is computed.
    pub precision: Precision,
    /// The end of a window.
    pub ends: Ends,
    /// Whether a block is filled only as far as what is read is available, as [`rml_plan::Plan::waits`] says.
    pub waits: bool,
    /// How many ticks the program looks ahead: a window has inputs for this many ticks after those that are done, but
    /// these ticks give no outputs and commit no registers.
    pub ahead: u32,
    /// All slots. Inputs and registers are in the order of the plan.
    pub slots: IndexVec<Slot, SlotData>,
    /// The nodes, in order.
    pub nodes: Vec<NestNode>,
    /// Writes of registers at each finished tick, after all nodes have run. They all read the values that registers had
    /// before that tick.
    pub commits: Vec<Write>,
    /// The outputs, in order.
    pub outputs: Vec<Output>,
}

/// The end of a window.
#[derive(Clone, PartialEq, Debug)]
pub enum Ends {
    /// Nothing: any block of cycles is a window.
    Nothing,
    /// The data: the first tick at which one of these conditions on inputs holds is the last one.
    Given(Vec<Guard>),
    /// The program: the first tick at which one of the conditions holds is the last one.
    Found {
        /// The conditions.
        conds: Vec<Guard>,
        /// How many stages of the first node compute them. The other stages run once it is known whether the tick is
        /// the last one.
        head: usize,
    },
}

/// Elements, row-major.
#[derive(Clone, Debug)]
pub struct SlotData {
    /// Its unique name.
    pub name: Arc<str>,
    /// The type of its value.
    pub ty: Type,
    /// What it holds.
    pub home: Home,
    /// Its place in the source.
    pub span: Span,
    /// The name of the assertion that its stage checks: the stage fails where the assertion does not hold.
    pub asserts: Option<Arc<str>>,
}

/// What a slot holds.
#[derive(Clone, Debug)]
pub enum Home {
    /// An input, at each tick at which it is present.
    Input,
    /// A constant.
    Const(Value),
    /// A register: one value, which outlives ticks.
    Register {
        /// How long its value is kept.
        kind: Lifetime,
        /// The truth value that it has at the start of every window, if the program relies on one.
        known: Option<bool>,
    },
    /// A value that stages fill at each tick.
    Tick {
        /// How many ticks past the last finished one it is filled.
        ahead: u32,
    },
}

/// Stages that run at each tick.
#[derive(Clone, PartialEq, Debug)]
pub struct NestNode {
    /// The order of the ticks.
    pub order: Order,
    /// Conditions that end sequences within the window, as [`rml_plan::Region::Loop`] says.
    pub by: Vec<Access>,
    /// The stages, in order.
    pub stages: Vec<NestStage>,
    /// The registers written at each tick, after the stages.
    pub writes: Vec<Write>,
}

/// The order in which a node runs ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Each stage runs at all ticks before the next one: no tick needs another one.
    Over,
    /// From the first tick to the last.
    Forward,
    /// From the last tick to the first.
    Backward,
}

/// What fills slots at a tick.
#[derive(Clone, PartialEq, Debug)]
pub struct NestStage {
    /// The positions at which it runs.
    pub at: Positions,
    /// It runs where all of these hold. They are tested in order: a later one may be absent where an earlier one does
    /// not hold.
    pub when: Vec<Guard>,
    /// Whether it may fail. Then it runs even if nothing reads it.
    pub may_fail: bool,
    /// What it does.
    pub work: Work,
}

/// What a stage does.
#[derive(Clone, PartialEq, Debug)]
pub enum Work {
    /// Loops over elements.
    Nest(Nest),
    /// An operator of whole tensors.
    Call(Call),
}

/// Loops over elements.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Nest {
    /// How many points each dimension has.
    pub dims: IndexVec<Dim, usize>,
    /// The values, each made from earlier ones.
    pub body: IndexVec<Val, Def>,
    /// What is stored, when all values are known.
    pub stores: Vec<(Access, Val)>,
}

/// The definition of a value in a nest.
#[derive(Clone, PartialEq, Debug)]
pub enum Def {
    /// Elements of slots.
    Load(Variants),
    /// Elements of slots at positions known only at run time; it fails if a position is outside of the axis.
    Take {
        /// The elements at position 0.
        source: Variants,
        /// The positions.
        at: Val,
        /// The length of the axis.
        size: usize,
        /// The stride of the axis.
        stride: isize,
    },
    /// An operator of scalars.
    Apply(Op, Vec<Val>),
    /// A dimension is folded.
    Fold(Fold, Dim, Val),
    /// The products of two nums are added up along a dimension, first to last, each product and sum with one rounding.
    Chain {
        /// The dimension.
        dim: Dim,
        /// The factors.
        of: [Val; 2],
        /// The value to which the first product is added; it does not depend on the dimension. None means 0.
        start: Option<Val>,
    },
}

/// An operator of whole tensors. The result is the slot's value.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// The operator.
    pub op: Op,
    /// For a product: the value at which the chain of each element starts. For `scatter_add`: the value to which rows
    /// are added, which contains no -0.
    pub start: Option<Operand>,
    /// The operands.
    pub operands: Vec<Operand>,
    /// The slot that is filled.
    pub out: Slot,
}

/// A tensor that is read.
#[derive(Clone, PartialEq, Debug)]
pub struct Operand {
    /// Its shape; each access has a stride for each dimension.
    pub dims: Vec<usize>,
    /// The places of its elements.
    pub source: Variants,
}

/// A list of variants: elements are read from the first one that applies at a tick.
pub type Variants = Vec<Variant>;

/// One of several places from which a tick may read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variant {
    /// The positions at which it may apply.
    pub at: Positions,
    /// The variant applies where one of these tests holds. Without tests it always applies.
    pub any: Vec<Test>,
    /// The elements.
    pub access: Access,
}

/// A condition of a variant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Test {
    /// A condition has a value.
    Is(Guard),
    /// A register is set.
    IsSet(Slot),
}

/// A condition, and the value that it must have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Guard {
    /// The condition: one truth value.
    pub cond: Access,
    /// Its value.
    pub value: bool,
}

/// Elements of a slot: the one at point `p` has the index `offset + Σ strides[d] · p[d]`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Access {
    /// The slot.
    pub slot: Slot,
    /// The tick of the elements; always `Now` for constants and registers, which do not depend on it.
    pub tick: Tick,
    /// The element at the point 0.
    pub offset: usize,
    /// The distance of elements along each dimension of the nest or the tensor.
    pub strides: Vec<isize>,
}

/// The write of a register.
#[derive(Clone, PartialEq, Debug)]
pub struct Write {
    /// The register.
    pub register: Slot,
    /// The positions at which it is written.
    pub at: Positions,
    /// It is written where all of these hold.
    pub when: Vec<Guard>,
    /// Where one of these holds, it becomes unset instead, whether or not it would be written.
    pub unless: Vec<Access>,
    /// The value: a tensor of the register's shape.
    pub value: Variants,
}

/// An output of the program.
#[derive(Clone, Debug)]
pub struct Output {
    /// Its name.
    pub name: Arc<str>,
    /// The type of its values.
    pub ty: Type,
    /// Where it is present, and its value there: a tensor of its shape.
    pub cases: Vec<(Positions, Vec<Guard>, Variants)>,
}

impl NestProgram {
    /// The slots of the inputs, in order.
    pub fn inputs(&self) -> impl Iterator<Item = Slot> + '_ {
        self.slots.iter_enumerated().filter(|(_, s)| matches!(s.home, Home::Input)).map(|(id, _)| id)
    }

    /// The slots of the registers, in order.
    pub fn registers(&self) -> impl Iterator<Item = Slot> + '_ {
        self.slots
            .iter_enumerated()
            .filter(|(_, s)| matches!(s.home, Home::Register { .. }))
            .map(|(id, _)| id)
    }

    /// For each register: how many ticks past the last finished one its node writes it (the maximum over its readers).
    pub fn reaches(&self) -> IndexVec<Slot, u32> {
        let mut reaches = IndexVec::filled(0, self.slots.len());
        for stage in self.nodes.iter().flat_map(|node| &node.stages) {
            let ahead = stage.fills().map(|slot| self.slots[slot].ahead()).max().unwrap_or(0);
            for (_, access) in stage.reads() {
                reaches[access.slot] = ahead.max(reaches[access.slot]);
            }
        }
        reaches
    }
}

impl SlotData {
    /// How many ticks past the last finished one it is filled; 0 if no stage fills it.
    pub fn ahead(&self) -> u32 {
        if let Home::Tick { ahead } = self.home { ahead } else { 0 }
    }
}

impl NestStage {
    /// The slots that it fills, one for each store.
    pub fn fills(&self) -> impl Iterator<Item = Slot> + '_ {
        let (stores, out) = match &self.work {
            Work::Nest(nest) => (&nest.stores[..], None),
            Work::Call(call) => (&[][..], Some(call.out)),
        };
        stores.iter().map(|(access, _)| access.slot).chain(out)
    }

    /// The tensors that it reads.
    pub fn sources(&self) -> Vec<&Variants> {
        match &self.work {
            Work::Nest(nest) => nest.body.iter().filter_map(Def::source).collect(),
            Work::Call(call) => call.start.iter().chain(&call.operands).map(|o| &o.source).collect(),
        }
    }

    /// Everything that it reads, including guards and tests, and the positions at which it does.
    pub fn reads(&self) -> Vec<(Positions, Access)> {
        let guards = self.when.iter().map(|g| (self.at, g.cond.clone()));
        let sources = self.sources().into_iter().flat_map(accesses);
        guards.chain(sources.map(|(at, access)| (self.at.and(at), access))).collect()
    }
}

/// Everything that a tensor is read from, and at which positions.
pub fn accesses(source: &Variants) -> Vec<(Positions, Access)> {
    let of = |variant: &Variant| {
        let tests = variant.any.iter().map(|test| match test {
            Test::Is(guard) => guard.cond.clone(),
            Test::IsSet(register) => Access::scalar(*register, Tick::Now),
        });
        let at = variant.at;
        tests.chain([variant.access.clone()]).map(move |access| (at, access)).collect::<Vec<_>>()
    };
    source.iter().flat_map(of).collect()
}

impl Access {
    /// The first element of a slot.
    pub fn scalar(slot: Slot, tick: Tick) -> Access {
        Access { slot, tick, offset: 0, strides: Vec::new() }
    }

    /// All elements of a slot, row-major.
    pub fn whole(slot: Slot, tick: Tick, shape: &Shape) -> Access {
        Access { slot, tick, offset: 0, strides: dense(shape.dims()) }
    }
}

/// The strides of a row-major tensor.
#[allow(clippy::cast_possible_wrap, reason = "elements in memory are counted in isize")]
pub fn dense(dims: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; dims.len()];
    for i in (1..dims.len()).rev() {
        strides[i - 1] = strides[i] * dims[i] as isize;
    }
    strides
}

impl Def {
    /// The values that it is computed from.
    pub fn operands(&self) -> Vec<Val> {
        match self {
            Def::Load(_) => Vec::new(),
            Def::Take { at, .. } => vec![*at],
            Def::Apply(_, args) => args.clone(),
            Def::Fold(_, _, of) => vec![*of],
            Def::Chain { of, start, .. } => of.iter().chain(start).copied().collect(),
        }
    }

    /// The same, with its operands renamed.
    #[must_use]
    pub fn renamed(&self, mut to: impl FnMut(Val) -> Val) -> Def {
        let mut def = self.clone();
        match &mut def {
            Def::Load(_) => {}
            Def::Take { at: of, .. } | Def::Fold(_, _, of) => *of = to(*of),
            Def::Apply(_, args) => args.iter_mut().for_each(|arg| *arg = to(*arg)),
            Def::Chain { of, start, .. } => of.iter_mut().chain(start).for_each(|of| *of = to(*of)),
        }
        def
    }

    /// Where its elements are, if it reads a slot.
    pub fn source(&self) -> Option<&Variants> {
        match self {
            Def::Load(source) | Def::Take { source, .. } => Some(source),
            Def::Apply(..) | Def::Fold(..) | Def::Chain { .. } => None,
        }
    }

    /// Where its elements are, if it reads a slot.
    pub fn source_mut(&mut self) -> Option<&mut Variants> {
        match self {
            Def::Load(source) | Def::Take { source, .. } => Some(source),
            Def::Apply(..) | Def::Fold(..) | Def::Chain { .. } => None,
        }
    }

    /// The dimension that it folds.
    pub fn folded(&self) -> Option<Dim> {
        match self {
            Def::Fold(_, dim, _) | Def::Chain { dim, .. } => Some(*dim),
            Def::Load(_) | Def::Take { .. } | Def::Apply(..) => None,
        }
    }

    /// The dimension that it folds.
    pub fn folded_mut(&mut self) -> Option<&mut Dim> {
        match self {
            Def::Fold(_, dim, _) | Def::Chain { dim, .. } => Some(dim),
            Def::Load(_) | Def::Take { .. } | Def::Apply(..) => None,
        }
    }
}

impl Nest {
    /// The dimensions that each value depends on, in order.
    pub fn spans(&self) -> IndexVec<Val, Vec<Dim>> {
        let mut spans: IndexVec<Val, Vec<Dim>> = IndexVec::new();
        for def in self.body.iter() {
            let has = |dim: &Dim| match def {
                Def::Load(source) => source.iter().any(|v| moves(&v.access, *dim)),
                Def::Take { source, at, .. } => {
                    source.iter().any(|v| moves(&v.access, *dim)) || spans[*at].contains(dim)
                }
                Def::Apply(_, args) => args.iter().any(|arg| spans[*arg].contains(dim)),
                Def::Fold(..) | Def::Chain { .. } => {
                    def.folded() != Some(*dim) && def.operands().iter().any(|x| spans[*x].contains(dim))
                }
            };
            let span = self.dims.ids().filter(has).collect();
            spans.push(span);
        }
        spans
    }
}

/// Whether an access moves along a dimension.
pub(crate) fn moves(access: &Access, dim: Dim) -> bool {
    access.strides.get(dim.0 as usize).is_some_and(|stride| *stride != 0)
}
