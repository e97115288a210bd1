//! Moves an element-wise tape that only one loop reads into that loop. It then needs space for one tick, and is read
//! while still in cache.

use rml_plan::{Atom, Case, Part, Plan, Region, Rule, Tick};

use super::super::views::is_pointwise;

/// Below that many elements, all ticks at once are quicker.
const WIDE: usize = 64;

/// Who reads a tape.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Reader {
    Nobody,
    /// That region, at the same tick.
    Region(usize),
    Several,
}

/// Who reads each tape.
struct Readers(Vec<Reader>);

impl Readers {
    fn read(&mut self, atom: Atom, by: Option<usize>) {
        if let Atom::Tape(tape, tick) = atom {
            let reader = &mut self.0[tape.0 as usize];
            *reader = match (*reader, by) {
                (Reader::Nobody, Some(region)) if tick == Tick::Now => Reader::Region(region),
                (Reader::Region(one), Some(region)) if tick == Tick::Now && one == region => *reader,
                _ => Reader::Several,
            };
        }
    }
}

/// The regions with parts moved into the loops that read them.
pub(super) fn sink(plan: &Plan) -> Vec<Region> {
    let mut readers = Readers(vec![Reader::Nobody; plan.tapes.len()]);
    for output in &plan.outputs {
        for (_, when, value) in &output.cases {
            when.iter().map(|g| g.cond).chain([*value]).for_each(|a| readers.read(a, None));
        }
    }
    plan.ends.found().iter().for_each(|g| readers.read(g.cond, None));
    let writes = plan.regions.iter().filter_map(|r| match r {
        Region::Loop { writes, .. } => Some(writes),
        Region::Over(_) => None,
    });
    for write in writes.flatten().chain(&plan.commits) {
        let conds = write.when.iter().map(|g| g.cond).chain(write.unless.iter().copied());
        conds.chain([write.value]).for_each(|a| readers.read(a, None));
    }
    let steady = steady(plan);
    let mut front: Vec<Vec<Part>> = vec![Vec::new(); plan.regions.len()];
    let mut regions = plan.regions.clone();
    for (i, region) in regions.iter_mut().enumerate().rev() {
        let is_loop = matches!(region, Region::Loop { .. });
        let mut kept = Vec::new();
        for part in region.parts().iter().rev() {
            let data = &plan.tapes[part.tape];
            let to = match (&data.cases[..], readers.0[part.tape.0 as usize]) {
                ([Case { when, rule: Rule::Apply { op, .. }, .. }], Reader::Region(to))
                    if !is_loop
                        && !steady[part.tape.0 as usize]
                        && when.is_empty()
                        && is_pointwise(op)
                        && data.ty.is_num() =>
                {
                    (data.ty.shape.len() >= WIDE && matches!(plan.regions[to], Region::Loop { .. }))
                        .then_some(to)
                }
                _ => None,
            };
            for case in &data.cases {
                let terms = if let Rule::Sum { terms, .. } = &case.rule { &terms[..] } else { &[] };
                terms.iter().flat_map(rml_plan::Term::reads).for_each(|a| readers.read(a, None));
                let conds = case.when.iter().map(|g| g.cond);
                conds.chain(case.rule.operands()).for_each(|a| readers.read(a, Some(to.unwrap_or(i))));
            }
            match to {
                Some(to) => front[to].push(*part),
                None => kept.push(*part),
            }
        }
        kept.reverse();
        match region {
            Region::Over(parts) | Region::Loop { parts, .. } => *parts = kept,
        }
    }
    for (region, mut moved) in regions.iter_mut().zip(front) {
        if let Region::Loop { parts, .. } = region {
            moved.reverse();
            parts.splice(0..0, moved);
        }
    }
    regions
}

/// Tapes whose value is the same at all ticks.
fn steady(plan: &Plan) -> Vec<bool> {
    let mut steady = vec![false; plan.tapes.len()];
    for part in plan.regions.iter().flat_map(Region::parts) {
        let is = |atom: Atom| match atom {
            Atom::Const(_) | Atom::Tape(_, Tick::First | Tick::Last) => true,
            Atom::Tape(tape, _) => steady[tape.0 as usize],
        };
        if let [Case { rule: Rule::Apply { args, .. }, .. }] = &plan.tapes[part.tape].cases[..] {
            steady[part.tape.0 as usize] = args.iter().all(|a| is(*a));
        }
    }
    steady
}
