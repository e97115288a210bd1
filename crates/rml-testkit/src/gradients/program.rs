//! Random programs as text: scalars, vectors and matrices on four clocks, all primitives, operators of every family,
//! parameters, instances (also in windows, and within each other), and recurrences in both directions.

use std::fmt::Write as _;

use crate::Lcg;

/// The types of variables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ty {
    Scalar,
    Vector,
    Matrix,
}

use Ty::{Matrix as M, Scalar as S, Vector as V};

/// The base clock, `c`, `not c`, and `e`, which is `b when c`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Clock {
    Base,
    On,
    Off,
    Inner,
}

const CLOCKS: [Clock; 4] = [Clock::Base, Clock::On, Clock::Off, Clock::Inner];

/// The inputs of every node.
const INPUTS: &str = "x: num [], y: num [2], w: num [2, 2], c: bool [], b: bool [], z: bool [], d: bool []";

/// Operators: an expression over `$0`, `$1`, its type and the types of its operands. They do not increase numbers, and
/// are smooth, except at points that random numbers rarely meet.
const OPERATORS: &[(&str, Ty, &[Ty])] = &[
    ("tanh($0)", S, &[S]),
    ("sigmoid($0)", S, &[S]),
    ("$0 + $1", S, &[S, S]),
    ("$0 - $1", S, &[S, S]),
    ("tanh($0) * $1", S, &[S, S]),
    ("-$0", S, &[S]),
    ("relu($0)", S, &[S]),
    ("abs($0)", S, &[S]),
    ("sqrt(1.0 + $0 * $0)", S, &[S]),
    ("log(2.0 + $0 * $0)", S, &[S]),
    ("exp(-$0 * $0)", S, &[S]),
    ("$0 / (1.5 + $1 * $1)", S, &[S, S]),
    ("sum($0)", S, &[V]),
    ("mean($0)", S, &[M]),
    ("max($0)", S, &[V]),
    ("$0[1]", S, &[V]),
    ("$0[0, -1]", S, &[M]),
    ("sum($0 * tanh($1))", S, &[V, V]),
    ("0.7 * $0 + 0.2", S, &[S]),
    ("$0 * to_num($1 > 0.1)", S, &[S, S]),
    ("tanh($0)", V, &[V]),
    ("$0 + $1", V, &[V, V]),
    ("$0 * sigmoid($1)", V, &[V, S]),
    ("[$0, $1]", V, &[S, S]),
    ("matmul(tanh($0), $1)", V, &[M, V]),
    ("matmul($0, sigmoid($1))", V, &[V, M]),
    ("softmax($0)", V, &[V]),
    ("log_softmax($0)", V, &[V]),
    ("sum($0, 0)", V, &[M]),
    ("max($0, 1)", V, &[M]),
    ("mean($0, -1)", V, &[M]),
    ("$0[1]", V, &[M]),
    ("$0[.., 1]", V, &[M]),
    ("concat($0[0:1], $1[1:])", V, &[V, V]),
    ("broadcast([2], $0)", V, &[S]),
    ("relu($0 - 0.3)", V, &[V]),
    ("tanh($0)", M, &[M]),
    ("matmul($0, tanh($1))", M, &[M, M]),
    ("$0 * tanh($1)", M, &[M, V]),
    ("transpose($0)", M, &[M]),
    ("[$0, $1]", M, &[V, V]),
    ("softmax($0)", M, &[M]),
    ("reshape([2, 2], concat($0, $1))", M, &[V, V]),
    ("$0 - $1", M, &[M, S]),
    ("concat($0[.., 0:1], $1[.., 1:], 1)", M, &[M, M]),
    ("unindex([2, 2], $0, 1)", M, &[V]),
    ("minimum($0, $1)", S, &[S, S]),
    ("maximum($0, tanh($1))", V, &[V, V]),
    ("clip($0, -0.8, 0.9)", V, &[V]),
    ("clip(0.3, $0, 1.0 + $1)", V, &[V, V]),
    ("where($0 > $1, $0, tanh($1))", M, &[M, S]),
    ("softplus($0)", S, &[S]),
    ("gelu($0)", V, &[V]),
    ("erf($0)", M, &[M]),
    ("sin($0) * cos($1)", S, &[S, S]),
    ("log1p($0 * $0)", V, &[V]),
    ("expm1(-$0 * $0)", S, &[S]),
    ("pow(1.5 + $0 * $0, tanh($1))", S, &[S, S]),
    ("atan2($0, 1.5 + $1 * $1)", S, &[S, S]),
    ("logaddexp($0, $1)", V, &[V, S]),
    ("logsumexp($0)", S, &[V]),
    ("logsumexp($0, 0)", V, &[M]),
    ("prod(tanh($0))", S, &[M]),
    ("prod($0 * [0.0, 1.0], 1)", V, &[M]),
    ("min($0)", S, &[M]),
    ("min($0, 0)", V, &[M]),
    ("0.6 * cumsum($0)", V, &[V]),
    ("0.6 * cumsum($0, 1, true)", M, &[M]),
    ("solve([[0.0, 3.0], [3.0, 0.0]] + tanh($0), $1)", V, &[M, V]),
    ("solve([[3.0, 0.0], [0.0, 3.0]] + tanh($0), $1)", M, &[M, M]),
    ("cholesky([[3.0, 0.0], [0.0, 3.0]] + tanh($0))", M, &[M]),
    ("rfft($0)[.., 0]", V, &[V]),
    ("irfft(2, $0)", V, &[M]),
    ("sort($0)", V, &[V]),
    ("sort($0, 0, true)", M, &[M]),
    ("sort_by($0, tanh($1))", V, &[V, V]),
    ("einsum(\"ij->\", $0)", S, &[M]),
    ("einsum(\"ij,j->i\", tanh($0), $1)", V, &[M, V]),
    ("einsum(\"ij,jk->ki\", $0, tanh($1))", M, &[M, M]),
    ("gather($0, [1, 0, 1])[1:]", V, &[V]),
    ("gather($0, 1, 1)", V, &[M]),
    ("scatter_add([2], [1, 1], $0)", V, &[V]),
    ("scatter_add([2, 2], [1, 0], $0)", M, &[M]),
    ("pick($0, [1, 0])", V, &[M]),
    ("stack(1, $0, $1)", M, &[V, V]),
    ("$0[::-1]", V, &[V]),
    ("$0[::-1, 1::-1]", M, &[M]),
    ("conv1d($0, reshape([2, 2, 1], tanh($1)), 1, [1, 0])[:, 0]", V, &[M, M]),
    ("conv1d($0, reshape([1, 1, 2], tanh($1)), 1, 0, 1, 2)", M, &[M, V]),
    ("conv2d(reshape([2, 2, 1], $0), reshape([2, 2, 1, 1], tanh($1)))[0, 0, 0]", S, &[M, M]),
    ("max_pool1d($0, 2)[0]", V, &[M]),
    ("max_pool2d(reshape([2, 2, 1], $0), 2)[0, 0, 0]", S, &[M]),
    ("avg_pool1d($0, 2, 1, [1, 0])", M, &[M]),
    ("avg_pool2d(reshape([2, 2, 1], $0), 2)[0, 0, 0]", S, &[M]),
    ("mean(patches1d($0, 2, 1, [1, 0]))", S, &[M]),
    ("$0 * random_uniform([2])", V, &[V]),
];

