//! Shapes along feedback: a part of an equation does not fit while the shape that is fed back is still unknown.

mod common;

use common::{accept, options, outputs, run};

fn types(equation: &str) -> Vec<String> {
    let text = format!(
        "node main(x: num [2], e: bool []) -> (h)
           k = [[1.0, 0.5], [-0.5, 0.25]];
           {equation}
        "
    );
    outputs(&accept(&text, &options()))
}

#[test]
fn the_other_operand_tells_the_shape() {
    for equation in [
        "h = zeros([2]) fby matmul(k, 0.5 * h);",
        "h = zeros([2]) fby back tanh(matmul(k, 1.0 - h) + x);",
        "h = x + matmul(k, 1.0 - post h);",
        "h = matmul(k, 0.5 * (0.0 fby h)) + x;",
        "h = if e then x else matmul(k, 1.0 - post h);",
        "h = merge e (x when e) (matmul(k when not e, 1.0 - (post h) when not e));",
        "h = zeros([2]) fby concat([(2.0 * h)[0]], [1.0]);",
        "h = zeros([2]) fby [(0.5 * h)[1], 1.0];",
        "h = x fby back matmul(k, if e then 0.0 - h else 2.0 * h);",
    ] {
        assert_eq!(types(equation), ["num [2]"], "{equation}");
    }
}

#[test]
fn what_never_fits_is_still_an_error() {
    for (equation, message) in [
        ("h = zeros([3]) fby matmul(k, 0.5 * h);", "matmul"),
        ("h = 0.0 fby matmul(k, 0.5 * h);", "matmul"),
        ("h = if e then x else x[0][1] + post h;", "indices"),
    ] {
        let text = format!(
            "node main(x: num [2], e: bool []) -> (h)
               k = [[1.0, 0.5], [-0.5, 0.25]];
               {equation}
            "
        );
        let (module, problems, _) = run(&text, &options());
        assert!(module.is_none(), "{equation}");
        assert!(problems.to_string().contains(message), "{equation}: {problems}");
    }
}

/// If a shape that only a recurrence determines does not fit, the error names the variable to declare, and the
/// declaration fixes it.
#[test]
fn the_variable_to_declare_is_named() {
    for (body, name, mended) in [
        ("h = 0.0 fby matmul(k, 0.5 * h); o = h;", "h", "h: num [2] = 0.0 fby matmul(k, 0.5 * h); o = h;"),
        // After other errors, in the same recurrence and in one that nothing enters.
        (
            "s = 0.0 fby t; t = 0.9 * s + g; g = matmul(k, s); o = x + t;",
            "s",
            "s: num [2] = 0.0 fby t; t = 0.9 * s + g; g = matmul(k, s); o = x + t;",
        ),
        (
            "u = post u; w = u when e; o = matmul(k, w);",
            "u",
            "u: num [2] = post u; w = u when e; o = matmul(k, w);",
        ),
        ("h = post matmul(k, h); o = h;", "h", "h: num [2] = post matmul(k, h); o = h;"),
    ] {
        let text = |body: &str| {
            format!("node main(x: num [2], e: bool []) -> (o) k = [[1.0, 0.5], [-0.5, 0.25]]; {body}")
        };
        let (module, problems, _) = run(&text(body), &options());
        assert!(module.is_none(), "{body}");
        let [problem] = &problems.0[..] else { panic!("{body}: {problems}") };
        let help = format!("if `{name}` is to have another shape, declare it: `{name}: num [..]`");
        assert!(problem.help.contains(&help), "{body}: {problem}");
        let place = text(body).find(&format!("{name} = ")).expect("an equation");
        assert!(problem.labels.iter().any(|l| l.span.start as usize == place), "{body}: {problem:#?}");
        accept(&text(mended), &options());
    }
}

/// The error does not ask for a declaration that would not help.
#[test]
fn no_declaration_is_asked_for_where_shapes_are_settled() {
    for body in [
        "b = zeros([3]) fby (b + x); o = b;",
        "n = 0.0 fby n + 1.0; o = concat([n], [n, n]) + x;",
        "s: num [] = 0.0 fby s; o = matmul(k, s);",
        "s = sum(x) + (0.0 fby s); o = matmul(k, s);",
        "o = matmul(k, 0.5);",
    ] {
        let text = format!("node main(x: num [2]) -> (o) k = [[1.0, 0.5], [-0.5, 0.25]]; {body}");
        let (module, problems, _) = run(&text, &options());
        assert!(module.is_none(), "{body}");
        assert!(problems.iter().all(|d| d.help.iter().all(|h| !h.contains("declare"))), "{body}: {problems}");
    }
}
