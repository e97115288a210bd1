//! Sums over ticks: loops whose accumulator adds one term at each tick.

use rml_ir::DType;
use rml_ir::op::{Binary, Op};
use rml_plan::{Atom, TapeData, Term};

use super::stages::Target;
use super::uses::edge;
use super::view::View;
use super::{Lowering, node, whole};
use crate::{Guard, Order, Positions, Slot, Test, Tick};

impl Lowering<'_> {
    /// The node that takes the sum, and where the sum is then.
    pub(super) fn sum(
        &mut self,
        data: &TapeData,
        init: Option<Atom>,
        backward: bool,
        terms: &[Term],
    ) -> View {
        let init = self.start(data, init);
        // What is added may be filled by the node that is made; in a loop nothing is.
        let mut around = std::mem::replace(&mut self.node, node(Order::Over));
        if around.order == Order::Over && !around.stages.is_empty() {
            self.program.nodes.push(std::mem::replace(&mut around, node(Order::Over)));
        }
        self.node.order = if backward { Order::Backward } else { Order::Forward };
        let slot = self.step(data, &data.ty);
        let (start, before) = (edge(backward), if backward { Tick::After } else { Tick::Before });
        let mut known = init.at(start);
        let rest: Positions = Positions::ALL.iter().filter(|p| !start.contains(*p)).collect();
        known.source.extend(whole(slot, before, &data.ty).at(rest).source);
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
        whole(slot, if backward { Tick::First } else { Tick::Last }, &data.ty)
    }

    /// What a sum begins with, as seen from the first tick. A sum that begins with its first term adds that to what
    /// changes no number.
    fn start(&mut self, data: &TapeData, init: Option<Atom>) -> View {
        match init {
            Some(atom @ Atom::Const(_)) => self.view(atom, Positions::ALL),
            Some(atom) => {
                let (slot, at) = (self.step(data, &data.ty), Positions::STARTS);
                let view = self.view(atom, at);
                self.copy(&view, &Target { slot, at, when: Vec::new(), of: data });
                whole(slot, Tick::First, &data.ty)
            }
            None => {
                let neutral = if data.ty.dtype == DType::Num { -0.0 } else { 0.0 };
                self.scalar(&data.ty, neutral).broadcast(data.ty.shape.dims())
            }
        }
    }

    /// Adds a term to what is known, or keeps that where the term is not added.
    fn add(&mut self, term: &Term, known: &View, target: &Target<'_>) {
        let when = self.guards(&term.when);
        let here = |slot: Slot| Target { slot, when: when.clone(), ..target.clone() };
        let operands: Vec<View> = term.args.iter().map(|arg| self.view(*arg, target.at)).collect();
        let value = match (&term.op, &operands[..]) {
            (Op::Copy, [x]) => x.clone(),
            _ => {
                let slot = self.step(target.of, &target.of.ty);
                self.apply(&term.op, operands, &here(slot));
                whole(slot, Tick::Now, &target.of.ty).at(target.at)
            }
        };
        let known = known.clone().at(target.at);
        let add = Op::Binary(Binary::Add);
        if when.is_empty() {
            return self.apply(&add, vec![value, known], target);
        }
        let slot = self.step(target.of, &target.of.ty);
        self.apply(&add, vec![value, known.clone()], &here(slot));
        let mut view = known;
        let absent = |guard: &Guard| Test::Is(Guard { value: !guard.value, ..guard.clone() });
        view.source.iter_mut().for_each(|variant| variant.any = when.iter().map(absent).collect());
        view.source.extend(whole(slot, Tick::Now, &target.of.ty).at(target.at).source);
        self.copy(&view, target);
    }
}
