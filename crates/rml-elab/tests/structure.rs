//! Constants, repetition, nodes as arguments and static recursion: the plain program that is equivalent to each.

mod common;

use common::{accept, describe, options, outputs, run};
use rml_elab::Options;
use rml_ir::typed::{ExprKind, Module, StaticValue};

fn with(settings: &[(&str, StaticValue)]) -> Options {
    let mut options = options();
    options.set.extend(settings.iter().map(|(n, v)| ((*n).to_owned(), v.clone())));
    options
}

/// The root's equations as names of variables, and its calls with the prefixes of their paths.
fn shape_of(module: &Module) -> (Vec<String>, Vec<String>) {
    let root = &module.nodes[module.root];
    let name = |v: &rml_ir::typed::Var| root.vars[*v].name.as_deref().unwrap_or("_").to_owned();
    let defined = root.equations.iter().flat_map(|e| e.lhs.iter().flatten()).map(name).collect();
    let calls = root.exprs.iter().filter_map(|e| match &e.kind {
        ExprKind::Call { callee: rml_ir::typed::Callee::Node(node), member, .. } => {
            let member = member.as_deref().map_or_else(String::new, |member| format!("{member}."));
            Some(format!("{member}{}", module.nodes[*node].name))
        }
        _ => None,
    });
    (defined, calls.collect())
}

/// The errors of a program: the codes, and the text of the first finding.
fn reject(text: &str, options: &Options) -> (Vec<&'static str>, String) {
    let (module, found, sources) = run(text, options);
    assert!(module.is_none(), "accepted:\n{text}");
    let first = found.iter().next().map(|d| describe(d, &sources)).unwrap_or_default();
    (found.iter().map(|d| d.code.name).collect(), first)
}

const LAYER: &str = "node layer(units, x: num [d]) -> (o: num [units])
       kernel = param(zeros([d, units]));
       o = matmul(x, kernel);\n";

#[test]
fn a_chain_has_one_equation_for_each_index() {
    let text = format!(
        "{LAYER}const n = 3;
         node main(x: num [4]) -> (o)
           h[0] = x;
           h[k + 1] = layer(4, h[k]) for k < n;
           o = h[n];"
    );
    let (defined, calls) = shape_of(&accept(&text, &options()));
    assert_eq!(defined, ["h[0]", "h[1]", "h[2]", "h[3]", "o"]);
    assert_eq!(calls, ["h[1].layer", "h[2].layer", "h[3].layer"]);
    let (_, calls) = shape_of(&accept(&text, &with(&[("n", StaticValue::Int(1))])));
    assert_eq!(calls, ["h[1].layer"]);
    let (defined, _) = shape_of(&accept(&text, &with(&[("n", StaticValue::Int(0))])));
    assert_eq!(defined, ["h[0]", "o"]);
}

#[test]
fn the_count_may_be_a_static_parameter_and_sizes_a_list() {
    let text = format!(
        "{LAYER}node deep(sizes, n, x: num [d]) -> (o)
           h[0] = x;
           h[k + 1] = layer(sizes[k], h[k]) for k < n;
           o = h[-1];
         node main(n, x: num [4]) -> (o) o = deep([8, 6, 2], n, x);"
    );
    assert_eq!(outputs(&accept(&text, &with(&[("n", StaticValue::Int(3))]))), ["num [2]"]);
    assert_eq!(outputs(&accept(&text, &with(&[("n", StaticValue::Int(2))]))), ["num [6]"]);
}

#[test]
fn a_family_is_the_stack_of_its_members() {
    let text = format!(
        "{LAYER}node main(x: num [4]) -> (y, m, part, s)
           y[k] = layer(2, x) for k < 5;
           m = sum(y, 0) / 5;
           part = y[1:4][0, 1];
           s = y[3][0] + y[4, 1];"
    );
    assert_eq!(outputs(&accept(&text, &options())), ["num [5, 2]", "num [2]", "num []", "num []"]);
}

#[test]
fn an_index_chooses_and_is_a_number() {
    let text = "node main(x: num [4]) -> (y)
        y[k] = if k == 0 then x[0] else y[k - 1] * (k + 1) + x[k] for k < 4;";
    let module = accept(text, &options());
    assert_eq!(outputs(&module), ["num [4]"]);
    let (defined, _) = shape_of(&module);
    assert_eq!(defined, ["y[0]", "y[1]", "y[2]", "y[3]", "y"]);
}

