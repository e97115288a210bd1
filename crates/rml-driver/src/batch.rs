//! Mistakes in shapes that a batch of one window hides. A size of 1 fits any other size, so a program is also checked
//! with a size that no other dimension has. Messages print this size as `batch`. The same is done for other named
//! dimensions.

use rml_base::codes::analysis::BATCH_TWICE;
use rml_base::{Diagnostic, Diagnostics, Sources, Span};
use rml_ir::Shape;
use rml_ir::op::Op;
use rml_ir::typed::{ExprId, ExprKind, Module, Node, StaticValue};

use crate::interface::BATCH;
use crate::library::is_library;
use crate::options::Options;

/// Numbers of stacked windows: large primes, which rarely occur as another size of a program.
const MANY: [u64; 4] = [7919, 7907, 7901, 7883];
/// Sizes for other dimensions. They are small, since a size may be a number of copies of equations. They are in
/// descending order and the placeholders of an analysis in ascending order, so a warning that depends on which of two
/// sizes is larger appears either with these sizes or with the placeholders.
const SIZES: [u64; 16] = [293, 283, 281, 277, 271, 269, 263, 257, 251, 241, 239, 233, 229, 227, 223, 211];

/// Sizes for named dimensions: primes that divide no number in the program, so a multiple of one in a shape was
/// computed from it.
pub(crate) struct Wide(Vec<(String, u64)>);

impl Wide {
    /// A size for the number of stacked windows.
    pub(crate) fn batch(sources: &Sources) -> Self {
        Self::of(std::iter::once(BATCH), sources)
    }

    /// Sizes for the named dimensions of a node in these texts.
    pub(crate) fn of<'n>(names: impl Iterator<Item = &'n str>, sources: &Sources) -> Self {
        let written = written(sources);
        let is_new = |size: &u64| written.iter().all(|number| number % size != 0);
        let mut many = MANY.into_iter().filter(is_new);
        let mut sizes = SIZES.into_iter().filter(is_new);
        let mut sized = |name: &str| {
            let size = if name == BATCH { many.next() } else { sizes.next() };
            Some((name.to_owned(), size?))
        };
        Self(names.filter_map(&mut sized).collect())
    }

    /// The options with these sizes.
    pub(crate) fn options(&self, options: &Options) -> Options {
        let mut options = options.clone();
        for (name, size) in &self.0 {
            options.set.shift_remove(name);
            options.defaults.insert(name.clone(), StaticValue::Int(size.cast_signed()));
        }
        if self.0.iter().any(|(name, _)| name == BATCH) {
            options.batch = None;
        }
        options
    }

    /// The dimension that occurs twice in a shape.
    fn twice(&self, shape: &Shape) -> Option<&(String, u64)> {
        let times = |size: u64| shape.dims().iter().filter(|other| is(**other, size)).count();
        self.0.iter().find(|(_, size)| times(*size) > 1)
    }

    /// A finding with the names of dimensions in place of their sizes.
    fn named(&self, mut d: Diagnostic) -> Diagnostic {
        d.message = self.text(&d.message);
        d.labels.iter_mut().for_each(|label| label.message = self.text(&label.message));
        d.notes.iter_mut().chain(&mut d.help).for_each(|line| *line = self.text(line));
        d.fixes
            .iter_mut()
            .for_each(|fix| (fix.title, fix.text) = (self.text(&fix.title), self.text(&fix.text)));
        d
    }

    /// A text with the name of a dimension for its size, and `4 * batch` for four times its size.
    fn text(&self, text: &str) -> String {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let mut out = String::with_capacity(text.len());
        for word in text.split_inclusive(|c| !is_word(c)) {
            let (token, rest) = word.split_at(word.trim_end_matches(|c| !is_word(c)).len());
            out.push_str(&self.number(token).unwrap_or_else(|| token.to_owned()));
            out.push_str(rest);
        }
        out
    }

    /// A number as a product with these dimensions, if it is a multiple of one.
    fn number(&self, token: &str) -> Option<String> {
        let mut rest = token.parse::<u64>().ok().filter(|n| *n > 0)?;
        let mut factors = Vec::new();
        for (name, size) in &self.0 {
            while rest % size == 0 {
                rest /= size;
                factors.push(name.clone());
            }
        }
        if factors.is_empty() {
            return None;
        }
        let times = (rest > 1).then(|| rest.to_string());
        Some(times.into_iter().chain(factors).collect::<Vec<_>>().join(" * "))
    }
}

