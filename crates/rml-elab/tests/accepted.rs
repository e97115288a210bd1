//! Programs that elaborate, and the inferred types: polymorphism, named dimensions, feedback, statics, adjoints,
//! imports.

mod common;

use common::{accept, options, outputs, run};
use rml_elab::{Loader, NotLoaded, Options, Root, elaborate};
use rml_ir::op::Op;
use rml_ir::typed::{Callee, ConstKind, ExprKind, Formal, Module, StaticValue};

/// The types of the root's outputs.
fn types(text: &str) -> Vec<String> {
    outputs(&accept(text, &options()))
}

fn with(settings: &[(&str, StaticValue)]) -> Options {
    let mut options = options();
    options.set.extend(settings.iter().map(|(n, v)| ((*n).to_owned(), v.clone())));
    options
}

/// The type of a variable of the root.
fn var(module: &Module, name: &str) -> String {
    let root = &module.nodes[module.root];
    let var = root.vars.iter().find(|v| v.name.as_deref() == Some(name));
    var.unwrap_or_else(|| panic!("no variable {name}")).ty.to_string()
}

#[test]
fn the_clock_of_an_output_may_be_given_by_an_inner_condition() {
    let module = accept(
        "node halves(x: num []) -> (y: num [] when big)
           big = x > 1.0; y = 0.5 * (x when big);
         node main(x: num []) -> (loss: num [] when not end, y)
           t = 0 fby t + 1; end = t == 3; loss = x when not end; y = halves(x);",
        &options(),
    );
    let claims = |name: &str| {
        let (_, node) = module.nodes.iter_enumerated().find(|(_, n)| &*n.name == name).expect("the node");
        let of = |c: &rml_ir::normal::ClockClaim| (node.vars[c.cond].name.clone(), c.positive);
        node.claims.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(claims("main"), [(Some("end".into()), false)]);
    assert_eq!(claims("halves"), [(Some("big".into()), true)]);
}

#[test]
fn instances_are_polymorphic_and_shared() {
    let module = accept(
        "node twice(x) -> (o) o = x + x;
         node main(a: num [3], b: int [], c: num [3]) -> (p, q, r, s)
           p = twice(a); q = twice(b); r = twice(c); s = twice(twice(a));",
        &options(),
    );
    assert_eq!(outputs(&module), ["num [3]", "int []", "num [3]", "num [3]"]);
    assert_eq!(module.nodes.len(), 3, "two instances of `twice` and the root");
}

#[test]
fn equal_instances_differ_by_statics() {
    let module = accept(
        "node pad(n, x) -> (o) o = concat(x, zeros([n]));
         node main(x: num [3]) -> (p, q, r) p = pad(1, x); q = pad(2, x); r = pad(3 - 1, x);",
        &options(),
    );
    assert_eq!(outputs(&module), ["num [4]", "num [5]", "num [5]"]);
    assert_eq!(module.nodes.len(), 3);
}

#[test]
fn a_formal_that_nothing_uses_takes_anything() {
    let arguments = [
        "1.0",
        "x",
        "y",
        "-y",
        "y * y",
        "zeros([2])",
        "range(3)",
        "[]",
        "[[1], [2, 3]]",
        "[1.0, 2.0]",
        "not [true]",
        "-[1, 2]",
        // These are streams, although all their parts could be static.
        "[1.0, 2.0] * [3.0, 4.0]",
        "[1, 2] + 1",
        "2 * ([1, 2] - 1)",
        "[true] and [false, true]",
        "[1, 2] < [2, 1]",
        "[[1.0], [2.0]][0, 0]",
        "[[1, 2]][.., 1]",
        "shape(y) * 2",
        "sizes + sizes",
        "(if true then sizes else [3]) * 2",
        "[[1, 2], [3, 4]][0] * 2",
        // These are static.
        "shape(y)[0] * 2",
        "sizes[1] + 1",
        "2 * n",
        "[[1, 2], [3, 4]][0][1] * 2",
        "[sizes.., 5][2] - 1",
    ];
    let text = |body: &str, call: &str| {
        format!(
            "node f(a) -> (o) {body}
             node passes(a) -> (o) o = f(a);
             node main(x: num [], y: num [n]) -> (p, q) sizes = [2, 3]; z = zeros(sizes); p = {call}; q = x;"
        )
    };
    for argument in arguments {
        for call in ["f", "passes"] {
            let call = format!("{call}({argument})");
            let set = [("n", StaticValue::Int(2))];
            assert_eq!(
                outputs(&accept(&text("o = 1.0;", &call), &with(&set))),
                ["num []", "num []"],
                "{call}"
            );
            // An adjoint is not a stream either if its other results are dropped.
            let adjoint = text("o = 1.0;", &format!("diff_{}, true, 0.1)", &call[..call.len() - 1]));
            assert_eq!(outputs(&accept(&adjoint, &with(&set))), ["num []", "num []"], "{adjoint}");
        }
    }
}

#[test]
fn named_dimensions() {
    let text = "node dense(units, x: num [batch.., d]) -> (o: num [batch.., units])
                  k = param(glorot_uniform([d, units]));
                  o = matmul(x, k);
                node main(x: num [3], y: num [2, 3], z: num [4, 2, 3]) -> (a, b, c)
                  a = dense(5, x); b = dense(5, y); c = dense(5, z);";
    assert_eq!(types(text), ["num [5]", "num [2, 5]", "num [4, 2, 5]"]);
}

#[test]
fn dimensions_of_the_root_are_set() {
    let text =
        "node main(x: num [batch, d], y: num [rest.., 2]) -> (o, n) o = x + x; n = zeros([rest.., d]);";
    let list = StaticValue::Array(vec![StaticValue::Int(7), StaticValue::Int(8)]);
    let set = [("batch", StaticValue::Int(4)), ("d", StaticValue::Int(2)), ("rest", list)];
    assert_eq!(outputs(&accept(text, &with(&set))), ["num [4, 2]", "num [7, 8, 2]"]);
    let single = [("batch", StaticValue::Int(4)), ("d", StaticValue::Int(2)), ("rest", StaticValue::Int(7))];
    assert_eq!(outputs(&accept(text, &with(&single))), ["num [4, 2]", "num [7, 2]"]);
}

#[test]
fn a_dimension_may_be_used_as_a_value() {
    let module = accept(
        "node mean(x: num [n]) -> (m) m = sum(x) / to_num(n); node main(x: num [4]) -> (m) m = mean(x);",
        &options(),
    );
    assert_eq!(outputs(&module), ["num []"]);
}

#[test]
fn splices_of_static_arrays() {
    let text = "node fill(shape, x) -> (o) o = zeros([2, shape.., 1]) + x;
                node main(x: num []) -> (a, b) a = fill([], x); b = fill([3, 4], x);";
    assert_eq!(types(text), ["num [2, 1]", "num [2, 3, 4, 1]"]);
}

#[test]
fn static_names_and_arithmetic() {
    let text = "node main(x: num [12]) -> (o, p, q)
                  shape = [half, 2];
                  half = n / 2;
                  n = shape(x)[0];
                  o = reshape(shape, x);
                  p = x[half:, ];
                  q = if true then zeros([shape[-1]]) else x[0];";
    assert_eq!(types(text), ["num [6, 2]", "num [6]", "num [2]"]);
}

#[test]
fn a_static_name_may_be_a_stream_too() {
    let module = accept("node main(x: num []) -> (n, o) n = 3; o = zeros([n]) + x;", &options());
    assert_eq!(outputs(&module), ["int []", "num [3]"]);
    let called = accept(
        "node f(n, x) -> (o, m) o = zeros([n]) + x; m = n + 1;
         node main(x: num []) -> (o, m) o, m = f(2, x);",
        &options(),
    );
    assert_eq!(outputs(&called), ["num [2]", "int []"]);
    let f = called.nodes.iter().find(|n| n.name.as_ref() == "f").expect("f");
    assert!(matches!(&f.formals[0], Formal::Static { value: StaticValue::Int(2), .. }));
}

#[test]
fn statics_pass_through_nodes() {
    let text = "node inner(n) -> (o) o = zeros([n, n]);
                node outer(n) -> (o) o = inner(2 * n);
                node main() -> (o) o = outer(3);";
    assert_eq!(types(text), ["num [6, 6]"]);
}

#[test]
fn unused_formals_take_anything() {
    let text = "node f(shape, x) -> (o) o = x;
                node main(x: num [2]) -> (a, b) a = f([9], x); b = f(x, x);";
    let module = accept(text, &options());
    assert_eq!(outputs(&module), ["num [2]", "num [2]"]);
    assert_eq!(module.nodes.len(), 3, "the formal is static in one instance, a stream in the other");
}

/// A learning rate can be set even if it is not used in a static position.
#[test]
fn an_input_without_a_type_can_be_set() {
    let text = "node scale(k, x) -> (y) y = k * x;
                node main(rate, x: num [2]) -> (y) y = scale(-rate, x) + rate;";
    let options = with(&[("rate", StaticValue::Num(0.5))]);
    let module = accept(text, &options);
    assert_eq!(outputs(&module), ["num [2]"]);
    let root = &module.nodes[module.root];
    assert!(matches!(&root.formals[0], Formal::Static { .. }), "{:?}", root.formals[0]);
    assert!(matches!(&root.formals[1], Formal::Stream { .. }));
}

#[test]
fn shapes_of_feedback_grow() {
    let text = "node main(x: num [3], k: num [3, 3]) -> (h, v, r)
                  h = 0.0 fby tanh(matmul(k, h) + x);
                  v = 0.9 * (0.0 fby v) + x;
                  r = merge c 0.0 (x when not c);
                  c = true fby not c;";
    assert_eq!(types(text), ["num [3]", "num [3]", "num [3]"]);
}

#[test]
fn shapes_through_mutual_feedback_of_calls() {
    let module = accept(
        "node dense(i) -> (o) k = param(ones([2, 3])); o = matmul(k, i);
         node mul(i) -> (o) o = i * i;
         node main(i: num [3], bp: bool [], do: num [2]) -> (o, di)
           x, di = diff_dense(i, bp, dx);
           o, dx = diff_mul(x, bp, do);",
        &options(),
    );
    assert_eq!(outputs(&module), ["num [2]", "num [3]"]);
    assert_eq!(var(&module, "dx"), "num [2]");
    assert_eq!(module.optimisers.keys().map(|(_, ty)| ty.to_string()).collect::<Vec<_>>(), ["num [2, 3]"]);
}

#[test]
fn what_depends_on_itself_only_is_a_scalar() {
    assert_eq!(types("node main() -> (o) o = post o;"), ["num []"]);
    assert_eq!(
        types("node main() -> (o, p) o = post o; p = 1 fby (if c then o else p); c = true;"),
        ["int []", "int []"]
    );
}

#[test]
fn element_types_follow_from_use() {
    let text = "node f(i) -> (o) o = 0 fby i;
                node main(x, c, y) -> (a, b) a = f(x); b = if c then y else true;";
    let module = accept(text, &options());
    assert_eq!(outputs(&module), ["int []", "bool []"]);
    assert_eq!([var(&module, "x"), var(&module, "c"), var(&module, "y")], ["int []", "bool []", "bool []"]);
}

#[test]
fn shapes_of_root_inputs_follow_from_products() {
    let text = "node layer(x) -> (o) k = param(ones([2, 5])); o = matmul(k, x);
                node main(x) -> (o) o = layer(x);";
    let module = accept(text, &options());
    assert_eq!((var(&module, "x"), var(&module, "o")), ("num [5]".to_owned(), "num [2]".to_owned()));
}

#[test]
fn broadcasts_are_explicit_but_constants_stay_constants() {
    let module = accept(
        "node main(x: num [3], y: num [], c: bool []) -> (a, b) a = 0.0 fby x; b = if c then x else y;",
        &options(),
    );
    let root = &module.nodes[module.root];
    let broadcasts =
        root.exprs.iter().filter(|e| matches!(&e.kind, ExprKind::Apply { op: Op::Broadcast { .. }, .. }));
    assert_eq!(broadcasts.count(), 1);
    let wide =
        root.exprs.iter().any(|e| matches!(&e.kind, ExprKind::Const(c) if c.ty.to_string() == "num [3]"));
    assert!(wide, "`0.0` is widened");
}

#[test]
fn constants_keep_their_text() {
    let module = accept(
        "node main(x: num []) -> (o) n = 2; k = param(glorot_uniform([n, 3])); o = sum(k) + x + 1e-3 + sum([-1.0, 2.0]);",
        &options(),
    );
    let root = &module.nodes[module.root];
    let texts: Vec<&str> = root
        .exprs
        .iter()
        .filter_map(|e| match &e.kind {
            ExprKind::Const(c) => c.text.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["glorot_uniform([n, 3])", "0.001", "[-1.0, 2.0]"]);
    assert_eq!(root.statics, [("n".into(), "2".into())]);
    let random = |e: &rml_ir::typed::Expr| matches!(&e.kind, ExprKind::Const(c) if matches!(c.kind, ConstKind::Random(_)));
    assert!(root.exprs.iter().any(random));
}

#[test]
fn operators_and_their_shapes() {
    let text = "node main(x: num [2, 3], i: int [4], m: num [3, 5]) -> (a, b, c, d, e, f, g, h, j, k)
                  a = one_hot(10, i);
                  b = transpose(x);
                  c = sum(x, -1);
                  d = argmax(m, 0);
                  e = matmul(x, m);
                  f = concat(x, ones([2, 4]), 1);
                  g = x[.., 0:2];
                  h = x[1, ::2];
                  j = unindex(shape(x), x[0], 0);
                  k = sum_to([3], x);";
    let expected = [
        "num [4, 10]",
        "num [3, 2]",
        "num [2]",
        "int [5]",
        "num [2, 5]",
        "num [2, 7]",
        "num [2, 2]",
        "num [2]",
        "num [2, 3]",
        "num [3]",
    ];
    assert_eq!(types(text), expected);
}

/// Slices have the meaning of NumPy if the bounds are within the axis.
#[test]
fn slices_of_all_steps() {
    let slices = [
        ("::-1", "[5, 4, 3, 2, 1, 0]"),
        ("5:1:-2", "[5, 3]"),
        ("6:1:-2", "[5, 3]"),
        ("-1:-6:-1", "[5, 4, 3, 2, 1]"),
        (":2:-1", "[5, 4, 3]"),
        ("2::-1", "[2, 1, 0]"),
        ("2::-2", "[2, 0]"),
        ("0::-1", "[0]"),
        ("3:1:-7", "[3]"),
        ("0:5:-1", "[]"),
        ("2:2:-1", "[]"),
        (":-1:-1", "[]"),
        ("4:1", "[]"),
        ("1::3", "[1, 4]"),
        ("::-9223372036854775807", "[5]"),
    ];
    for (slice, picked) in slices {
        let size = picked.matches(|c: char| c.is_ascii_digit()).count();
        let text = format!(
            "node main(x: num [6]) -> (a, b)
               k = [0, 1, 2, 3, 4, 5];
               a = x[{slice}];
               b = zeros(k[{slice}]);"
        );
        let dims = picked.replace(' ', "").replace(',', ", ");
        assert_eq!(types(&text), [format!("num [{size}]"), format!("num {dims}")], "{slice}");
    }
    let short = "node main(x: num [1], y: num [0]) -> (a, b, c)
                   a = x[::-1];
                   b = y[::-1];
                   c = y[0:0:-3];";
    assert_eq!(types(short), ["num [1]", "num [0]", "num [0]"]);
}

#[test]
fn results_of_adjoints() {
    let module = accept(
        "node f(x, c, y) -> (o, p) o = if c then x else y; p = 1;
         node main(x: num [], c: bool [], y: num [2]) -> (a, b, d)
           a, _ = diff_f(x, c, y, true, [1.0, 1.0]);
           b, _, dx, _ = diff_f(x, c, y, true, [1.0, 1.0]);
           _, _, bpx, _, _, d = diff_f(x, c, y, true, [1.0, 1.0]);",
        &options(),
    );
    assert_eq!(outputs(&module), ["num [2]", "num [2]", "num [2]"]);
    assert_eq!([var(&module, "dx"), var(&module, "bpx")], ["num []", "bool []"]);
    let root = &module.nodes[module.root];
    assert!(root.equations.iter().all(|e| e.lhs.len() == 6), "canonical results");
}

#[test]
fn second_adjoints_and_adjoints_as_operands() {
    let module = accept(
        "node f(x) -> (o) o = x * x;
         node main(x: num []) -> (a, b)
           a = 2.0 * diff_f(x, true, 1.0);
           b, _, _, _ = diff_diff_f(x, true, 1.0, true, 1.0, 1.0);",
        &options(),
    );
    let root = &module.nodes[module.root];
    let orders: Vec<u8> = root
        .exprs
        .iter()
        .filter_map(|e| match e.kind {
            ExprKind::Call { callee: Callee::Diff { order, .. }, .. } => Some(order),
            _ => None,
        })
        .collect();
    assert_eq!(orders, [1, 2]);
}

#[test]
fn a_program_may_define_builtins_and_the_optimiser() {
    let module = accept(
        "import std.optimisers;
         node diff_param(init, bp, do) -> (o) o = momentum(0.9, init, bp, do);
         node relu(x) -> (o) o = x + 1.0;
         node f(x) -> (o) o = relu(param(2.0) * x);
         node main(x: num []) -> (o) o, _ = diff_f(x, true, 1.0);",
        &options(),
    );
    let ((_, ty), id) = module.optimisers.first().expect("an optimiser");
    assert_eq!(ty.to_string(), "num []");
    let optimiser = &module.nodes[*id];
    assert_eq!(optimiser.name.as_ref(), "diff_param");
    assert!(optimiser.exprs.iter().any(|e| matches!(e.kind, ExprKind::Call { .. })), "the program's own");
    assert!(module.nodes.iter().any(|n| n.name.as_ref() == "relu"));
}

#[test]
fn root_to_be_differentiated() {
    let text = "node g(x) -> (o) o = x;
                node diff_g(x, bp, do) -> (o, dx) o = x; dx = do;
                node f(x: num [2]) -> (o) o = param(1.0) * g(x);";
    let module = accept(text, &Options { root: Root::Diff("f".to_owned()), ..options() });
    assert_eq!((module.overrides.len(), module.optimisers.len()), (1, 1));
    let plain = accept(text, &Options { root: Root::Run("f".to_owned()), ..options() });
    assert_eq!((plain.overrides.len(), plain.optimisers.len()), (0, 0));
}

#[test]
fn windows_and_declared_clocks() {
    let module = accept(
        "import std.layers (lstm);
         node main(x: num [4], end: bool [], y: num [] when not end) -> (h: num [8], y) h = lstm(8, x) every end;",
        &options(),
    );
    let root = &module.nodes[module.root];
    let clocks: Vec<_> =
        root.inputs().map(|i| i.clock.map(|(v, b)| (root.vars[v].name.clone(), b))).collect();
    assert_eq!(clocks, [None, None, Some((Some("end".into()), false))]);
    assert!(root.exprs.iter().any(|e| matches!(e.kind, ExprKind::Call { every: Some(_), .. })));
}

struct Files;

impl Loader for Files {
    fn load(&mut self, importing: &str, path: &str) -> Result<(String, String), NotLoaded> {
        let text = match path {
            "a" => "import \"b\" (three);\nnode f(x) -> (o) o = x + three();\nnode hidden(x) -> (o) o = x;",
            "b" => "node three() -> (o) o = 3.0;\nnode f(x) -> (o) o = x;",
            _ => return Err(NotLoaded::Unreadable(format!("{importing} imports nothing like this"))),
        };
        Ok((path.to_owned(), text.to_owned()))
    }
}

#[test]
fn imports_and_their_precedence() {
    let text = "import \"a\"; import \"b\" (f);
                node hidden(x) -> (o) o = [x];
                node main(x: num []) -> (o, p) o = f(x); p = hidden(x);";
    let mut sources = rml_base::Sources::new();
    let main = sources.add("main", text);
    let (module, found) = elaborate(&mut sources, main, &options(), &mut Files);
    let module = module.unwrap_or_else(|| panic!("{found}"));
    assert_eq!(outputs(&module), ["num []", "num [1]"]);
    assert!(module.nodes.iter().all(|n| n.name.as_ref() != "three"), "`f` is that of b");
}

#[test]
fn adjoints_with_types_known_late() {
    // Only other calls show which inputs are nums.
    let text = "node f(x, y) -> (o) o = g(x); node g(x) -> (o) o = post x;
                node main(a: int [], b: num []) -> (p, q) p, _ = diff_f(a, b, true); q, _, _ = diff_f(b, b, true, p2); p2 = 1.0;";
    assert_eq!(types(text), ["int []", "num []"]);
}

#[test]
fn hostile_depth_does_not_overflow() {
    let n = 20_000;
    let mut text = String::from("node main(x: num []) -> (o)\n");
    for i in 0..n {
        text.push_str(&format!("s{i} = s{} + 1;\n", i + 1));
    }
    text.push_str(&format!("s{n} = 1;\no = zeros([s0])[0] + x;\n"));
    assert_eq!(types(&text), ["num []"]);
    let mut nested = String::from("node main(x: num []) -> (o)\n");
    for i in 0..1000 {
        nested.push_str(&format!("a{i} = [a{}, a{}];\n", i + 1, i + 1));
    }
    nested.push_str("a1000 = 1;\no = zeros(a0) + x;\n");
    let (module, found, _) = run(&nested, &options());
    assert!(module.is_none() && found.has_errors());
}

#[test]
fn a_long_chain_in_any_order() {
    let n = 5_000;
    let mut text = String::from("node main(x: num [3]) -> (o)\no = v0;\n");
    for i in 0..n {
        text.push_str(&format!("v{i} = v{} + 1.0;\n", i + 1));
    }
    text.push_str(&format!("v{n} = x;\n"));
    assert_eq!(types(&text), ["num [3]"]);
}

#[test]
fn too_many_instances_are_refused() {
    let mut text = String::from("node f0(x) -> (o) o = x;\n");
    for i in 1..40 {
        text.push_str(&format!("node f{i}(x) -> (o) o = f{}(x) + f{}(x);\n", i - 1, i - 1));
    }
    text.push_str("node main(x: num []) -> (o) o = f39(x);");
    let (module, found, _) = run(&text, &options());
    assert!(module.is_none());
    assert!(found.iter().all(|d| d.code.name == "instance-limit"), "{found}");
}

#[test]
fn the_highest_expressions_elaborate() {
    let height = rml_syntax::MAX_NESTING - 2;
    let chain = "x".to_owned() + &" + x".repeat(height);
    let nested = "f(".repeat(height / 2) + "x" + &")".repeat(height / 2);
    let text = format!("node f(x) -> (o) o = x;\nnode main(x: num []) -> (a, b) a = {chain}; b = {nested};");
    assert_eq!(types(&text), ["num []", "num []"]);
}

#[test]
fn library_layers_losses_and_optimisers() {
    let text = "import std.layers; import std.losses; import std.optimisers;
                node diff_param(init, bp, do) -> (o) o = adam(0.001, 0.9, 0.999, 1e-8, init, bp, do);
                node net(x: num [batch.., d], end) -> (y) h = gru(5, x) every end; y = dense(2, h);
                node train(x: num [batch, 3], gt: num [batch, 2], end: bool []) -> (loss: num [])
                  y, _ = diff_net(x, end, true, dy);
                  loss, dy, _ = diff_mse(y, gt, true, -0.1);";
    let mut options = with(&[("batch", StaticValue::Int(4))]);
    options.root = Root::Run("train".to_owned());
    let module = accept(text, &options);
    assert_eq!(var(&module, "dy"), "num [4, 2]");
    let types: Vec<String> = module.optimisers.keys().map(|(_, ty)| ty.to_string()).collect();
    assert_eq!(types.len(), 5, "{types:?}");
}

#[test]
fn a_node_without_equations_hands_its_inputs_on() {
    let text = "node swap(x, y) -> (y, x)
                node main(a: num [2], b: int []) -> (p, q, r)  p, q = swap(a, b);  r = same(a);
                node same(x) -> (x)";
    assert_eq!(types(text), ["int []", "num [2]", "num [2]"]);
}
