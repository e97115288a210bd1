//! The flat form with its clocks and facts as text, for people: `rml dump --after analyse`.
//!
//! ```text
//! segments seg0 end v1                    `end`: a segment ends where v1 is true
//! recurrence rec0 forward in seg0: eq3 eq5
//! slow eq9 in seg0  "kernel"              a state that ticks once a segment
//! v4 = fby k0 v3 in w0  # eq3 h           the equation as in the flat form, its id and name, and then
//!     base, rec0, not first, constant     its clock, recurrence, where it is evaluated, whether constant over a segment
//! ```

use std::fmt::{self, Write};

use rml_ir::flat::{self, Eq, Flat, Var};

use super::{Facts, Place};
use crate::causality::Direction;
use crate::clocks::{ClockData, ClockId, Clocks};
use crate::conditions::Literal;

/// The program, its clocks and facts as text.
pub fn print(flat: &Flat, clocks: &Clocks, facts: &Facts) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write_facts(&mut out, flat, clocks, facts);
    out
}

fn write_facts(out: &mut String, flat: &Flat, clocks: &Clocks, facts: &Facts) -> fmt::Result {
    let mut equations = flat.equations.iter_enumerated();
    for line in flat::print(flat).lines() {
        let is_equation = line.contains("  # eq");
        if is_equation && equations.len() == flat.equations.len() {
            write_tables(out, flat, clocks, facts)?;
        }
        writeln!(out, "{}", shortened(line))?;
        if is_equation && let Some((eq, equation)) = equations.next() {
            writeln!(out, "    {}", remarks(clocks, facts, eq, equation.lhs))?;
        }
    }
    Ok(())
}

/// A line without the elements of a large constant.
fn shortened(line: &str) -> String {
    const LONG: usize = 100;
    match (line.split_once(" = ["), line.rsplit_once("] as ")) {
        (Some((head, _)), Some((_, source))) if line.len() > LONG && line.starts_with("const ") => {
            format!("{head} = [..] as {source}")
        }
        (Some((head, _)), None) if line.len() > LONG && line.starts_with("const ") => {
            format!("{head} = [..]")
        }
        _ => line.to_owned(),
    }
}

fn literal(l: &Literal) -> String {
    format!("{}{}", if l.value { "" } else { "not " }, l.cond)
}

fn write_tables(out: &mut String, flat: &Flat, clocks: &Clocks, facts: &Facts) -> fmt::Result {
    for (id, data) in clocks.clocks.iter_enumerated() {
        match data {
            ClockData::Base => writeln!(out, "clock {id} base")?,
            ClockData::On { parent, cond, positive } => {
                let not = if *positive { "" } else { "not " };
                writeln!(out, "clock {id} {parent} when {not}{cond}")?;
            }
            ClockData::Unknown => writeln!(out, "clock {id} unknown")?,
        }
    }
    for (id, data) in facts.segments.iter_enumerated() {
        let word = if data.cut.all { " and " } else { " or " };
        let ends: Vec<String> = data.cut.ends.iter().map(literal).collect();
        let windows: Vec<String> = data.windows.iter().map(ToString::to_string).collect();
        let origin = if windows.is_empty() {
            "cuts a recurrence".to_owned()
        } else {
            format!("every {}", windows.join(" "))
        };
        let parent = data.parent.map(|p| format!(" in {p}")).unwrap_or_default();
        writeln!(out, "segments {id} end {}{parent}  # `{}`, {origin}", ends.join(word), data.cut.name)?;
    }
    for (id, rec) in facts.recurrences.iter_enumerated() {
        let direction = match rec.direction {
            Direction::Forward => "forward",
            Direction::Backward => "backward",
            Direction::Mixed => "forward with looks ahead",
            Direction::Unknown => "in an order that is not known",
        };
        let within = rec.segments.map(|s| format!(" in {s}")).unwrap_or_default();
        let members: Vec<String> = rec.equations.iter().map(ToString::to_string).collect();
        writeln!(out, "recurrence {id} {direction}{within}: {}", members.join(" "))?;
    }
    for (eq, segments) in &facts.slow {
        let key = flat.states.iter().find(|(_, s)| s.equation == *eq);
        let parameter = key.is_some_and(|(_, s)| s.parameter);
        let kind = if parameter { "parameter" } else { "state" };
        writeln!(out, "slow {eq} in {segments}  # {kind} {:?}", key.map_or("", |(k, _)| k))?;
    }
    Ok(())
}

fn remarks(clocks: &Clocks, facts: &Facts, eq: Eq, lhs: Var) -> String {
    let of = &facts.equations[eq];
    let mut words = vec![clock(clocks, clocks.of[lhs])];
    words.push(of.recurrence.map_or_else(|| "outside recurrences".to_owned(), |r| r.to_string()));
    let place = match of.place {
        Place::All => None,
        Place::First => Some("first"),
        Place::Last => Some("last"),
        Place::NotFirst => Some("not first"),
        Place::NotLast => Some("not last"),
        Place::Middle => Some("middle"),
        Place::Ends => Some("first and last"),
        Place::Never => Some("never"),
    };
    words.extend(place.map(str::to_owned));
    if of.constant {
        words.push("constant".to_owned());
    }
    if let Some(values) = &of.control {
        words.extend(control(values));
    }
    words.join(", ")
}

fn clock(clocks: &Clocks, id: ClockId) -> String {
    match clocks.clocks[id] {
        ClockData::Base => "base".to_owned(),
        ClockData::On { .. } | ClockData::Unknown => id.to_string(),
    }
}

/// What a condition is in the middle of a segment, at the first tick and in the last cycle.
fn control(values: &[Option<bool>; 4]) -> Option<String> {
    let all = |wanted: &[usize]| {
        let first = values[wanted[0]]?;
        wanted.iter().all(|p| values[*p].is_none_or(|v| v == first)).then_some(first)
    };
    let known: Vec<bool> = values.iter().flatten().copied().collect();
    if known.len() == 4 && known.iter().all(|v| *v == known[0]) {
        return Some(format!("always {}", known[0]));
    }
    let mut parts = Vec::new();
    for (name, positions) in [("middle", &[0][..]), ("first", &[1, 3]), ("last", &[2, 3])] {
        if let Some(v) = all(positions) {
            parts.push(format!("{name} {v}"));
        }
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}