/// The positive numbers in the program's own texts. Numbers in the library are not sizes of a program.
fn written(sources: &Sources) -> Vec<u64> {
    let own = sources.ids().filter(|file| !is_library(sources, Span::new(*file, 0, 0)));
    let digits = own.flat_map(|file| sources.text(file).split(|c: char| !c.is_ascii_digit()));
    digits.filter_map(|digits| digits.parse().ok()).filter(|number| *number > 0).collect()
}

/// Whether a size equals a number.
fn is(size: usize, number: u64) -> bool {
    u64::try_from(size) == Ok(number)
}

/// The options with batch size 1 if none is given, so that printed sizes are those of one window.
pub(crate) fn any_batch(options: &Options) -> Options {
    let mut options = options.clone();
    options.defaults.entry(BATCH.to_owned()).or_insert(StaticValue::Int(1));
    options
}

/// Whether the batch size was chosen by [`any_batch`].
pub(crate) fn is_open(options: &Options) -> bool {
    let is_given = options.batch.is_some() || options.set.contains_key(BATCH);
    !is_given && options.defaults.get(BATCH) == Some(&StaticValue::Int(1))
}

/// Warns about each pointwise operator that combines a dimension with itself, because one operand has a dimension less:
/// `o - y` of `[batch, 1]` and `[batch]` is `[batch, batch]`. There is no warning if the node adds the axis of size 1
/// explicitly, as in `expand_dims(x, 1) - x`: then all pairs are intended. `wide` has the sizes of `module`.
pub(crate) fn twice(module: &Module, sources: &Sources, wide: &Wide) -> Diagnostics {
    let mut found = Diagnostics::new();
    for node in module.nodes.iter().filter(|node| !is_library(sources, node.span)) {
        for expr in node.exprs.iter() {
            let Some((name, size)) = wide.twice(&expr.ty.shape) else { continue };
            let ExprKind::Apply { op, args, .. } = &expr.kind else { continue };
            let written: Vec<ExprId> = args.iter().map(|arg| as_written(node, *arg)).collect();
            let shape = |arg: &ExprId| &node.exprs[*arg].ty.shape;
            let is_whole = !written.iter().any(|arg| wide.twice(shape(arg)).is_some());
            let Some(longest) = written.iter().max_by_key(|arg| shape(arg).rank()) else { continue };
            let has_size = |arg: &&ExprId| shape(arg).dims().iter().any(|other| is(*other, *size));
            let is_short = |arg: &&ExprId| shape(arg).rank() < shape(longest).rank();
            let short = written.iter().find(|arg| is_short(arg) && has_size(arg));
            let Some(short) = short.filter(|_| op.is_pointwise() && is_whole && !adds_axis(node, *longest))
            else {
                continue;
            };
            let text = sources.snippet(node.exprs[*short].span);
            let listed: Vec<String> = written.iter().map(|arg| shape(arg).to_string()).collect();
            let (what, one, of) = match &**name {
                BATCH => {
                    ("each window of the batch is combined with every other one".to_owned(), "window", "o")
                }
                name => {
                    (format!("each element along `{name}` is combined with every other one"), "element", "a")
                }
            };
            found.push(wide.named(
                Diagnostic::warning(BATCH_TWICE, what)
                    .label(expr.span, format!("{} give {}", listed.join(" and "), expr.ty.shape))
                    .help(format!("to combine each {one} with itself, give both operands the same dimensions: `expand_dims({text}, 1)`, or `{of}[:, 0]` for an `{of}` of shape [{size}, 1]"))
                    .help(format!("if all pairs are meant, say so: `expand_dims({text}, 0)`")),
            ));
        }
    }
    found
}

