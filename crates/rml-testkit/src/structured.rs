//! Random programs with structure, each with an equivalent plain program. The plain program is written here without the
//! compiler: families line by line, cases as samplings, records as variables, restarts as choices.

use std::fmt::Write as _;

use crate::Lcg;

/// The nodes of both programs.
const COMMON: &str = "
node diff_param(init, bp, do) -> (o)
  o = init fby o + merge bp (0.05 * do) 0.0;

node step(a: num [], x: num []) -> (o: num [])
  k = param(0.5);
  o = tanh(k * x + a * (0.1 fby o));

node stepped(k: num [], a: num [], x: num []) -> (o: num [])
  o = tanh(k * x + a * (0.1 fby o));

node bend(x: num []) -> (y: num [])
  w = param(1.5);
  y = tanh(w * x);

node bent(w: num [], x: num []) -> (y: num [])
  y = tanh(w * x);

node count(x: num []) -> (o: num [])
  o = x + (0.0 fby o);

node slope(x: num []) -> (d: num [])
  w = param(1.5);
  d = 2.0 * w * x;

node curve(x: num []) -> (y: num [])
  w = param(1.5);
  y = w * x * x;

node slow(init, bp, do) -> (o)
  o = init fby o + merge bp (0.01 * do) 0.0;

node still(init, bp, do) -> (o)
  o = init fby o;

node fifth(k: num []) -> (o: num [])
  o = k;

node diff_fifth(k: num [], bp: bool [], do: num [] when bp) -> (o: num [], dk: num [] when bp)
  o = k;
  dk = 0.2 * do;
";

/// The nodes that are only in the program with structure.
const STRUCTURE: &str = "
enum kind = Low, Middle, High;
record pair = (a: num [], b: num []);

node applied(f: node, x: num []) -> (o: num [])
  h[0] = x;
  h[k + 1] = f(h[k]) for k < 2;
  o = x + h[2];

node sums(x: num [], r: bool []) -> (o: num [])
  o = count(x) restart r;

node power(n, x: num []) -> (o: num [])
  o = if n == 0 then 1.0 else x * power(n - 1, x);
";

/// A node that calls the adjoint of `main`, so the program trains, and returns the gradient of an input.
const CALLER: &str = "
node caller(x: num [], c: bool [], m: int [], do: num [], end: bool []) -> (o: num [], dx: num [])
  o, dx = diff_main(x, c, m, true, do) every end;
";

/// The texts of both programs under construction.
struct Pair<'r> {
    r: &'r mut Lcg,
    /// Constants outside nodes.
    constants: String,
    structured: String,
    plain: String,
    /// Scalar variables of both programs.
    vars: Vec<String>,
}

/// A program with structure and an equivalent plain program. Both have the nodes `main(x: num [], c: bool [], m: int
/// []) -> (o: num [])` and `caller(x: num [], c: bool [], m: int [], do: num [], end: bool []) -> (o: num [], dx: num
/// [])`.
pub fn programs(r: &mut Lcg) -> (String, String) {
    let mut pair = Pair {
        r,
        constants: String::new(),
        structured: String::new(),
        plain: String::new(),
        vars: vec!["x".to_owned()],
    };
    for i in 0..2 + pair.r.below(5) {
        pair.add(i);
    }
    let last = pair.vars.last().cloned().unwrap_or_default();
    let head = "\nnode main(x: num [], c: bool [], m: int []) -> (o: num [])\n";
    let structured =
        format!("{}{COMMON}{STRUCTURE}{head}{}  o = {last};\n{CALLER}", pair.constants, pair.structured);
    let plain = format!("{COMMON}{head}{}  o = {last};\n{CALLER}", pair.plain);
    (structured, plain)
}

