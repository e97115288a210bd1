//! Enumerations, records and `restart`: the plain program that is equivalent to each.

mod common;

use common::{accept, describe, options, outputs, run};
use rml_ir::typed::{Callee, ExprKind, Module, Node};

/// The names of the variables that the root's equations define, in order.
fn defined(module: &Module) -> Vec<String> {
    let root = &module.nodes[module.root];
    let lhs = root.equations.iter().flat_map(|equation| equation.lhs.iter().flatten());
    lhs.map(|v| root.vars[*v].name.as_deref().unwrap_or("_").to_owned()).collect()
}

/// The names and types of the root's inputs.
fn inputs(module: &Module) -> Vec<String> {
    let root = &module.nodes[module.root];
    let var = |v: rml_ir::typed::Var| &root.vars[v];
    let inputs = root.inputs().map(|input| var(input.var));
    inputs.map(|data| format!("{}: {}", data.name.as_deref().unwrap_or("_"), data.ty)).collect()
}

/// The maximum number of `merge`s directly inside each other.
fn deepest(node: &Node) -> usize {
    fn depth(node: &Node, e: rml_ir::typed::ExprId) -> usize {
        match node.exprs[e].kind {
            ExprKind::Merge { on_true, on_false, .. } => 1 + depth(node, on_true).max(depth(node, on_false)),
            _ => 0,
        }
    }
    node.equations.iter().map(|equation| depth(node, equation.rhs)).max().unwrap_or(0)
}

/// The nodes that the nodes of a module call, with `every` before those that run window by window.
fn calls(module: &Module) -> Vec<String> {
    let exprs = module.nodes.iter().flat_map(|node| node.exprs.iter());
    let call = |kind: &ExprKind| match kind {
        ExprKind::Call { callee: Callee::Node(node), every, .. } => {
            Some(format!("{}{}", if every.is_some() { "every " } else { "" }, module.nodes[*node].name))
        }
        _ => None,
    };
    exprs.filter_map(|expr| call(&expr.kind)).collect()
}

/// The errors of a program, with all their text.
fn reject(text: &str) -> String {
    let (module, found, sources) = run(text, &options());
    assert!(module.is_none(), "accepted:\n{text}");
    let shown = found.iter().map(|d| {
        let lines = d.help.iter().chain(&d.notes).chain(d.fixes.iter().map(|fix| &fix.title));
        format!("{}\n{}", describe(d, &sources), lines.cloned().collect::<Vec<_>>().join("\n"))
    });
    shown.collect::<Vec<_>>().join("\n")
}

const PHASE: &str = "enum phase = Idle, Heat, Cool;\n";
const STATE: &str = "record state = (h: num [n], c: num [n]);\n";

#[test]
fn a_match_is_as_deep_as_the_logarithm_of_its_cases() {
    let names: Vec<String> = (0..130).map(|k| format!("C{k}")).collect();
    let arms: Vec<String> = names.iter().map(|name| format!("{name} -> (0.0 fby x) + 1.0")).collect();
    let text = format!(
        "enum many = {};\nnode main(p: many, x: num []) -> (o) o = match p ({});",
        names.join(", "),
        arms.join(", ")
    );
    let module = accept(&text, &options());
    let root = &module.nodes[module.root];
    assert_eq!(deepest(root), 8);
    // One condition for each `merge`.
    assert_eq!(root.vars.iter().filter(|data| data.ty.to_string() == "bool []").count(), 129);
}

#[test]
fn two_matches_of_one_variable_share_their_conditions() {
    let text = format!(
        "{PHASE}node main(p: phase, x: num []) -> (a, b)
           a = match p (Idle -> x, Heat -> 1.0, Cool -> 2.0);
           b = match p (Cool -> -x, Idle -> 1.0, Heat -> 2.0);"
    );
    let names = defined(&accept(&text, &options()));
    assert_eq!(names, ["p.case", "a", "b", "p.case.Idle", "p.case.Heat", "x.Heat_to_Cool"]);
}

#[test]
fn a_case_is_a_static_value() {
    let text = format!(
        "{PHASE}const start = Heat;
         node main(x: num []) -> (o, q: phase)
           o = match start (Idle -> x, Heat -> 2.0 * x, Cool -> 3.0 * x);
           q = start fby q;"
    );
    let module = accept(&text, &options());
    let merges = module.nodes.iter().flat_map(|node| node.exprs.iter());
    assert!(merges.clone().all(|expr| !matches!(expr.kind, ExprKind::Merge { .. })));
    assert_eq!(outputs(&module), ["num []", "int []"]);
}

