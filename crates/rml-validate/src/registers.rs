//! V7: registers keep the values of delays.

use std::collections::BTreeSet;

use rml_base::EntityId;
use rml_ir::flat::{Rhs, Var};
use rml_ir::{Position, Positions};
use rml_plan::{Lifetime, Reg, Region, Tape, Tick, Write};

use crate::{Checker, Claim};

pub(crate) fn check(checker: &Checker<'_>, found: &mut Vec<String>) {
    let uses = uses(checker);
    let mut claimed = BTreeSet::new();
    for (register, data) in checker.plan.registers.iter_enumerated() {
        let v = checker.witness.registers[register];
        let who = format!("V7: {register}, which is {},", checker.frame.name(v));
        if data.ty != checker.frame.flat.vars[v].ty {
            found.push(format!("V3: {register} is {}, not {}", data.ty, checker.frame.flat.vars[v].ty));
        }
        if !claimed.insert(v) {
            found.push(format!("{who} occurs twice"));
        }
        if let Err(why) = checker.register(v, &data.kind, &uses[register.index()]) {
            found.push(format!("{who} {why}"));
        }
    }
    let flat = checker.frame.flat;
    for equation in &flat.equations {
        if matches!(equation.rhs, Rhs::Fby { window, .. } if !checker.frame.restart(window).edge)
            && !claimed.contains(&equation.lhs)
        {
            found.push(format!("V7: nothing keeps what {} remembers", checker.frame.name(equation.lhs)));
        }
    }
    for (key, state) in &flat.states {
        if !claimed.contains(&flat.equations[state.equation].lhs) {
            found.push(format!("V7: nothing keeps the state \"{key}\""));
        }
    }
}

/// Where a register is read and written.
#[derive(Default)]
struct Uses<'a> {
    /// The region and the position of each read.
    reads: Vec<(usize, Position)>,
    /// Whether a variable reads it that is not its delay, but what that was when the window began.
    held: bool,
    /// The loop, and what it writes.
    in_turn: Vec<(usize, &'a Write)>,
    commits: Vec<&'a Write>,
    /// At how many ticks after those that are done it is written in turn.
    reach: u32,
}

/// The uses of each register.
fn uses<'a>(checker: &Checker<'a>) -> Vec<Uses<'a>> {
    let plan = checker.plan;
    let mut uses: Vec<Uses<'a>> = Vec::with_capacity(plan.registers.len());
    uses.extend(plan.reaches().iter().map(|&reach| Uses { reach, ..Uses::default() }));
    let reads = |tape: Tape, at: Positions| {
        let cases = plan.tapes[tape].cases.iter();
        let cases = cases.filter_map(move |case| Some((case.rule.register()?, case.at.and(at))));
        cases.flat_map(|(register, at): (Reg, Positions)| at.iter().map(move |p| (register, p)))
    };
    for (i, region) in plan.regions.iter().enumerate() {
        for part in region.parts() {
            for (register, p) in reads(part.tape, part.at) {
                let uses = &mut uses[register.index()];
                uses.reads.push((i, p));
                uses.held |=
                    checker.witness.tapes[part.tape] != Claim::Whole(checker.witness.registers[register]);
            }
        }
        region.writes().iter().for_each(|w| uses[w.register.index()].in_turn.push((i, w)));
    }
    plan.commits.iter().for_each(|w| uses[w.register.index()].commits.push(w));
    uses
}

