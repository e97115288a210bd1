//! The examples of the operator table give the stated results, and the adjoint of each prints as a program.

use rml::ir::op::entries;
use rml::{Cell, Columns, Data, Options, RunOptions, Source, Value, check, differentiate};

/// The value of an expression that follows the equations of a text.
fn value(text: &str) -> Result<Value, String> {
    let (equations, expr) = text.rsplit_once("; ").unwrap_or(("", text));
    let equations = if equations.is_empty() { String::new() } else { format!("{equations};") };
    let source = format!("node main() -> (o)\n  {equations}\n  o = {expr};\n");
    let failed = |e: &dyn std::fmt::Display| format!("{source}: {e}");
    let program = rml::compile(&Source::text("example", source.clone()), &Options::default())
        .map_err(|e| failed(&e))?;
    let options = RunOptions { cycles: Some(1), ..RunOptions::default() };
    let trace = rml::run(&program, &Columns::default(), &options).map_err(|e| failed(&e))?;
    match (&trace.error, &trace.values["o"][0]) {
        (Some(e), _) => Err(failed(e)),
        (None, Cell::Value(value)) => Ok(value.clone()),
        (None, _) => Err(failed(&"no value")),
    }
}

fn close(a: &Value, b: &Value) -> bool {
    match (a.to_data(), b.to_data()) {
        (Data::F32(x), Data::F32(y)) => {
            a.ty() == b.ty() && x.iter().zip(&y).all(|(x, y)| (x - y).abs() <= 1e-6 * (1.0 + y.abs()))
        }
        _ => a.same(b),
    }
}