#[test]
fn cases_of_an_import_have_its_name() {
    struct Phases;
    impl rml_elab::Loader for Phases {
        fn load(&mut self, _: &str, path: &str) -> Result<(String, String), rml_elab::NotLoaded> {
            let text = "enum phase = Idle, Heat; record pair = (a: num [], p: phase); const rate = 0.5;";
            Ok((path.to_owned(), text.to_owned()))
        }
    }
    let texts = [
        "import \"p.rml\" as m; node main(s: m.pair) -> (o, p: m.phase)
           o = match s.p (m.Idle -> s.a, m.Heat -> m.rate); p = m.Heat fby s.p;",
        "import \"p.rml\" (pair, phase, Idle, Heat as Hot, rate); node main(s: pair) -> (o, p: phase)
           o = match s.p (Idle -> s.a, Hot -> rate); p = Hot fby s.p;",
    ];
    for text in texts {
        let mut sources = rml_base::Sources::new();
        let main = sources.add("test.rml", text);
        let (module, found) = rml_elab::elaborate(&mut sources, main, &options(), &mut Phases);
        let shown: Vec<String> = found.iter().map(|d| describe(d, &sources)).collect();
        assert!(module.is_some() && shown.is_empty(), "{}", shown.join("\n"));
    }
}

#[test]
fn a_record_is_a_variable_for_each_field() {
    let text = format!(
        "{STATE}record both = (s: state, count: int []);
         node step(b: both, x: num [3]) -> (next: both)
           next = both(state(x + b.s.h, b.s.c), b.count + 1);
         node main(b: both, x: num [3], c: bool []) -> (o: both, h)
           s = step(b, x);
           o = if c then s else both(state(x, x), 0) fby s;
           h = step(o, x).s.h;"
    );
    let mut options = options();
    options.set.insert("b.s.n".to_owned(), rml_ir::typed::StaticValue::Int(3));
    let module = accept(&text, &options);
    assert_eq!(
        inputs(&module),
        ["b.s.h: num [3]", "b.s.c: num [3]", "b.count: int []", "x: num [3]", "c: bool []"]
    );
    assert_eq!(outputs(&module), ["num [3]", "num [3]", "int []", "num [3]"]);
    let names = defined(&module);
    let expected = ["s.s.h", "s.s.c", "s.count", "o.s.h", "o.s.c", "o.count", "h"];
    assert_eq!(names[..7], expected);
}

#[test]
fn the_gradient_of_a_record_has_its_nums() {
    let text = "record tagged = (a: num [], label: int [], b: num []);
         node f(t: tagged, x: num []) -> (o) o = t.a * x + t.b;
         node main(x: num [], d: num []) -> (o, a: num [], b: num [])
           o, dt, _ = diff_f(tagged(x, 1, x), x, true, d);
           a = dt.a;
           b = dt.b;";
    assert_eq!(outputs(&accept(text, &options())), ["num []", "num []", "num []"]);
    let wrong = reject(&text.replace("a = dt.a;", "a = dt.label;"));
    assert!(wrong.contains("the gradient of the record tagged has no field `label`"), "{wrong}");
}

#[test]
fn two_records_of_one_type_have_sizes_of_their_own() {
    let text = format!(
        "{STATE}node f(a: state, b: state) -> (o, p) o = a.h + a.c; p = b.h * b.c;
         node main(x: num [2], y: num [3]) -> (o, p) o, p = f(state(x, x), state(y, y));"
    );
    assert_eq!(outputs(&accept(&text, &options())), ["num [2]", "num [3]"]);
}

#[test]
fn a_family_of_records_is_stacked_by_field() {
    let text = format!(
        "{STATE}node main(x: num [2]) -> (h, last)
           s[0] = state(x, x);
           s[k + 1] = state(s[k].h + 1.0, s[k].c) for k < 3;
           all = s;
           h = all.h;
           last = s[-1].c;"
    );
    assert_eq!(outputs(&accept(&text, &options())), ["num [4, 2]", "num [2]"]);
}

