//! Moves an element-wise tape that only one loop reads into that loop. It then needs space for one tick, and is read
//! while still in cache.

use rml_base::IndexVec;
use rml_plan::{Atom, Case, Part, Plan, Region, Rule, Tape, Term, Tick};

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
struct Readers(IndexVec<Tape, Reader>);

impl Readers {
    fn read(&mut self, atom: Atom, by: Option<usize>) {
        if let Atom::Tape(tape, tick) = atom {
            let reader = &mut self.0[tape];
            *reader = match (*reader, by) {
                (Reader::Nobody, Some(region)) if tick == Tick::Now => Reader::Region(region),
                (Reader::Region(one), Some(region)) if tick == Tick::Now && one == region => *reader,
                _ => Reader::Several,
            };
        }
    }
}

/// The regions, with parts moved into the loops that read them. Tapes that are `steady` are computed once and are not
/// moved.
pub(super) fn sink(plan: &Plan, steady: &IndexVec<Tape, bool>) -> Vec<Region> {
    let mut readers = Readers(IndexVec::filled(Reader::Nobody, plan.tapes.len()));
    plan.root_reads().for_each(|read| readers.read(read.atom, None));
    let mut front: Vec<Vec<Part>> = vec![Vec::new(); plan.regions.len()];
    let mut regions = plan.regions.clone();
    for (i, region) in regions.iter_mut().enumerate().rev() {
        let is_loop = matches!(region, Region::Loop { .. });
        let mut kept = Vec::new();
        for part in region.parts().iter().rev() {
            let data = &plan.tapes[part.tape];
            let to = match (&data.cases[..], readers.0[part.tape]) {
                ([Case { when, rule: Rule::Apply { op, .. }, .. }], Reader::Region(to))
                    if !is_loop
                        && !steady[part.tape]
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
                case.rule.terms().iter().flat_map(Term::reads).for_each(|a| readers.read(a, None));
                case.reads().for_each(|a| readers.read(a, Some(to.unwrap_or(i))));
            }
            match to {
                Some(to) => front[to].push(*part),
                None => kept.push(*part),
            }
        }
        kept.reverse();
        *region.parts_mut() = kept;
    }
    for (region, mut moved) in regions.iter_mut().zip(front) {
        if let Region::Loop { parts, .. } = region {
            moved.reverse();
            parts.splice(0..0, moved);
        }
    }
    regions
}
