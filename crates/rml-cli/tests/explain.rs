//! The pages of diagnostics, `docs/errors/<code>.md`: their examples give the results that the pages promise.
//!
//! The sections `## Rejected` and `## Accepted` contain files, fenced as `rml` (`program.rml` unless another name is
//! given), `json` (`inputs.json`) or anything else with a name, and the commands to run, fenced as `sh`; without
//! commands the program is checked. The last command under `Rejected` gives the code and no other one, except codes
//! that the page says it "comes beside"; all other commands succeed without findings.
//!
//! "In a build with `xla`:" or "In a build without `xla`:" restricts the page's example to such builds; a command may
//! begin with environment variables, `NAME=value`.
//!
//! A line `text ×3` of a file stands for three lines `text`, in which `{i}` is 0, 1, 2 and `{i+1}` is 1, 2, 3.
//!
//! Examples for users of the library are fenced as `rust` instead; they are tests of the crate `rml`, which has to
//! include the page.

mod support;

use std::collections::BTreeSet;
use std::path::Path;

use rml::codes;
use support::{Folder, Run};

/// The files and commands of an example.
struct Example<'a> {
    files: Vec<(&'a str, String)>,
    commands: Vec<String>,
}

/// The text under the heading.
fn section<'a>(page: &'a str, title: &str) -> Option<&'a str> {
    let (_, rest) = page.split_once(&format!("\n## {title}\n"))?;
    rest.split("\n## ").next()
}

/// The example under the heading; `None` if there is no such heading.
fn example<'a>(page: &'a str, title: &str) -> Option<Example<'a>> {
    let section = section(page, title)?;
    let mut found = Example { files: Vec::new(), commands: vec!["rml check program.rml".to_owned()] };
    let mut lines = section.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let body: Vec<&str> = lines.by_ref().take_while(|l| !l.starts_with("```")).collect();
        let name = match info.split_once(' ') {
            Some((_, name)) => name,
            None if info == "rml" => "program.rml",
            None if info == "json" => "inputs.json",
            None => {
                assert_eq!(info, "sh", "a file without a name");
                found.commands = body.into_iter().map(str::to_owned).collect();
                continue;
            }
        };
        found.files.push((name, body.into_iter().map(written_out).collect()));
    }
    Some(found)
}

/// A line of a file, with `×N` written out as N lines.
fn written_out(line: &str) -> String {
    let repeated = line.rsplit_once(" ×").and_then(|(text, times)| Some((text, times.parse().ok()?)));
    let Some((text, times)) = repeated else { return format!("{line}\n") };
    if !text.contains("{i") {
        return format!("{text}\n").repeat(times);
    }
    let one = |i: usize| text.replace("{i}", &i.to_string()).replace("{i+1}", &(i + 1).to_string()) + "\n";
    (0..times).map(one).collect()
}

/// Runs each command in turn, in a folder with the files.
fn runs(example: Example<'_>) -> Vec<Run> {
    let folder =
        example.files.into_iter().fold(Folder::new(), |folder, (name, text)| folder.file(name, text));
    let run = |command: &String| {
        let (command, input) = command.split_once(" < ").unwrap_or((command, ""));
        let input = if input.is_empty() { String::new() } else { folder.read(input) };
        let (variables, args) = command.split_once("rml ").expect("a command runs rml");
        let variables = variables.split_whitespace().map(|v| v.split_once('=').expect("a variable"));
        folder.run(args, &variables.collect::<Vec<_>>(), &input)
    };
    example.commands.iter().map(run).collect()
}

/// The codes in the text, as `error[code]` or `warning[code]`.
fn found(run: &Run) -> Vec<&str> {
    let text = run.err.split("error[").flat_map(|t| t.split("warning["));
    text.skip(1).filter_map(|t| t.split(']').next()).collect()
}

fn succeeds(run: &Run) -> bool {
    run.code == Some(0) && found(run).is_empty()
}

