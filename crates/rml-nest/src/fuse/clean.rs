//! Removes unused values, dimensions, stores, stages and slots.

use rml_base::IndexVec;

use super::graph::Graph;
use crate::{Access, Def, Dim, Ends, Guard, Home, Nest, NestProgram, Slot, Test, Val, Variants, Work, Write};

/// Sorts dimensions by stride, the longest first, so that the innermost loop visits neighbouring elements.
pub(super) fn order(nest: &mut Nest) {
    let far = |dim: Dim| {
        let stride = |access: &Access| access.strides[dim.0 as usize].unsigned_abs();
        let loads = nest.body.iter().filter_map(Def::source).flatten();
        let stores = nest.stores.iter().map(|(access, _)| stride(access));
        stores.chain(loads.map(|variant| stride(&variant.access))).max()
    };
    let mut dims: Vec<Dim> = nest.dims.ids().collect();
    dims.sort_by_key(|dim| std::cmp::Reverse(far(*dim)));
    choose(nest, &dims);
}

/// Removes values that are neither stored nor used by others, and dimensions that nothing depends on.
pub(super) fn nest(nest: &mut Nest) {
    let mut used = IndexVec::<Val, bool>::filled(false, nest.body.len());
    nest.stores.iter().for_each(|(_, val)| used[*val] = true);
    for (val, def) in nest.body.iter_enumerated().rev() {
        if used[val] {
            def.operands().into_iter().for_each(|operand| used[operand] = true);
        }
    }
    let mut moved: IndexVec<Val, Val> = IndexVec::new();
    let mut body: IndexVec<Val, Def> = IndexVec::new();
    for (val, def) in nest.body.iter_enumerated() {
        moved.push(Val(body.len() as u32));
        if used[val] {
            body.push(def.renamed(|val| moved[val]));
        }
    }
    nest.body = body;
    nest.stores.iter_mut().for_each(|(_, val)| *val = moved[*val]);
    dims(nest);
}

/// Removes dimensions that nothing depends on.
fn dims(nest: &mut Nest) {
    let used = |dim: Dim| {
        let moves = |access: &Access| crate::moves(access, dim);
        nest.stores.iter().any(|(access, _)| moves(access))
            || nest.body.iter().any(|def| {
                def.folded() == Some(dim)
                    || def.source().is_some_and(|all| all.iter().any(|v| moves(&v.access)))
            })
    };
    let kept: Vec<Dim> = nest.dims.ids().filter(|dim| used(*dim)).collect();
    choose(nest, &kept);
}

/// Restricts a nest to some dimensions, in that order; nothing depends on the others.
fn choose(nest: &mut Nest, kept: &[Dim]) {
    let strides = |access: &mut Access| {
        access.strides = kept.iter().map(|dim| access.strides[dim.0 as usize]).collect();
    };
    nest.stores.iter_mut().for_each(|(access, _)| strides(access));
    for def in nest.body.iter_mut() {
        def.source_mut().into_iter().flatten().for_each(|variant| strides(&mut variant.access));
        if let Some(dim) = def.folded_mut() {
            let at = kept.iter().position(|other| other == dim).unwrap_or_default();
            *dim = Dim(at as u32);
        }
    }
    nest.dims = kept.iter().map(|dim| nest.dims[*dim]).collect();
}

/// Removes stores to slots that nothing reads, and stages without stores; a stage that may fail stays as it is.
pub(super) fn stages(graph: &mut Graph) {
    loop {
        let uses = graph.uses();
        let fails = |slot: Slot| {
            uses.fillers[slot].iter().any(|id| graph.stages[*id].as_ref().is_some_and(|p| p.stage.may_fail))
        };
        let is_dead = |slot: Slot| uses.readers[slot].is_empty() && !uses.outside[slot] && !fails(slot);
        let dead: Vec<bool> = graph.slots().ids().map(is_dead).collect();
        let mut changed = false;
        for placed in &mut graph.stages {
            let Some(stage) = placed.as_mut().map(|placed| &mut placed.stage) else { continue };
            let is_dead = |slot: Slot| dead[slot.0 as usize];
            let any = stage.fills().any(is_dead);
            let all = stage.fills().all(is_dead);
            changed |= any;
            if all {
                *placed = None;
            } else if any && let Work::Nest(body) = &mut stage.work {
                body.stores.retain(|(access, _)| !is_dead(access.slot));
                nest(body);
            }
        }
        if !changed {
            return;
        }
    }
}

/// Removes slots that nothing fills or reads.
pub(super) fn slots(program: &mut NestProgram) {
    let mut used: IndexVec<Slot, bool> =
        program.slots.iter().map(|slot| matches!(slot.home, Home::Input | Home::Register { .. })).collect();
    each(program, &mut |slot| used[*slot] = true);
    let mut moved: IndexVec<Slot, Slot> = IndexVec::new();
    let mut slots = IndexVec::new();
    for (slot, data) in program.slots.iter_enumerated() {
        moved.push(Slot(slots.len() as u32));
        if used[slot] {
            slots.push(data.clone());
        }
    }
    program.slots = slots;
    each(program, &mut |slot| *slot = moved[*slot]);
}

/// Visits each mention of a slot.
fn each(program: &mut NestProgram, f: &mut dyn FnMut(&mut Slot)) {
    match &mut program.ends {
        Ends::Nothing => {}
        Ends::Given(guards) | Ends::Found { conds: guards, .. } => all(guards, f),
    }
    for node in &mut program.nodes {
        node.by.iter_mut().for_each(|cond| f(&mut cond.slot));
        node.writes.iter_mut().for_each(|write| of_write(write, f));
        for stage in &mut node.stages {
            all(&mut stage.when, f);
            match &mut stage.work {
                Work::Nest(nest) => {
                    nest.body.iter_mut().filter_map(Def::source_mut).for_each(|source| of_source(source, f));
                    nest.stores.iter_mut().for_each(|(access, _)| f(&mut access.slot));
                }
                Work::Call(call) => {
                    let operands = call.start.iter_mut().chain(&mut call.operands);
                    operands.for_each(|operand| of_source(&mut operand.source, f));
                    f(&mut call.out);
                }
            }
        }
    }
    program.commits.iter_mut().for_each(|write| of_write(write, f));
    for (_, when, source) in program.outputs.iter_mut().flat_map(|output| &mut output.cases) {
        all(when, f);
        of_source(source, f);
    }
}

fn all(guards: &mut [Guard], f: &mut dyn FnMut(&mut Slot)) {
    guards.iter_mut().for_each(|guard| f(&mut guard.cond.slot));
}

fn of_source(source: &mut Variants, f: &mut dyn FnMut(&mut Slot)) {
    for variant in source {
        f(&mut variant.access.slot);
        for test in &mut variant.any {
            match test {
                Test::Is(guard) => f(&mut guard.cond.slot),
                Test::IsSet(slot) => f(slot),
            }
        }
    }
}

fn of_write(write: &mut Write, f: &mut dyn FnMut(&mut Slot)) {
    f(&mut write.register);
    all(&mut write.when, f);
    write.unless.iter_mut().for_each(|cond| f(&mut cond.slot));
    of_source(&mut write.value, f);
}