#[test]
fn only_a_written_index_counts_from_the_end() {
    let text = "node main(x: num [4]) -> (d) d[k] = x[k] - x[k - 1] for 1 <= k < 4; d[0] = x[-1];";
    assert_eq!(outputs(&accept(text, &options())), ["num [4]"]);
    let (codes, first) = reject(&text.replace("1 <= k", "k").replace("d[0] = x[-1];", ""), &options());
    assert_eq!(codes, ["static-value"]);
    assert!(first.contains("the entry -1 is read where k = 0"), "{first}");
    let part = "node main(x: num [4]) -> (d) d[k] = sum(x[0:k - 1]) for k < 4;";
    assert!(reject(part, &options()).0.contains(&"static-value"));
    let steps = "node main(x: num [4]) -> (d) d[k] = x[k:k - 5:-1] for k < 4;";
    assert!(reject(steps, &options()).0.contains(&"static-value"));
}

#[test]
fn functions_of_known_ints_decide_copies() {
    let text = format!(
        "{LAYER}const dilation = [1, 2, 4];
         node main(x: num [4]) -> (o, d)
           h[0] = x;
           h[k + 1] = if mod(k, 2) == 0 then layer(4, h[k]) else h[k] for k < 4;
           o = h[minimum(4, abs(-5))];
           d[k] = dilation[mod(k, 3)] for k < 4;"
    );
    let (_, calls) = shape_of(&accept(&text, &options()));
    assert_eq!(calls, ["h[1].layer", "h[3].layer"]);
    let sizes = "node wide(n, x: num []) -> (y) y = zeros([mod(n, 5), maximum(n, 9)]); node main(x: num []) -> (y) y = wide(7, x);";
    assert_eq!(outputs(&accept(sizes, &options())), ["num [2, 9]"]);
}

#[test]
fn stacks_of_records_have_one_more_axis_than_these() {
    let text = "enum phase = Idle, Heat;
        record pt = (a: num [], p: phase, of: pair); record pair = (v: num [2], n: int []);
        node run(x: num []) -> (t: pt)
          t = pt(x + (0.0 fby t.a), if x > 0.0 then Heat else Idle, pair([x, x], 1));
        node main(x: num [4]) -> (a, v, n, p, b)
          w = run(x) along 0;
          a = w.a;
          v = w.of.v;
          n = w.of.n;
          h[k] = run(x[k]) for k < 4;
          g = h;
          p = match g.p[1] (Idle -> 0.0, Heat -> 1.0);
          s = g fby w;
          b = s.a;";
    let found = outputs(&accept(text, &options()));
    assert_eq!(found, ["num [4]", "num [4, 2]", "int [4]", "num []", "num [4]"]);
    let text = format!("{text} node one(t: pt) -> (y) y = t.a;");
    let (codes, _) = reject(&text.replace("b = s.a;", "b = one(w);"), &options());
    assert_eq!(codes, ["shape-mismatch"]);
}

#[test]
fn a_restart_of_what_has_no_delay_is_a_warning() {
    let text = "node squared(x) -> (y) y = x * x;
        node main(x: num [], r: bool []) -> (s) s = squared(x) restart r;";
    let (module, found, _) = run(text, &options());
    assert!(module.is_some());
    assert_eq!(found.iter().map(|d| d.code.name).collect::<Vec<_>>(), ["restart-without-delay"]);
    let text = text.replace("y = x * x;", "y = x + (0.0 fby y);");
    assert!(run(&text, &options()).1.is_empty());
}

#[test]
fn results_of_one_call_may_be_members() {
    let text = "node two(x) -> (s, p) s = x + x; p = x * x;
        node main(x: num []) -> (a, b)
          a[0] = x;
          a[k + 1], b[k] = two(a[k]) for k < 3;
          c[k], _ = split([x, x]) for k < 0;";
    let module = accept(&text.replace("c[k], _ = split([x, x]) for k < 0;", ""), &options());
    assert_eq!(outputs(&module), ["num [4]", "num [3]"]);
}

#[test]
fn constants_are_written_as_their_values() {
    let text = "const n = 2 * m; private const m = 2; const sizes = [m, n..];
        node main(x: num []) -> (a, b, c) a = n / x; b = zeros([n, m]); c = zeros(sizes2); sizes2 = [n, 1];";
    let text = text.replace("[m, n..]", "[m, n]");
    assert_eq!(outputs(&accept(&text, &options())), ["num []", "num [4, 2]", "num [4, 1]"]);
    let spliced = "const sizes = [2, 3]; node main(x: num []) -> (a) a = zeros([sizes.., 4]);";
    assert_eq!(outputs(&accept(spliced, &options())), ["num [2, 3, 4]"]);
}

#[test]
fn constants_reach_the_optimiser_and_are_set() {
    let text = "import std.optimisers;
        const rate = 0.1;
        node diff_param(init, bp, do) -> (o) o = adam(rate, 0.9, 0.999, 0.00000001, init, bp, do);
        node f(x: num []) -> (o) k = param(1.0); o = k * x;
        node main(x: num []) -> (o, dx) o, dx = diff_f(x, true, -1.0);";
    for (options, expected) in [(options(), "0.1"), (with(&[("rate", StaticValue::Num(0.25))]), "0.25")] {
        let module = accept(text, &options);
        let texts = module.nodes.iter().flat_map(|n| n.exprs.iter());
        let found = texts.filter_map(|e| match &e.kind {
            ExprKind::Const(c) => c.text.clone(),
            _ => None,
        });
        assert!(found.into_iter().any(|t| &*t == expected), "{expected}");
    }
}

