//! Tapes that alias another tape and need no storage: copies, reshaped tapes, columns, repeated rows, registers. Also
//! tapes that are part of others: the parts of a concatenation, which are computed in place.

use rml_ir::op::{AxisIndex, Class, Op};
use rml_ir::{Shape, Type};
use rml_plan::{Atom, Case, Lifetime, Plan, Reader, Reg, Region, Register, Rule, Slide, Start, Tape, Tick};

use super::code::{At, Slot};
use super::walk::{dense, stretched};

/// Elements of a repeated row from which on the rows are quicker to walk where they are stored than to write and read
/// again.
const LONG: usize = 16;

/// Elements of the value in a place at a tick, in some order.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct View {
    pub(super) slot: Slot,
    pub(super) at: At,
    pub(super) offset: usize,
    pub(super) dims: Vec<usize>,
    pub(super) strides: Vec<usize>,
}

impl View {
    pub(super) fn of(slot: Slot, shape: &Shape) -> Self {
        let dims = shape.dims().to_vec();
        Self { slot, at: At::Here(0), offset: 0, strides: dense(&dims), dims }
    }

    /// Whether its elements are stored one after the other.
    pub(super) fn is_dense(&self) -> bool {
        let wanted = dense(&self.dims);
        let same = |i: usize| self.dims[i] <= 1 || self.strides[i] == wanted[i];
        self.dims.contains(&0) || (0..self.dims.len()).all(same)
    }

    fn reshaped(mut self, shape: &Shape) -> Option<Self> {
        if !self.is_dense() {
            return None;
        }
        self.dims = shape.dims().to_vec();
        self.strides = dense(&self.dims);
        Some(self)
    }

    /// The elements that `items` picks, if its steps are positive.
    fn picked(mut self, items: &[AxisIndex]) -> Option<Self> {
        let mut offset = self.offset;
        let (mut dims, mut strides) = (Vec::new(), Vec::new());
        for (item, stride) in items.iter().zip(&self.strides) {
            match *item {
                AxisIndex::At(i) => offset += i * stride,
                AxisIndex::Slice { start, len, step } => {
                    offset += start * stride;
                    dims.push(len);
                    strides.push(usize::try_from(step).ok()? * stride);
                }
            }
        }
        // Short rows are quicker to walk where they are dense.
        let is_long = matches!((dims.last(), strides.last()), (Some(4..), Some(1)));
        if dims.contains(&0) || !(dims.is_empty() || is_long) {
            return None;
        }
        (self.offset, self.dims, self.strides) = (offset, dims, strides);
        Some(self)
    }

    /// Repeated to a shape, if rows are long, or there is one element.
    fn repeated(self, shape: &Shape) -> Option<Self> {
        let dims = shape.dims().to_vec();
        let strides = stretched(&self.dims, &self.strides, &dims);
        let is_long = dims.last().is_some_and(|n| *n >= LONG) || strides.iter().all(|s| *s == 0);
        is_long.then_some(Self { dims, strides, ..self })
    }

    /// The same view, at the tick of an operand that reads it.
    fn seen(mut self, tick: Tick) -> Self {
        if let At::Here(n) = self.at {
            self.at = match tick {
                Tick::Now => At::Here(n),
                Tick::Before => At::Here(n - 1),
                Tick::After => At::Here(n + 1),
                Tick::First => At::First(n),
                Tick::Last => At::Last(n),
            };
        }
        self
    }
}

/// The definition of each tape.
#[derive(Debug)]
pub(super) struct Views {
    tapes: Vec<View>,
    homes: Vec<Home>,
    consts: Vec<View>,
}

/// Where a tape is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Home {
    /// In a place of its own.
    Own,
    /// In the place of a concatenation that it is a part of, or of a register that slides.
    Part,
    /// In the place of another tape.
    Other,
}

impl Views {
    /// The view of an operand.
    pub(super) fn of(&self, atom: Atom) -> View {
        match atom {
            Atom::Const(k) => self.consts[k.0 as usize].clone(),
            Atom::Tape(tape, tick) => self.tapes[tape.0 as usize].clone().seen(tick),
        }
    }

    /// Whether a tape has a place of its own.
    pub(super) fn is_own(&self, tape: Tape) -> bool {
        self.homes[tape.0 as usize] == Home::Own
    }

    /// Where a tape has to be filled; none if it is a view of another tape.
    pub(super) fn filled(&self, tape: Tape) -> Option<View> {
        let id = tape.0 as usize;
        (self.homes[id] != Home::Other).then(|| self.tapes[id].clone())
    }
}

/// How tapes are read.
struct Uses {
    /// By an operator that wants its elements one after the other.
    dense: Vec<bool>,
    /// Read when all regions have run.
    late: Vec<bool>,
}

