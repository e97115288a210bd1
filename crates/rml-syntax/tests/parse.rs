//! The parser on accepted and rejected texts.

mod common;

use bumpalo::Bump;
use common::parse_text as parsed;
use rml_base::{EntityId, FileId};
use rml_syntax::{format, parse};

/// The dump of `o = <text>;`
fn expr(text: &str) -> String {
    let (dump, diagnostics) = parsed(&format!("node f() -> (o) o = {text};"));
    assert!(diagnostics.is_empty(), "{text}: {diagnostics:#?}");
    let body = dump.strip_prefix("(node f () (o)\n  (= (o) ").expect("one equation");
    body.strip_suffix("))\n").expect("one equation").to_owned()
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(expr(text), expected, "{text}");
}

#[test]
fn precedences() {
    check("1 + 2 * 3 - 4", "(- (+ 1 (* 2 3)) 4)");
    check("a or b and c == d", "(or a (and b (== c d)))");
    check("a < b == c", "(== (< a b) c)");
    check("-i when c", "(when (neg i) c)");
    check("x when not c", "(when x (not c))");
    check("do * 2.0 * i when bp", "(* (* do 2.0) (when i bp))");
    check("o + merge bp do 0.0", "(+ o (merge bp do 0.0))");
    check("0 fby u + 1", "(fby 0 (+ u 1))");
    check("a or b fby c or d fby e", "(fby (or a b) (fby (or c d) e))");
    check("0 fby if a then b else c fby d", "(fby 0 (if a b (fby c d)))");
    check("a when b when c", "(when (when a b) c)");
    check("not a == b", "(== (not a) b)");
    check("post - x[0]", "(post (neg (index x 0)))");
    check("(a)", "a");
    check("a - -b", "(- a (neg b))");
    check("f(x)[1, 2] every e when c", "(when (every (index (call f x) 1 2) e) c)");
    check("f(x) every not e + 1", "(+ (every (call f x) (not e)) 1)");
}

#[test]
fn back_is_special_right_behind_fby_only() {
    check("0 fby back x", "(fby-back 0 x)");
    check("0 fby back back", "(fby-back 0 back)");
    check("0 fby back -x", "(fby-back 0 (neg x))");
    check("0 fby back", "(fby 0 back)");
    check("(0 fby back)", "(fby 0 back)");
    check("0 fby back + 1", "(fby 0 (+ back 1))");
    check("back + every", "(+ back every)");
    check("do + end * init", "(+ do (* end init))");
}

#[test]
fn columns_are_names_ranges_and_properties_of_dates() {
    let text = "columns   x = open ,low .. high,0..3, hour( date ),\"wind speed\" ; -- why\ncolumns s.h=\"hour(date)\";\n\
                node columns(columns: num [], s: num []) -> (o)\n  o = columns;\n  columns = o;\n";
    let (dump, diagnostics) = parsed(text);
    assert!(diagnostics.is_empty(), "{diagnostics:#?}");
    let lists: Vec<&str> = dump.lines().take(2).collect();
    assert_eq!(
        lists,
        [
            r#"(columns x "open" (.. "low" "high") (.. "0" "3") (date "hour" "date") "wind speed")"#,
            r#"(columns s.h "hour(date)")"#,
        ]
    );
    let formatted = "columns x = open, low..high, 0..3, hour(date), \"wind speed\"; -- why\n\
                     columns s.h = \"hour(date)\";\n\n";
    let out = format(text).expect("it parses");
    assert!(out.starts_with(formatted), "{out}");
    assert_eq!(format(&out).as_deref(), Ok(&*out));
    for (wrong, words) in [
        ("columns x = ;", "the name of a column"),
        ("columns x = a b;", "stands in quotes"),
        ("columns x = when;", "stands in quotes"),
        ("columns x = a..;", "the name of a column"),
        ("columns x = hour(a;", "after the column of dates"),
        ("columns x = a\nnode f() -> (o) o = 1;", "this list of columns does not end with `;`"),
    ] {
        let (_, diagnostics) = parsed(wrong);
        let said = format!("{diagnostics:?}");
        assert!(diagnostics.len() == 1 && said.contains(words), "{wrong}: {said}");
    }
}