#[test]
fn a_parameter_of_the_root_hides_a_constant() {
    let text = "const a = 1.0; node main(a, x: num []) -> (o) o = a * x;";
    accept(text, &with(&[("a", StaticValue::Num(2.0))]));
    let (codes, _) = reject(text, &with(&[("b", StaticValue::Num(2.0))]));
    assert_eq!(codes, ["unused-setting"]);
    let hidden = "const a = 1.0; node main(x: num []) -> (o) a = 3.0; o = a * x;";
    accept(hidden, &options());
    let (codes, first) = reject(hidden, &with(&[("a", StaticValue::Num(2.0))]));
    assert_eq!(codes, ["unused-setting"]);
    assert!(first.contains("this variable hides it"), "{first}");
}

#[test]
fn nodes_are_arguments() {
    let text = format!(
        "{LAYER}node residual(f: node, x) -> (o) o = x + f(x);
         node twice(f: node, x) -> (o) o = f(f(x));
         node chain(f: node, n, x) -> (o) h[0] = x; h[k + 1] = f(h[k]) for k < n; o = h[n];
         node same(x) -> (o) o = layer(4, x);
         node main(x: num [4]) -> (a, b, c, d)
           a = residual(layer(4, _), x);
           b = residual(tanh, x);
           c = chain(residual(same, _), 3, x);
           d = twice(chain(layer(4, _), 2, _), x);"
    );
    assert_eq!(outputs(&accept(&text, &options())), ["num [4]"; 4]);
}

#[test]
fn an_argument_is_differentiated_by_its_name() {
    let text = format!(
        "{LAYER}node step(net: node, x, y) -> (o)
           o, _ = diff_net(x, true, y - o);
         node main(x: num [4], y: num [2]) -> (o) o = step(layer(2, _), x, y);"
    );
    assert_eq!(outputs(&accept(&text, &options())), ["num [2]"]);
}

#[test]
fn recursion_ends_by_a_static_condition() {
    let text = "node power(n, x) -> (o) o = if n == 0 then 1.0 else x * power(n - 1, x);
        node main(n, x: num []) -> (o) o = power(n, x);";
    let module = accept(text, &with(&[("n", StaticValue::Int(5))]));
    assert_eq!(outputs(&module), ["num []"]);
    assert_eq!(module.nodes.iter().filter(|n| &*n.name == "power").count(), 6);
    let (codes, text) = reject(text, &with(&[("n", StaticValue::Int(-1))]));
    assert_eq!(codes, ["instance-limit"]);
    assert!(text.contains("n = -"), "{text}");
}

#[test]
fn an_error_in_copies_is_shown_once_with_its_index() {
    let text = format!(
        "{LAYER}node main(x: num [4]) -> (o)
           h[0] = x;
           h[k + 1] = layer(4, h[k]) + zeros([3 + k]) for k < 9;
           o = h[-1];"
    );
    let (codes, text) = reject(&text, &options());
    assert_eq!(codes, ["shape-mismatch"]);
    assert!(text.contains("in the equation of `h[1]`, where k = 0"), "{text}");
}

#[test]
fn programs_without_structure_are_not_copied() {
    let module = accept("node main(x: num []) -> (o) o = x;", &options());
    assert_eq!(shape_of(&module).0, ["o"]);
}

/// The processor time of this thread, if the system provides it; it does not include the work of other programs.
fn processor_seconds() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    told.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

#[test]
fn a_hundred_layers_take_time_in_proportion() {
    let text = format!(
        "{LAYER}node main(n, x: num [4]) -> (o)
           h[0] = x;
           h[k + 1] = tanh(layer(4, h[k]) + zeros([4])) for k < n;
           o = h[n];"
    );
    let seconds = |n: i64| {
        let options = with(&[("n", StaticValue::Int(n))]);
        let once = || {
            let start = processor_seconds();
            accept(&text, &options);
            processor_seconds() - start
        };
        (0..3).map(|_| once()).fold(f64::INFINITY, f64::min)
    };
    let (few, many) = (seconds(100), seconds(1600));
    // Sixteen times the number of layers; quadratic growth would take 256 times as long.
    assert!(many < 80.0 * few + 0.05, "{few} s for 100 layers, {many} s for 1600");
}