/// The views of all tapes; and, for each register that tapes see where it is stored, what it starts with.
pub(super) fn views(plan: &Plan, slides: &[Slide]) -> Views {
    let (consts, registers) = (plan.consts.len(), plan.registers.len());
    let shape = |ty: &Type| ty.shape.clone();
    let own = |t: usize| View::of(Slot(consts + registers + t), &shape(&plan.tapes.as_slice()[t].ty));
    let mut finder = Finder {
        plan,
        uses: uses(plan),
        steady: steady(plan),
        seen: vec![None; plan.tapes.len()],
        shared: vec![false; consts + registers + plan.tapes.len()],
        views: Views {
            tapes: (0..plan.tapes.len()).map(own).collect(),
            homes: vec![Home::Own; plan.tapes.len()],
            consts: plan.consts.iter().enumerate().map(|(k, v)| View::of(Slot(k), &v.shape())).collect(),
        },
    };
    for slide in slides {
        finder.slide(slide);
    }
    let gathers = !plan.waits && plan.ahead() == 0;
    for (k, region) in plan.regions.iter().enumerate() {
        for part in region.parts() {
            finder.tape(part.tape);
            finder.seen[part.tape.0 as usize] = Some(k);
            if gathers && matches!(region, Region::Loop { .. }) {
                finder.gather(part.tape, k);
            }
        }
    }
    finder.views
}

struct Finder<'a> {
    plan: &'a Plan,
    uses: Uses,
    steady: Vec<bool>,
    /// For each tape whose view is known, the region that filled it last.
    seen: Vec<Option<usize>>,
    /// Places of which other tapes are views.
    shared: Vec<bool>,
    views: Views,
}

impl Finder<'_> {
    /// A register that slides is one place: at each tick its value before the tick, and with the next tick that after.
    fn slide(&mut self, slide: &Slide) {
        let slot = Slot(self.plan.consts.len() + slide.register.0 as usize);
        let seen =
            |tape: Tape, at, offset| View { at, offset, ..View::of(slot, &self.plan.tapes[tape].ty.shape) };
        let before = if slide.in_turn { At::Here(0) } else { At::First(0) };
        let dropped = if slide.newest_first { 0 } else { slide.fresh };
        let views = [
            (slide.before, seen(slide.before, before, 0), Home::Other),
            (slide.rest, seen(slide.rest, At::Here(0), dropped), Home::Other),
            (slide.after, seen(slide.after, At::Here(1), 0), Home::Part),
        ];
        self.shared[slot.0] = true;
        for (tape, view, home) in views {
            (self.views.tapes[tape.0 as usize], self.views.homes[tape.0 as usize]) = (view, home);
        }
    }

    fn tape(&mut self, tape: Tape) {
        let id = tape.0 as usize;
        if self.views.homes[id] != Home::Own {
            return; // it is where it slides
        }
        let data = &self.plan.tapes[tape];
        let [Case { rule, .. }] = &data.cases[..] else { return };
        let Some(view) = self.view(rule, &data.ty) else { return };
        let wanted = self.uses.late[id] && self.is_register(&view) || self.uses.dense[id] && !view.is_dense();
        if wanted {
            return;
        }
        self.shared[view.slot.0] = true;
        self.views.tapes[id] = view;
        self.views.homes[id] = Home::Other;
    }

    /// Lets the operands of a concatenation be computed in its place, if the same loop fills them, element by element
    /// and at the same ticks.
    fn gather(&mut self, tape: Tape, region: usize) {
        let data = &self.plan.tapes[tape];
        let [Case { at, when, rule: Rule::Apply { op: Op::Concat { axis }, args } }] = &data.cases[..] else {
            return;
        };
        if self.views.homes[tape.0 as usize] != Home::Own || !when.is_empty() {
            return;
        }
        let whole = self.views.tapes[tape.0 as usize].clone();
        let mut offset = 0;
        for (i, arg) in args.iter().enumerate() {
            let dims = self.views.of(*arg).dims;
            let view = View { offset, dims, ..whole.clone() };
            offset += view.dims[*axis] * whole.strides[*axis];
            if let Atom::Tape(part, Tick::Now) = *arg
                && self.plan.tapes[part].place() == *at
                && self.seen[part.0 as usize] == Some(region)
                && !args[..i].contains(arg)
                && self.is_movable(part)
            {
                let id = part.0 as usize;
                (self.views.tapes[id], self.views.homes[id]) = (view, Home::Part);
            }
        }
    }

    /// Whether a tape may be anywhere: it is filled element by element, and read so, and no other tape is seen in it.
    fn is_movable(&self, tape: Tape) -> bool {
        let id = tape.0 as usize;
        let is_pointwise = |case: &Case| matches!(&case.rule, Rule::Apply { op, .. } if is_pointwise(op));
        self.views.homes[id] == Home::Own
            && !self.uses.dense[id]
            && self.plan.tapes[tape].cases.iter().all(is_pointwise)
            && !self.shared[self.views.tapes[id].slot.0]
    }

    fn is_register(&self, view: &View) -> bool {
        let consts = self.plan.consts.len();
        (consts..consts + self.plan.registers.len()).contains(&view.slot.0)
    }

    fn view(&self, rule: &Rule, ty: &Type) -> Option<View> {
        // A tape that a later part of a loop fills may still become a view.
        let settled = |atom: &Atom| match atom {
            Atom::Const(_) => true,
            Atom::Tape(tape, _) => self.seen[tape.0 as usize].is_some(),
        };
        match rule {
            Rule::Copy(atom) if settled(atom) => Some(self.views.of(*atom)),
            Rule::Apply { op: Op::Copy | Op::StopGradient, args } if settled(&args[0]) => {
                Some(self.views.of(args[0]))
            }
            Rule::Apply { op: Op::Reshape { .. }, args } if settled(&args[0]) => {
                self.views.of(args[0]).reshaped(&ty.shape)
            }
            Rule::Apply { op: Op::Index { items }, args } if settled(&args[0]) => {
                self.views.of(args[0]).picked(items)
            }
            Rule::Apply { op: Op::Broadcast { shape }, args } if settled(&args[0]) => {
                self.views.of(args[0]).repeated(shape)
            }
            Rule::Read { register, .. } if self.steady[register.0 as usize] => {
                Some(View::of(Slot(self.plan.consts.len() + register.0 as usize), &ty.shape))
            }
            _ => None,
        }
    }
}