#[test]
fn along_takes_one_axis_or_a_list() {
    check("f(x) along 0", "(along (call f x) 0)");
    check("f(x) along -1 when c", "(when (along (call f x) (neg 1)) c)");
    check("f(x) along back 0 + 1", "(+ (along-back (call f x) 0) 1)");
    check("f(x) along back", "(along (call f x) back)");
    check("f(x, c) along (0, _)", "(along (call f x c) 0 _)");
    check("f(x, c) along back (_, n + 1)", "(along-back (call f x c) _ (+ n 1))");
    check("f(x) along (n) along axes[0]", "(along (along (call f x) n) (index axes 0))");
    check("along + back", "(+ along back)");
}

#[test]
fn literals_and_indices() {
    check("1.5 + 1. + 1e-3 + 2.5E+4 + 7", "(+ (+ (+ (+ 1.5 1.0) 0.001) 25000.0) 7)");
    check("a[0:4]", "(index a (: 0 4 _))");
    check("a[.., :, 1:, :n:2, lo:hi:step]", "(index a .. (: _ _ _) (: 1 _ _) (: _ n 2) (: lo hi step))");
    check("unindex(s, x, 1:3, .., k)", "(call unindex s x (: 1 3 _) .. k)");
    check("merge c unindex(s, x, :) y", "(merge c (call unindex s x (: _ _ _)) y)");
    check("a[i][-1]", "(index (index a i) (neg 1))");
    check("zeros([batch.., 4 * n])", "(call zeros [batch.. (* 4 n)])");
    check("[] + [x..]", "(+ [] [x..])");
}

#[test]
fn merge_operands() {
    check("merge c a b", "(merge c a b)");
    check("merge bp (i when bp) ((post o) when not bp)", "(merge bp (when i bp) (when (post o) (not bp)))");
    check("merge bpo do (0.0 when not bpo)", "(merge bpo do (when 0.0 (not bpo)))");
    check("merge c f(x) g(y)", "(merge c (call f x) (call g y))");
    check("merge c f(x, y) (z)", "(merge c (call f x y) z)");
    check("merge c f() (z)", "(merge c (call f) z)");
    check("merge c (a) f(y)", "(merge? (juxtaposed c a) (juxtaposed f y))");
    check("merge c[0] (a) f(y)[1]", "(merge (index c 0) a (index (call f y) 1))");
    check("merge (c) (a) f (y)[1]", "(merge c a (index (call f y) 1))");
    check("merge (c) f (y)[1]", "(merge c f (index y 1))");
    check("merge c1 a merge c2 b d", "(merge c1 a (merge c2 b d))");
    check("merge merge a b c d e", "(merge (merge a b c) d e)");
    check("merge c1 f(x) merge c2 g(y) h(z)", "(merge c1 (call f x) (merge c2 (call g y) (call h z)))");
    check("merge c1 a merge c2 (x) (y)", "(merge c1 a (merge c2 x y))");
    check("merge c1 a merge c2 (x) h(z)", "(merge c1 a (merge c2 x (call h z)))");
    check("merge c 1 -2 ".replace("-2", "(-2)").as_str(), "(merge c 1 (neg 2))");
}

