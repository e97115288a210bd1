//! Registers whose new values are not copied at the end of a window. Either the slot that is committed uses the memory
//! of the register while the window runs, or the two exchange their memory at the end.

use rml_base::IndexVec;
use rml_nest::{
    Access, Ends, Home, NestNode, NestProgram, NestStage, Order, Positions, Slot, Tick, Write, dense,
};

use rml_nest::rooms::{filled_when, is_added, last_reads, same, write_reads};

use super::{Layout, Room};

/// For each slot: the register whose memory it uses, if it does. All reads of the register come before the slot is
/// filled, and from then on no operator may fail.
pub(super) fn taken(program: &NestProgram, rooms: &IndexVec<Slot, Room>) -> IndexVec<Slot, Option<Slot>> {
    let mut taken = IndexVec::filled(None, program.slots.len());
    for write in &program.commits {
        let others = program.commits.iter().filter(|other| other.register == write.register).count();
        let filled = only_source(program, write).filter(|slot| rooms[*slot] == Room::One);
        if let Some(slot) = filled.filter(|slot| others == 1 && is_free(program, *slot, write.register)) {
            taken[slot] = Some(write.register);
        }
    }
    for node in &program.nodes {
        for write in &node.writes {
            let filled = whole(program, write).filter(|slot| rooms[*slot] == Room::One);
            if let Some(slot) = filled.filter(|slot| is_kept(program, node, *slot, write)) {
                taken[slot] = Some(write.register);
            }
        }
    }
    taken
}

/// The registers that exchange their memory with the slot that is committed to them. Only the commit reads the slot
/// after the window has run.
pub(super) fn exchanged(program: &NestProgram, layout: &Layout) -> Vec<(Slot, Slot)> {
    if program.ahead > 0 {
        return Vec::new();
    }
    let last = last_reads(program);
    let is_written = |register: Slot| {
        let nodes = program.nodes.iter().flat_map(|node| &node.writes);
        nodes.chain(&program.commits).filter(|write| write.register == register).count() > 1
    };
    let exchanged = |write: &Write| {
        let slot = only_source(program, write)?;
        let is_free = layout.rooms[slot] == Room::One && layout.taken[slot].is_none();
        let reads = last.iter().filter(|access| access.slot == slot).count();
        (is_free && reads == 1 && !is_written(write.register)).then_some((write.register, slot))
    };
    program.commits.iter().filter_map(exchanged).collect()
}

/// Whether a node writes a register from a slot at every tick that fills the slot, and reads the register only before
/// that.
fn is_kept(program: &NestProgram, node: &NestNode, slot: Slot, write: &Write) -> bool {
    let register = write.register;
    let fills = |stage: &&NestStage| stage.fills().any(|own| own == slot);
    let count = node.writes.iter().filter(|other| other.register == register).count();
    let filled = node.stages.iter().filter(fills).fold(Positions::NONE, |at, stage| at.or(stage.at));
    let when = filled_when(node, slot);
    let others = node.writes.iter().filter(|other| other.register != register);
    let is_read = |access: &Access| access.slot == register;
    let is_first = |(s, stage): (usize, &NestStage)| {
        let reads = stage.reads().iter().any(|(_, access)| is_read(access));
        let last = node.stages.iter().rposition(|stage| fills(&stage));
        let fillers = node.stages.iter().position(|stage| fills(&stage));
        !reads
            || fillers.is_some_and(|first| s < first)
            || fills(&stage) && fillers == last && is_added(&stage.work, slot, register)
    };
    count == 1
        && write.unless.is_empty()
        && program.ahead == 0
        && filled.is_within(write.at)
        && when.is_some_and(|when| same(when, &write.when))
        && !others.flat_map(write_reads).any(|access| is_read(&access))
        && !program.commits.iter().any(|other| other.register == register)
        && node.stages.iter().enumerate().all(is_first)
}

/// The slot whose value is committed unchanged in every window; none if there is no such slot.
fn only_source(program: &NestProgram, write: &Write) -> Option<Slot> {
    let is_certain = write.when.is_empty() && write.unless.is_empty();
    // Each window has a first tick and a last one.
    let happens = [Positions::STARTS, Positions::ENDS].iter().any(|edge| edge.is_within(write.at));
    whole(program, write).filter(|_| is_certain && happens)
}

