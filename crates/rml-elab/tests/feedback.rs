//! Shapes along feedback: a part of an equation does not fit while the shape of what is fed back is still unknown.

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
