//! Checks N1, N6 and N7: what is filled, and by whom.

use rml_ir::Position;

use super::moving;
use crate::{Access, Guard, Home, Lifetime, NestProgram, NestStage, Positions, Slot, Tick, Work, Write};

/// Adds every violation.
pub(super) fn check(program: &NestProgram, found: &mut Vec<String>) {
    let mut fillers: Vec<Vec<(usize, &NestStage)>> = vec![Vec::new(); program.slots.len()];
    for (n, node) in program.nodes.iter().enumerate() {
        for stage in &node.stages {
            let mut slots: Vec<Slot> = stage.fills().collect();
            slots.sort_unstable();
            slots.dedup();
            slots.into_iter().for_each(|slot| fillers[slot.0 as usize].push((n, stage)));
            frontier(program, stage, found);
        }
    }
    for (slot, data) in program.slots.iter_enumerated() {
        let fillers = &fillers[slot.0 as usize];
        match data.home {
            Home::Tick { .. } => fill(program, slot, fillers, found),
            Home::Register { .. } if !fillers.is_empty() => {
                found.push(format!("N7: {} is a register, but a stage fills it", data.name));
            }
            Home::Register { .. } => {}
            Home::Input | Home::Const(_) if !fillers.is_empty() => {
                found.push(format!("N1: {} is filled, but holds something", data.name));
            }
            Home::Input | Home::Const(_) => {}
        }
    }
    registers(program, found);
}

/// N1 of a slot.
fn fill(program: &NestProgram, slot: Slot, fillers: &[(usize, &NestStage)], found: &mut Vec<String>) {
    let name = &program.slots[slot].name;
    let mut seen: Vec<Vec<*const NestStage>> = Vec::new();
    for p in Position::ALL {
        let here: Vec<&(usize, &NestStage)> =
            fillers.iter().filter(|(_, stage)| stage.at.contains(p)).collect();
        let key: Vec<*const NestStage> = here.iter().map(|(_, stage)| std::ptr::from_ref(*stage)).collect();
        let Some((node, first)) = here.first().filter(|_| !seen.contains(&key)) else { continue };
        seen.push(key);
        let alike = |when: &[Guard]| when == first.when;
        if here.iter().any(|(n, stage)| n != node || !alike(&stage.when)) {
            found.push(format!("N1: {name} is filled in several ways at {p}"));
        } else if let Err(why) = is_complete(program, slot, here.iter().map(|(_, stage)| *stage)) {
            found.push(format!("N1: {name} at {p}: {why}"));
        }
    }
}

/// Whether stores fill each element once.
fn is_complete<'a>(
    program: &NestProgram,
    slot: Slot,
    stages: impl Iterator<Item = &'a NestStage>,
) -> Result<(), &'static str> {
    let width = program.slots[slot].ty.shape.len();
    let (mut stores, mut calls) = (Vec::new(), 0);
    for stage in stages {
        match &stage.work {
            Work::Call(_) => calls += 1,
            Work::Nest(nest) => {
                for (access, _) in nest.stores.iter().filter(|(access, _)| access.slot == slot) {
                    if access.tick != Tick::Now {
                        return Err("it is filled at another tick");
                    }
                    stores.push((access.offset, moving(nest, access)));
                }
            }
        }
    }
    let points = |dims: &[(usize, isize)]| dims.iter().map(|(n, _)| *n).product::<usize>();
    let total = stores.iter().map(|(_, dims)| points(dims)).sum::<usize>() + calls * width;
    if total != width || calls > 0 && stores.len() + calls > 1 {
        return Err("not each element is filled once");
    }
    if calls > 0 || stores.len() == 1 && is_packed(&stores[0].1) {
        return Ok(());
    }
    // There are as many stores as elements, and no two at the same element: so all are filled.
    let mut filled = vec![false; width];
    for (offset, dims) in stores {
        for n in 0..points(&dims) {
            let (mut rest, mut at) = (n, offset);
            for (len, stride) in dims.iter().rev() {
                at = at.wrapping_add_signed(stride.wrapping_mul((rest % len).cast_signed()));
                rest /= len;
            }
            if std::mem::replace(&mut filled[at], true) {
                return Err("an element is filled twice");
            }
        }
    }
    Ok(())
}

