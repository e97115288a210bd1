//! The verifier of the facts: every kind of damage to a table is refused because of the invariant that it breaks.

use rml::{Options, RunFacts, Source};
use rml_analysis::{
    CutData, Facts, Guard, Hold, MemberOrder, Position, Positions, Segments, SegmentsData, SlowState, Truths,
    VarFacts, verify_facts,
};
use rml_ir::flat::{ConstId, Rhs, Var};

/// Programs with windows beside and inside each other, recurrences in each direction, sampled clocks, training, and
/// slow states.
const PROGRAMS: &[&str] = &[
    // A backward sum in windows, a forward sum, a value that is held from the first tick on, and a state that is
    // updated at the ends.
    "node f(x: num []) -> (a, s, h)
       a = x + (0.0 fby back a); s = x + (0.0 fby s); first = true fby false;
       h = merge first (x when first) ((0.0 fby h) when not first);
     node main(x: num [], end: bool [], bp: bool []) -> (a, s, h, k, n)
       a, s, h = f(x) every end; n = 0 fby (n + 1); k = 0.5 fby (if end then (if bp then k + a else k) else k);",
    // Nested windows, and windows side by side.
    "node sum(x: num []) -> (s) s = x + (0.0 fby back s);
     node inner(x: num [], a: bool []) -> (s, t) s = sum(x) every a; t = x + (0.0 fby t);
     node main(x: num [], a: bool [], b: bool [], c: bool []) -> (s, t, u, n)
       s, t = inner(x, a) every b; u = sum(x) every c; n = 0 fby (if a then n + 1 else n);",
    // A condition that cuts a recurrence, and windows on a sampled clock.
    "node seen(x: int []) -> (s) s = x + (0 fby s);
     node main(i: int [], bp: bool [], end: bool []) -> (o, w)
       o = merge bp (i when bp) ((post o) when not bp); w = seen(i when bp) every (end when bp);",
    // Training: gradients run backward, and a parameter changes once per window.
    "node f(x: num []) -> (o: num []) k = param(0.5); o = k * x + 0.5 * (0.0 fby o);
     node main(x: num [], t: num [], end: bool []) -> (o)
       o, bpx, dx = diff_f(x, true, do) every end; do = 0.1 * (t - o);",
    // A recurrence that runs forward as a whole, with look-aheads.
    "node main(x: num []) -> (a) a = (0.0 fby 0.0 fby b) + x; b = (post a) + x;",
    // The same recurrence beside windows, whose boundaries it ignores.
    "node f(x: num []) -> (s) s = x + (0.0 fby back s);
     node main(x: num [], end: bool []) -> (a, s) a = (0.0 fby 0.0 fby b) + x; b = (post a) + x; s = f(x) every end;",
    // A circle within one tick, through branches that exclude each other.
    "node main(x: num [], c: bool []) -> (a) a = if c then x else b; b = if c then a else x;",
];

struct Case {
    run: RunFacts,
    facts: Facts,
}

impl Case {
    /// All cells: the segments, the variable and the position.
    fn cells(&self) -> impl Iterator<Item = (Segments, Var, Position)> {
        let at = |id: Segments| {
            let vars = self.run.flat.vars.ids();
            vars.flat_map(move |v| Position::ALL.into_iter().map(move |p| (id, v, p)))
        };
        self.facts.segments.ids().flat_map(at)
    }

    fn of(&self, id: Segments, v: Var) -> VarFacts {
        self.facts.tables[id][v]
    }

    /// The facts with a changed entry for one variable.
    fn with(&self, id: Segments, v: Var, change: impl FnOnce(&mut VarFacts)) -> Facts {
        let mut facts = self.facts.clone();
        change(&mut facts.tables[id][v]);
        facts
    }

    fn changed(&self, change: impl FnOnce(&mut Facts)) -> Facts {
        let mut facts = self.facts.clone();
        change(&mut facts);
        facts
    }

    /// The facts with the entry of some segments changed, for each entry other than the trace.
    fn each_segments(&self, change: impl Fn(&mut SegmentsData)) -> Vec<Facts> {
        let ids = self.facts.segments.ids().skip(1);
        ids.map(|id| self.changed(|f| change(&mut f.segments[id]))).collect()
    }
}

fn cases() -> Vec<Case> {
    let of = |text: &&str| {
        let options = Options { node: Some("main".to_owned()), ..Options::default() };
        let analysis = rml::analyse(&Source::text("test", *text), &options).unwrap_or_else(|e| panic!("{e}"));
        let run = analysis.run.expect("its clocks fit");
        let facts = run.facts();
        Case { run, facts }
    };
    PROGRAMS.iter().map(of).collect()
}

