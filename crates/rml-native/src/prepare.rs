//! Programs of nests, made simple for printing.

use rml_ir::Value;
use rml_nest::{Access, Def, Ends, Home, Node, Order, Positions, Program, Source, Stage, Test, Tick, Work};
use rml_plan::{Plan, Start};

/// Why a program is left to the embedded executor; none if it is printed.
pub(crate) fn refusal(program: &Program) -> Option<&'static str> {
    let writes = || program.nodes.iter().flat_map(|node| &node.writes);
    let is_register = |access: &Access| matches!(program.slots[access.slot].home, Home::Register { .. });
    let reads_register = |source: &Source| source.iter().any(|variant| is_register(&variant.access));
    if program.waits {
        Some("its blocks wait for values")
    } else if program.ahead > 0 {
        Some("it looks at ticks that are ahead")
    } else if matches!(program.ends, Ends::Found { .. }) {
        Some("it finds the ends of its windows itself")
    } else if program.nodes.iter().any(|node| !node.by.is_empty()) {
        Some("a loop runs over sequences")
    } else if writes().any(|write| reads_register(&write.value)) {
        Some("a register is written from another one at each tick")
    } else {
        None
    }
}

/// For each register: its value while it is not set, if all readers see the same constant.
pub(crate) fn starts(plan: &Plan) -> Vec<Option<Value>> {
    plan.starts()
        .iter()
        .map(|start| if let Start::Const(_) = start { start.value(plan).cloned() } else { None })
        .collect()
}

/// The same program where registers that start with a constant are always set, and where stages over all ticks read
/// what their node fills at the same tick.
pub(crate) fn simplified(mut program: Program, starts: &[Option<Value>]) -> Program {
    let registers: Vec<_> = program.registers().collect();
    let is_held = |test: &Test| match test {
        Test::IsSet(slot) => {
            registers.iter().position(|own| own == slot).is_some_and(|r| starts[r].is_some())
        }
        Test::Is(_) => false,
    };
    let certain = |source: &mut Source| {
        source.iter_mut().filter(|v| v.any.iter().any(is_held)).for_each(|variant| variant.any.clear());
        // What follows a variant without conditions applies nowhere.
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
    program.nodes = std::mem::take(&mut program.nodes).into_iter().flat_map(parted).collect();
    program
}

fn sources(stage: &mut Stage) -> impl Iterator<Item = &mut Source> {
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

/// A node over all ticks as several, in each of which stages read each other at the same tick alone.
fn parted(node: Node) -> Vec<Node> {
    if node.order != Order::Over {
        return vec![node];
    }
    let mut nodes: Vec<Node> = Vec::new();
    for stage in node.stages {
        let reads_elsewhere = |own: &Node| {
            let fills =
                |access: &Access| own.stages.iter().any(|s| s.fills().any(|slot| slot == access.slot));
            stage.reads().iter().any(|(_, access)| access.tick != Tick::Now && fills(access))
        };
        match nodes.last_mut().filter(|own| !reads_elsewhere(own)) {
            Some(own) => own.stages.push(stage),
            None => nodes.push(Node {
                order: Order::Over,
                by: Vec::new(),
                stages: vec![stage],
                writes: Vec::new(),
            }),
        }
    }
    nodes
}
