//! Sums over ticks: loops whose accumulator adds one term at each tick.

use rml_ir::op::{Binary, Op};
use rml_ir::{Data, Type, Value};
use rml_plan::{Atom, Rule, TapeData, Term, is_outer_product};

use super::stages::Target;
use super::uses::edge;
use super::view::View;
use super::{Lowering, node, whole};
use crate::{Call, Guard, Order, Positions, Test, Tick, Work};

impl Lowering<'_> {
    /// Adds the node that computes the sum; returns where its result is.
    pub(super) fn sum(
        &mut self,
        data: &TapeData,
        init: Option<Atom>,
        backward: bool,
        terms: &[Term],
    ) -> View {
        let init = self.start(data, init);
        // If the node under construction is over all ticks, it may fill what the sum adds, so it ends first.
        let mut around = std::mem::replace(&mut self.node, node(Order::Over));
        if around.order == Order::Over && !around.stages.is_empty() {
            self.program.nodes.push(std::mem::replace(&mut around, node(Order::Over)));
        }
        self.node.order = if backward { Order::Backward } else { Order::Forward };
        // Rows that are added up one by one become a product with ones, whose result has one axis.
        let ty = match terms.iter().any(|term| self.adds_rows(term, data)) {
            true => Type::new(data.ty.dtype, &[data.ty.shape.len()]),
            false => data.ty.clone(),
        };
        let dims = ty.shape.dims();
        let slot = self.step(data, &ty);
        let (start, before) = (edge(backward), if backward { Tick::After } else { Tick::Before });
        let mut known =
            self.laid(&init, dims, &Target { slot, at: start, when: Vec::new(), of: data }).at(start);
        let rest: Positions = Positions::ALL.iter().filter(|p| !start.contains(*p)).collect();
        known.source.extend(whole(slot, before, &ty).at(rest).source);
        let mut left = Positions::ALL;
        for term in terms {
            let at = left.and(term.at);
            left = left.iter().filter(|p| !at.contains(*p)).collect();
            if !at.is_empty() {
                self.add(term, &known, &Target { slot, at, when: Vec::new(), of: data });
            }
        }
        if !left.is_empty() {
            self.copy(&known.clone().at(left), &Target { slot, at: left, when: Vec::new(), of: data });
        }
        self.program.nodes.push(std::mem::replace(&mut self.node, around));
        let sum = whole(slot, if backward { Tick::First } else { Tick::Last }, &ty);
        sum.reshaped(data.ty.shape.dims()).expect("elements in a row take any shape")
    }

    /// Whether a term adds up rows one by one.
    fn adds_rows(&self, term: &Term, data: &TapeData) -> bool {
        let fits = |x: &Atom| self.plan.ty(*x).shape.dims().ends_with(data.ty.shape.dims());
        matches!(term.op, Op::SumTo { .. }) && term.args.first().is_some_and(fits)
    }

    /// A tensor under another shape; copied if strides cannot express it.
    fn laid(&mut self, x: &View, dims: &[usize], target: &Target<'_>) -> View {
        x.reshaped(dims).unwrap_or_else(|| {
            let x = self.dense(x, target);
            x.reshaped(dims).expect("a row-major tensor takes any shape")
        })
    }

    /// The start value of a sum, read at the first tick.
    fn start(&mut self, data: &TapeData, init: Option<Atom>) -> View {
        match init {
            Some(atom @ Atom::Const(_)) => self.view(atom, Positions::ALL),
            Some(atom) => {
                let (slot, at) = (self.step(data, &data.ty), Positions::STARTS);
                let view = self.view(atom, at);
                self.copy(&view, &Target { slot, at, when: Vec::new(), of: data });
                whole(slot, Tick::First, &data.ty)
            }
            None => self.scalar(&data.ty, 0.0).broadcast(data.ty.shape.dims()),
        }
    }

    /// Adds a term to the partial sum `known`, and keeps `known` where the guards of the term do not hold.
    fn add(&mut self, term: &Term, known: &View, target: &Target<'_>) {
        let when = self.guards(&term.when);
        let ty = self.program.slots[target.slot].ty.clone();
        let known = known.clone().at(target.at);
        if when.is_empty() {
            return self.added(term, known, target);
        }
        let slot = self.step(target.of, &ty);
        self.added(term, known.clone(), &Target { slot, when: when.clone(), ..target.clone() });
        let mut view = known;
        let absent = |guard: &Guard| Test::Is(Guard { value: !guard.value, ..guard.clone() });
        view.source.iter_mut().for_each(|variant| variant.any = when.iter().map(absent).collect());
        view.source.extend(whole(slot, Tick::Now, &ty).at(target.at).source);
        self.copy(&view, target);
    }

    /// Whether the start value of a sum contains no -0: then adding zeros leaves elements unchanged, so `scatter_add`
    /// need not touch all of them.
    fn keeps_others(&self, data: &TapeData) -> bool {
        let has_sign = |value: &Value| match value.to_data() {
            Data::F32(all) => all.iter().any(|x| *x == 0.0 && x.is_sign_negative()),
            Data::F64(all) => all.iter().any(|x| *x == 0.0 && x.is_sign_negative()),
            Data::Int(_) | Data::Bool(_) => true,
        };
        data.cases.iter().all(|case| match &case.rule {
            Rule::Sum { init: None, .. } => data.ty.is_num(),
            Rule::Sum { init: Some(Atom::Const(init)), .. } => !has_sign(&self.plan.consts[*init]),
            Rule::Sum { init: Some(Atom::Tape(..)), .. }
            | Rule::Apply { .. }
            | Rule::Product { .. }
            | Rule::Copy(_)
            | Rule::Select { .. }
            | Rule::Restart { .. }
            | Rule::Input(_)
            | Rule::Read { .. } => false,
        })
    }

    /// Adds a term to the partial sum `known`. Products and `scatter_add` continue from `known` themselves.
    fn added(&mut self, term: &Term, known: View, target: &Target<'_>) {
        let operands: Vec<View> = term.args.iter().map(|arg| self.view(*arg, target.at)).collect();
        let product = |operands, start| {
            Work::Call(Call { op: Op::MatMul, start: Some(start), operands, out: target.slot })
        };
        let ty = self.program.slots[target.slot].ty.clone();
        match (&term.op, &operands[..]) {
            (op, [a, b]) if is_outer_product(op) => {
                self.push(product(vec![a.permuted(&[1, 0]), b.clone()], known), target);
            }
            (Op::ScatterAdd { .. }, _) if self.keeps_others(target.of) => {
                let call = Call { op: term.op.clone(), start: Some(known), operands, out: target.slot };
                self.push(Work::Call(call), target);
            }
            (Op::SumTo { .. }, [x]) if self.adds_rows(term, target.of) => {
                let n = ty.shape.len();
                let rows = x.dims.iter().product::<usize>().checked_div(n).unwrap_or(0);
                let x = self.laid(x, &[rows, n], target);
                let row = Type::new(ty.dtype, &[rows]);
                let ones = self.constant(Value::filled(&row, 1.0, self.plan.precision));
                self.push(product(vec![whole(ones, Tick::Now, &row), x], known), target);
            }
            _ => {
                let value = match (&term.op, &operands[..]) {
                    (Op::Copy, [x]) => x.clone(),
                    _ => {
                        let slot = self.step(target.of, &target.of.ty);
                        self.apply(&term.op, operands, &Target { slot, ..target.clone() });
                        whole(slot, Tick::Now, &target.of.ty).at(target.at)
                    }
                };
                let value = self.laid(&value, ty.shape.dims(), target);
                self.apply(&Op::Binary(Binary::Add), vec![value, known], target);
            }
        }
    }
}
