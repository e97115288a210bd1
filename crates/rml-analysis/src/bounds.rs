//! The verdict that `rml check` prints: how long the program waits for each output, and how many bytes it stores
//! meanwhile.
//!
//! Bytes are those of values: a `num` has 4 or 8 bytes (in single or double precision), an `int` 8 and a `bool` 1, for
//! each element of a tensor. The figures count the values that the simulator stores: one for each variable that is not
//! a constant.
//!
//! - **state** is kept from cycle to cycle: one value for each `fby` and each parameter.
//! - **look-ahead** (of bounded programs) is the most memory for cycles that wait for later ones. If the slowest value
//!   of the program is known L cycles late, and another value l cycles late at the earliest, then L - l values of the
//!   latter are stored.
//! - **per cycle** (of all other programs) is the most memory for each open cycle. Its part called **once** (in
//!   programs with one kind of window) is stored in at most one cycle of a window, so a window of n cycles needs at
//!   most n · per cycle − (n − 1) · once.

use rml_base::IndexVec;
use rml_ir::flat::{Eq, Flat, Rhs, Var};
use rml_ir::{DType, Precision, Type};

use crate::causality::frame::Frame;
use crate::causality::{Causality, Cut, Latency};
use crate::clocks::{ClockId, Clocks};
use crate::conditions::Conditions;

/// The kinds of waits for outputs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum WaitKind {
    /// The wait takes a number of cycles that is known in advance.
    Bounded,
    /// The wait lasts until a condition holds.
    Windowed,
    /// The wait lasts until the trace ends.
    ClosedOnly,
    /// The length of the wait is unknown.
    Dynamic,
    /// The wait never ends.
    Rejected,
}

impl WaitKind {
    /// The name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            WaitKind::Bounded => "bounded",
            WaitKind::Windowed => "windowed",
            WaitKind::ClosedOnly => "closed-only",
            WaitKind::Dynamic => "dynamic",
            WaitKind::Rejected => "rejected",
        }
    }

    fn of(latency: &Latency) -> WaitKind {
        match latency {
            Latency::Bounded(_) => WaitKind::Bounded,
            Latency::Windowed(_) => WaitKind::Windowed,
            Latency::Closed => WaitKind::ClosedOnly,
            Latency::Dynamic => WaitKind::Dynamic,
            Latency::Never => WaitKind::Rejected,
        }
    }
}

/// The verdict on one variable, or on the whole program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bound {
    /// The kind of wait.
    pub kind: WaitKind,
    /// The number of cycles of the base clock, for a bounded wait.
    pub look_ahead: Option<u64>,
    /// The conditions whose windows must end, for a windowed wait.
    pub cuts: Vec<Cut>,
    /// The names of these conditions.
    pub window: Option<String>,
}

/// Bytes of values; `None` if there is no bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bytes {
    /// The bytes kept from cycle to cycle.
    pub state: u64,
    /// The bytes stored for cycles that wait, in a bounded program.
    pub look_ahead: Option<u64>,
    /// The bytes stored for each open cycle, in any other program.
    pub per_cycle: Option<u64>,
    /// The part of `per_cycle` that is stored in at most one cycle of a window. It is given for programs that wait for
    /// a single condition.
    pub once: Option<u64>,
}

/// The verdict on a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// The worst verdict on an output or a trained parameter.
    pub program: Bound,
    /// The verdict on each output, in order.
    pub outputs: Vec<(Var, Bound)>,
    /// The number of cycles by which the slowest value is late, if all values of the program are bounded.
    pub open: Option<u64>,
    /// The memory.
    pub bytes: Bytes,
}

/// Summarises the results of causality.
///
/// Requires: clocks and causality of that program.
pub fn bounds(flat: &Flat, clocks: &Clocks, causality: &Causality) -> Bounds {
    let outputs: Vec<(Var, Bound)> =
        flat.outputs.iter().map(|v| (*v, bound(causality, &causality.latency[*v]))).collect();
    let trained = flat.states.values().filter(|s| s.parameter).map(|s| &flat.equations[s.equation]);
    let trained = trained.filter(|e| matches!(e.rhs, Rhs::Fby { .. })).map(|e| e.lhs);
    let relevant: Vec<Var> = if flat.outputs.is_empty() {
        flat.vars.ids().collect()
    } else {
        flat.outputs.iter().copied().chain(trained).collect()
    };
    let mut all = relevant.iter().fold(Latency::Bounded(0), |l, v| l.join(&causality.latency[*v]));
    if causality.findings.has_errors() {
        all = Latency::Never;
    }
    let open = causality.latency.iter().try_fold(0, |most, l| match l {
        Latency::Bounded(z) => Some(z.max(&most).to_owned()),
        _ => None,
    });
    let program = bound(causality, &all);
    let bytes = bytes(flat, clocks, causality, &program, open);
    Bounds { program, outputs, open, bytes }
}

