//! Simplifies programs of nests for printing.

use std::collections::BTreeMap;
use std::sync::Arc;

use rml_base::EntityId;
use rml_ir::{Type, Value};
use rml_nest::rooms::parted;
use rml_nest::{
    Access, Def, Ends, Home, Nest, NestNode, NestProgram, NestStage, Order, Positions, Slot, SlotData, Test,
    Tick, Val, Variant, Variants, Work,
};
use rml_plan::{Plan, Start};

/// The reason why a program is left to the embedded executor; none if it is printed.
pub(crate) fn refusal(program: &NestProgram) -> Option<&'static str> {
    program.waits.then_some("its blocks wait for values")
}

/// For each register: its value while it is not set, if all readers see the same constant.
pub(crate) fn starts(plan: &Plan) -> Vec<Option<Value>> {
    plan.starts()
        .iter()
        .map(|start| if let Start::Const(_) = start { start.value(plan).cloned() } else { None })
        .collect()
}

/// The same program, but registers that start with a constant count as always set, and stages over all ticks read
/// values of their own node as values of the same tick.
pub(crate) fn simplified(mut program: NestProgram, starts: &[Option<Value>]) -> NestProgram {
    let registers: Vec<_> = program.registers().collect();
    let is_held = |test: &Test| match test {
        Test::IsSet(slot) => {
            registers.iter().position(|own| own == slot).is_some_and(|r| starts[r].is_some())
        }
        Test::Is(_) => false,
    };
    let certain = |source: &mut Variants| {
        source.iter_mut().filter(|v| v.any.iter().any(is_held)).for_each(|variant| variant.any.clear());
        // Variants after one without conditions never apply.
        let mut taken = Positions::NONE;
        source.retain(|variant| {
            let is_left = !variant.at.is_within(taken);
            if variant.any.is_empty() {
                taken = taken.or(variant.at);
            }
            is_left
        });
    };
    for node in &mut program.nodes {
        for stage in &mut node.stages {
            sources(stage).for_each(certain);
        }
        node.writes.iter_mut().for_each(|write| certain(&mut write.value));
    }
    program.commits.iter_mut().for_each(|write| certain(&mut write.value));
    program
        .outputs
        .iter_mut()
        .flat_map(|output| &mut output.cases)
        .for_each(|(_, _, source)| certain(source));
    for node in 0..program.nodes.len() {
        forward(&mut program, node);
    }
    program.nodes =
        std::mem::take(&mut program.nodes).into_iter().flat_map(|node| parted(node, Order::Over)).collect();
    for node in 0..program.nodes.len() {
        settle(&mut program, node);
    }
    program
}

/// Where stages of a loop read a copy of a register, lets them read the register itself.
fn forward(program: &mut NestProgram, n: usize) {
    let copies: Vec<(usize, Slot, Slot)> =
        program.nodes[n].stages.iter().enumerate().filter_map(copy).collect();
    for (s, register, slot) in copies.into_iter().rev() {
        let fillers =
            program.nodes[n].stages.iter().filter(|stage| stage.fills().any(|own| own == slot)).count();
        let elsewhere = |(k, node): (usize, &NestNode)| {
            let reads = node.stages.iter().flat_map(NestStage::reads).map(|(_, access)| access);
            let mut reads = reads.chain(node.writes.iter().flat_map(rml_nest::rooms::write_reads));
            reads.any(|access| access.slot == slot && (k != n || access.tick != Tick::Now))
        };
        let is_register = matches!(program.slots[register].home, Home::Register { .. });
        let outside =
            rml_nest::rooms::last_reads(program).into_iter().chain(rml_nest::rooms::end_reads(program));
        if !is_register
            || fillers != 1
            || outside.into_iter().any(|access| access.slot == slot)
            || program.nodes.iter().enumerate().any(elsewhere)
        {
            continue;
        }
        if let Ends::Found { head, .. } = &mut program.ends
            && n == 0
            && s < *head
        {
            *head -= 1;
        }
        let node = &mut program.nodes[n];
        node.stages.remove(s);
        let mut read = |access: &mut Access| {
            if access.slot == slot {
                access.slot = register;
            }
        };
        for stage in &mut node.stages {
            stage.when.iter_mut().for_each(|guard| read(&mut guard.cond));
            sources(stage).for_each(|source| source_reads(source, &mut read));
        }
        for write in &mut node.writes {
            write.when.iter_mut().for_each(|guard| read(&mut guard.cond));
            write.unless.iter_mut().for_each(&mut read);
            source_reads(&mut write.value, &mut read);
        }
    }
}

