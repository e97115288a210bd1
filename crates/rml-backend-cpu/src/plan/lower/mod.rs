//! From plans to code.

use std::ops::Range;

use rml_base::IndexVec;
use rml_ir::op::Op;
use rml_ir::{DType, Data, Positions, Shape, Type};
use rml_plan::{Atom, Ends, Part, Plan, Reg, Region, Rule, Slide, Start, Tape, Write, is_outer_product};

use super::code::{
    self, Added, Addend, At, Code, Ending, Given, Guard, Instr, Kernel, Pass, Put, Ref, Slot, SlotData,
    Taken, Unit,
};
use super::operand::Arg;
use super::slides;
use super::views::{View, Views, views};
use super::walk::{Walk, dense, stretched};
use super::wants::{Lazy, LazyWrite, TWO, Want, Wants};

mod apply;
mod einsum;
mod sink;

/// The code of a plan, of whose registers these slide.
pub(super) fn lower(plan: &Plan, slides: &[Slide]) -> Code {
    let consts = plan.consts.len();
    let sliding = slides.iter().map(|slide| slide.register.0 as usize).collect();
    let code = Code { consts, ahead: plan.ahead() as usize, waits: plan.waits, sliding, ..Code::default() };
    let mut lower = Lower {
        plan,
        ahead: plan.ahead(),
        reaches: plan.reaches(),
        views: views(plan, slides),
        once: plan.steady(),
        code,
    };
    lower.slots();
    for slide in slides {
        let slot = lower.code.register(slide.register.0 as usize);
        lower.code.slots[slot.0].slides = slides::step(slide).unwrap_or_default();
    }
    lower.regions();
    let is_stored = |w: &&Write| slides.iter().all(|slide| slide.register != w.register);
    lower.code.commits =
        plan.commits.iter().filter(is_stored).map(|w| Put { short: 0, ..lower.put(w) }).collect();
    for output in &plan.outputs {
        let taken = |(at, when, atom): &(Positions, Vec<rml_plan::Guard>, Atom)| Taken {
            at: *at,
            when: lower.guards(when),
            value: lower.atom(*atom),
        };
        let taken = output.cases.iter().map(taken).collect();
        lower.code.outputs.push(taken);
    }
    if plan.waits {
        lower.code.taken = vec![Wants::of_outputs(plan)];
    }
    lower.code
}

pub(super) struct Lower<'a> {
    plan: &'a Plan,
    /// How far the plan looks past the last finished tick, and how far past it each register is written.
    ahead: u32,
    reaches: IndexVec<Reg, u32>,
    views: Views,
    /// Tapes that are computed once per window, without their guards (`Plan::steady`).
    once: IndexVec<Tape, bool>,
    code: Code,
}