/// Registers that do not change within the window and start with one constant.
fn steady(plan: &Plan) -> Vec<bool> {
    let written = plan.loops_of_registers();
    let starts = plan.starts();
    let is_steady = |(id, register): (Reg, &Register)| {
        register.kind != Lifetime::Local && written[id].is_none() && starts[id] != Start::Varies
    };
    plan.registers.iter_enumerated().map(is_steady).collect()
}

fn uses(plan: &Plan) -> Uses {
    let mut uses = Uses { dense: vec![false; plan.tapes.len()], late: vec![false; plan.tapes.len()] };
    let walks = |case: &Case| match &case.rule {
        Rule::Apply { op, .. } => walks(op),
        Rule::Copy(_) => true,
        _ => false,
    };
    let walked: Vec<bool> = plan.tapes.iter().map(|tape| tape.cases.iter().all(walks)).collect();
    for read in plan.reads() {
        let Atom::Tape(tape, _) = read.atom else { continue };
        match read.by {
            Reader::Rule(by) => uses.dense[tape.0 as usize] |= !walked[by.0 as usize],
            Reader::Term(_) | Reader::Write(_) => uses.dense[tape.0 as usize] = true,
            Reader::Commit(_) | Reader::Output => uses.late[tape.0 as usize] = true,
            // A condition has one element.
            Reader::Guard(_) | Reader::End => {}
        }
    }
    uses.dense.iter_mut().zip(&uses.late).for_each(|(dense, late)| *dense |= late);
    // A tape under a view is used wherever the view is used.
    let parts: Vec<_> = plan.regions.iter().flat_map(Region::parts).collect();
    for part in parts.into_iter().rev() {
        let id = part.tape.0 as usize;
        for case in &plan.tapes[part.tape].cases {
            let (of, rows) = match &case.rule {
                Rule::Copy(of) => (*of, true),
                Rule::Apply { op: Op::Copy | Op::StopGradient | Op::Reshape { .. }, args } => (args[0], true),
                Rule::Apply { op: Op::Index { .. } | Op::Broadcast { .. }, args } => (args[0], false),
                _ => continue,
            };
            if let Atom::Tape(of, _) = of {
                let of = of.0 as usize;
                uses.late[of] |= uses.late[id];
                uses.dense[of] |= rows && uses.dense[id];
            }
        }
    }
    uses
}

/// Whether an operator walks over elements wherever they are stored.
fn walks(op: &Op) -> bool {
    match op.class() {
        Class::Identity | Class::Pointwise | Class::Layout => true,
        Class::Fold | Class::Along | Class::Product | Class::Sliding | Class::Lookup | Class::Random => false,
    }
}

/// Whether an operator computes element by element.
pub(super) fn is_pointwise(op: &Op) -> bool {
    op.class() == Class::Pointwise
}
