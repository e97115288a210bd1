//! Results that are reused from older versions of a text equal new results.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use rml_driver::{Analysis, Inspection, Inspector, Source, inspect};
use rml_testkit::Lcg;

/// Networks and a filter, with a user-defined adjoint, a node whose windows never end, and a declared clock.
const TEXT: &str = "import std.layers;
import \"cells.rml\" as cells;

-- A layer in windows.
node net(x: num [batch, 8], end: bool []) -> (y: num [batch, 3] when end)
  h = lstm(4, clipped(x)) every end;
  y = dense(3, h when end);

node train(x: num [batch, 8], end: bool []) -> (o)
  y, _ = diff_net(x, end, true, y);
  o = sum(y * y);

node clipped(x: num [s..]) -> (o: num [s..])
  o = maximum(-1.0, minimum(x, 1.0));

node diff_clipped(x: num [s..], bp: bool [], do: num [s..] when bp) -> (o: num [s..], dx: num [s..] when bp)
  o = clipped(x);
  dx = do;

node ahead(x: num [n], limit) -> (last, later, o)
  last = cells.kept(sum(x), limit);
  later = post (later + limit);
  o = post last - last;

node average(k, x) -> (y)
  first = true fby false;
  w = if first then 1.0 else 1.0 / k;
  y = (x fby y) + w * (x - (x fby y));
";

const CELLS: &str = "node kept(x, b) -> (o)
  o = if b > 0.0 then x else 0.0 fby o;

node late(x: num []) -> (o)
  o = post step(x);
node step(x) -> (y)
  y = post y + x;
";

/// The words that are typed.
const WORDS: [&str; 24] = [
    "x",
    "o",
    " + 1.0",
    " when end",
    "post ",
    "0.0 fby ",
    " every end",
    ";",
    "\nnode f(x) -> (y) y = post y;\n",
    "-- c\n",
    "import std.losses;\n",
    "diff_",
    "2",
    "\n",
    "cells.",
    "late(x)",
    "sum(",
    ")",
    "node clipped(x) -> (o) o = x;\n",
    "(",
    "net",
    "static",
    "(* ",
    "n",
];

#[test]
fn what_is_kept_is_what_would_be_found() {
    let mut r = Lcg(8);
    let right: BTreeMap<PathBuf, String> =
        [("main.rml".into(), TEXT.to_owned()), ("cells.rml".into(), CELLS.to_owned())].into();
    let mut texts = right.clone();
    let mut inspector = Inspector::default();
    let mut before: Option<Inspection> = None;
    let (mut kept, mut wrong) = (0, 0);
    for key in 0..120 {
        // Some edits are undone, so that most texts have few errors.
        if key % 2 == 0 {
            texts = right.clone();
        }
        let at = PathBuf::from(if r.chance(0.8) { "main.rml" } else { "cells.rml" });
        let text = texts.get_mut(&at).expect("one of the two");
        match r.below(8) {
            0..4 => {
                let word = *r.pick(&WORDS);
                text.insert_str(r.below(text.len() + 1), word);
            }
            4..6 => {
                let from = r.below(text.len());
                text.replace_range(from..(from + 1 + r.below(5)).min(text.len()), "");
            }
            6 => {
                let (old, new) =
                    (*r.pick(&["clipped", "h", "first", "limit", "net"]), *r.pick(&["h2", "sum", "x"]));
                *text = text.replace(old, new);
            }
            _ => {
                let mut nodes: Vec<String> = text.split_inclusive("\n\n").map(str::to_owned).collect();
                let (a, b) = (r.below(nodes.len()), r.below(nodes.len()));
                nodes.swap(a, b);
                *text = nodes.concat();
            }
        }
        let source = Source::edited("main.rml", Arc::new(texts.clone()));
        let survey = inspector.survey(&source).expect("it can be read");
        let (found, fresh) = (inspector.inspect().expect("it was surveyed"), inspect(&source));
        assert_eq!(described(&found), described(&fresh), "after {key}: {}", texts[&at]);
        wrong += usize::from(survey.findings.has_errors());
        let same = |a: &Arc<Analysis>| found.report.analyses.iter().any(|b| Arc::ptr_eq(a, b));
        kept += before.iter().flat_map(|before| &before.report.analyses).filter(|a| same(a)).count();
        before = Some(found);
    }
    assert!(kept > 80, "{kept} analyses were kept");
    assert!((20..100).contains(&wrong), "{wrong} texts had errors");
}

/// The content of an inspection: findings, and for each name the types, clocks and waits of variables.
fn described(inspection: &Inspection) -> String {
    let mut text = format!("{:#?}\n{:?}\n", inspection.report.findings, inspection.sizes);
    for analysis in &inspection.report.analyses {
        text += &format!("{} {:?} {:?}\n", analysis.node(), analysis.kind(), analysis.assumed);
    }
    let mut lines: Vec<String> = Vec::new();
    for (name, all) in &inspection.instances {
        for at in all {
            let (ty, clock) = (inspection.type_of(*at), inspection.report.analyses[at.0].clock(at.1));
            lines.push(format!("{name:?} {at:?} {ty}{clock}"));
        }
    }
    lines.sort();
    text + &lines.join("\n")
}

/// A node that is moved, or that follows a changed node, is not analysed again; its findings move with it.
#[test]
fn findings_move_with_their_node() {
    let node = |name: &str, body: &str| format!("node {name}(x: num []) -> (o)\n  o = {body};\n\n");
    let (a, b) = (node("a", "x"), node("b", "post o + x"));
    let mut inspector = Inspector::default();
    let mut look = |text: String| {
        inspector.survey(&Source::text("f.rml", text)).expect("a text");
        inspector.inspect().expect("it was surveyed")
    };
    let first = look(format!("{a}{b}"));
    let second = look(format!("{b}-- after\n{}", a.replace("= x", "= x + 1.0")));
    let place = |i: &Inspection| i.report.findings.0[0].span().map(|span| span.start);
    assert_eq!(first.report.findings.0.len(), 1, "{}", first.report.findings);
    assert_eq!(place(&first).map(|at| at as usize - a.len()), place(&second).map(|at| at as usize));
    let analysis = |i: &Inspection, node: &str| {
        Arc::clone(i.report.analyses.iter().find(|a| a.node() == node).expect("it is analysed"))
    };
    assert!(Arc::ptr_eq(&analysis(&first, "b"), &analysis(&second, "b")));
    assert!(!Arc::ptr_eq(&analysis(&first, "a"), &analysis(&second, "a")));
}