#[test]
fn examples_give_what_they_say() {
    let mut wrong = Vec::new();
    for entry in entries() {
        match (value(entry.example), value(entry.value)) {
            (Ok(found), Ok(said)) if close(&found, &said) => {}
            (found, said) => {
                wrong.push(format!("{}: {} gives {found:?}, not {said:?}", entry.name, entry.example))
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Programs that each use one operator, with static arguments of every form.
const PROGRAMS: &[&str] = &[
    "x: num [3], i: int [4]) -> (o) o = gather(x, i)",
    "x: num [2, 3], i: int [4]) -> (o) o = gather(x, i, -1)",
    "i: int [4], d: num [4, 2]) -> (o) o = scatter_add([5, 2], i, d)",
    "i: int [4], d: num [2, 4]) -> (o) o = scatter_add([2, 5], i, d, 1)",
    "x: num [2, 3], i: int [2]) -> (o) o = pick(x, i)",
    "x: num [9, 2], k: num [3, 2, 5]) -> (o) o = conv1d(x, k)",
    "x: num [4, 9, 2], k: num [3, 1, 6]) -> (o) o = conv1d(x, k, 2, [1, 0], 2, 2)",
    "d: num [7, 5], k: num [3, 2, 5]) -> (o) o = conv1d_transpose([9, 2], d, k)",
    "x: num [9, 2], d: num [7, 5]) -> (o) o = conv1d_kernel([3, 2, 5], x, d)",
    "x: num [5, 6, 2], k: num [2, 3, 2, 3]) -> (o) o = conv2d(x, k, [2, 1], [[1, 0], 2], 1, 1)",
    "d: num [4, 4, 3], k: num [2, 3, 2, 3]) -> (o) o = conv2d_transpose([5, 6, 2], d, k, 1)",
    "x: num [5, 6, 2], d: num [4, 4, 3]) -> (o) o = conv2d_kernel([2, 3, 2, 3], x, d)",
    "x: num [9, 2]) -> (o) o = max_pool1d(x, 3, 2, 1)",
    "x: num [4, 6, 2]) -> (o) o = max_pool2d(x, [2, 3])",
    "x: num [9, 2]) -> (o) o = avg_pool1d(x, 3, 2, [1, 0])",
    "x: num [4, 6, 2]) -> (o) o = avg_pool2d(x, 2, 1, [1, [0, 1]])",
    "x: num [4, 6, 2]) -> (o) o = patches2d(x, 2, 1, 1)",
    "d: num [4, 2, 1]) -> (o) o = unpatches1d([5, 1], d, 2, 1)",
    "x: num [2, 3, 4], y: num [5, 1, 4, 2]) -> (o) o = matmul(x, y)",
    "x: num [4], y: num [5, 4, 2]) -> (o) o = matmul(x, y)",
    "x: num [3, 4]) -> (o) o = cumsum(x, 1, true)",
    "x: num [3, 4]) -> (o) o = cumsum(x)",
    "a: num [2, 3, 3], b: num [2, 3, 4]) -> (o) o = solve(a, b)",
    "a: num [2, 3, 3], b: num [2, 3]) -> (o) o = solve(a, b)",
    "a: num [2, 3, 3]) -> (o) o = cholesky(a)",
    "x: num [3, 5]) -> (o) o = rfft(x)",
    "y: num [3, 3, 2]) -> (o) o = irfft(4, y)",
    "x: num [3, 4]) -> (o) o = sort(x)",
    "x: num [3, 4]) -> (o) o = sort(x, 0, true)",
    "k: int [3, 4], x: num [3, 4]) -> (o) o = sort_by(k, x, -1, true) + sort_by(-x, x, 0)",
    "x: num [3, 4]) -> (o) o = min(x, 1)",
    "x: num [3], y: num [3]) -> (o) o = stack(1, x, y)",
    "x: num [3], y: num [2, 1]) -> (o) o = where(x > y, x, y)",
    "x: num [3], lo: num [], hi: num [2, 1]) -> (o) o = clip(x, lo, hi)",
    "x: num [3], y: num [2, 1]) -> (o) o = pow(x, y) + minimum(x, y) * maximum(x, y)",
    "a: num [2, 3, 4], b: num [2, 4, 5]) -> (o) o = einsum(\"bij,bjk->bik\", a, b)",
    "a: num [2, 3], b: num [3, 4, 5]) -> (o) o = einsum(\"xi, ijy -> jx\", a, b)",
    "a: num [2, 3]) -> (o) o = einsum(\"ij->i\", a)",
    "a: num [2, 3], b: num [3, 4], c: num [4]) -> (o) o = einsum(\"ij,jk,k->ki\", a, b, c)",
    "a: num [5, 2, 3], b: num [3, 4]) -> (o) o = einsum(\"..ij,jk->..ki\", a, b)",
    "y: num [3], x: num [2, 1]) -> (o) o = atan2(y, x) + logaddexp(x, y)",
    "x: num [3, 5]) -> (o) o = prod(x, 1) + logsumexp(x, -1)",
    "x: num [3, 5]) -> (o) o = prod(x) * logsumexp(x)",
    "x: num [3, 5, 2]) -> (o) o = x - mean(x, [0, -1], true)",
    "x: num [3, 5, 2]) -> (o) o = max(x, [1, 2]) + min(x, [0, 1], true)[0, 0, 0]",
    "x: num [3, 5]) -> (o) o = expand_dims(x, [0, -1]) * expand_dims(x, 2)",
    "x: num [4, 6]) -> (o) a, b, c = split(x, 1); o = a * b + c",
    "x: num [3]) -> (o) o = x * to_num(random_uniform(shape(x)) < 0.5) + random_normal([2, 3])",
    "x: num [3]) -> (o) o = gelu(softplus(erf(expm1(log1p(sin(cos(x)))))))",
];

#[test]
fn adjoints_print_as_programs() {
    for program in PROGRAMS {
        let source = Source::text("f", format!("node f({program};\n"));
        let text =
            differentiate(&source, &Options::default(), "f").unwrap_or_else(|e| panic!("{program}: {e}"));
        let (_, findings) = check(&Source::text("diff", text.clone()), &Options::default());
        assert!(!findings.has_errors(), "{program}: {findings}\n{text}");
        let again = differentiate(&Source::text("diff", text.clone()), &Options::default(), "diff_f");
        assert!(again.is_ok(), "the second derivative of {program}: {}\n{text}", again.unwrap_err());
    }
}
