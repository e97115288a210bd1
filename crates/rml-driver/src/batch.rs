//! What a batch of one window hides. A size of 1 fits beside every other size, so a program is also checked for a size
//! that equals no other size of the program, and messages call that size `batch`.

use rml_base::codes::analysis::BATCH_TWICE;
use rml_base::{Diagnostic, Diagnostics, Sources};
use rml_ir::Shape;
use rml_ir::op::Op;
use rml_ir::typed::{ExprId, ExprKind, Module, Node, StaticValue};

use crate::interface::BATCH;
use crate::library::is_library;
use crate::options::Options;

/// A number of stacked windows that is no other size of a program: a prime that nobody writes.
const MANY: u64 = 7919;

/// With a size of a batch, if none is given: the sizes that are printed are those of one window.
pub(crate) fn any_batch(options: &Options) -> Options {
    let mut options = options.clone();
    options.defaults.entry(BATCH.to_owned()).or_insert(StaticValue::Int(1));
    options
}

/// Whether the size of a batch is one that [`any_batch`] chose.
pub(crate) fn is_open(options: &Options) -> bool {
    let is_given = options.batch.is_some() || options.set.contains_key(BATCH);
    !is_given && options.defaults.get(BATCH) == Some(&StaticValue::Int(1))
}

/// The options for many stacked windows.
pub(crate) fn many(options: &Options) -> Options {
    let mut options = options.clone();
    options.set.shift_remove(BATCH);
    options.batch = None;
    options.defaults.insert(BATCH.to_owned(), StaticValue::Int(MANY.cast_signed()));
    options
}

/// Warns of each pointwise operator of a program for many windows whose operands have the windows in dimensions that do
/// not meet because one operand has a dimension less: `o - y` of `[batch, 1]` and `[batch]` is `[batch, batch]`.
pub(crate) fn twice(module: &Module, sources: &Sources) -> Diagnostics {
    let mut found = Diagnostics::new();
    for node in module.nodes.iter().filter(|node| !is_library(sources, node.span)) {
        for expr in node.exprs.iter().filter(|expr| is_twice(&expr.ty.shape)) {
            let ExprKind::Apply { op, args, .. } = &expr.kind else { continue };
            let written: Vec<ExprId> = args.iter().map(|arg| as_written(node, *arg)).collect();
            let shapes: Vec<&Shape> = written.iter().map(|arg| &node.exprs[*arg].ty.shape).collect();
            let Some(longest) = shapes.iter().map(|shape| shape.rank()).max() else { continue };
            let short = written.iter().find(|arg| {
                let shape = &node.exprs[**arg].ty.shape;
                shape.rank() < longest && shape.dims().iter().any(is_many)
            });
            let Some(short) =
                short.filter(|_| op.is_pointwise() && !shapes.iter().any(|shape| is_twice(shape)))
            else {
                continue;
            };
            let text = sources.snippet(node.exprs[*short].span);
            let listed: Vec<String> = shapes.iter().map(ToString::to_string).collect();
            found.push(named(
                Diagnostic::warning(BATCH_TWICE, "each window of the batch is combined with every other one")
                    .label(expr.span, format!("{} give {}", listed.join(" and "), expr.ty.shape))
                    .help(format!("to combine each window with itself, give both operands the same dimensions: `expand_dims({text}, 1)`, or `o[:, 0]` for an `o` of shape [{MANY}, 1]"))
                    .help(format!("if all pairs are meant, say so: `expand_dims({text}, 0)`")),
            ));
        }
    }
    found
}

/// Whether a shape has the windows in two dimensions.
fn is_twice(shape: &Shape) -> bool {
    shape.dims().iter().filter(|size| is_many(size)).count() > 1
}

/// Whether a size is that of many windows.
fn is_many(size: &usize) -> bool {
    u64::try_from(*size) == Ok(MANY)
}

/// An operand before it is brought to the shape of the others.
fn as_written(node: &Node, operand: ExprId) -> ExprId {
    match &node.exprs[operand].kind {
        ExprKind::Apply { op: Op::Broadcast { .. }, args, .. } => args.first().copied().unwrap_or(operand),
        _ => operand,
    }
}

