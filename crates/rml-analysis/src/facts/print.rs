//! The flat form with its clocks and facts as text: `rml dump --after analyse`.
//!
//! The text is that of the flat form, which can be parsed and run, with the facts as comments. Each division of time,
//! recurrence and slow state has a line before the equations; the facts about a variable are below its equation.
//!
//! ```text
//! # segments seg1 end v1 in seg0          a segment ends where v1 is true
//! # recurrence rec0 forward in seg1: eq3 eq5@middle+last
//! # slow eq9 in seg1 at first if v7       a state that changes at most once a segment, at its first tick, and only if v7 is true
//! v4 = fby k0 v3 in w0  # eq3 h           the equation, its id and name
//!     # ck0                               its clock
//!     # seg1: rec0; at middle+last; true at middle; is v3 at first; constant; before; within
//! ```
//!
//! - `rec0`, `rec0@middle+last`: the recurrence to which the variable belongs. A variable without one can be computed
//!   for all ticks of a segment at once.
//! - `at first`: the positions at which it may be present, if not everywhere.
//! - `true at last`: the value of a condition, by position.
//! - `is v3 at first`, `is k0`, `is v3 at last (middle)`: the value to which it is equal, and the positions if this is
//!   not true everywhere.
//! - `constant`: its value is the same at all ticks of a segment.
//! - `before`, `before at first`: its value is known before the segment begins. `not within`: its value is not known
//!   when the segment has ended; `within at first`: only the value at the first tick is known then.

use std::fmt::{self, Write};

use rml_ir::flat::{self, Eq, Flat, Var};

use super::{Facts, Hold, MemberOrder, Position, Positions, Segments, VarFacts};
use crate::clocks::{ClockData, Clocks};
use crate::conditions::Guard;

/// The program, its clocks and facts as text. [`flat::parse`] reads the program back.
pub fn print(flat: &Flat, clocks: &Clocks, facts: &Facts) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_facts(&mut out, flat, clocks, facts);
    out
}

fn write_facts(out: &mut String, flat: &Flat, clocks: &Clocks, facts: &Facts) -> fmt::Result {
    let mut recurrences: Vec<Vec<(Segments, String)>> = vec![Vec::new(); flat.equations.len()];
    for (id, rec) in facts.recurrences.iter_enumerated() {
        for (eq, at) in &rec.members {
            let place = facts.tables[rec.segments][flat.equations[*eq].lhs].place;
            recurrences[eq.0 as usize].push((rec.segments, member(id.to_string(), *at, place)));
        }
    }
    let text = flat::print(flat);
    let mut equations = flat.equations.iter_enumerated();
    for line in text.lines() {
        let is_equation = equations.len() > 0 && line.contains("  # eq") && line.starts_with('v');
        if is_equation && equations.len() == flat.equations.len() {
            write_tables(out, flat, clocks, facts)?;
        }
        writeln!(out, "{line}")?;
        if is_equation && let Some((eq, equation)) = equations.next() {
            writeln!(out, "    # {}", clocks.of[equation.lhs])?;
            write_remarks(out, facts, equation.lhs, &recurrences[eq.0 as usize])?;
        }
    }
    Ok(())
}

fn guard(l: &Guard) -> String {
    format!("{}{}", if l.value { "" } else { "not " }, l.cond)
}

fn member(name: String, at: Positions, place: Positions) -> String {
    if at == place { name } else { format!("{name}@{at}") }
}

fn write_tables(out: &mut String, flat: &Flat, clocks: &Clocks, facts: &Facts) -> fmt::Result {
    for (id, data) in clocks.clocks.iter_enumerated() {
        match data {
            ClockData::Base => writeln!(out, "# clock {id} base")?,
            ClockData::On { parent, cond, positive } => {
                let not = if *positive { "" } else { "not " };
                writeln!(out, "# clock {id} {parent} when {not}{cond}")?;
            }
            ClockData::Unknown => writeln!(out, "# clock {id} unknown")?,
        }
    }
    write_segments(out, facts)?;
    for (id, rec) in facts.recurrences.iter_enumerated() {
        let order = match rec.order {
            MemberOrder::Forward => "forward".to_owned(),
            MemberOrder::Backward => "backward".to_owned(),
            MemberOrder::Mixed => "forward with looks ahead".to_owned(),
            MemberOrder::BySegments(smaller) => format!("by segments of {smaller}"),
            MemberOrder::Unknown => "in an order that is not known".to_owned(),
        };
        let place = |eq: &Eq| facts.tables[rec.segments][flat.equations[*eq].lhs].place;
        let members: Vec<String> =
            rec.members.iter().map(|(eq, at)| member(eq.to_string(), *at, place(eq))).collect();
        writeln!(out, "# recurrence {id} {order} in {}: {}", rec.segments, members.join(" "))?;
    }
    for slow in &facts.slow {
        let key = flat.states.iter().find(|(_, s)| s.equation == slow.equation);
        let kind = if key.is_some_and(|(_, s)| s.parameter) { "parameter" } else { "state" };
        let guards: Vec<String> = slow.guards.iter().map(guard).collect();
        let guards = if guards.is_empty() { String::new() } else { format!(" if {}", guards.join(" and ")) };
        let place = if slow.place == Positions::ALL { String::new() } else { format!(" at {}", slow.place) };
        let name = key.map_or("", |(k, _)| k);
        writeln!(out, "# slow {} in {}{place}{guards}  # {kind} {name:?}", slow.equation, slow.segments)?;
    }
    Ok(())
}