/// Makes tables that break one invariant.
type Damage = fn(&Case) -> Vec<Facts>;

/// Checks that every damaged table is refused because of the invariant that the damage breaks; there are at least
/// `at_least` of them.
#[track_caller]
fn refused(invariant: &str, at_least: usize, damage: Damage) {
    let mut count = 0;
    for (i, case) in cases().iter().enumerate() {
        assert_eq!(verify_facts(&case.run.flat, &case.run.clocks.clocks, &case.facts), Ok(()), "program {i}");
        for (j, damaged) in damage(case).into_iter().enumerate() {
            let found =
                verify_facts(&case.run.flat, &case.run.clocks.clocks, &damaged).err().unwrap_or_default();
            let named = format!("{invariant}: ");
            assert!(
                found.iter().any(|line| line.starts_with(&named)),
                "program {i}, damage {j} of {invariant} is accepted, or for another reason: {found:?}\n{}",
                rml_analysis::print_facts(&case.run.flat, &case.run.clocks.clocks, &damaged),
            );
            count += 1;
        }
    }
    assert!(count >= at_least, "only {count} tables were damaged");
}

#[test]
fn a1_the_trace_comes_first() {
    refused("A1", 6, |case| vec![case.changed(|f| f.segments[Segments::TRACE].cut.ends = vec![GUARD])]);
}

/// An arbitrary condition.
const GUARD: Guard = Guard { cond: Var(0), value: true };

#[test]
fn a1_every_window_has_its_segments() {
    refused("A1", 5, |case| {
        case.each_segments(|s| s.windows = Vec::new())
            .into_iter()
            .filter(|f| {
                f.segments.iter().zip(case.facts.segments.iter()).any(|(a, b)| a.windows != b.windows)
            })
            .collect()
    });
}

#[test]
fn a1_the_whole_cut_counts() {
    // Changes whether all ends must hold, and each of the ends.
    refused("A1", 5, |case| {
        let mut all = case.each_segments(|s| s.cut.all = !s.cut.all);
        all.extend(case.each_segments(|s| s.cut.ends.truncate(s.cut.ends.len() - 1)));
        all.extend(
            case.each_segments(|s| s.cut.ends.iter_mut().for_each(|l| l.value = !l.value))
                .into_iter()
                .filter(|f| f.segments.iter().any(|s| !s.windows.is_empty())),
        );
        let same = |a: &CutData, b: &CutData| a.all == b.all && a.ends == b.ends;
        // Any other condition may cut a recurrence, too.
        all.retain(|f| {
            f.segments
                .iter()
                .zip(case.facts.segments.iter())
                .any(|(a, b)| !same(&a.cut, &b.cut) && !a.windows.is_empty())
        });
        all
    });
}

#[test]
fn a1_no_two_segments_are_the_same() {
    refused("A1", 5, |case| {
        let ids = case.facts.segments.ids().skip(1);
        ids.map(|id| {
            case.changed(|f| {
                let twin = SegmentsData { windows: Vec::new(), ..f.segments[id].clone() };
                f.segments.push(twin);
                f.tables.push(f.tables[id].clone());
            })
        })
        .collect()
    });
}

#[test]
fn a1_segments_end_where_those_around_them_do() {
    refused("A1", 5, |case| {
        let mut all = case.each_segments(|s| s.parent = None);
        let ids: Vec<Segments> = case.facts.segments.ids().collect();
        for id in &ids[1..] {
            for other in &ids[1..] {
                let ends = |s: Segments| &case.facts.segments[s].cut.ends;
                if !ends(*other).iter().all(|l| ends(*id).contains(l)) || other >= id {
                    all.push(case.changed(|f| f.segments[*id].parent = Some(*other)));
                }
            }
        }
        all
    });
}

#[test]
fn a1_ends_are_on_the_clock_of_the_segments() {
    refused("A1", 2, |case| {
        let clocks = &case.run.clocks.clocks;
        let mut all = Vec::new();
        for (id, data) in case.facts.segments.iter_enumerated().skip(1) {
            for clock in clocks
                .clocks
                .ids()
                .filter(|ck| clocks.samplings(*ck).len() > clocks.samplings(data.clock).len())
            {
                all.push(case.changed(|f| f.segments[id].clock = clock));
            }
        }
        all
    });
}