/// The kind of wait for a value with that latency.
pub fn bound(causality: &Causality, latency: &Latency) -> Bound {
    let mut cuts: Vec<Cut> = match latency {
        Latency::Windowed(w) => w.cuts.iter().copied().collect(),
        _ => Vec::new(),
    };
    // An outer window that ends also ends the windows inside it.
    let ends = |c: &Cut| &causality.cuts[*c].ends;
    let inner: Vec<Cut> = cuts
        .iter()
        .filter(|c| {
            let outer =
                |o: &&Cut| ends(o).len() < ends(c).len() && ends(o).iter().all(|l| ends(c).contains(l));
            !causality.cuts[**c].all && cuts.iter().any(|o| outer(&o))
        })
        .copied()
        .collect();
    cuts.retain(|c| !inner.contains(c));
    let mut names: Vec<&str> = cuts.iter().map(|c| causality.cuts[*c].name.as_str()).collect();
    names.dedup();
    Bound {
        kind: WaitKind::of(latency),
        look_ahead: if let Latency::Bounded(z) = latency { Some(*z) } else { None },
        window: (!cuts.is_empty()).then(|| names.join(", ")),
        cuts,
    }
}

fn bytes(flat: &Flat, clocks: &Clocks, causality: &Causality, program: &Bound, open: Option<u64>) -> Bytes {
    let size = |v: Var| size(&flat.vars[v].ty, flat.precision);
    let kept = |rhs: &Rhs| matches!(rhs, Rhs::Fby { .. } | Rhs::Param { .. });
    let state = flat.equations.iter().filter(|e| kept(&e.rhs)).map(|e| size(e.lhs)).sum();
    let mut held = vec![true; flat.vars.len()];
    for equation in flat.equations.iter().filter(|e| matches!(e.rhs, Rhs::Const(_))) {
        held[equation.lhs.0 as usize] = false;
    }
    let values = || flat.vars.ids().filter(|v| held[v.0 as usize]);
    let look_ahead = open.filter(|_| program.kind == WaitKind::Bounded).map(|most| {
        let early = earliest(flat, causality);
        values().map(|v| (most - early[v]).saturating_mul(size(v))).fold(0, u64::saturating_add)
    });
    if look_ahead.is_some() {
        return Bytes { state, look_ahead, per_cycle: None, once: None };
    }
    let conditions = Conditions::new(flat, clocks);
    let frame = match program.cuts[..] {
        [cut] => Frame::of_cut(&conditions, &causality.cuts[cut]),
        _ => None,
    };
    let sum = |which: &dyn Fn(&Var) -> bool| values().filter(which).map(size).fold(0, u64::saturating_add);
    // Whether a clock ticks at all, and whether it ticks at most once per window.
    let of_clock = |f: &Frame<'_, '_>, ck: ClockId| (!f.is_never(ck), !f.is_never(ck) && f.is_once(ck));
    let ticks: Option<IndexVec<ClockId, (bool, bool)>> =
        frame.map(|f| clocks.clocks.ids().map(|ck| of_clock(&f, ck)).collect());
    let per_cycle = Some(sum(&|v| ticks.as_ref().is_none_or(|of| of[clocks.of[*v]].0)));
    let once = ticks.as_ref().map(|of| sum(&|v| of[clocks.of[*v]].1));
    Bytes { state, look_ahead, per_cycle, once }
}

/// For each value of a bounded program: the number of cycles by which it is late at the earliest. It may be less than
/// the bound, because a choice or the end of a window may make a wait unnecessary, and the first value of a `fby` is
/// known at once.
fn earliest(flat: &Flat, causality: &Causality) -> IndexVec<Var, u64> {
    let mut early: IndexVec<Var, u64> = IndexVec::filled(0, flat.vars.len());
    let mut readers: Vec<Vec<Eq>> = vec![Vec::new(); flat.vars.len()];
    for (eq, equation) in flat.equations.iter_enumerated() {
        equation.rhs.for_each_operand(|v| readers[v.0 as usize].push(eq));
    }
    let mut pending: Vec<Eq> = flat.equations.ids().collect();
    while let Some(eq) = pending.pop() {
        let equation = &flat.equations[eq];
        let late = match &equation.rhs {
            Rhs::Apply { args, .. } => args.iter().map(|v| early[*v]).max().unwrap_or(0),
            Rhs::Post { next, window: None } | Rhs::FbyBack { next, window: None, .. } => early[*next] + 1,
            _ => 0,
        };
        let most = if let Latency::Bounded(l) = causality.latency[equation.lhs] { l } else { 0 };
        if late.min(most) > early[equation.lhs] {
            early[equation.lhs] = late.min(most);
            pending.extend(readers[equation.lhs.0 as usize].iter().copied());
        }
    }
    early
}

/// The number of bytes of a value.
pub fn size(ty: &Type, precision: Precision) -> u64 {
    let element = match (ty.dtype, precision) {
        (DType::Bool, _) => 1,
        (DType::Num, Precision::F32) => 4,
        (DType::Int, _) | (DType::Num, Precision::F64) => 8,
    };
    (ty.shape.len() as u64).saturating_mul(element)
}