fn write_segments(out: &mut String, facts: &Facts) -> fmt::Result {
    for (id, data) in facts.segments.iter_enumerated() {
        if id == Segments::TRACE {
            writeln!(out, "# segments {id}  # the trace")?;
            continue;
        }
        let word = if data.cut.all { " and " } else { " or " };
        let ends: Vec<String> = data.cut.ends.iter().map(guard).collect();
        let windows: Vec<String> = data.windows.iter().map(ToString::to_string).collect();
        let origin = if windows.is_empty() {
            "cuts a recurrence".to_owned()
        } else {
            format!("every {}", windows.join(" "))
        };
        let parent = data.parent.map(|p| format!(" in {p}")).unwrap_or_default();
        let (ends, name) = (ends.join(word), &data.cut.name);
        writeln!(out, "# segments {id} on {} end {ends}{parent}  # `{name}`, {origin}", data.clock)?;
    }
    Ok(())
}

fn write_remarks(out: &mut String, facts: &Facts, v: Var, recurrences: &[(Segments, String)]) -> fmt::Result {
    for id in facts.segments.ids() {
        let mut words: Vec<String> =
            recurrences.iter().filter(|(s, _)| *s == id).map(|(_, name)| name.clone()).collect();
        words.extend(remarks(v, &facts.tables[id][v], id == Segments::TRACE));
        if !words.is_empty() {
            writeln!(out, "    # {id}: {}", words.join("; "))?;
        }
    }
    Ok(())
}

fn remarks(v: Var, of: &VarFacts, is_trace: bool) -> Vec<String> {
    let mut words = Vec::new();
    let everywhere = if is_trace { Positions::MIDDLE } else { Positions::ALL };
    if of.place.is_empty() {
        return vec!["never".to_owned()];
    }
    if of.place != everywhere {
        words.push(format!("at {}", of.place));
    }
    let select =
        |which: &dyn Fn(Position) -> bool| of.place.iter().filter(|p| which(*p)).collect::<Positions>();
    for value in [false, true] {
        let at = select(&|p| of.truths[p.index()].known() == Some(value));
        words.extend(part(at, of.place, &value.to_string(), " at "));
    }
    words.extend(holds(v, of));
    if of.constant {
        words.push("constant".to_owned());
    }
    words.extend(part(of.before, of.place, "before", " at "));
    if of.within.is_empty() {
        words.push("not within".to_owned());
    } else if of.within != of.place {
        words.push(format!("within at {}", of.within));
    }
    words
}

/// A word for a fact that is true at some positions, or at all of them.
fn part(at: Positions, place: Positions, word: &str, preposition: &str) -> Option<String> {
    match () {
        () if at.is_empty() => None,
        () if at == place => Some(word.to_owned()),
        () => Some(format!("{word}{preposition}{at}")),
    }
}

/// The values at other ticks to which a variable is equal, each source with the positions.
fn holds(own: Var, of: &VarFacts) -> Vec<String> {
    let mut sources: Vec<(String, Positions)> = Vec::new();
    for p in of.place.iter() {
        for (hold, edge, at) in [(of.first, "first", p.is_start()), (of.last, "last", p.is_end())] {
            let name = match hold[p.index()] {
                Hold::Const(k) if edge == "first" => format!("is {k}"),
                Hold::At(v) if at && v == own => continue,
                Hold::At(v) if at => format!("is {v}"),
                Hold::At(v) => format!("is {v} at {edge}"),
                _ => continue,
            };
            match sources.iter_mut().find(|(known, _)| *known == name) {
                Some((_, positions)) => *positions = positions.with(p),
                None => sources.push((name, Positions::NONE.with(p))),
            }
        }
    }
    let told = |(name, at): (String, Positions)| if at == of.place { name } else { format!("{name} ({at})") };
    sources.into_iter().map(told).collect()
}