#[test]
fn an_error_of_a_library_node_is_shown_at_the_call() {
    let text = "import std.structure; import std.layers;
        node main(x: num [4], n: int []) -> (o) o = repeat(dense(4, _), n, x);";
    let (codes, text) = reject(text, &options());
    assert_eq!(codes, ["not-static"]);
    assert!(text.lines().any(|l| l.contains("at test.rml:2") && l.contains("`n`")), "{text}");
}

#[test]
fn an_error_of_a_passed_node_is_shown_there() {
    let text = "import std.structure;
        node bad(x: num [4]) -> (o) o = x + [1.0, 2.0];
        node main(x: num [4]) -> (o) o = repeat(bad, 3, x);";
    let (codes, text) = reject(text, &options());
    assert_eq!(codes, ["shape-mismatch"]);
    assert!(text.contains("`bad` is passed on here"), "{text}");
    assert!(text.contains("in the equation of `layer[0]`, where k = 0"), "{text}");
}

#[test]
fn constants_are_imported() {
    struct Settings;
    impl rml_elab::Loader for Settings {
        fn load(&mut self, _: &str, path: &str) -> Result<(String, String), rml_elab::NotLoaded> {
            let text = match path {
                "settings.rml" => "const rate = 0.5; private const own = 2.0;",
                _ => "import \"settings.rml\"; node scale(x) -> (o) o = rate * x;",
            };
            Ok((path.to_owned(), text.to_owned()))
        }
    }
    let accepted = |text: &str, set: &[(&str, StaticValue)]| {
        let mut sources = rml_base::Sources::new();
        let main = sources.add("test.rml", text);
        let (module, found) = rml_elab::elaborate(&mut sources, main, &with(set), &mut Settings);
        module.ok_or_else(|| found.iter().map(|d| d.code.name).collect::<Vec<_>>())
    };
    let whole =
        "import \"settings.rml\"; import \"scale.rml\"; node main(x: num []) -> (o) o = rate + scale(x);";
    let named = whole.replacen(";", " (rate);", 1);
    let qualified =
        "import \"settings.rml\" as s; import \"scale.rml\"; node main(x: num []) -> (o) o = scale(x);";
    for text in [whole, &named] {
        let module = accepted(text, &[("rate", StaticValue::Int(3))]).expect("accepted");
        let texts = module.nodes.iter().flat_map(|n| n.exprs.iter());
        let found =
            texts.filter(|e| matches!(&e.kind, ExprKind::Const(c) if c.text.as_deref() == Some("3.0")));
        assert_eq!(found.count(), 2, "{text}");
    }
    assert!(accepted(qualified, &[("s.rate", StaticValue::Num(3.0))]).is_ok());
    let private = "import \"settings.rml\"; node main(x: num []) -> (o) o = own + rate + x;";
    assert_eq!(accepted(private, &[]).expect_err("private"), ["unknown-name"]);
}

#[test]
fn an_assertion_is_an_equation_without_a_result_where_it_is_false() {
    let text = "node main(x: num [2], c: bool []) -> (o)
           o = x;
           h[0] = x;
           h[k + 1] = h[k] + 1.0 for k < 2;
           assert \"each\" h[k] < 9.0 for k < 2;
           assert \"sampled\" (x[0] when c) > 0.0;
           assert \"always\" 2 * 2 == 4;";
    let module = accept(text, &options());
    let root = &module.nodes[module.root];
    let asserted: Vec<&str> = root.vars.iter().filter_map(|v| v.asserts.as_deref()).collect();
    assert_eq!(asserted, ["each", "each", "sampled", "always"]);
    let printed = rml_ir::typed::print(&module);
    assert!(printed.contains("gather{axis=0}((int [1] fill 0), to_int(not(lt("), "{printed}");
}

#[test]
fn zeros_like_has_the_type_of_a_variable() {
    let text = "record pair = (a: int [2], b: bool []);
         enum mode = Up, Down;
         node keep(x) -> (o)
           s = shape(x);
           o = zeros_like(x) fby x;
           w = zeros_like(x, [3, s..]) fby w;
         node main(i: int [2], b: bool [], x: num [2, 2], m: mode, p: pair) -> (io, bo, xo, mo, po: pair)
           io = keep(i);
           bo = keep(b);
           xo = keep(x);
           mo: mode = keep(m);
           po = zeros_like(p) fby p;";
    let module = accept(text, &options());
    let root = &module.nodes[module.root];
    let types: Vec<String> = root.outputs.iter().map(|o| root.vars[*o].ty.to_string()).collect();
    assert_eq!(types, ["int [2]", "bool []", "num [2, 2]", "int []", "int [2]", "bool []"]);
    let (codes, text) = reject("node main(x: num []) -> (o)\n  o = zeros_like(x + 1.0);", &options());
    assert_eq!(codes, ["not-static"]);
    assert!(text.contains("`zeros_like` takes the name of a variable"), "{text}");
}