/// A variable with its definition.
#[derive(Clone, Debug)]
struct Equation {
    /// The names of the defined variables, with the type and clock of each.
    lhs: Vec<(String, Option<(Ty, Clock)>)>,
    rhs: String,
}

/// A node.
#[derive(Clone, Debug)]
struct Node {
    name: String,
    outputs: Vec<String>,
    equations: Vec<Equation>,
}

/// A program. Its last node is `main`, which has one output, `loss`.
#[derive(Clone, Debug)]
pub struct LossProgram(Vec<Node>);

impl LossProgram {
    /// A random program.
    pub fn random(r: &mut Lcg) -> Self {
        let mut nodes: Vec<Node> = Vec::new();
        for k in 0..r.below(3) {
            let node = Maker::new(r, &nodes).sub_node(&format!("f{k}"));
            nodes.push(node);
        }
        let main = Maker::new(r, &nodes).main();
        nodes.push(main);
        let mut program = Self(nodes);
        program.prune();
        program
    }

    /// The text of the program.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for node in &self.0 {
            let outputs = node.outputs.join(", ");
            let _ = writeln!(text, "node {}({INPUTS}) -> ({outputs})", node.name);
            for eq in &node.equations {
                let lhs: Vec<&str> = eq.lhs.iter().map(|(name, _)| &**name).collect();
                let _ = writeln!(text, "  {} = {};", lhs.join(", "), eq.rhs);
            }
        }
        text
    }

    /// Smaller programs, one for each definition that can be replaced by a simpler one.
    pub fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for (n, node) in self.0.iter().enumerate() {
            for (k, eq) in node.equations.iter().enumerate().rev() {
                let simple = eq.lhs.iter().map(|(_, kind)| kind.map(|(ty, clock)| anchor(ty, clock)));
                let Some(simple) = simple.collect::<Option<Vec<String>>>() else { continue };
                if simple.contains(&eq.rhs) {
                    continue;
                }
                let mut program = self.clone();
                let made =
                    eq.lhs.iter().zip(simple).map(|(var, rhs)| Equation { lhs: vec![var.clone()], rhs });
                program.0[n].equations.splice(k..=k, made);
                program.prune();
                all.push(program);
            }
        }
        all
    }

    /// Drops unused equations and nodes.
    fn prune(&mut self) {
        for node in &mut self.0 {
            let mut wanted: Vec<String> = node.outputs.clone();
            let mut done = 0;
            while done < wanted.len() {
                let name = wanted[done].clone();
                done += 1;
                let eq = node.equations.iter().find(|eq| eq.lhs.iter().any(|(v, _)| *v == name));
                for word in eq.map_or("", |eq| &eq.rhs).split(|c: char| !c.is_ascii_alphanumeric()) {
                    if !word.is_empty() && !wanted.iter().any(|w| w == word) {
                        wanted.push(word.to_owned());
                    }
                }
            }
            node.equations.retain(|eq| eq.lhs.iter().any(|(v, _)| wanted.contains(v)));
        }
        for k in (0..self.0.len().saturating_sub(1)).rev() {
            let call = format!("{}(", self.0[k].name);
            if !self.0[k + 1..].iter().any(|n| n.equations.iter().any(|eq| eq.rhs.contains(&call))) {
                self.0.remove(k);
            }
        }
    }
}