#[test]
fn a2_recurrences_run_the_way_that_is_said() {
    refused("A2", 10, |case| {
        let mut all = Vec::new();
        for (id, rec) in case.facts.recurrences.iter_enumerated() {
            let wrong: &[MemberOrder] = match rec.order {
                MemberOrder::Forward => &[MemberOrder::Backward],
                MemberOrder::Backward => &[MemberOrder::Forward, MemberOrder::Mixed],
                MemberOrder::Mixed => &[MemberOrder::Forward, MemberOrder::Backward],
                MemberOrder::BySegments(_) => {
                    &[MemberOrder::Forward, MemberOrder::Backward, MemberOrder::Mixed]
                }
                MemberOrder::Unknown => &[],
            };
            all.extend(wrong.iter().map(|d| case.changed(|f| f.recurrences[id].order = *d)));
        }
        all
    });
}

#[test]
fn a2_what_runs_by_segments_needs_no_later_one() {
    refused("A2", 3, |case| {
        let mut all = Vec::new();
        for (id, rec) in case.facts.recurrences.iter_enumerated() {
            let mut claim = |smaller| {
                all.push(case.changed(|f| f.recurrences[id].order = MemberOrder::BySegments(smaller)))
            };
            let looks_ahead_at_any_time = rec.order == MemberOrder::Mixed;
            case.facts.segments.ids().filter(|_| looks_ahead_at_any_time).for_each(&mut claim);
        }
        all
    });
}

#[test]
fn a2_segments_that_a_recurrence_runs_by_are_smaller_ones() {
    refused("A2", 20, |case| {
        let nowhere = Segments(case.facts.segments.len() as u32);
        let mut all = Vec::new();
        for (id, rec) in case.facts.recurrences.iter_enumerated() {
            for smaller in [Segments::TRACE, rec.segments, nowhere] {
                all.push(case.changed(|f| f.recurrences[id].order = MemberOrder::BySegments(smaller)));
            }
        }
        all
    });
}

/// A training loop runs window by window.
#[test]
fn the_order_of_a_training_loop_is_known() {
    let case = &cases()[3];
    let of_trace: Vec<MemberOrder> =
        case.facts.recurrences.iter().filter(|r| r.segments == Segments::TRACE).map(|r| r.order).collect();
    assert!(of_trace.contains(&MemberOrder::BySegments(Segments(1))), "{of_trace:?}");
}

#[test]
fn a3_nothing_needs_itself_within_a_tick() {
    refused("A3", 2, |case| {
        let unknown =
            case.facts.recurrences.iter_enumerated().filter(|(_, r)| r.order == MemberOrder::Unknown);
        let ids: Vec<_> = unknown.map(|(id, _)| id).collect();
        let is_exclusive = case
            .run
            .flat
            .equations
            .iter()
            .all(|e| !matches!(e.rhs, Rhs::Fby { .. } | Rhs::FbyBack { .. } | Rhs::Post { .. }));
        let claims = [MemberOrder::Forward, MemberOrder::Backward];
        let claim = |id| claims.map(|d| case.changed(|f| f.recurrences[id].order = d));
        ids.into_iter().filter(|_| is_exclusive).flat_map(claim).collect()
    });
}

#[test]
fn a4_every_circle_is_a_recurrence() {
    refused("A4", 20, |case| {
        let mut all = Vec::new();
        for (id, rec) in case.facts.recurrences.iter_enumerated() {
            all.push(case.changed(|f| f.recurrences[id].members.clear()));
            for (i, (eq, positions)) in rec.members.iter().enumerate() {
                all.push(case.changed(|f| f.recurrences[id].members.retain(|(m, _)| m != eq)));
                for p in positions.iter() {
                    all.push(case.changed(|f| f.recurrences[id].members[i].1 = positions.without(p)));
                }
            }
        }
        all
    });
}

#[test]
fn a5_variables_are_present_at_their_places_only() {
    refused("A5", 500, |case| {
        let present = case.cells().filter(|(id, v, p)| case.of(*id, *v).place.contains(*p));
        present.map(|(id, v, p)| case.with(id, v, |f| f.place = f.place.without(p))).collect()
    });
}

#[test]
fn a6_constants_stay() {
    refused("A6", 100, |case| {
        let varies = case.cells().filter(|(id, v, p)| *p == Position::Middle && !case.of(*id, *v).constant);
        varies.map(|(id, v, _)| case.with(id, v, |f| f.constant = true)).collect()
    });
}

/// Tables with an additional slow state, or with a changed one.
fn with_slow(case: &Case, slow: SlowState) -> Facts {
    case.changed(|f| {
        f.slow.retain(|s| s.equation != slow.equation);
        f.slow.push(slow);
    })
}

