//! A program that tells where its windows end.

use crate::flat::{Drawn, Var};

/// Makes the ends of the outermost windows outputs, after those that there are. Says where they stand among the
/// outputs, each once.
///
/// Ensures: for every trace, the other outputs and the states are what they were before.
pub fn show_ends(flat: Drawn) -> (Drawn, Vec<usize>) {
    let mut flat = flat.into_inner();
    let ends: Vec<Var> = flat.windows.iter().filter(|w| w.parent.is_none()).map(|w| w.end).collect();
    let mut places = Vec::new();
    for end in ends {
        let place = flat.outputs.iter().position(|output| *output == end).unwrap_or_else(|| {
            flat.outputs.push(end);
            flat.outputs.len() - 1
        });
        if !places.contains(&place) {
            places.push(place);
        }
    }
    (Drawn::made("show_ends", flat), places)
}