impl Pair<'_> {
    fn var(&mut self) -> String {
        self.r.pick(&self.vars).clone()
    }

    /// Adds the same equation to both programs.
    fn both(&mut self, text: &str) {
        self.structured.push_str(text);
        self.plain.push_str(text);
    }

    /// Adds a variable in one of the forms. Its values are between -1 and 1.
    fn add(&mut self, i: usize) {
        let value = match self.r.below(14) {
            0 => self.family(i),
            1 => self.argument(i),
            2 => self.recursion(),
            3 => self.cases(i),
            4 => self.record(i),
            5 => self.restart(i),
            6 => self.gradient(i),
            7 => self.zeros(i),
            8 => self.shared(i),
            9 => self.sampled_share(i),
            10 => self.automaton(i),
            11 => self.along(i),
            12 => self.by(i),
            _ => self.constant(i),
        };
        let _ = writeln!(self.structured, "  v{i} = tanh({});", value.0);
        let _ = writeln!(self.plain, "  v{i} = tanh({});", value.1);
        if self.r.chance(0.3) {
            let _ = writeln!(self.structured, "  assert \"v{i} is bounded\" abs(v{i}) <= 1.0;");
        }
        self.vars.push(format!("v{i}"));
    }

    fn family(&mut self, i: usize) -> (String, String) {
        let (n, x, c) = (1 + self.r.below(4), self.var(), self.var());
        let _ = writeln!(self.structured, "  h{i}[0] = {x};");
        let _ = writeln!(
            self.structured,
            "  h{i}[k + 1] = step(0.1 * k, h{i}[k]) + (if k == 1 then {c} else 0.0) for k < {n};"
        );
        let _ = writeln!(self.plain, "  h{i}_0 = {x};");
        for k in 0..n {
            let more = if k == 1 { &*c } else { "0.0" };
            let _ = writeln!(self.plain, "  h{i}_{} = step(0.1 * {k}.0, h{i}_{k}) + {more};", k + 1);
        }
        let all: Vec<String> = (0..=n).map(|k| format!("h{i}_{k}")).collect();
        match self.r.below(3) {
            0 => (format!("h{i}[-1]"), format!("h{i}_{n}")),
            1 => (format!("sum(h{i})"), all.join(" + ")),
            _ => (format!("sum(h{i}[1:])"), all[1..].join(" + ")),
        }
    }

    fn argument(&mut self, i: usize) -> (String, String) {
        let x = self.var();
        let _ = writeln!(self.plain, "  t{i} = step(0.25, {x});\n  u{i} = step(0.25, t{i});");
        (format!("applied(step(0.25, _), {x})"), format!("{x} + u{i}"))
    }

    /// A shared instance; in the plain program its parameter is an argument of each call.
    fn shared(&mut self, i: usize) -> (String, String) {
        let (x, y) = (self.var(), self.var());
        let _ = writeln!(self.structured, "  share w{i} = step(0.25, _);");
        let _ = writeln!(self.plain, "  k{i} = param(0.5);");
        match self.r.below(4) {
            0 => (
                format!("w{i}({x}) + w{i}({y}) + 0.1 * sum(w{i}.params * w{i}.params)"),
                format!("stepped(k{i}, 0.25, {x}) + stepped(k{i}, 0.25, {y}) + 0.1 * k{i} * k{i}"),
            ),
            1 => {
                let _ =
                    writeln!(self.structured, "  h{i}[0] = {x};\n  h{i}[j + 1] = w{i}(h{i}[j]) for j < 3;");
                let call = |inner: &str| format!("stepped(k{i}, 0.25, {inner})");
                ("h".to_owned() + &format!("{i}[3]"), call(&call(&call(&x))))
            }
            2 => (
                format!("applied(w{i}, {x}) - {y} * w{i}.params.k"),
                format!("{x} + stepped(k{i}, 0.25, stepped(k{i}, 0.25, {x})) - {y} * k{i}"),
            ),
            _ => {
                let _ =
                    writeln!(self.structured, "  share b{i} = bend;\n  _, g{i} = grad_b{i}({x}, true, 1.0);");
                let _ = writeln!(
                    self.plain,
                    "  m{i} = param(1.5);\n  _, _, g{i} = diff_bent(m{i}, {x}, true, 1.0);"
                );
                (
                    format!("b{i}({y}) + g{i} + w{i}({x})"),
                    format!("bent(m{i}, {y}) + g{i} + stepped(k{i}, 0.25, {x})"),
                )
            }
        }
    }

    /// Parameters with a separate optimiser; in the plain program, a fifth of their gradient is used, or none.
    fn by(&mut self, i: usize) -> (String, String) {
        let (x, y) = (self.var(), self.var());
        match self.r.below(4) {
            0 => {
                let _ = writeln!(self.plain, "  k{i} = fifth(param(0.5));");
                (format!("(step(0.25, {x}) by slow)"), format!("stepped(k{i}, 0.25, {x})"))
            }
            1 => (
                format!("bend({x}) - (step(0.5, {y}) by still)"),
                format!("bend({x}) - stepped(0.5, 0.5, {y})"),
            ),
            2 => (format!("(param(0.5) by slow) * {x}"), format!("fifth(param(0.5)) * {x}")),
            _ => {
                let _ = writeln!(self.structured, "  share w{i} = step(0.25, _) by slow;");
                let _ = writeln!(self.plain, "  k{i} = fifth(param(0.5));");
                (
                    format!("w{i}({x}) - w{i}({y})"),
                    format!("stepped(k{i}, 0.25, {x}) - stepped(k{i}, 0.25, {y})"),
                )
            }
        }
    }

    /// A shared instance that is called on another clock or in cases.
    fn sampled_share(&mut self, i: usize) -> (String, String) {
        let (x, y) = (self.var(), self.var());
        if self.r.chance(0.4) {
            let _ = writeln!(self.structured, "  share w{i} = step(0.5, _);\n  a{i} = w{i}({x});");
            let _ = writeln!(self.plain, "  k{i} = param(0.5);\n  a{i} = stepped(k{i}, 0.5, {x});");
            return (
                format!("a{i} + (merge c w{i}({y} when c) (({x} when not c) * (w{i}.params.k)))"),
                format!(
                    "a{i} + (merge c stepped(k{i} when c, 0.5, {y} when c) (({x} when not c) * (k{i} when not c)))"
                ),
            );
        }
        self.both(&format!("  q{i} = mod(m, 3);\n"));
        let _ = writeln!(
            self.structured,
            "  share w{i} = step(0.5, _);\n  p{i} = gather([Low, Middle, High], q{i});\n  a{i} = w{i}({x});"
        );
        let _ = writeln!(
            self.plain,
            "  k{i} = param(0.5);\n  a{i} = stepped(k{i}, 0.5, {x});\n  is{i} = q{i} == 0;\n  \
             qq{i} = q{i} when not is{i};\n  or{i} = qq{i} == 1;\n  \
             c{i} = ({y} when not is{i}) when not or{i};"
        );
        (
            format!(
                "a{i} + (match p{i} (Low -> w{i}({y}), Middle -> 0.25, High -> w{i}({y}) * w{i}.params.k))"
            ),
            format!(
                "a{i} + (merge is{i} stepped(k{i} when is{i}, 0.5, {y} when is{i}) (merge or{i} 0.25 \
                 (stepped((k{i} when not is{i}) when not or{i}, 0.5, c{i}) * ((k{i} when not is{i}) when not or{i}))))"
            ),
        )
    }

    fn recursion(&mut self) -> (String, String) {
        let (n, x) = (self.r.below(4), self.var());
        (format!("power({n}, {x})"), format!("{}1.0", format!("{x} * ").repeat(n)))
    }

    fn cases(&mut self, i: usize) -> (String, String) {
        let (a, b, c) = (self.var(), self.var(), self.var());
        self.both(&format!("  q{i} = mod(m, 3);\n"));
        let _ = writeln!(self.structured, "  p{i} = gather([Low, Middle, High], q{i});");
        let _ = writeln!(
            self.plain,
            "  is{i} = q{i} == 0;\n  qq{i} = q{i} when not is{i};\n  or{i} = qq{i} == 1;\n  \
             b{i} = ({b} when not is{i}) when or{i};\n  c{i} = ({c} when not is{i}) when not or{i};"
        );
        (
            format!("match p{i} (Middle -> count({b}), Low -> step(0.5, {a}), High -> {c} - 0.5)"),
            format!("merge is{i} step(0.5, {a} when is{i}) (merge or{i} count(b{i}) (c{i} - 0.5))"),
        )
    }

    fn record(&mut self, i: usize) -> (String, String) {
        let (x, y) = (self.var(), self.var());
        let _ = writeln!(
            self.structured,
            "  s{i} = pair(0.1, 0.2) fby pair({x} - s{i}.b, if c then {y} else 0.5 * s{i}.a);"
        );
        let _ = writeln!(
            self.plain,
            "  sa{i} = 0.1 fby ({x} - sb{i});\n  sb{i} = 0.2 fby (if c then {y} else 0.5 * sa{i});"
        );
        (format!("s{i}.a + s{i}.b"), format!("sa{i} + sb{i}"))
    }

    fn restart(&mut self, i: usize) -> (String, String) {
        let x = self.var();
        let _ = writeln!(self.plain, "  r{i} = {x} + (if c then 0.0 else 0.0 fby r{i});");
        (format!("count({x}) restart c"), format!("r{i}"))
    }

    /// A node over the entries of an axis; in the plain program, its state is an argument of each call.
    fn along(&mut self, i: usize) -> (String, String) {
        let (x, y, z) = (self.var(), self.var(), self.var());
        let stacked = format!("stack(0, {x}, {y}, {z})");
        match self.r.below(3) {
            0 => {
                let _ =
                    writeln!(self.plain, "  a{i} = {x} + 0.0;\n  b{i} = {y} + a{i};\n  d{i} = {z} + b{i};");
                (format!("sum(count({stacked}) along 0)"), format!("a{i} + b{i} + d{i}"))
            }
            1 => {
                let _ = writeln!(
                    self.plain,
                    "  k{i} = param(0.5);\n  a{i} = tanh(k{i} * {x} + 0.25 * 0.1);\n  \
                     b{i} = tanh(k{i} * {y} + 0.25 * a{i});"
                );
                (
                    format!("(step(0.25, {stacked}) along (_, 0))[-1]"),
                    format!("tanh(k{i} * {z} + 0.25 * b{i})"),
                )
            }
            _ => {
                let _ = writeln!(
                    self.plain,
                    "  a{i} = {z} + 0.0;\n  b{i} = {y} + (if c then 0.0 else a{i});\n  \
                     d{i} = {x} + (if c then 0.0 else b{i});"
                );
                let _ =
                    writeln!(self.structured, "  a{i} = sums({stacked}, stack(0, c, c, c)) along back 0;");
                // the gradient of the entries that are not read is 0 and not absent
                (format!("a{i}[0] - a{i}[2]"), format!("d{i} + 0.0 * b{i} - a{i}"))
            }
        }
    }

    /// Two states, one with a delay and one with a parameter, with both kinds of transitions.
    fn automaton(&mut self, i: usize) -> (String, String) {
        let (x, y, z) = (self.var(), self.var(), self.var());
        let _ = writeln!(
            self.structured,
            "  automaton\n    state Run\n      a{i} = {x} + 0.5 * (0.0 fby a{i});\n      \
             until c then Hold(0.5 * {y});\n    state Hold(level = 0.1)\n      a{i} = level + {z};\n      \
             unless m == 0 then Run;\n      until c continue Run;\n  end;"
        );
        let _ = writeln!(
            self.plain,
            "  e{i} = false fby (if c then not b{i} else b{i});\n  b{i} = e{i} and m != 0;\n  \
             f{i} = 0.1 fby (if c and not b{i} then 0.5 * {y} else f{i});\n  \
             s{i} = if e{i} and m == 0 then 0.0 else (0.0 fby (if b{i} then s{i} else a{i}));\n  \
             a{i} = if b{i} then f{i} + {z} else {x} + 0.5 * s{i};"
        );
        (format!("a{i}"), format!("a{i}"))
    }

    fn gradient(&mut self, i: usize) -> (String, String) {
        let x = self.var();
        let _ = writeln!(self.structured, "  _, g{i} = grad_curve({x}, true, 1.0);");
        (format!("g{i}"), format!("slope({x})"))
    }

    fn zeros(&mut self, i: usize) -> (String, String) {
        let x = self.var();
        let _ = writeln!(self.structured, "  z{i} = zeros_like({x}) fby {x} + 0.5 * z{i};");
        let _ = writeln!(self.plain, "  z{i} = 0.0 fby {x} + 0.5 * z{i};");
        (format!("z{i}"), format!("z{i}"))
    }

    fn constant(&mut self, i: usize) -> (String, String) {
        let (x, value) = (self.var(), ["0.25", "2", "-1.5"][self.r.below(3)]);
        let _ = writeln!(self.constants, "const c{i} = {value};");
        let value = if value.contains('.') { value.to_owned() } else { format!("{value}.0") };
        (format!("c{i} * {x}"), format!("({value}) * {x}"))
    }
}