/// The findings for one window, with the errors that are found for many in place of those for one, and with warnings
/// that only many windows show.
pub(crate) fn widest(mut one: Diagnostics, many: Diagnostics) -> Diagnostics {
    if !many.has_errors() {
        one.extend(many.into_iter().filter(|d| d.code == BATCH_TWICE));
        return one;
    }
    let was_found =
        |d: &Diagnostic| one.iter().any(|o| o.is_error() && (o.code, o.span()) == (d.code, d.span()));
    let hidden: Vec<bool> = many.iter().map(|d| !was_found(d)).collect();
    let wide = many.into_iter().zip(hidden).filter(|(d, _)| d.is_error()).map(|(d, hidden)| {
        let d = named(d);
        if hidden { d.help(format!("`--{BATCH} 1` checks it for one window at a time")) } else { d }
    });
    let wide: Vec<Diagnostic> = wide.collect();
    let mut found = Diagnostics(one.into_iter().filter(|d| !d.is_error()).collect());
    found.extend(wide);
    found.sort();
    found
}

/// A finding that calls the number of windows by its name.
fn named(mut d: Diagnostic) -> Diagnostic {
    d.message = text(&d.message);
    d.labels.iter_mut().for_each(|label| label.message = text(&label.message));
    d.notes.iter_mut().chain(&mut d.help).for_each(|line| *line = text(line));
    d.fixes.iter_mut().for_each(|fix| (fix.title, fix.text) = (text(&fix.title), text(&fix.text)));
    d
}

/// A text with `batch` for the number of windows, and `4 * batch` for four times as many.
fn text(text: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive(|c| !is_word(c)) {
        let (token, rest) = word.split_at(word.trim_end_matches(|c| !is_word(c)).len());
        let times = token.parse::<u64>().ok().filter(|n| *n > 0 && n % MANY == 0).map(|n| n / MANY);
        match times {
            Some(1) => out.push_str(BATCH),
            Some(times) => out.push_str(&format!("{times} * {BATCH}")),
            None => out.push_str(token),
        }
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::check_report;
    use crate::source::Source;

    fn found(text: &str, options: &Options) -> String {
        check_report(&Source::text("f.rml", text), options).findings.to_string()
    }

    const NET: &str = "node main(x: num [batch, 4], y: num [batch]) -> (e)  e = x - y;";

    #[test]
    fn a_size_of_one_hides_no_error() {
        let told = found(NET, &Options::default());
        for words in ["shape-mismatch", "found [batch, 4] and [batch]", "`expand_dims(y, 1)`", "`--batch 1`"]
        {
            assert!(told.contains(words), "{words}: {told}");
        }
    }

    #[test]
    fn a_given_size_is_the_only_one() {
        for options in [
            Options { batch: Some(1), ..Options::default() },
            Options { set: [(BATCH.to_owned(), StaticValue::Int(1))].into(), ..Options::default() },
        ] {
            assert_eq!(found(NET, &options), "");
        }
    }

    #[test]
    fn an_error_of_every_size_is_told_once() {
        let told = found(
            "node main(x: num [batch, 4]) -> (y)  z = x + [1.0, 2.0];  y = reshape([8], x);",
            &Options::default(),
        );
        assert_eq!(told.matches("error[").count(), 2, "{told}");
        assert!(told.contains("[batch, 4]") && told.contains("4 * batch elements"), "{told}");
        assert!(!told.contains("--batch 1"), "{told}");
    }

    #[test]
    fn the_node_that_is_named_is_checked_for_many_windows() {
        let options = Options { node: Some("main".into()), ..Options::default() };
        assert!(found(NET, &options).contains("[batch, 4]"));
    }

    #[test]
    fn only_whole_numbers_are_named() {
        assert_eq!(text("num [7919, 4], x7919, 7919.0, 15838"), "num [batch, 4], x7919, 7919.0, 2 * batch");
    }
}