/// Whether an operand has an axis more than the value it is made of, by this expression or by its definition in the
/// node.
fn adds_axis(node: &Node, operand: ExprId) -> bool {
    let (kind, shape) = (&node.exprs[operand].kind, &node.exprs[operand].ty.shape);
    if let ExprKind::Apply { op: Op::Reshape { .. }, args, .. } = kind {
        return args.first().is_some_and(|arg| node.exprs[*arg].ty.shape.rank() < shape.rank());
    }
    let ExprKind::Var(v) = kind else { return false };
    let defined = node.equations.iter().find(|equation| equation.lhs[..] == [Some(*v)]);
    defined.is_some_and(|equation| {
        !matches!(node.exprs[equation.rhs].kind, ExprKind::Var(_)) && adds_axis(node, equation.rhs)
    })
}

/// An operand before it is broadcast to the shape of the others.
fn as_written(node: &Node, operand: ExprId) -> ExprId {
    match &node.exprs[operand].kind {
        ExprKind::Apply { op: Op::Broadcast { .. }, args, .. } => args.first().copied().unwrap_or(operand),
        _ => operand,
    }
}

/// Combines the findings for one window and for many. If many windows have errors, these replace the errors for one
/// window. Otherwise, warnings that appear only for many windows are added. `wide` has the number of windows.
pub(crate) fn widest(mut one: Diagnostics, many: Diagnostics, wide: &Wide) -> Diagnostics {
    if !many.has_errors() {
        one.extend(many.into_iter().filter(|d| d.code == BATCH_TWICE));
        return one;
    }
    let was_found =
        |d: &Diagnostic| one.iter().any(|o| o.is_error() && (o.code, o.span()) == (d.code, d.span()));
    let hidden: Vec<bool> = many.iter().map(|d| !was_found(d)).collect();
    let named = many.into_iter().zip(hidden).filter(|(d, _)| d.is_error()).map(|(d, hidden)| {
        let d = wide.named(d);
        let hidden = hidden && !d.labels.iter().any(|label| pairs(&label.message));
        if hidden { d.help(format!("`--{BATCH} 1` checks it for one window at a time")) } else { d }
    });
    let named: Vec<Diagnostic> = named.collect();
    let mut found = Diagnostics(one.into_iter().filter(|d| !d.is_error()).collect());
    found.extend(named);
    found.sort();
    found
}

/// Whether a shape in a text has the dimension of stacked windows twice. A batch of one window would only hide that.
fn pairs(text: &str) -> bool {
    let shapes = text.split('[').skip(1).filter_map(|rest| rest.split_once(']'));
    shapes.map(|(dims, _)| dims.split(", ").filter(|dim| *dim == BATCH).count()).any(|times| times > 1)
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
        let text = Wide::batch(&Sources::new()).text("num [7919, 4], x7919, 7919.0, 15838");
        assert_eq!(text, "num [batch, 4], x7919, 7919.0, 2 * batch");
    }

    #[test]
    fn numbers_of_the_program_are_no_sizes() {
        // 586 and 15838 are twice the first number of each list.
        let labels = |text: &str| {
            let report = check_report(&Source::text("f.rml", text), &Options::default());
            format!("{:?}", report.findings)
        };
        let told = labels("node main(x: num [586, n, 1], y: num [n]) -> (o)  o = x - y;");
        assert!(told.contains("[586, n, 1] and [n] give [586, n, n]"), "{told}");
        let told = labels("node main(x: num [15838, batch, 4], y: num [batch]) -> (e)  e = x - y;");
        assert!(told.contains("[15838, batch, 4] and [batch]"), "{told}");
    }

    #[test]
    fn numbers_of_imported_texts_are_no_sizes() {
        let mut sources = Sources::new();
        sources.add("f.rml", "node f(x: num [586, n]) -> (o)");
        sources.add("g.rml", "const wide = 283;");
        let wide = Wide::of(["n", "m"].into_iter(), &sources);
        assert_eq!(wide.text("[586, 283, 281, 277]"), "[586, 283, n, m]");
    }
}