/// The codes after `comes beside` in the page: findings with these codes may accompany a finding with the page's own
/// code.
fn beside(page: &str) -> Vec<&str> {
    let named = page.split("comes beside `").skip(1);
    named.filter_map(|t| t.split_once('`').map(|(code, _)| code)).collect()
}

/// The builds of `rml` that give the result of an example.
#[derive(Clone, Copy, PartialEq)]
enum Builds {
    All,
    WithXla,
    WithoutXla,
}

/// The builds that the page's example is meant for.
fn builds(page: &str) -> Builds {
    if page.contains("\nIn a build with `xla`:\n") {
        Builds::WithXla
    } else if page.contains("\nIn a build without `xla`:\n") {
        Builds::WithoutXla
    } else {
        Builds::All
    }
}

/// The problem with the examples of a page, if there is one.
fn problem(code: &str, page: &str) -> Option<String> {
    if page.contains("\n```rust\n") {
        return rust_problem(code, page);
    }
    let (Some(rejected), Some(accepted)) = (example(page, "Rejected"), example(page, "Accepted")) else {
        return Some(format!("{code}: lacks a rejected or an accepted example"));
    };
    let mut rejected = runs(rejected);
    let last = rejected.pop().expect("an example runs a command");
    let codes = found(&last);
    let expected = beside(page).into_iter().chain([code]).collect();
    if BTreeSet::from_iter(codes.iter().copied()) != expected {
        return Some(format!("{code}: the rejected example gives {codes:?}\n{}", last.err));
    }
    let failed = rejected.iter().chain(&runs(accepted)).find(|r| !succeeds(r)).map(|r| r.err.clone())?;
    Some(format!("{code}: what should be accepted is not\n{failed}"))
}

/// The problem with a page whose examples are tests of the crate `rml`, if there is one.
fn rust_problem(code: &str, page: &str) -> Option<String> {
    let is_shown = |title| section(page, title).is_some_and(|text| text.contains("\n```rust\n"));
    let complete = is_shown("Rejected") && is_shown("Accepted");
    if !complete {
        return Some(format!("{code}: lacks a rejected or an accepted example"));
    }
    let include = format!("#[doc = include_str!(\"../../../docs/errors/{code}.md\")]");
    let tested = include_str!("../../rml/src/lib.rs").contains(&include);
    (!tested).then(|| format!("{code}: the crate `rml` does not run its examples"))
}

/// Runs the examples of all pages that are meant for these builds.
#[track_caller]
fn check(meant_for: Builds) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
    let page = |code: &str| std::fs::read_to_string(folder.join(format!("{code}.md"))).expect("a page");
    let pages = codes::all().map(|c| (c.name, page(c.name)));
    let pages: Vec<(&str, String)> = pages.filter(|(_, page)| builds(page) == meant_for).collect();
    assert!(!pages.is_empty());
    let problems: Vec<String> = pages.iter().filter_map(|(code, page)| problem(code, page)).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn examples_do_what_their_pages_say() {
    check(Builds::All);
}

#[test]
#[cfg_attr(feature = "xla", ignore = "this build has the feature `xla`")]
fn examples_for_builds_without_xla_do_what_their_pages_say() {
    check(Builds::WithoutXla);
}

#[test]
#[cfg_attr(not(feature = "xla"), ignore = "this build lacks the feature `xla`")]
fn examples_for_builds_with_xla_do_what_their_pages_say() {
    check(Builds::WithXla);
}

#[test]
fn explain_prints_the_page() {
    let folder = Folder::new();
    for code in codes::all() {
        let page = folder.rml(&format!("explain {}", code.name)).ok();
        assert!(page.starts_with(&format!("# {}\n\n{}\n", code.name, code.summary)), "{page}");
    }
    let list = folder.rml("explain").ok();
    assert!(codes::all().all(|c| list.contains(c.summary)), "{list}");
    folder.rml("explain no-such-code").fails(1, &["bad-option", "no-such-code"]);
}