/// Whether the elements of these dimensions are contiguous, in any order of the dimensions.
fn is_packed(dims: &[(usize, isize)]) -> bool {
    let mut dims: Vec<(usize, isize)> = dims.iter().filter(|(n, _)| *n != 1).copied().collect();
    dims.sort_by_key(|(_, stride)| *stride);
    let mut next = 1_usize;
    dims.into_iter().all(|(n, stride)| {
        let is_next = next.cast_signed() == stride;
        next *= n;
        is_next
    })
}

/// N6.
fn frontier(program: &NestProgram, stage: &NestStage, found: &mut Vec<String>) {
    let mut fills = stage.fills();
    let Some(first) = fills.next() else {
        return found.push("N1: a stage fills nothing".to_owned());
    };
    let (ahead, name) = (program.slots[first].ahead(), &program.slots[first].name);
    if ahead > program.ahead {
        found.push(format!("N6: {name} is filled farther than the window goes"));
    }
    for slot in fills {
        if program.slots[slot].ahead() != ahead || program.waits && slot != first {
            found.push(format!(
                "N6: {} is filled with {name}, which goes to other ticks",
                program.slots[slot].name
            ));
        }
    }
    for (at, access) in stage.reads() {
        // The first tick is always finished.
        let ahead = if at.is_within(Positions::STARTS) { 0 } else { ahead };
        if !reaches(program, &access, ahead) {
            found.push(format!("N6: {name} is filled farther than {}", program.slots[access.slot].name));
        }
    }
}

/// Whether an element is available at all finished ticks, and at `ahead` more.
fn reaches(program: &NestProgram, access: &Access, ahead: u32) -> bool {
    let own = match program.slots[access.slot].home {
        Home::Const(_) | Home::Register { .. } => return true,
        Home::Input => program.ahead,
        Home::Tick { ahead } => ahead,
    };
    match access.tick {
        Tick::Now => own >= ahead,
        Tick::Before => own + 1 >= ahead,
        Tick::After => program.ahead == 0 || own > ahead,
        // A block has no edges.
        Tick::First | Tick::Last => program.ahead == 0,
    }
}

/// Everything that a write reads, and at which positions.
pub(super) fn reads(write: &Write) -> impl Iterator<Item = (Positions, Access)> + '_ {
    let conds = write.when.iter().map(|guard| &guard.cond).chain(&write.unless);
    let conds = conds.map(|cond| (write.at, cond.clone()));
    conds.chain(crate::accesses(&write.value).into_iter().map(|(at, access)| (at.and(write.at), access)))
}

/// N7, and N6 of writes.
fn registers(program: &NestProgram, found: &mut Vec<String>) {
    let far = program.reaches();
    let put_out = program.outputs.iter().flat_map(|o| &o.cases).flat_map(|(_, when, source)| {
        let conds = when.iter().map(|guard| guard.cond.clone());
        conds.chain(crate::accesses(source).into_iter().map(|(_, access)| access)).collect::<Vec<_>>()
    });
    let behind: Vec<Access> =
        put_out.chain(program.commits.iter().flat_map(reads).map(|(_, access)| access)).collect();
    for access in &behind {
        if !reaches(program, access, 0) {
            found.push(format!(
                "N6: {} is put out farther than it is filled",
                program.slots[access.slot].name
            ));
        }
    }
    for register in program.registers() {
        let name = &program.slots[register].name;
        let commits = program.commits.iter().any(|write| write.register == register);
        let writers: Vec<usize> = (0..program.nodes.len())
            .filter(|n| program.nodes[*n].writes.iter().any(|write| write.register == register))
            .collect();
        let is = |access: &Access| access.slot == register;
        let read = |n: usize| {
            let node = &program.nodes[n];
            node.stages.iter().flat_map(NestStage::reads).any(|(_, access)| is(&access))
                || node.writes.iter().flat_map(reads).any(|(_, access)| is(&access))
        };
        let elsewhere = (0..program.nodes.len()).any(|n| !writers.contains(&n) && read(n));
        if writers.len() > 1 || !writers.is_empty() && (commits || elsewhere || behind.iter().any(is)) {
            found.push(format!("N7: {name} is read or written outside of the node that writes it"));
        }
        if matches!(program.slots[register].home, Home::Register { kind: Lifetime::Local, .. }) && commits {
            found.push(format!("N7: {name} does not outlive the window, but is written after it"));
        }
        let written = program.nodes.iter().flat_map(|node| &node.writes).filter(|w| w.register == register);
        if written.flat_map(reads).any(|(_, access)| !reaches(program, &access, far[register])) {
            found.push(format!("N6: {name} is written farther than what it is written with"));
        }
    }
}
