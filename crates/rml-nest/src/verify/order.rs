//! Checks N3 and N10: what is read is available.

use rml_base::IndexVec;
use rml_ir::Position;

use super::Places;
use super::fills::reads;
use crate::{Access, Home, NestNode, NestProgram, NestStage, Order, Positions, Slot, Test, Tick, Variants};

/// Adds every violation.
pub(super) fn check(program: &NestProgram, found: &mut Vec<String>) {
    let mut checker =
        Checker { program, filled: IndexVec::filled(Positions::NONE, program.slots.len()), found };
    for node in &program.nodes {
        checker.node(node);
    }
    for write in &program.commits {
        let name = program.slots[write.register].name.to_string();
        reads(write).for_each(|(at, access)| checker.behind(at, &access, &name));
    }
    for output in &program.outputs {
        for (at, when, source) in &output.cases {
            when.iter().for_each(|guard| checker.behind(*at, &guard.cond, &output.name));
            for (of, access) in crate::accesses(source) {
                checker.behind(at.and(of), &access, &output.name);
            }
        }
    }
}

struct Checker<'a> {
    program: &'a NestProgram,
    /// For each slot, the positions at which the nodes so far fill it.
    filled: Places,
    found: &'a mut Vec<String>,
}

/// For each slot, the stage after which it is complete at each position.
type Complete = IndexVec<Slot, [Option<usize>; 4]>;

impl Checker<'_> {
    fn node(&mut self, node: &NestNode) {
        let mut complete: Complete = IndexVec::filled([None; 4], self.program.slots.len());
        for (i, stage) in node.stages.iter().enumerate() {
            for slot in stage.fills() {
                stage.at.iter().for_each(|p| complete[slot][p.index()] = Some(i));
            }
        }
        for cond in &node.by {
            self.sequences(cond);
        }
        for (i, stage) in node.stages.iter().enumerate() {
            let who = stage
                .fills()
                .next()
                .map_or_else(String::new, |slot| self.program.slots[slot].name.to_string());
            for (at, access) in stage.reads() {
                self.read(at, &access, Some((node, &complete, i)), &who);
            }
            if !node.by.is_empty() {
                self.own_sequence(node, &complete, stage, &who);
            }
        }
        for write in &node.writes {
            let who = self.program.slots[write.register].name.to_string();
            for (at, access) in reads(write) {
                self.read(at, &access, Some((node, &complete, node.stages.len())), &who);
            }
        }
        for (slot, at) in complete.iter_enumerated() {
            let at: Positions = Position::ALL.into_iter().filter(|p| at[p.index()].is_some()).collect();
            self.filled[slot] = self.filled[slot].or(at);
        }
    }

    fn behind(&mut self, at: Positions, access: &Access, who: &str) {
        self.read(at, access, None, who);
    }

    fn read(
        &mut self,
        at: Positions,
        access: &Access,
        inside: Option<(&NestNode, &Complete, usize)>,
        who: &str,
    ) {
        let data = &self.program.slots[access.slot];
        if let Home::Const(_) | Home::Register { .. } = data.home {
            return;
        }
        let name = &data.name;
        let has_edges = self.program.ahead == 0 && !self.program.waits;
        for p in at.iter() {
            if access.tick == Tick::Before && p.is_start() {
                self.found.push(format!("N3: {who} reads {name} before a first tick"));
            }
            if access.tick == Tick::After && p.is_end() && has_edges {
                self.found.push(format!("N3: {who} reads {name} after a last tick"));
            }
            if matches!(data.home, Home::Input) {
                continue;
            }
            let seen = access.tick.seen_from(p);
            let looped = inside.map_or(Positions::NONE, |inside| self.looped(access, p, inside));
            if !seen.is_within(self.filled[access.slot].or(looped)) {
                self.found.push(format!("N3: {who} at {p} reads {name}, which is not there"));
            }
        }
    }

    /// The positions of a slot that its own node has filled when a stage reads it.
    fn looped(
        &self,
        access: &Access,
        p: Position,
        (node, complete, i): (&NestNode, &Complete, usize),
    ) -> Positions {
        let at = complete[access.slot];
        let filled = |before: usize| -> Positions {
            Position::ALL.into_iter().filter(|q| at[q.index()].is_some_and(|stage| stage < before)).collect()
        };
        let (earlier, all) = (filled(i), filled(usize::MAX));
        let seen = access.tick.seen_from(p);
        let is_edge = matches!(access.tick, Tick::First | Tick::Last) && seen == Positions::NONE.with(p);
        let same_tick = access.tick == Tick::Now || is_edge;
        match node.order {
            Order::Over => earlier,
            // Stages of a program that waits may lag behind others.
            Order::Forward if self.program.waits => all,
            Order::Forward | Order::Backward if same_tick => earlier,
            Order::Forward if matches!(access.tick, Tick::Before | Tick::First) => all,
            Order::Backward if matches!(access.tick, Tick::After | Tick::Last) => all,
            Order::Forward | Order::Backward => Positions::NONE,
        }
    }

    /// Checks that a condition that ends sequences is available before the node.
    fn sequences(&mut self, cond: &Access) {
        let data = &self.program.slots[cond.slot];
        let fillers = || self.program.nodes.iter().flat_map(|node| &node.stages);
        let is_known = match data.home {
            Home::Input | Home::Const(_) => true,
            Home::Register { .. } => false,
            Home::Tick { .. } => {
                Positions::BEFORE_END.is_within(self.filled[cond.slot])
                    && fillers()
                        .all(|stage| stage.when.is_empty() || !stage.fills().any(|slot| slot == cond.slot))
            }
        };
        if !is_known || cond.tick != Tick::Now {
            self.found.push(format!("N10: {} ends sequences, but is not known before", data.name));
        }
    }

    /// N10 of a stage.
    fn own_sequence(&mut self, node: &NestNode, complete: &Complete, stage: &NestStage, who: &str) {
        let crosses = |at: Positions, access: &Access| {
            let is_own = complete[access.slot].iter().any(Option::is_some);
            is_own
                && match access.tick {
                    Tick::Now => false,
                    Tick::First => !at.is_within(Positions::STARTS),
                    Tick::Last => !at.is_within(Positions::ENDS),
                    Tick::Before | Tick::After => true,
                }
        };
        let end = if node.order == Order::Backward { Tick::Now } else { Tick::Before };
        let cuts = |test: &Access, any: &[Test]| {
            let cond = Access { tick: end, ..test.clone() };
            any.iter().any(|test| matches!(test, Test::Is(guard) if guard.value && guard.cond == cond))
        };
        let is_cut = |source: &Variants, i: usize, p: Position| {
            source[..i].iter().any(|v| v.at.contains(p) && node.by.iter().all(|cond| cuts(cond, &v.any)))
        };
        let mut bad = stage.when.iter().any(|guard| crosses(stage.at, &guard.cond));
        for source in stage.sources() {
            for (i, variant) in source.iter().enumerate() {
                let at = variant.at.and(stage.at);
                let tests = |test: &Test| matches!(test, Test::Is(guard) if crosses(at, &guard.cond));
                bad |= variant.any.iter().any(tests);
                bad |= crosses(at, &variant.access) && !at.iter().all(|p| is_cut(source, i, p));
            }
        }
        if bad {
            self.found.push(format!("N10: {who} reads another sequence"));
        }
    }
}