/// The simplest expression of the given type on the given clock.
fn anchor(ty: Ty, clock: Clock) -> String {
    let base = match ty {
        S => "x",
        V => "y",
        M => "w",
    };
    match clock {
        Clock::Base => base.to_owned(),
        Clock::On => format!("{base} when c"),
        Clock::Off => format!("{base} when not c"),
        Clock::Inner => format!("{base} when c when e"),
    }
}

struct Maker<'a> {
    r: &'a mut Lcg,
    /// The nodes that may be called.
    nodes: &'a [Node],
    vars: Vec<(String, Ty, Clock)>,
    equations: Vec<Equation>,
}

impl<'a> Maker<'a> {
    fn new(r: &'a mut Lcg, nodes: &'a [Node]) -> Self {
        let mut made = Self { r, nodes, vars: Vec::new(), equations: Vec::new() };
        for (name, ty) in [("x", S), ("y", V), ("w", M)] {
            made.vars.push((name.to_owned(), ty, Clock::Base));
        }
        let conditions = [
            ("e", "b when c"),
            ("zc", "z when c"),
            ("bn", "b when not c"),
            ("zn", "z when not c"),
            ("ze", "zc when e"),
            ("de", "d when c when e"),
        ];
        for (name, rhs) in conditions {
            made.equations.push(Equation { lhs: vec![(name.to_owned(), None)], rhs: rhs.to_owned() });
        }
        for clock in &CLOCKS[1..] {
            for ty in [S, V, M] {
                made.define(ty, *clock, &anchor(ty, *clock));
            }
        }
        made
    }

    fn fresh(&mut self) -> String {
        format!("u{}", self.vars.len())
    }

    fn define(&mut self, ty: Ty, clock: Clock, rhs: &str) -> String {
        let name = self.fresh();
        self.vars.push((name.clone(), ty, clock));
        self.equations.push(Equation { lhs: vec![(name.clone(), Some((ty, clock)))], rhs: rhs.to_owned() });
        name
    }

    fn ty(&mut self) -> Ty {
        *self.r.pick(&[S, S, S, V, V, M])
    }

    fn clock(&mut self) -> Clock {
        *self.r.pick(&[Clock::Base, Clock::Base, Clock::On, Clock::Off, Clock::Inner])
    }

    /// A variable of the given type on the given clock; later variables have a higher probability.
    fn pick(&mut self, ty: Ty, clock: Clock) -> String {
        let fit: Vec<&String> =
            self.vars.iter().filter(|v| (v.1, v.2) == (ty, clock)).map(|v| &v.0).collect();
        let late = self.r.below(fit.len()).max(self.r.below(fit.len()));
        fit[late].clone()
    }

