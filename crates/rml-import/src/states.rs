//! Which inputs are states: what an output was in the call before.

use crate::StateOption;
use crate::elem::Elem;
use crate::model::Model;
use crate::refuse::{Refusal, Res};

/// What stands in the name of an input where the name of its next value has something else.
const WORDS: &[(&str, &str)] = &[
    ("", "n"),
    ("", "N"),
    ("", "_n"),
    ("", "_next"),
    ("", ".next"),
    ("", "_out"),
    ("", "Out"),
    ("", "_new"),
    ("in", "out"),
    ("In", "Out"),
    ("prev", "next"),
    ("old", "new"),
    ("past", "present"),
    ("0", "n"),
    ("_0", "_n"),
];

/// The most pairs of an input and an output that are looked at.
const PAIRS: usize = 1 << 16;

/// The pairs of an input and the output that it keeps.
///
/// # Errors
/// A flag that names something that the model does not have.
pub(crate) fn pairs(
    model: &Model,
    types: &[(String, Elem, Vec<usize>)],
    option: &StateOption,
) -> Res<Vec<(String, String)>> {
    let outputs = &model.graph.outputs;
    match option {
        StateOption::None => Ok(Vec::new()),
        // Of that many inputs and outputs none is a state that somebody named.
        StateOption::Found if types.len().saturating_mul(outputs.len()) > PAIRS => Ok(Vec::new()),
        StateOption::Found => {
            let found = types.iter().filter_map(|(input, ..)| {
                let next = outputs.iter().find(|output| continues(input, output));
                next.map(|output| (input.clone(), output.clone()))
            });
            let found: Vec<(String, String)> = found.collect();
            // An output that two inputs could keep says nothing.
            let once = |o: &String| found.iter().filter(|(_, other)| other == o).count() == 1;
            let pairs: Vec<_> = found.iter().filter(|(_, o)| once(o)).cloned().collect();
            // A model of which all inputs were states would be given nothing: `in` and `out` are no state.
            Ok(if pairs.len() < types.len() { pairs } else { Vec::new() })
        }
        StateOption::Given(pairs) => {
            for (input, output) in pairs {
                let known = |names: Vec<&str>, name: &str, what: &str| {
                    if names.contains(&name) {
                        return Ok(());
                    }
                    Err(Refusal::new(format!("`--state {input}={output}`: the model has no {what} `{name}`"))
                        .note(format!("it has {}", names.join(", "))))
                };
                known(types.iter().map(|(name, ..)| name.as_str()).collect(), input, "input")?;
                known(outputs.iter().map(String::as_str).collect(), output, "output")?;
            }
            Ok(pairs.clone())
        }
    }
}

/// Whether an output is called as the next value of that input.
pub(crate) fn has_next(model: &Model, input: &str) -> bool {
    let outputs = &model.graph.outputs;
    outputs.len() <= PAIRS / 64 && outputs.iter().any(|output| continues(input, output))
}

/// Whether the name of an output says that it is the next value of an input.
fn continues(input: &str, output: &str) -> bool {
    input != output
        && WORDS.iter().any(|(before, after)| {
            if before.is_empty() {
                return output.strip_prefix(input) == Some(after);
            }
            input.match_indices(before).any(|(at, _)| {
                let (head, tail) = (&input[..at], &input[at + before.len()..]);
                // A word, or the end of the name.
                let ends = |s: &str| s.is_empty() || !s.starts_with(|c: char| c.is_ascii_lowercase());
                ends(tail) && output.strip_prefix(head).and_then(|o| o.strip_prefix(after)) == Some(tail)
            })
        })
}

#[cfg(test)]
mod tests {
    use super::continues;

    #[test]
    fn names_say_what_continues_what() {
        for (input, output) in [
            ("h", "hn"),
            ("state", "stateN"),
            ("h_in", "h_out"),
            ("state", "state.next"),
            ("h0", "hn"),
            ("past_key", "present_key"),
            ("prev_h", "next_h"),
            ("cache_in_0", "cache_out_0"),
        ] {
            assert!(continues(input, output), "{input} {output}");
        }
        for (input, output) in
            [("x", "y"), ("input", "output"), ("h", "h"), ("h", "hidden"), ("inner", "outner")]
        {
            assert!(!continues(input, output), "{input} {output}");
        }
    }
}
