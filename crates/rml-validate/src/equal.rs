//! Equality of values: to which other values a variable is known to be equal, as seen from a tick.
//!
//! Each step leads from a variable at a tick to what it equals wherever it is present: by its equation, if that only
//! copies, or by a fact. An operand is right if some steps lead from the variable that the program reads to the
//! variable that the tape holds, or to a twin of it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use rml_analysis::Hold;
use rml_base::IndexVec;
use rml_ir::Data;
use rml_ir::flat::{ConstId, Init, Rhs, Var};
use rml_ir::op::Op;
use rml_plan::{Atom, Const, Guard, Plan, Tape, Tick};

use crate::Witness;
use crate::frame::Frame;
use crate::view::{At, View};

/// How many equal values are looked at.
const MOST: usize = 10_000;

/// What a variable equals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Term {
    Const(ConstId),
    /// A condition of which that is known.
    Truth(bool),
    Value(Var, At),
}

/// Which pairs were found to be twins, or not to be; not, as long as that is searched for.
pub(crate) type Twins = RefCell<BTreeMap<(Var, Var, At, View), bool>>;

pub(crate) struct Equal<'a> {
    pub(crate) frame: &'a Frame<'a>,
    pub(crate) plan: &'a Plan,
    pub(crate) witness: &'a Witness,
    /// In a plan that waits, how many ticks stand after the elements of each tape.
    behind: IndexVec<Tape, u32>,
    pub(crate) twins: Twins,
    /// Which recurrences were found to be alike, or not to be.
    pub(crate) alike: RefCell<BTreeMap<(Var, Var), bool>>,
    /// Which constants of the plan were found to be which ones of the program.
    consts: RefCell<BTreeMap<(Const, ConstId), bool>>,
}

impl<'a> Equal<'a> {
    pub(crate) fn new(frame: &'a Frame<'a>, plan: &'a Plan, witness: &'a Witness) -> Self {
        let behind = crate::waits::behind(plan);
        Self {
            frame,
            plan,
            witness,
            behind,
            twins: Twins::default(),
            alike: RefCell::default(),
            consts: RefCell::default(),
        }
    }

    /// Whether an operand equals a variable, at a tick where that is present.
    pub(crate) fn is(&self, atom: Atom, v: Var, tick: Tick, view: View) -> bool {
        let view = view.farther(self.sight(atom));
        view.tick(tick).is_some_and(|tick| self.is_at(atom, v, tick, view))
    }

    /// How many ticks are known to stand after one at which an operand is available, in a plan that waits.
    pub(crate) fn sight(&self, atom: Atom) -> u32 {
        if self.plan.waits { crate::waits::sight(&self.behind, atom) } else { 0 }
    }

    pub(crate) fn is_at(&self, atom: Atom, v: Var, tick: At, view: View) -> bool {
        match atom {
            Atom::Const(_) => self.find(v, tick, view, |term| match term {
                Term::Const(k) => self.is_const(atom, k),
                Term::Truth(value) => self.is_truth(atom, value),
                Term::Value(..) => false,
            }),
            Atom::Tape(tape, at) => {
                let Some(at) = view.tick(at) else { return false };
                let Some(held) = self.witness.tapes[tape].whole() else { return false };
                self.find(v, tick, view, |term| term == Term::Value(held, at))
                    || self.has_twin(v, tick, (held, at), view)
            }
        }
    }

    /// Whether a variable equals another one at a tick.
    pub(crate) fn is_variable(&self, v: Var, other: Var, tick: Tick, view: View) -> bool {
        let Some(tick) = view.tick(tick) else { return false };
        self.find(v, At::NOW, view, |term| term == Term::Value(other, tick))
    }

    /// Whether a variable is what an operator makes of some operands.
    pub(crate) fn computes(&self, op: &Op, args: &[Atom], v: Var, view: View) -> bool {
        self.find(v, At::NOW, view, |term| {
            let Term::Value(w, tick) = term else { return false };
            let Some(Rhs::Apply { op: own, args: of }) = self.frame.rhs(w) else { return false };
            let same = own == op && of.len() == args.len();
            same && args.iter().zip(of).all(|(a, v)| self.is_at(*a, *v, tick, view))
        })
    }

    /// Whether a variable is the sum of the outer products of the rows of two matrices: the product of the first one
    /// transposed with the other one.
    pub(crate) fn contracts(&self, op: &Op, args: &[Atom], v: Var, view: View) -> bool {
        let [a, b] = args else { return false };
        if !rml_plan::is_outer_product(op) {
            return false;
        }
        self.find(v, At::NOW, view, |term| {
            let Term::Value(w, tick) = term else { return false };
            let Some(Rhs::Apply { op: Op::MatMul, args: of }) = self.frame.rhs(w) else { return false };
            let [rows, other] = of[..] else { return false };
            let is_matrix = self.frame.flat.vars[other].ty.shape.dims().len() == 2;
            is_matrix && self.is_at(*b, other, tick, view) && self.transposes(*a, rows, tick, view)
        })
    }

    fn transposes(&self, a: Atom, v: Var, tick: At, view: View) -> bool {
        self.find(v, tick, view, |term| {
            let Term::Value(w, tick) = term else { return false };
            let Some(Rhs::Apply { op: Op::Transpose { perm }, args: of }) = self.frame.rhs(w) else {
                return false;
            };
            perm[..] == [1, 0] && self.is_at(a, of[0], tick, view)
        })
    }