    fn condition(&mut self, clock: Clock) -> String {
        let names: &[&str] = match clock {
            Clock::Base => &["c", "b", "z", "d"],
            Clock::On => &["e", "zc"],
            Clock::Off => &["bn", "zn"],
            Clock::Inner => &["ze", "de"],
        };
        (*self.r.pick(names)).to_owned()
    }

    fn constant(&mut self, ty: Ty) -> String {
        let mut number = || format!("{:.3}", self.r.range(-1.0, 1.0)).replace("-0.000", "0.001");
        let mut vector = || format!("[{}, {}]", number(), number());
        match ty {
            S => number(),
            V => vector(),
            M => format!("[{}, {}]", vector(), vector()),
        }
    }

    fn operator(&mut self, clock: Clock) {
        let (template, ty, operands) = *self.r.pick(OPERATORS);
        let mut rhs = template.to_owned();
        for (k, &operand) in operands.iter().enumerate() {
            let v = self.pick(operand, clock);
            rhs = rhs.replace(&format!("${k}"), &v);
        }
        self.define(ty, clock, &rhs);
    }

    fn step(&mut self) {
        let (ty, clock) = (self.ty(), self.clock());
        match self.r.below(16) {
            0..=4 => self.operator(clock),
            5 => {
                let (then, other) = (self.pick(ty, clock), self.pick(ty, clock));
                let cond = if self.r.chance(0.3) {
                    format!("{} > {}", self.pick(S, clock), self.pick(S, clock))
                } else {
                    self.condition(clock)
                };
                self.define(ty, clock, &format!("if {cond} then {then} else {other}"));
            }
            6 => self.sample(ty),
            7 => self.merge(ty),
            8 | 9 => self.delay(ty, clock),
            10 => self.future(ty, clock),
            11 | 12 => {
                let k = self.constant(ty);
                let p = self.define(ty, clock, &format!("param({k})"));
                let v = self.pick(ty, clock);
                self.define(ty, clock, &format!("{p} * tanh({v})"));
            }
            _ => self.call(),
        }
    }

    fn sample(&mut self, ty: Ty) {
        let base = self.pick(ty, Clock::Base);
        match self.r.below(3) {
            0 => self.define(ty, Clock::On, &format!("{base} when c")),
            1 => self.define(ty, Clock::Off, &format!("{base} when not c")),
            _ => {
                let v = self.pick(ty, Clock::On);
                self.define(ty, Clock::Inner, &format!("{v} when e"))
            }
        };
    }

    fn merge(&mut self, ty: Ty) {
        if self.r.chance(0.6) {
            let (on, off) = (self.pick(ty, Clock::On), self.pick(ty, Clock::Off));
            self.define(ty, Clock::Base, &format!("merge c {on} {off}"));
        } else {
            let (inner, on) = (self.pick(ty, Clock::Inner), self.pick(ty, Clock::On));
            self.define(ty, Clock::On, &format!("merge e {inner} ({on} when not e)"));
        }
    }

    fn delay(&mut self, ty: Ty, clock: Clock) {
        let v = self.pick(ty, clock);
        let init = if self.r.chance(0.4) { self.pick(ty, clock) } else { self.constant(ty) };
        let back = if self.r.chance(0.5) { " back" } else { "" };
        self.define(ty, clock, &format!("{init} fby{back} {v}"));
    }

    /// `post`, with another value in the last cycle of the trace or window, or also if a condition is true (backfill).
    fn future(&mut self, ty: Ty, clock: Clock) {
        let (here, next) = (self.pick(ty, clock), self.pick(ty, clock));
        if self.r.chance(0.5) {
            let rhs = format!("if (true fby back false) then {here} else (post {next})");
            self.define(ty, clock, &rhs);
            return;
        }
        let cond = self.condition(clock);
        let cut = format!("s{}", self.vars.len());
        let rhs = format!("{cond} or (true fby back false)");
        self.equations.push(Equation { lhs: vec![(cut.clone(), None)], rhs });
        let o = self.fresh();
        self.define(ty, clock, &format!("merge {cut} ({here} when {cut}) ((post {o}) when not {cut})"));
    }