/// Calls `f` with all accesses of a source.
fn source_reads(source: &mut Variants, f: &mut impl FnMut(&mut Access)) {
    for variant in source {
        variant.any.iter_mut().for_each(|test| {
            if let Test::Is(guard) = test {
                f(&mut guard.cond);
            }
        });
        f(&mut variant.access);
    }
}

/// The slot that a stage copies as a whole, and the one that it fills.
fn copy((s, stage): (usize, &NestStage)) -> Option<(usize, Slot, Slot)> {
    let Work::Nest(nest) = &stage.work else { return None };
    let ([Def::Load(source)], [(to, _)]) = (nest.body.as_slice(), &nest.stores[..]) else { return None };
    let [variant] = &source[..] else { return None };
    let from = &variant.access;
    let is_same = from.offset == to.offset && from.strides == to.strides && variant.any.is_empty();
    (is_same && from.tick == Tick::Now).then_some((s, from.slot, to.slot))
}

/// Makes the writes of a node independent of their order: a write that reads a register written by the node reads a
/// copy instead, which an additional last stage makes.
fn settle(program: &mut NestProgram, node: usize) {
    let mut writes = std::mem::take(&mut program.nodes[node].writes);
    let written: Vec<Slot> = writes.iter().map(|write| write.register).collect();
    let mut copies: BTreeMap<Slot, Slot> = BTreeMap::new();
    let mut settled = |access: &mut Access| {
        if written.len() > 1 && written.contains(&access.slot) {
            access.slot = *copies.entry(access.slot).or_insert_with_key(|register| {
                let data = &program.slots[*register];
                let (name, span) = (Arc::from(format!("{}.before", data.name)), data.span);
                let (ty, home) = (data.ty.clone(), Home::Tick { ahead: program.ahead });
                program.slots.push(SlotData { name, ty, home, span, asserts: None })
            });
        }
    };
    for write in &mut writes {
        write.when.iter_mut().for_each(|guard| settled(&mut guard.cond));
        write.unless.iter_mut().for_each(&mut settled);
        source_reads(&mut write.value, &mut settled);
    }
    let stages = copies.iter().map(|(register, slot)| copied(&program.slots[*slot].ty, *register, *slot));
    program.nodes[node].stages.extend(stages.collect::<Vec<_>>());
    program.nodes[node].writes = writes;
}

/// A stage that copies a slot.
fn copied(ty: &Type, from: Slot, to: Slot) -> NestStage {
    let whole = |slot| Access::whole(slot, Tick::Now, &ty.shape);
    let load = Def::Load(vec![Variant { at: Positions::ALL, any: Vec::new(), access: whole(from) }]);
    let nest = Nest {
        dims: ty.shape.dims().iter().copied().collect(),
        body: [load].into_iter().collect(),
        stores: vec![(whole(to), Val::from_index(0))],
    };
    NestStage { at: Positions::ALL, when: Vec::new(), may_fail: false, work: Work::Nest(nest) }
}

fn sources(stage: &mut NestStage) -> impl Iterator<Item = &mut Variants> {
    let (nest, call) = match &mut stage.work {
        Work::Nest(nest) => (Some(nest), None),
        Work::Call(call) => (None, Some(call)),
    };
    let loads = nest.into_iter().flat_map(|nest| nest.body.iter_mut()).filter_map(Def::source_mut);
    let operands = call
        .into_iter()
        .flat_map(|call| call.start.iter_mut().chain(&mut call.operands))
        .map(|o| &mut o.source);
    loads.chain(operands)
}
