//! Checks N11: how a program finds the end of a window; and that blocks do not depend on their last tick.

use rml_ir::Position;

use crate::{Ends, Home, NestNode, NestProgram, NestStage, Order, Positions, Tick, Write};

/// Adds every violation.
pub(super) fn check(program: &NestProgram, found: &mut Vec<String>) {
    match &program.ends {
        Ends::Nothing => {}
        Ends::Given(ends) => {
            if ends.iter().any(|end| !matches!(program.slots[end.cond.slot].home, Home::Input)) {
                found.push("N11: what ends a window is no input".to_owned());
            }
        }
        Ends::Found { conds, head } => {
            let Some(NestNode { order: Order::Forward, stages, .. }) = program.nodes.first() else {
                return found.push("N11: the first node is not forward".to_owned());
            };
            let Some(stages) = stages.get(..*head) else {
                return found.push("N11: the first node has not as many stages as find the end".to_owned());
            };
            for stage in stages {
                let sources = stage.sources().into_iter().flatten().map(|variant| variant.at);
                if !sources.chain([stage.at]).all(are_alike) {
                    found.push(format!(
                        "N11: {} is told whether a tick is the last one",
                        name(program, stage)
                    ));
                }
            }
            for end in conds {
                let slot = end.cond.slot;
                let filled = stages.iter().filter(|stage| stage.fills().any(|s| s == slot));
                let at = filled.fold(Positions::NONE, |all, stage| all.or(stage.at));
                let is_known = match program.slots[slot].home {
                    Home::Input | Home::Const(_) => true,
                    Home::Register { .. } => false,
                    Home::Tick { .. } => at == Positions::ALL,
                };
                if !is_known || end.cond.tick != Tick::Now {
                    found.push(format!("N11: {} is not found at each tick", program.slots[slot].name));
                }
            }
        }
    }
    if program.ahead > 0 || program.waits {
        blocks(program, found);
    }
}

/// N11 for programs of which any block of ticks is a window: stages must not distinguish the last tick.
fn blocks(program: &NestProgram, found: &mut Vec<String>) {
    if program.ends != Ends::Nothing {
        found.push("N11: a block that waits or looks ahead has an end".to_owned());
    }
    for node in &program.nodes {
        if program.ahead > 0 && node.order == Order::Backward {
            found.push("N11: a block that looks ahead is run backward".to_owned());
        }
        for stage in &node.stages {
            let sources = stage.sources().into_iter().flatten().map(|variant| variant.at);
            if !sources.chain([stage.at]).all(are_alike) {
                found.push(format!("N11: {} is told whether a tick is the last one", name(program, stage)));
            }
        }
        let told = |write: &Write| !are_alike(write.at);
        if program.waits && node.writes.iter().any(told) {
            found.push("N11: a register is told whether a tick is the last one".to_owned());
        }
    }
}

fn name(program: &NestProgram, stage: &NestStage) -> String {
    stage.fills().next().map_or_else(String::new, |slot| program.slots[slot].name.to_string())
}

/// Whether positions do not distinguish the last tick.
fn are_alike(at: Positions) -> bool {
    let twins = [(Position::First, Position::Only), (Position::Middle, Position::Last)];
    twins.iter().all(|(a, b)| at.contains(*a) == at.contains(*b))
}
