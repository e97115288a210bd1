//! `rml explain`.

use std::fmt::Write as _;

use rml::{Diagnostic, codes, suggest};

use crate::args::Explain;
use crate::output::{Output, Stop};
use crate::pages::PAGES;

/// Prints the page of a code, or lists all codes by topic.
pub(crate) fn explain(args: &Explain, output: &mut Output) -> Result<(), Stop> {
    let Some(name) = &args.code else { return output.print(&list()) };
    // as it is written in a message: `error[unknown-name]`
    let name = name.trim_start_matches("error[").trim_start_matches("warning[").trim_end_matches(']');
    if let Some((_, page)) = PAGES.iter().find(|(code, _)| *code == name) {
        return output.exact(page);
    }
    let d = Diagnostic::error(codes::run::BAD_OPTION, format!("there is no diagnostic code `{name}`"));
    let codes = || PAGES.iter().map(|(code, _)| *code);
    let part = || codes().find(|code| name.len() > 2 && code.contains(name));
    let d = match suggest(name, codes()).or_else(part) {
        Some(near) => d.help(format!("there is `{near}`")),
        None => d,
    };
    Err(d.help("`rml explain` lists all codes").into())
}

/// All codes with their meaning, under the headings of their topics.
fn list() -> String {
    let row = |c: rml::Code| vec![format!("  {}", c.name), c.summary.to_owned()];
    let table = rml::table(&codes::all().map(row).collect::<Vec<_>>(), &[0, 1]);
    let mut lines = table.lines();
    let mut text = String::new();
    for (topic, codes) in codes::TOPICS {
        let _ = writeln!(text, "{topic}");
        for line in lines.by_ref().take(codes.len()) {
            let _ = writeln!(text, "{line}");
        }
        text.push('\n');
    }
    text + "`rml explain CODE` explains a code, with an example and its fix.\n"
}