impl Lower<'_> {
    fn slots(&mut self) {
        let kept = |ty: &Type, uniform| {
            let (dtype, width) = (ty.dtype, ty.shape.len());
            SlotData { dtype, width, per_tick: false, kept: true, uniform, slides: 0 }
        };
        self.code.slots.extend(self.plan.consts.iter().map(|v| kept(&v.ty(), is_uniform(&v.to_data()))));
        self.code.slots.extend(self.plan.registers.iter().map(|r| kept(&r.ty, false)));
        let start = |start: &Start| if let Start::Const(k) = start { Some(Slot(k.0 as usize)) } else { None };
        self.code.starts = self.plan.starts().iter().map(start).collect();
        for (id, tape) in self.plan.tapes.iter_enumerated() {
            let width = if self.views.is_own(id) { tape.ty.shape.len() } else { 0 };
            let per_tick = !tape.place().is_edge() && !self.once[id];
            self.code.slots.push(SlotData {
                dtype: tape.ty.dtype,
                width,
                per_tick,
                kept: false,
                uniform: false,
                slides: 0,
            });
            for case in &tape.cases {
                if let Rule::Input(input) = case.rule {
                    let slot = Slot(self.code.slots.len() - 1);
                    self.code.inputs.push(Given { input: input as usize, slot, place: tape.place() });
                }
            }
        }
        let loops = self.plan.loops_of_registers();
        for (id, register) in self.plan.registers.iter_enumerated() {
            let i = id.0 as usize;
            if loops[id].is_some() && !self.code.sliding.contains(&i) {
                let slot = self.scratch(register.ty.dtype, register.ty.shape.len(), false);
                self.code.slots[slot.0].kept = true;
                self.code.backups.push((i, slot));
                if self.reaches[id] > 0 {
                    let slot = self.scratch(register.ty.dtype, register.ty.shape.len(), false);
                    self.code.slots[slot.0].kept = true;
                    self.code.done.push((i, slot));
                }
            }
        }
    }

    /// A place for a value on the way.
    fn scratch(&mut self, dtype: DType, width: usize, per_tick: bool) -> Slot {
        self.code.slots.push(SlotData { dtype, width, per_tick, kept: false, uniform: false, slides: 0 });
        Slot(self.code.slots.len() - 1)
    }

    fn arg(&mut self, view: &View) -> Arg {
        let r = Ref { slot: view.slot, at: view.at, offset: view.offset };
        self.code.refs.push(r);
        self.code.refs.len() - 1
    }

    fn atom(&mut self, atom: Atom) -> Arg {
        self.arg(&self.views.of(atom))
    }

    fn guards(&mut self, when: &[rml_plan::Guard]) -> Vec<Guard> {
        when.iter().map(|g| Guard { cond: self.atom(g.cond), value: g.value }).collect()
    }

    fn put(&mut self, write: &Write) -> Put {
        Put {
            register: write.register.0 as usize,
            at: write.at,
            when: self.guards(&write.when),
            unless: write.unless.iter().map(|a| self.atom(*a)).collect(),
            value: self.atom(write.value),
            wants: Wants::of_write(write),
            lazy: LazyWrite::default(),
            short: (self.ahead - self.reaches[write.register]) as usize,
        }
    }

    /// The write of a register by a loop, in a plan that waits.
    fn lazy_put(&mut self, write: &Write) -> Put {
        let mut put = self.put(write);
        let conds = write.when.iter().zip(&put.when);
        put.lazy = LazyWrite {
            when: conds.map(|(g, arg)| (Want::of(g.cond), arg.cond, g.value)).collect(),
            unless: write.unless.iter().map(|end| Want::of(*end)).collect(),
            value: Want::of(write.value),
        };
        put
    }

    fn regions(&mut self) {
        let head = if let Ends::Found { head, .. } = &self.plan.ends { *head } else { 0 };
        let (mut head_units, mut first) = (0, true);
        // A tape that is moved into a loop would wait for the loop.
        let regions =
            if self.plan.waits { self.plan.regions.clone() } else { sink::sink(self.plan, &self.once) };
        for region in &regions {
            let from = self.code.units.len();
            let in_loop = matches!(region, Region::Loop { .. });
            let mut parts = Vec::new();
            let lags = self.lags(region);
            for (i, part) in region.parts().iter().enumerate() {
                let units = self.code.units.len();
                self.part(part);
                if self.plan.waits {
                    let lag = lags.get(i).copied().unwrap_or(0);
                    parts.push(self.waiting(part, units..self.code.units.len(), lag));
                }
                if first && i + 1 == head {
                    head_units = self.code.units.len();
                }
            }
            first = false;
            let units = from..self.code.units.len();
            let over = !in_loop;
            if let Some(pass) = self.code.passes.last_mut().filter(|pass| pass.over && over) {
                pass.units.end = units.end;
                pass.parts.extend(parts);
                continue;
            }
            let (backward, puts) = match region {
                Region::Over(_) => (false, Vec::new()),
                Region::Loop { backward, writes, .. } => {
                    (*backward, writes.iter().map(|w| self.lazy_put(w)).collect())
                }
            };
            let (fills, outer) = if backward { outer(self.plan, region) } else { Default::default() };
            let lag = lags.into_iter().max().unwrap_or(0);
            self.code.passes.push(Pass { over, backward, units, puts, parts, lag, fills, outer });
        }
        if let Ends::Found { conds, .. } = &self.plan.ends {
            let conds = self.guards(conds);
            self.code.ending = Some(Ending { conds, head: head_units });
        }
    }

    /// How many ticks the parts of a loop lag behind others.
    fn lags(&self, region: &Region) -> Vec<usize> {
        match region {
            Region::Loop { backward: false, parts, .. } if self.plan.waits => {
                self.plan.lags(parts).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    /// A part of a plan that waits: the operands that it waits for, and the units that fill its tape.
    fn waiting(&mut self, part: &Part, units: Range<usize>, lag: usize) -> code::Part {
        let plan = self.plan;
        let data = &plan.tapes[part.tape];
        let lazy = TWO.map(|at| {
            let case = data.cases.iter().find(|case| !case.at.and(at).is_empty());
            case.map(|case| Lazy::of(case, &mut |atom| self.atom(atom)))
        });
        let reads = data.cases.iter().find_map(|case| Some(case.rule.register()?.0 as usize));
        code::Part {
            tape: part.tape.0 as usize,
            units,
            wants: Wants::of_cases(data.cases.iter()),
            lag,
            reads,
            lazy,
        }
    }

    fn part(&mut self, part: &Part) {
        let tape = part.tape.0 as usize;
        let data = &self.plan.tapes[part.tape];
        let Some(out) = self.views.filled(part.tape) else { return };
        for case in self.plan.cases_of(*part) {
            if matches!(case.rule, Rule::Input(_)) {
                continue;
            }
            // A sum runs the instructions of its terms itself.
            let is_sum = matches!(case.rule, Rule::Sum { .. });
            let once = self.once[part.tape] && !is_sum;
            let when = if once { Vec::new() } else { self.guards(&case.when) };
            let (from, slots) = (self.code.instrs.len(), self.code.slots.len());
            self.rule(&case.rule, &data.ty, &out);
            let to = self.code.instrs.len();
            if from == to {
                // A concatenation whose operands are all computed in its place needs no instruction.
                continue;
            }
            let instrs = if is_sum { to - 1..to } else { from..to };
            let in_turn = !is_sum && self.code.slots.len() > slots;
            let at = case.at.and(part.at);
            self.code.units.push(Unit {
                tape,
                at,
                when,
                instrs,
                short: (self.ahead - data.ahead) as usize,
                once,
                in_turn,
            });
        }
    }

    fn push(&mut self, kernel: Kernel, out: &View, args: &[&View]) {
        let args = args.iter().map(|v| self.arg(v)).collect();
        let width = self.code.slot(out.slot).width;
        let out = self.arg(out);
        self.code.instrs.push(Instr { kernel, out, width, args });
    }

    fn rule(&mut self, rule: &Rule, ty: &Type, out: &View) {
        match rule {
            Rule::Apply { op, args } => {
                let types: Vec<Type> = args.iter().map(|a| self.plan.ty(*a)).collect();
                let views: Vec<View> = args.iter().map(|a| self.views.of(*a)).collect();
                self.apply(op, &views, &types, ty, out);
            }
            Rule::Product { start, args: [a, b] } => {
                let views = [*a, *b, *start].map(|atom| self.views.of(atom));
                let args = views.each_ref().map(|view| self.packed(ty.dtype, view));
                if let Some(size) = apply::product(&args[0].dims, &args[1].dims) {
                    self.push(Kernel::Further(size, None), out, &args.each_ref());
                }
            }
            Rule::Copy(a) => {
                let view = self.views.of(*a);
                self.copy(ty.dtype, out, &view);
            }
            Rule::Select { cond, then, other } => {
                let views = [*cond, *then, *other].map(|a| self.views.of(a));
                self.push(Kernel::Choose(ty.dtype), out, &views.each_ref());
            }
            Rule::Restart { ends, init, next } => {
                let views: Vec<View> = ends.iter().chain([init, next]).map(|a| self.views.of(*a)).collect();
                self.push(Kernel::Choose(ty.dtype), out, &views.iter().collect::<Vec<_>>());
            }
            Rule::Sum { init, backward, terms } => self.sum(*init, *backward, terms, ty, out),
            Rule::Input(_) => {}
            Rule::Read { register, init } => {
                let at = register.0 as usize;
                let own = View::of(self.code.register(at), &ty.shape);
                let init = init.map(|a| self.views.of(a));
                let args: Vec<&View> = std::iter::once(&own).chain(&init).collect();
                self.push(Kernel::Read(ty.dtype, at), out, &args);
            }
        }
    }

    /// The elements of a view, in order.
    fn copy(&mut self, dtype: DType, out: &View, view: &View) {
        let none: &[usize] = &[];
        let walk = Walk::new(&view.dims, [&out.strides, &view.strides, none, none], false);
        self.push(Kernel::Copy(dtype, walk), out, &[view]);
    }

    /// A view with its elements one after the other.
    fn packed(&mut self, dtype: DType, view: &View) -> View {
        if view.is_dense() {
            return view.clone();
        }
        let shape = Shape::new(&view.dims);
        let out = View::of(self.scratch(dtype, shape.len(), false), &shape);
        self.copy(dtype, &out, view);
        out
    }

    fn sum(&mut self, init: Option<Atom>, backward: bool, terms: &[rml_plan::Term], ty: &Type, out: &View) {
        let addend = |t: &rml_plan::Term| Addend {
            at: t.at,
            when: self.guards(&t.when),
            added: self.added(&t.op, &t.args, ty),
        };
        let added = terms.iter().map(addend).collect();
        let init: Vec<View> = init.iter().map(|a| self.views.of(*a)).collect();
        let kernel = Kernel::Sum { backward, init: !init.is_empty(), terms: added };
        self.push(kernel, out, &init.iter().collect::<Vec<_>>());
    }

    fn added(&mut self, op: &Op, args: &[Atom], ty: &Type) -> Added {
        let types: Vec<Type> = args.iter().map(|a| self.plan.ty(*a)).collect();
        match (op, args) {
            (Op::Copy, [x]) => return Added::Rows(self.atom(*x), 1),
            (Op::SumTo { shape }, [x]) if types[0].shape.dims().ends_with(shape.dims()) => {
                return Added::Rows(self.atom(*x), types[0].shape.len() / ty.shape.len().max(1));
            }
            (op, [a, b]) if is_outer_product(op) => {
                if let ([k, m], [_, n]) = (types[0].shape.dims(), types[1].shape.dims()) {
                    let size = [*m, *k, *n];
                    return Added::Outer(size, [self.atom(*a), self.atom(*b)]);
                }
            }
            _ => {}
        }
        let views: Vec<View> = args.iter().map(|a| self.views.of(*a)).collect();
        // Small terms are made for all ticks at once.
        let from = self.code.instrs.len();
        let slot = self.scratch(ty.dtype, ty.shape.len(), false);
        let made = View::of(slot, &ty.shape);
        self.apply(op, &views, &types, ty, &made);
        let instrs = from..self.code.instrs.len();
        self.code.slots[slot.0].per_tick = instrs.len() == 1 && ty.shape.len() < 16;
        // The sum itself comes after its terms, as the last instruction of the unit.
        Added::Made(instrs, self.arg(&made))
    }
}

/// Whether there are elements, all of which are the same number, bit for bit.
fn is_uniform(data: &Data) -> bool {
    match data {
        Data::F32(x) => x.first().is_some_and(|first| x.iter().all(|x| x.to_bits() == first.to_bits())),
        Data::F64(x) => x.first().is_some_and(|first| x.iter().all(|x| x.to_bits() == first.to_bits())),
        Data::Int(_) | Data::Bool(_) => false,
    }
}

/// Which tapes a region fills, and the operands that other regions have to fill for it.
fn outer(plan: &Plan, region: &Region) -> (Vec<bool>, Wants) {
    let mut fills = vec![false; plan.tapes.len()];
    region.parts().iter().for_each(|part| fills[part.tape.0 as usize] = true);
    let mut outer = Wants::of_cases(region.parts().iter().flat_map(|part| &plan.tapes[part.tape].cases));
    let Region::Loop { writes, .. } = region else { return (fills, outer) };
    for wants in writes.iter().map(Wants::of_write) {
        outer.behind.extend(wants.behind);
    }
    // At the first tick, operands are checked part by part.
    outer.first.clear();
    outer.behind.retain(|want| !fills[want.tape]);
    (fills, outer)
}

/// Strides of a view that is repeated to a shape.
fn wide(view: &View, dims: &[usize]) -> Vec<usize> {
    stretched(&view.dims, &view.strides, dims)
}

/// The view of a place as a whole.
fn whole(slot: Slot, dims: &[usize]) -> View {
    View { slot, at: At::Here(0), offset: 0, strides: dense(dims), dims: dims.to_vec() }
}
