//! A plan to which tapes are added.

use std::collections::{BTreeMap, BTreeSet};

use rml_base::IndexVec;
use rml_ir::flat::Var;
use rml_ir::op::Op;
use rml_plan::{Atom, Case, Part, Plan, Positions, Reader, Region, Rule, Tape, TapeData, Tick};
use rml_validate::{AxisRange, Claim, Witness};

/// Who reads a tape.
#[derive(Clone, Default)]
pub(super) struct Readers {
    /// The tapes whose rules read it, as often as they do.
    pub(super) tapes: Vec<Tape>,
    /// Whether anything else does: a guard, a sum, an output or a register.
    pub(super) others: bool,
}

/// A plan to which tapes are added, before its regions and in them.
pub(super) struct Edit {
    pub(super) plan: Plan,
    pub(super) witness: Witness,
    /// The region that fills each tape, if it is the only one.
    region: IndexVec<Tape, Option<usize>>,
    pub(super) readers: IndexVec<Tape, Readers>,
    /// Tapes to fill over all ticks, before and after each region.
    before: Vec<Vec<Part>>,
    behind: Vec<Vec<Part>>,
    /// Tapes to fill in a region, before a tape of that region.
    within: BTreeMap<Tape, Vec<Part>>,
    cuts: BTreeMap<(Tape, Positions, AxisRange), Tape>,
}

impl Edit {
    pub(super) fn new(plan: Plan, witness: Witness) -> Self {
        let mut region = IndexVec::filled(None, plan.tapes.len());
        for (i, parts) in plan.regions.iter().map(Region::parts).enumerate() {
            for part in parts {
                let is_all = plan.tapes[part.tape].place().is_within(part.at);
                region[part.tape] = is_all.then_some(i);
            }
        }
        let mut readers: IndexVec<Tape, Readers> = IndexVec::filled(Readers::default(), plan.tapes.len());
        for read in plan.reads() {
            let Atom::Tape(tape, _) = read.atom else { continue };
            match read.by {
                Reader::Rule(by) => readers[tape].tapes.push(by),
                _ => readers[tape].others = true,
            }
        }
        let none = vec![Vec::new(); plan.regions.len()];
        Self {
            region,
            readers,
            before: none.clone(),
            behind: none,
            within: BTreeMap::new(),
            cuts: BTreeMap::new(),
            plan,
            witness,
        }
    }

    /// The region that fills a tape, if it is the only one.
    pub(super) fn region(&self, tape: Tape) -> Option<usize> {
        self.region[tape]
    }

    /// The parts of a loop; none of any other region.
    pub(super) fn looped(&self, region: usize) -> Option<Vec<Part>> {
        match &self.plan.regions[region] {
            Region::Loop { parts, .. } => Some(parts.clone()),
            Region::Over(_) => None,
        }
    }

    /// Whether an operand is available before a region is run.
    pub(super) fn is_before(&self, atom: Atom, region: usize) -> bool {
        match atom {
            Atom::Const(_) => true,
            Atom::Tape(tape, _) => self.region[tape].is_some_and(|own| own < region),
        }
    }

    /// Adds a copy of a tape with other cases and another claim.
    pub(super) fn tape(&mut self, like: Tape, claim: Claim, cases: Vec<Case>) -> Tape {
        let data = &self.plan.tapes[like];
        let ty = claim.ty(&data.ty).unwrap_or_else(|| data.ty.clone());
        let data = TapeData { name: None, ty, span: data.span, asserts: None, ahead: data.ahead, cases };
        self.witness.tapes.push(claim);
        self.region.push(None);
        self.readers.push(Readers::default());
        let tape = self.plan.tapes.push(data);
        self.has_read(tape);
        tape
    }

    /// Gives a tape other cases.
    pub(super) fn refill(&mut self, tape: Tape, cases: Vec<Case>) {
        self.plan.tapes[tape].cases = cases;
        self.has_read(tape);
    }

    fn has_read(&mut self, tape: Tape) {
        for atom in self.plan.tapes[tape].cases.iter().flat_map(|case| case.rule.operands()) {
            if let Atom::Tape(of, _) = atom {
                self.readers[of].tapes.push(tape);
            }
        }
    }

    /// The tape that holds these elements of another tape at these positions, if it exists.
    pub(super) fn known(&self, of: Tape, at: Positions, cut: AxisRange) -> Option<Tape> {
        self.cuts.get(&(of, at, cut)).copied()
    }

    /// Records that a tape holds some elements of another tape at some positions.
    pub(super) fn note(&mut self, of: Tape, at: Positions, cut: AxisRange, tape: Tape) {
        self.cuts.insert((of, at, cut), tape);
    }

    fn part(&self, tape: Tape) -> Part {
        Part { tape, at: self.plan.tapes[tape].place() }
    }

    /// Fills a tape over all ticks before a region.
    pub(super) fn fill_before(&mut self, tape: Tape, region: usize) {
        let part = self.part(tape);
        self.before[region].push(part);
    }

    /// Fills a tape before another one, in the same region.
    pub(super) fn fill_within(&mut self, tape: Tape, next: Tape) {
        let part = self.part(tape);
        self.region[tape] = self.region[next];
        self.within.entry(next).or_default().push(part);
    }

    /// Moves tapes out of a loop: they are filled after it, over all ticks, in the same order.
    pub(super) fn fill_behind(&mut self, tapes: &BTreeSet<Tape>, region: usize) {
        let Region::Loop { parts, .. } = &mut self.plan.regions[region] else { return };
        self.behind[region].extend(parts.iter().filter(|part| tapes.contains(&part.tape)));
        parts.retain(|part| !tapes.contains(&part.tape));
    }

    /// A tape with some elements of another tape, at the positions that readers at `from` see; and whether it is new.
    pub(super) fn cut(
        &mut self,
        of: (Tape, Var),
        cut: AxisRange,
        tick: Tick,
        from: Positions,
    ) -> (Tape, bool) {
        let (of, v) = of;
        let data = &self.plan.tapes[of];
        let seen = from.iter().fold(Positions::NONE, |all, p| all.or(tick.seen_from(p))).and(data.place());
        if let Some(known) = self.known(of, seen, cut) {
            return (known, false);
        }
        let items = cut.items(data.ty.shape.dims());
        let rule = Rule::Apply { op: Op::Index { items }, args: vec![Atom::Tape(of, Tick::Now)] };
        let mut cases: Vec<Case> = Vec::new();
        for case in data.cases.iter().filter(|case| !case.at.and(seen).is_empty()) {
            let at = case.at.and(seen);
            match cases.iter_mut().find(|known| known.when == case.when) {
                Some(known) => known.at = known.at.or(at),
                None => cases.push(Case { at, when: case.when.clone(), rule: rule.clone() }),
            }
        }
        let tape = self.tape(of, Claim::Part(v, cut), cases);
        self.note(of, seen, cut, tape);
        (tape, true)
    }

    /// The plan as it is now.
    pub(super) fn done(self) -> (Plan, Witness) {
        let Self { mut plan, witness, before, behind, mut within, .. } = self;
        let mut regions = Vec::new();
        for ((mut region, before), behind) in plan.regions.drain(..).zip(before).zip(behind) {
            let parts = region.parts_mut();
            let more = |part: Part| within.remove(&part.tape).unwrap_or_default().into_iter().chain([part]);
            *parts = parts.drain(..).flat_map(more).collect();
            regions.extend([Region::Over(before), region, Region::Over(behind)]);
        }
        regions.retain(|region| !region.parts().is_empty());
        plan.regions = regions;
        (plan, witness)
    }
}