impl Checker<'_> {
    fn register(&self, v: Var, kind: &Lifetime, uses: &Uses<'_>) -> Result<(), String> {
        let frame = self.frame;
        let (next, window, backward) = match frame.rhs(v) {
            Some(Rhs::Fby { next, window, .. }) => (*next, *window, false),
            Some(Rhs::FbyBack { next, window, .. }) => (*next, *window, true),
            Some(Rhs::Post { next, window }) if self.plan.waits => (*next, *window, true),
            Some(Rhs::Param { .. }) => {
                if !uses.in_turn.is_empty() || !uses.commits.is_empty() {
                    return Err("is a parameter that is written".to_owned());
                }
                return self.kind(v, kind, false);
            }
            _ => return Err("is neither a delay nor a parameter".to_owned()),
        };
        let restart = frame.restart(window);
        // After a block nothing is known about what is delayed backward.
        let waits = backward && self.plan.waits;
        self.kind(v, kind, restart.edge || waits)?;
        if !frame.has_clock(v) {
            return Err("is on a clock that is not known".to_owned());
        }
        // What `post` is after the last tick of a window is never known.
        let is_post = matches!(frame.rhs(v), Some(Rhs::Post { .. }));
        let ends: &[Var] = if is_post { &[] } else { &restart.ends };
        // A loop backward comes to the end at the tick before when it has done with a tick.
        let tick = if backward { Tick::Before } else { Tick::Now };
        let place: Positions = frame.place(v).iter().filter(|p| !frame.is_absent(v, *p)).collect();
        let starts_anew = |p: &Position| {
            let at = tick.seen_from(*p).and(frame.possible());
            at.iter().any(|p| frame.boundary(ends, p) != Some(false))
        };
        let changes = place.or(frame.possible().iter().filter(starts_anew).collect());
        if let Some((region, _)) = uses.in_turn.first() {
            if backward && !restart.edge && !waits {
                return Err("is written in turn, but restarts elsewhere".to_owned());
            }
            self.turns(*region, backward, uses)?;
            let writes: Vec<&Write> = uses.in_turn.iter().map(|(_, w)| *w).collect();
            return self.writes(&writes, v, (next, uses.reach), (ends, tick), changes);
        }
        let is_read = !uses.reads.is_empty();
        if restart.edge && !is_read && uses.commits.is_empty() {
            return Ok(());
        }
        if backward || restart.edge {
            return Err("outlives the window".to_owned());
        }
        // What is written after all regions is read before it: that is right where there is one read in a window, or
        // none.
        let required = if frame.is_steady(v) {
            if uses.reads.iter().any(|(_, p)| !p.is_start() && frame.possible().contains(*p)) {
                return Err("is read after the first tick".to_owned());
            }
            place.and(Positions::ENDS)
        } else if frame.is_once(v) || !is_read {
            changes
        } else {
            return Err("is not written in turn".to_owned());
        };
        // What is committed is done.
        self.writes(&uses.commits, v, (next, 0), (ends, tick), required)
    }

    /// Whether a register survives as its delay does.
    fn kind(&self, v: Var, kind: &Lifetime, restarts: bool) -> Result<(), String> {
        let expected = match self.frame.state(v) {
            _ if restarts => Lifetime::Local,
            Some((key, parameter)) => Lifetime::State { key, parameter },
            None => Lifetime::Hidden,
        };
        if *kind == expected { Ok(()) } else { Err(format!("is {kind:?}, not {expected:?}")) }
    }

    /// Whether a register is read and written in one loop, the right way.
    fn turns(&self, region: usize, backward: bool, uses: &Uses<'_>) -> Result<(), String> {
        let one =
            uses.in_turn.iter().all(|(i, _)| *i == region) && uses.reads.iter().all(|(i, _)| *i == region);
        let way = matches!(self.plan.regions[region], Region::Loop { backward: b, .. } if b == backward);
        if one && way && uses.commits.is_empty() && !uses.held {
            Ok(())
        } else {
            Err("is not read and written in turn, in the order of its ticks".to_owned())
        }
    }

    /// Whether writes leave what a delay remembers: the last one is that of its last tick. What is written in turn is
    /// written at each of its ticks, and continues as far as it is read, to that many ticks after those that are done.
    fn writes(
        &self,
        writes: &[&Write],
        v: Var,
        (next, filled): (Var, u32),
        (ends, tick): (&[Var], Tick),
        required: Positions,
    ) -> Result<(), String> {
        for p in self.frame.possible().iter() {
            let mut here = writes.iter().filter(|w| w.at.contains(p));
            let (first, second) = (here.next(), here.next());
            let write = match (first, second) {
                (Some(write), None) => write,
                (None, None) if !required.contains(p) => continue,
                _ => return Err(format!("is not written once at {p}")),
            };
            if !self.is_present(&write.when, v, (p, filled)) {
                return Err(format!("is written under other guards than its clock at {p}"));
            }
            let has_ends = !tick.seen_from(p).and(self.frame.possible()).is_empty();
            let are_ends = if has_ends {
                self.are_ends_at(&write.unless, ends, tick, (p, filled))
            } else {
                write.unless.is_empty()
            };
            if !are_ends {
                return Err(format!("starts again elsewhere than its windows at {p}"));
            }
            if self.frame.is_absent(v, p) {
                continue;
            }
            if !self.is(write.value, next, (p, filled)) {
                return Err(format!("gets another value at {p}: {:?}", write.value));
            }
        }
        Ok(())
    }
}