    /// Whether a variable is zero where a guard does not hold; and where it does, another one of which something was
    /// `found`.
    pub(crate) fn is_zero_unless(
        &self,
        guard: Guard,
        v: Var,
        view: View,
        found: impl Fn(Var) -> bool,
    ) -> bool {
        self.find(v, At::NOW, view, |term| {
            let Term::Value(w, At::NOW) = term else { return false };
            let Some(Rhs::If { cond, then, other } | Rhs::Merge { cond, on_true: then, on_false: other }) =
                self.frame.rhs(w)
            else {
                return false;
            };
            let (there, elsewhere) = if guard.value { (*then, *other) } else { (*other, *then) };
            self.is_at(guard.cond, *cond, At::NOW, view) && self.is_zero(elsewhere, view) && found(there)
        })
    }

    fn is_zero(&self, v: Var, view: View) -> bool {
        self.find(v, At::NOW, view, |term| {
            let Term::Const(k) = term else { return false };
            match self.frame.flat.value(k).to_data() {
                Data::F32(x) => x.iter().all(|x| *x == 0.0),
                Data::F64(x) => x.iter().all(|x| *x == 0.0),
                Data::Int(_) | Data::Bool(_) => false,
            }
        })
    }

    /// Whether something that a variable equals at a tick fulfils a condition.
    pub(crate) fn find(&self, v: Var, tick: At, view: View, found: impl Fn(Term) -> bool) -> bool {
        let start = Term::Value(v, tick);
        if found(start) || self.is_never_known(start, view) {
            return true;
        }
        let mut seen = BTreeSet::from([start]);
        let mut pending = vec![start];
        while let Some(Term::Value(v, tick)) = pending.pop() {
            for term in self.steps(v, tick, view) {
                if seen.len() < MOST && seen.insert(term) {
                    if found(term) || self.is_never_known(term, view) {
                        return true;
                    }
                    pending.extend(matches!(term, Term::Value(..)).then_some(term));
                }
            }
        }
        false
    }

    /// Whether a term has no value in any run. Then neither has what equals it, and a plan may compute anything
    /// instead.
    fn is_never_known(&self, term: Term, view: View) -> bool {
        let Term::Value(v, tick) = term else { return false };
        self.frame.holds(v, view.position(tick)).contains(&Hold::Nothing)
    }

    /// What a variable equals in one step.
    fn steps(&self, v: Var, tick: At, view: View) -> Vec<Term> {
        let p = view.position(tick);
        let mut steps = Vec::new();
        for (hold, edge) in self.frame.holds(v, p).into_iter().zip([Tick::First, Tick::Last]) {
            steps.extend(match hold {
                Hold::Const(k) => Some(Term::Const(k)),
                Hold::At(u) => view.tick(edge).map(|edge| Term::Value(u, edge)),
                Hold::Nothing | Hold::Own => None,
            });
        }
        steps.extend(self.frame.anywhere(v).map(Term::Const));
        steps.extend(self.frame.truth(v, p).map(Term::Truth));
        steps.extend(self.copied(v, tick, view));
        steps
    }

    /// What its equation copies.
    fn copied(&self, v: Var, tick: At, view: View) -> Option<Term> {
        let (frame, p) = (self.frame, view.position(tick));
        match frame.rhs(v)? {
            Rhs::Const(k) => Some(Term::Const(*k)),
            Rhs::Apply { op: Op::Copy | Op::StopGradient, args } => Some(Term::Value(args[0], tick)),
            Rhs::When { value, .. } => Some(Term::Value(*value, tick)),
            Rhs::If { cond, then, other } | Rhs::Merge { cond, on_true: then, on_false: other } => {
                let known = frame.truth(*cond, p);
                let taken = if known == Some(true) || frame.is_absent(*other, p) {
                    *then
                } else if known == Some(false) || frame.is_absent(*then, p) {
                    *other
                } else {
                    return None;
                };
                Some(Term::Value(taken, tick))
            }
            Rhs::Fby { init, next, window } => {
                let restart = frame.restart(*window);
                if restart.edge && (p.is_start() || frame.is_once(v)) {
                    return Some(initial(init, tick));
                }
                let previous = view.previous(tick)?;
                let at = view.position(previous);
                match frame.boundary(&restart.ends, at)? {
                    true => Some(initial(init, tick)),
                    false => frame.is_always(v, at).then_some(Term::Value(*next, previous)),
                }
            }
            Rhs::FbyBack { init, next, window } => {
                let restart = frame.restart(*window);
                if restart.edge && (p.is_end() || frame.is_once(v)) {
                    return Some(initial(init, tick));
                }
                match frame.boundary(&restart.ends, p)? {
                    true => Some(initial(init, tick)),
                    false => self.behind(v, *next, tick, view),
                }
            }
            // After the last tick of a window it is never known.
            Rhs::Post { next, .. } => self.behind(v, *next, tick, view),
            Rhs::Apply { .. } | Rhs::Param { .. } => None,
        }
    }

    /// What is delayed backward, if the next active tick is the next one.
    fn behind(&self, v: Var, next: Var, tick: At, view: View) -> Option<Term> {
        let behind = view.next(tick)?;
        self.frame.is_always(v, view.position(behind)).then_some(Term::Value(next, behind))
    }

    fn is_truth(&self, atom: Atom, value: bool) -> bool {
        matches!(atom, Atom::Const(k) if self.plan.consts[k].as_bool() == Some(value))
    }

    /// Whether an operand is a constant of the program.
    pub(crate) fn is_const(&self, atom: Atom, k: ConstId) -> bool {
        let Atom::Const(of) = atom else { return false };
        let same = || self.plan.consts[of].same_bits(self.frame.flat.value(k));
        *self.consts.borrow_mut().entry((of, k)).or_insert_with(same)
    }
}

fn initial(init: &Init, tick: At) -> Term {
    match init {
        Init::Const(k) => Term::Const(*k),
        Init::Stream(v) => Term::Value(*v, tick),
    }
}