    fn call(&mut self) {
        if self.nodes.is_empty() {
            return;
        }
        let nodes = self.nodes;
        let node = &nodes[self.r.below(nodes.len())];
        let clock = self.clock();
        let nums = [S, V, M].map(|ty| self.pick(ty, clock)).join(", ");
        // A second output is on the node's own clock `c`, so the caller must use the same condition.
        let both = node.outputs.len() > 1;
        let clock = if both { Clock::Base } else { clock };
        let nums = if both { [S, V, M].map(|ty| self.pick(ty, clock)).join(", ") } else { nums };
        let first = if both { "c".to_owned() } else { self.condition(clock) };
        let conditions = [0; 3].map(|_| self.condition(clock)).join(", ");
        let every =
            if self.r.chance(0.6) { format!(" every {}", self.condition(clock)) } else { String::new() };
        let rhs = format!("{}({nums}, {first}, {conditions}){every}", node.name);
        let kinds: Vec<Ty> = node.outputs.iter().map(|o| kind(node, o)).collect();
        let mut lhs = Vec::new();
        for (k, &ty) in kinds.iter().enumerate() {
            let clock = if k == 0 { clock } else { Clock::On };
            let name = self.fresh();
            self.vars.push((name.clone(), ty, clock));
            lhs.push((name, Some((ty, clock))));
        }
        self.equations.push(Equation { lhs, rhs });
    }

    /// Adds steps between the start of recurrences and their definitions at the end.
    fn body(&mut self, steps: usize) {
        let mut open = Vec::new();
        for _ in 0..self.r.below(3) {
            let (ty, clock) = (self.ty(), self.clock());
            let name = self.fresh();
            self.vars.push((name.clone(), ty, clock));
            open.push((name, ty, clock));
        }
        for _ in 0..steps {
            self.step();
        }
        for (name, ty, clock) in open {
            let (from, near) = (self.pick(ty, clock), anchor(ty, clock));
            let rhs = format!("tanh({from} + 0.5 * ({near}))");
            let next = self.define(ty, clock, &rhs);
            let back = if self.r.chance(0.5) { " back" } else { "" };
            let init = self.constant(ty);
            let rhs = format!("{init} fby{back} {next}");
            self.equations.push(Equation { lhs: vec![(name, Some((ty, clock)))], rhs });
        }
    }

    fn sub_node(mut self, name: &str) -> Node {
        let steps = 2 + self.r.below(4);
        self.body(steps);
        let ty = self.ty();
        let mut outputs = Vec::new();
        let v = self.pick(ty, Clock::Base);
        self.output("o", ty, Clock::Base, &v, &mut outputs);
        if self.r.chance(0.4) {
            let ty = self.ty();
            let v = self.pick(ty, Clock::On);
            self.output("q", ty, Clock::On, &v, &mut outputs);
        }
        Node { name: name.to_owned(), outputs, equations: self.equations }
    }

    fn output(&mut self, name: &str, ty: Ty, clock: Clock, rhs: &str, outputs: &mut Vec<String>) {
        outputs.push(name.to_owned());
        let lhs = vec![(name.to_owned(), Some((ty, clock)))];
        self.equations.push(Equation { lhs, rhs: rhs.to_owned() });
    }

    fn main(mut self) -> Node {
        let steps = 3 + self.r.below(6);
        self.body(steps);
        let mut terms = Vec::new();
        for _ in 0..2 + self.r.below(3) {
            let (ty, clock) = (self.ty(), self.clock());
            let v = self.pick(ty, clock);
            let v = if ty == S { v } else { format!("sum({v})") };
            let term = match clock {
                Clock::Base => v,
                Clock::On => format!("merge c ({v}) 0.0"),
                Clock::Off => format!("merge c 0.0 ({v})"),
                Clock::Inner => format!("merge c (merge e ({v}) 0.0) 0.0"),
            };
            let weight = self.constant(S);
            // Some gradients are present only in some cycles.
            let term = if self.r.chance(0.5) {
                let cond = self.condition(Clock::Base);
                format!("(merge {cond} (({term}) when {cond}) 0.0)")
            } else {
                format!("({term})")
            };
            terms.push(format!("({weight}) * {term}"));
        }
        let mut outputs = Vec::new();
        self.output("loss", S, Clock::Base, &terms.join(" + "), &mut outputs);
        Node { name: "main".to_owned(), outputs, equations: self.equations }
    }
}

fn kind(node: &Node, output: &str) -> Ty {
    let found = node.equations.iter().flat_map(|eq| &eq.lhs).find(|(name, _)| name == output);
    found.and_then(|(_, kind)| *kind).map_or(S, |(ty, _)| ty)
}
