//! Families of programs of any size. Each family is expensive for some stage of the compiler.

use std::fmt::Write;

/// Programs of one kind.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    /// The size at which a program has about 160,000 equations.
    pub(crate) size: usize,
    pub(crate) text: fn(usize) -> String,
}

macro_rules! families {
    ($($name:ident $size:literal)*) => { &[$(Family { name: stringify!($name), size: $size, text: $name }),*] };
}

pub(crate) const ALL: &[Family] = families! {
    delays 160_000 constants 80_000 states 32_000 filter 40_000 deep 53_000 wide 53_000 clocks 11_400 sampled 17_700 flags 32_000
    instances 32_000 windows 17_700 calls 40_000 inputs 160_000 scalars 1_610 training 1_750
};

/// The node `main` with the given lines as its body; its output is `y`.
fn main(inputs: &str, lines: impl Iterator<Item = String>, y: &str) -> String {
    format!("node main({inputs}) -> (y: num [])\n{}  y = {y};\n", lines.collect::<String>())
}

/// Delays of delays.
fn delays(n: usize) -> String {
    let delays = (1..n).map(|i| format!("  d{i} = 0.0 fby d{};\n", i - 1));
    main("x: num []", ["  d0 = x;\n".to_owned()].into_iter().chain(delays), &format!("d{}", n - 1))
}

/// Delays of a constant.
fn constants(n: usize) -> String {
    let delays = (1..n).map(|i| format!("  d{i} = 1.0 fby d{};\n", i - 1));
    main(
        "x: num []",
        ["  d0 = 1.0 fby 1.0;\n".to_owned()].into_iter().chain(delays),
        &format!("x + d{}", n - 1),
    )
}

/// Independent states.
fn states(n: usize) -> String {
    let states = (1..n)
        .map(|i| format!("  s{i} = (0.0 fby s{i}) * 0.{} + x;\n  t{i} = t{} + s{i};\n", i % 9 + 1, i - 1));
    main("x: num []", ["  t0 = x;\n".to_owned()].into_iter().chain(states), &format!("t{}", n - 1))
}

/// A chain of delays, whose sum is fed back.
fn filter(n: usize) -> String {
    let taps =
        (1..n).map(|i| format!("  d{i} = 0.0 fby d{};\n  t{i} = t{} + {}.25 * d{i};\n", i - 1, i - 1, i % 7));
    let first = "  d0 = x;\n  t0 = x;\n".to_owned();
    let last = format!("  a = 0.0 fby (a + t{});\n", n - 1);
    main("x: num []", [first].into_iter().chain(taps).chain([last]), "a")
}

/// Operators of operators.
fn deep(n: usize) -> String {
    let lines = (1..n).map(|i| format!("  e{i} = tanh(e{}) * 0.5 + x;\n", i - 1));
    main("x: num []", ["  e0 = x;\n".to_owned()].into_iter().chain(lines), &format!("e{}", n - 1))
}

/// Many independent operators, and a tree of sums.
fn wide(n: usize) -> String {
    let terms = (n..2 * n).map(|i| format!("  w{i} = x * {i}.5 + z;\n"));
    let sums = (1..n).map(|i| format!("  w{i} = w{} + w{};\n", 2 * i, 2 * i + 1));
    main("x: num [], z: num []", terms.chain(sums), "w1")
}

/// Conditions that depend on each other, with samplings and merges.
fn clocks(n: usize) -> String {
    let lines = (1..n).map(|i| {
        let before = i - 1;
        format!(
            "  c{i} = e{before} > 0.{};\n  e{i} = if c{i} then e{before} * 0.5 else x + {i}.0;\n  \
             m{i} = merge c{i} ((0.0 fby e{i}) when c{i}) ((e{i} + 1.0) when not c{i});\n  t{i} = t{before} + m{i};\n",
            i % 9 + 1
        )
    });
    main("x: num []", ["  e0 = x;\n  t0 = x;\n".to_owned()].into_iter().chain(lines), &format!("t{}", n - 1))
}