#[test]
fn a7_slow_states_change_once() {
    refused("A7", 10, |case| {
        let is_slow = |eq| case.facts.slow.iter().any(|s| s.equation == eq);
        let states = case.run.flat.states.values().map(|s| s.equation).filter(|eq| !is_slow(*eq));
        let claim = |equation| {
            let places = [Positions::ALL, Positions::ENDS, Positions::STARTS, Positions::NONE];
            let ids: Vec<Segments> = case.facts.segments.ids().skip(1).collect();
            ids.into_iter().flat_map(move |segments| {
                places.map(|place| SlowState { equation, segments, place, guards: Vec::new() })
            })
        };
        let mut all: Vec<Facts> = states.flat_map(claim).map(|slow| with_slow(case, slow)).collect();
        for slow in &case.facts.slow {
            all.push(with_slow(case, SlowState { segments: Segments::TRACE, ..slow.clone() }));
            for p in slow.place.iter() {
                all.push(with_slow(case, SlowState { place: slow.place.without(p), ..slow.clone() }));
            }
        }
        all
    });
}

#[test]
fn a7_guards_hold_where_a_state_changes() {
    refused("A7", 2, |case| {
        let guard = |slow: &SlowState, l: Guard| {
            let mut guards = slow.guards.clone();
            guards.push(l);
            with_slow(case, SlowState { guards, ..slow.clone() })
        };
        let mut all = Vec::new();
        for slow in &case.facts.slow {
            for l in &slow.guards {
                all.push(guard(slow, Guard { value: !l.value, ..*l }));
            }
            // An input that no update reads.
            let ends = || case.facts.segments.iter().flat_map(|s| &s.cut.ends);
            let other = case
                .run
                .flat
                .inputs
                .iter()
                .map(|i| i.var)
                .find(|v| ends().chain(&slow.guards).all(|l| l.cond != *v));
            all.extend(other.map(|cond| guard(slow, Guard { cond, value: true })));
        }
        all
    });
}

#[test]
fn a8_conditions_have_the_values_that_are_said() {
    refused("A8", 200, |case| {
        let mut all = Vec::new();
        for (id, v, p) in case.cells() {
            let known = case.of(id, v).truths[p.index()];
            if case.run.flat.vars[v].ty != rml_ir::Type::condition() || reads_itself(case, v) {
                continue;
            }
            for less in [Truths::NONE, Truths::of(true), Truths::of(false)] {
                if less.is_within(known) && less != known {
                    all.push(case.with(id, v, |f| f.truths[p.index()] = less));
                }
            }
        }
        all
    });
}

fn reads_itself(case: &Case, v: Var) -> bool {
    let mut found = false;
    for equation in case.run.flat.equations.iter().filter(|e| e.lhs == v) {
        equation.rhs.for_each_operand(|x| found |= x == v);
    }
    found
}

#[test]
fn a9_holds_equal_their_sources() {
    refused("A9", 1000, |case| {
        let mut all = Vec::new();
        for (id, v, p) in case.cells().filter(|(_, v, _)| !reads_itself(case, *v)) {
            let (i, other) = (p.index(), Var(u32::from(v == Var(0))));
            for hold in [Hold::Nothing, Hold::Const(ConstId(0)), Hold::At(other)] {
                let of = case.of(id, v);
                if of.first[i] != hold && of.first[i] != Hold::Nothing && !case.run.flat.consts.is_empty() {
                    all.push(case.with(id, v, |f| f.first[i] = hold));
                }
                if of.last[i] != hold && of.last[i] != Hold::Nothing && !case.run.flat.consts.is_empty() {
                    all.push(case.with(id, v, |f| f.last[i] = hold));
                }
            }
        }
        all
    });
}

#[test]
fn a10_what_is_known_before_depends_on_nothing_that_follows() {
    refused("A10", 200, |case| {
        let unknown = case.cells().filter(|(id, v, p)| {
            let of = case.of(*id, *v);
            of.place.contains(*p) && !of.before.contains(*p) && !reads_itself(case, *v)
        });
        unknown.map(|(id, v, p)| case.with(id, v, |f| f.before = f.before.with(p))).collect()
    });
}

#[test]
fn a10_what_is_known_within_depends_on_nothing_behind_the_end() {
    refused("A10", 5, |case| {
        let unknown = case.cells().filter(|(id, v, p)| {
            let of = case.of(*id, *v);
            of.place.contains(*p) && !of.within.contains(*p) && !reads_itself(case, *v)
        });
        unknown.map(|(id, v, p)| case.with(id, v, |f| f.within = f.within.with(p))).collect()
    });
}