#[test]
fn items() {
    let text = "\
        import std.layers; import std.opt (sgd, adam as a,); import \"cells.rml\"; import as as as;\n\
        private node private(private) -> (o)\n  o = as.private(private);\n  private = merge c (x) as.f(y);\n\
        node ext(a: num [batch.., d], end: bool []) -> (b: int [] when not end)\n\
        node f(import, x: num [] when import,) -> ()\n  _, y: num [2], _ = g(x);\n";
    let (dump, diagnostics) = parsed(text);
    assert!(diagnostics.is_empty(), "{diagnostics:#?}");
    assert_eq!(
        dump,
        "(import std.layers)\n(import std.opt (sgd adam=a))\n(import \"cells.rml\")\n(import as as)\n\
         (private-node private (private) (o)\n  (= (o) (call as.private private))\n  \
         (= (private) (merge c x (call as.f y))))\n\
         (node ext (a:num[batch.. d] end:bool[]) (b:int[]@!end))\n\
         (node f (import x:num[]@import) ()\n  (= (_ y:num[2] _) (call g x)))\n"
    );
}

#[test]
fn comments_are_collected() {
    let text = "(* a (* b *) *) node f() -> (o) -- c\n o = 1 (* d\n *); -- e";
    let bump = Bump::new();
    let mut names = lasso::Rodeo::new();
    let parsed = parse(&bump, &mut names, FileId::from_index(0), text);
    assert!(parsed.diagnostics.is_empty());
    let comments: Vec<_> = parsed.file.comments.iter().map(|s| &text[s.range()]).collect();
    assert_eq!(comments, ["(* a (* b *) *)", "-- c", "(* d\n *)", "-- e"]);
}

#[test]
fn programs() {
    let mut count = 0;
    for folder in ["tests/programs", "tests/filetests", "../../std", "../../examples"] {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for entry in std::fs::read_dir(folder).expect("programs") {
            let path = entry.expect("an entry").path();
            let rejected = path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("ko_"));
            if rejected || path.extension().is_none_or(|e| e != "rml") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a program");
            let formatted = format(&text).unwrap_or_else(|d| panic!("{}: {d:#?}", path.display()));
            assert_eq!(parsed(&text), parsed(&formatted), "{}", path.display());
            assert_eq!(format(&formatted).as_ref(), Ok(&formatted), "{}", path.display());
            count += 1;
        }
    }
    assert!(count > 60);
}

#[test]
fn every_behind_merge() {
    check("merge c a (b) every e", "(every (merge c a b) e)");
    check("merge c f(x) every", "(merge c (call f x) every)");
    check("merge c every x", "(merge c every x)");
    check("merge c a (b) along 0", "(along (merge c a b) 0)");
    check("merge c along x", "(merge c along x)");
}

#[test]
fn sampling_inside_arithmetic_keeps_its_parentheses() {
    let kept = "node f(x, c, d) -> (o)\n  o = (x when c) * d + (0.0 fby (merge c d 0.0));\n";
    assert_eq!(rml_syntax::format(kept).unwrap(), kept);
    let bare = "node f(x, c, d) -> (o)\n  o = d * x when c - ((x) when c);\n";
    let shown = "node f(x, c, d) -> (o)\n  o = d * (x when c) - (x when c);\n";
    assert_eq!(rml_syntax::format(bare).unwrap(), shown);
}

#[test]
fn a_first_value_in_parentheses_keeps_them_where_they_say_that_it_is_meant() {
    for kept in ["(x + 1.0) fby y", "x + 1.0 fby y", "0.0 fby (x * 2.0) fby y", "(x or true) fby back y"] {
        let text = format!("node f(x, y) -> (o)\n  o = {kept};\n");
        assert_eq!(rml_syntax::format(&text).unwrap(), text);
    }
    for (more, shown) in [
        ("((x + 1.0)) fby y", "(x + 1.0) fby y"),
        ("(x + y) fby y", "x + y fby y"),
        ("(x > 1.0) fby y", "x > 1.0 fby y"),
        ("(f(x)) fby y", "f(x) fby y"),
    ] {
        let text = |right: &str| format!("node f(x, y) -> (o)\n  o = {right};\n");
        assert_eq!(rml_syntax::format(&text(more)).unwrap(), text(shown));
    }
}
