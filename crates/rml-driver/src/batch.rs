//! What a batch of one window hides. A size of 1 fits beside every other size, so a program is also checked for a size
//! that equals no other size of the program, and messages call that size `batch`.

use rml_base::{Diagnostic, Diagnostics};
use rml_ir::typed::StaticValue;

use crate::interface::BATCH;
use crate::options::Options;

/// A number of stacked windows that is no other size of a program: a prime that nobody writes.
const MANY: u64 = 7919;

/// With a size of a batch, if none is given: the sizes that are printed are those of one window.
pub(crate) fn any_batch(options: &Options) -> Options {
    let mut options = options.clone();
    options.defaults.entry(BATCH.to_owned()).or_insert(StaticValue::Int(1));
    options
}

/// The options for many stacked windows, where the size of a batch is one that [`any_batch`] chose.
pub(crate) fn many(options: &Options) -> Option<Options> {
    let is_given = options.batch.is_some() || options.set.contains_key(BATCH);
    let is_one = options.defaults.get(BATCH) == Some(&StaticValue::Int(1));
    (!is_given && is_one).then(|| {
        let mut options = options.clone();
        options.defaults.insert(BATCH.to_owned(), StaticValue::Int(MANY.cast_signed()));
        options
    })
}

/// The findings for one window, with the errors that are found for many in place of those for one.
pub(crate) fn widest(one: Diagnostics, many: Diagnostics) -> Diagnostics {
    if !many.has_errors() {
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