#[test]
fn a_field_with_a_type_is_stacked() {
    let text = "record tank = (level: num [], valve: bool []);
         node main(x: num []) -> (total, open)
           t[k] = tank(x + to_num(k), true) for k < 2;
           total = t.level;
           open = t.valve;";
    assert_eq!(outputs(&accept(text, &options())), ["num [2]", "bool [2]"]);
}

#[test]
fn a_type_of_a_field_is_checked_where_a_record_is_made() {
    let text = "record one = (value: num [2]);
         node main(x: num [3]) -> (o)
           r = one(x);
           o = r.value;";
    let wrong = reject(text);
    assert!(wrong.contains("shape-mismatch") && wrong.contains("test.rml:3"), "{wrong}");
}

#[test]
fn the_number_of_a_case_is_an_int() {
    let text = "enum phase = Idle, Heat;
         node main(p: phase, c: bool []) -> (n: int [], m: int [])
           n = to_int(p) + 1;
           m = to_int(if c then p else Heat);";
    accept(text, &options());
}

#[test]
fn a_held_adjoint_is_called_for_its_gradients() {
    let text = "node f(x: num []) -> (y: num []) y = x * x;
         node main(x: num []) -> (d: num []) d = grad_f(x, true, 1.0);";
    let wrong = reject(text);
    assert!(wrong.contains("go to 1 name, expected 2 or 3"), "{wrong}");
    assert!(wrong.contains("write `_, d = grad_f(..)`"), "{wrong}");
}

/// The numbers of forward delays, backward delays and choices in the nodes of a module.
fn delays(module: &Module) -> [usize; 3] {
    let all = module.nodes.iter().flat_map(|node| node.exprs.iter());
    let count = |is: &dyn Fn(&ExprKind) -> bool| all.clone().filter(|expr| is(&expr.kind)).count();
    [
        count(&|kind| matches!(kind, ExprKind::Fby { .. })),
        count(&|kind| matches!(kind, ExprKind::FbyBack { .. })),
        count(&|kind| matches!(kind, ExprKind::If { .. })),
    ]
}

#[test]
fn restart_chooses_the_first_value_of_each_delay() {
    let text = "node inner(x: num []) -> (o) o = x + (0.0 fby o);
         node plain(x: num []) -> (o) o = 2.0 * x;
         node outer(x: num [], c: bool []) -> (o, p)
           o = inner(plain(x)) + (0.0 fby x);
           p = inner(x when c) + (0.0 fby back (x when c));
         node main(x: num [], c: bool [], r: bool []) -> (o, p)
           o, p = outer(x, c) restart r;";
    let module = accept(text, &options());
    assert_eq!(calls(&module), ["inner", "plain", "inner", "outer"]);
    // A flag for a delay on a slower clock is kept by one more delay and two choices.
    assert_eq!(delays(&module), [3, 1, 4]);
}

#[test]
fn a_restart_in_a_restart_has_one_flag() {
    let text = "node inner(x: num []) -> (o) o = x + (0.0 fby o);
         node outer(x: num [], r: bool []) -> (o) o = inner(x) restart r;
         node main(x: num [], r: bool [], s: bool []) -> (o) o = outer(x, r) restart s;";
    assert_eq!(delays(&accept(text, &options())), [1, 0, 1]);
}

#[test]
fn what_is_missing_is_said_with_its_cases() {
    let wrong = reject(&format!("{PHASE}node main(p: phase) -> (o) o = match p (Heat -> 1.0);"));
    assert!(wrong.contains("`Idle`, `Cool` missing") && wrong.contains("add `Idle -> ..`"), "{wrong}");
    let wrong = reject(&format!(
        "{PHASE}node main(p: phase) -> (o) o = match p (Heet -> 1.0, Idle -> 1.0, Cool -> 1.0);"
    ));
    assert!(wrong.contains("`Heet` is no case of `phase`") && wrong.contains("there is `Heat`"), "{wrong}");
    let wrong = reject(&format!("{PHASE}node main(p: phase) -> (o) o = p == 1;"));
    assert!(
        wrong.contains("expected phase, found int") && wrong.contains("the cases of `phase` are `Idle`"),
        "{wrong}"
    );
    let wrong = reject(&format!("{PHASE}node main(p: phase) -> (o) o = p + 1;"));
    assert!(wrong.contains("found int") || wrong.contains("takes numbers, found phase"), "{wrong}");
}