/// The slot whose whole value is written to a register, without a change of order.
fn whole(program: &NestProgram, write: &Write) -> Option<Slot> {
    let [variant] = &write.value[..] else { return None };
    let Access { slot, tick, offset, strides } = &variant.access;
    let shape = &program.slots[write.register].ty.shape;
    let is_whole = *offset == 0 && *strides == dense(shape.dims()) && program.slots[*slot].ty.shape == *shape;
    let is_tick = matches!(program.slots[*slot].home, Home::Tick { ahead: 0 });
    (is_whole && is_tick && variant.any.is_empty() && *tick == Tick::Now).then_some(*slot)
}

/// Whether a slot may use the memory of a register.
fn is_free(program: &NestProgram, slot: Slot, register: Slot) -> bool {
    let fills = |stage: &NestStage| stage.fills().any(|own| own == slot);
    let mut nodes = program.nodes.iter().enumerate().filter(|(_, node)| node.stages.iter().any(fills));
    let (Some((k, node)), None) = (nodes.next(), nodes.next()) else { return false };
    let fails = program.nodes[k..].iter().flat_map(|node| &node.stages).any(|stage| stage.may_fail);
    let is_searched = k == 0 && matches!(program.ends, Ends::Found { .. });
    let is_read = |access: &Access| access.slot == register;
    let written = || program.nodes.iter().flat_map(|node| &node.writes).chain(&program.commits);
    let late = program.nodes[k + 1..].iter().flat_map(|node| &node.stages);
    let mut late = late.flat_map(NestStage::reads).map(|(_, access)| access);
    !fails
        && !is_searched
        && program.ahead == 0
        && !late.any(|access| is_read(&access))
        && !last_reads(program).iter().any(is_read)
        && !written().flat_map(write_reads).any(|access| is_read(&access))
        && is_read_first(node, slot, register)
}

/// Whether the node that fills a slot reads the register before it fills the slot for the first time.
fn is_read_first(node: &NestNode, slot: Slot, register: Slot) -> bool {
    let begin = if node.order == Order::Backward { Positions::ENDS } else { Positions::STARTS };
    let fills = |stage: &NestStage| stage.fills().any(|own| own == slot);
    let Some(filler) = node.stages.iter().position(fills) else { return false };
    // Only the first tick may read the register: later ones would read the new value, and stages over all ticks run in
    // blocks.
    let reads = |stage: &NestStage| stage.reads().into_iter().filter(|(_, access)| access.slot == register);
    node.stages.iter().enumerate().all(|(s, stage)| {
        let mut reads = reads(stage).peekable();
        reads.peek().is_none()
            || s <= filler
                && reads.all(|(at, _)| at.is_within(begin))
                && (!fills(stage) || is_added(&stage.work, slot, register))
    })
}

#[cfg(test)]
mod tests {
    use rml_nest::NestProgram;

    use super::super::Layout;

    /// How many slots use the memory of a register, and how many exchange theirs with a register.
    fn counts(text: &str) -> (usize, usize) {
        let plan = rml_plan::parse(text).expect("a plan");
        assert_eq!(rml_plan::verify(&plan), Ok(()));
        let program: NestProgram = rml_nest::fuse(&rml_nest::lower(&plan));
        let starts = crate::prepare::starts(&plan);
        let program = crate::prepare::simplified(program, &starts);
        let layout = Layout::new(&program, Vec::new(), &starts, 1);
        (layout.taken.iter().filter(|slot| slot.is_some()).count(), layout.exchanged.len())
    }

    /// A parameter that each window updates, and an operator that may fail.
    const UPDATE: &str = "plan \"update\" f32 until end
in end: bool []
in x: num [4]
in i: int []
parameter r0: num [4] \"w\"
const k0: num [4] = fill 0.5
over w: num [4] = r0 or k0
over x: num [4] = in x
over p: num [4] = mul(w, x)
over at first s: num [4] = k0 + sum last to first of mul(p, p)
over at first u: num [4] = r0 or k0
over at first n: num [4] = add(u, s)
over i: int [] = in i
over j: int [] = mul(i, i)
commit r0 at first = n
out j: int [] = j
";

    #[test]
    fn values_that_a_failure_discards_exchange_their_memory_at_the_end() {
        assert_eq!(counts(UPDATE), (0, 1));
        // Nothing fails: the new value is computed in the memory of the old one.
        let safe = UPDATE.replace("over j: int [] = mul(i, i)\n", "").replace("[] = j", "[] = i");
        assert_eq!(counts(&safe), (1, 0));
        // Another register gets the new value, too.
        let twice = UPDATE.replace("const k0", "parameter r1: num [4] \"v\"\nconst k0");
        let twice = twice.replace("out j", "commit r1 at first = n\nout j");
        assert_eq!(counts(&twice), (0, 0));
    }
}