/// States, each on a separate clock.
fn sampled(n: usize) -> String {
    let lines = (1..n).map(|i| {
        format!(
            "  k{i} = x > {i}.0;\n  s{i} = 0.0 fby (s{i} + (x when k{i}));\n  \
             m{i} = merge k{i} s{i} (x when not k{i});\n  t{i} = t{} + m{i};\n",
            i - 1
        )
    });
    main("x: num []", ["  t0 = x;\n".to_owned()].into_iter().chain(lines), &format!("t{}", n - 1))
}

/// A chain of delayed conditions.
fn flags(n: usize) -> String {
    let lines = (1..n).map(|i| {
        format!("  d{i} = false fby d{};\n  t{i} = if d{i} then t{} else t{} + 1.0;\n", i - 1, i - 1, i - 1)
    });
    main(
        "x: num [], c: bool []",
        ["  d0 = c;\n  t0 = x;\n".to_owned()].into_iter().chain(lines),
        &format!("t{}", n - 1),
    )
}

const CELL: &str =
    "node cell(x: num []) -> (y: num [])\n  a = param(0.5);\n  s = 0.0 fby y;\n  y = tanh(a * s + x);\n\n";

/// Calls, one after the other, in a body whose result is that of the last call.
fn chain(n: usize, call: &str) -> (String, String) {
    let mut lines = "  e0 = x;\n".to_owned();
    for i in 1..n {
        let _ = writeln!(lines, "  e{i} = {};", call.replace('@', &format!("e{}", i - 1)));
    }
    (lines, format!("e{}", n - 1))
}

/// Many instances of one node.
fn instances(n: usize) -> String {
    let (lines, y) = chain(n, "cell(@)");
    CELL.to_owned() + &main("x: num []", [lines].into_iter(), &y)
}

/// Recurrences forward and backward in one window.
fn windows(n: usize) -> String {
    let pair = "node pair(x: num []) -> (y: num [])\n  f = 0.0 fby (f + x);\n  b = 0.0 fby back (b + f);\n  y = tanh(b) + x;\n\n";
    let (lines, y) = chain(n, "pair(@)");
    format!("{pair}node body(x: num []) -> (y: num [])\n{lines}  y = {y};\n\n")
        + &main("x: num [], end: bool []", std::iter::empty(), "body(x) every end")
}

/// Many windows with the same ends.
fn calls(n: usize) -> String {
    let sum = "node sum(x: num []) -> (y: num [])\n  y = x + (0.0 fby y);\n\n";
    let (lines, y) = chain(n, "sum(@) every end");
    sum.to_owned() + &main("x: num [], end: bool []", [lines].into_iter(), &y)
}

/// Many inputs.
fn inputs(n: usize) -> String {
    let names: Vec<String> = (0..n).map(|i| format!("x{i}: num []")).collect();
    let lines = (1..n).map(|i| format!("  t{i} = t{} + x{i};\n", i - 1));
    main(&names.join(", "), ["  t0 = x0;\n".to_owned()].into_iter().chain(lines), &format!("t{}", n - 1))
}

const TRAIN: &str = "
node train(u: num [], end: bool [], y: num []) -> (loss: num [])
  o, _ = diff_net(u, end, true, -0.00001 * error);
  error = o - y;
  loss = error * error;
";

/// Training of states that read each other.
fn scalars(n: usize) -> String {
    let mut text = format!("node chain(u: num []) -> (s{}: num [])\n", n - 1);
    for i in 0..n {
        let before = if i == 0 { "u".to_owned() } else { format!("p{}", i - 1) };
        let _ = write!(
            text,
            "  a{i} = param(0.5);\n  b{i} = param(0.5);\n  p{i} = 0.0 fby s{i};\n  \
             s{i} = tanh(a{i} * p{i} + b{i} * {before}) + 0.1 * u;\n"
        );
    }
    text + "\nnode net(u: num [], end: bool []) -> (o: num [])\n  o = chain(u) every end;\n" + TRAIN
}

/// Training of many instances of one node.
fn training(n: usize) -> String {
    let (lines, y) = chain(n, "cell(@)");
    format!(
        "{CELL}node body(x: num []) -> (y: num [])\n{lines}  y = {y};\n\nnode net(x: num [], end: bool []) -> (y: num [])\n  y = body(x) every end;\n{TRAIN}"
    )
}
