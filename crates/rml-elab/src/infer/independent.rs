//! Selects the errors to report: those that do not follow from others.

use rml_base::codes::elab as codes;

use super::feedback;
use super::flow::{Flow, Taint};
use crate::typed::{Failed, Typed};

/// The errors that do not follow from other errors, or from those that are reported already. Of errors that follow from
/// each other, the first one in the text is chosen.
pub(crate) fn independent(typed: &Typed<'_>, failed: Vec<Failed>) -> Vec<Failed> {
    let flow = Flow::new(typed, &failed);
    let vertex = |f: &Failed| f.expr.and_then(|e| flow.vertex(f.id, e));
    let places = flow.places();
    let mut order: Vec<(usize, Option<usize>, Failed)> = failed
        .into_iter()
        .map(|mut f| {
            feedback::advise(&flow, &places, &mut f);
            let vertex = vertex(&f);
            (vertex.map_or(0, |v| places[v]), vertex, f)
        })
        .collect();
    let place = |f: &Failed| f.diagnostic.span().map(|s| (s.file, s.start));
    order.sort_by_key(|(at, _, f)| (*at, place(f)));
    let mut taint = Taint::of_reported(flow);
    let mut found = Vec::new();
    // A stream in place of a static value is an error whatever the values of statics that are not set.
    let in_error = typed.tree.program.in_error;
    let stands = |f: &Failed| f.diagnostic.code == codes::NOT_STATIC && !in_error;
    for (_, vertex, f) in order {
        match vertex {
            Some(v) if taint.is_tainted(v) && !stands(&f) => continue,
            Some(v) => taint.spread(v),
            None => {}
        }
        found.push(f);
    }
    found
}
