//! Random flat programs and traces. A program is derived from a list of numbers; a shorter list gives a smaller
//! program.
//!
//! There are two kinds: *clocked* programs respect clocks by construction (but may deadlock or overflow); *wild*
//! programs pick operands of the right type from any clock, so most of them have an error in some cycle.

use rml_ir::flat::{Drawn, Flat, Init, Rhs, Var, Window};
use rml_ir::op::{Binary, Compare, Op};
use rml_ir::{DType, Value};
use rml_sim::InputCell;

use super::{BOOL, Builder, INT};

/// The numbers to draw from; zero when no number remains.
struct Entropy<'a>(std::slice::Iter<'a, u32>);

impl Entropy<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.0.next().map_or(0, |x| *x as usize % n.max(1))
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        let i = self.below(from.len());
        from.get(i).copied()
    }
}

/// A clock: the base clock, or the cycles in which a condition on another clock has a certain value.
struct Clock {
    vars: Vec<Var>,
    /// Conditions for sampling so far: the condition, its clock where it is true, and its clock where it is false.
    samplings: Vec<(Var, usize, usize)>,
}

struct Generator<'a> {
    b: Builder,
    e: Entropy<'a>,
    clocks: Vec<Clock>,
    windows: Vec<Window>,
    /// Variables that are used before they are defined, with their clocks.
    holes: Vec<(Var, usize)>,
    wild: bool,
}

/// A random program of about `size` equations, and the number of its inputs on the base clock.
pub fn program(numbers: &[u32], size: usize, wild: bool) -> (std::sync::Arc<Drawn>, usize) {
    let mut g = Generator {
        b: Builder::new(),
        e: Entropy(numbers.iter()),
        clocks: vec![Clock { vars: Vec::new(), samplings: Vec::new() }],
        windows: Vec::new(),
        holes: Vec::new(),
        wild,
    };
    let inputs = 1 + g.e.below(3);
    for i in 0..inputs {
        let dtype = if i == 0 || g.e.chance(40) { BOOL } else { INT };
        let v = g.b.input(&format!("i{i}"), dtype);
        let clock = if i > 0 && g.e.chance(25) { g.declare(i) } else { 0 };
        g.clocks[clock].vars.push(v);
    }
    for i in 0..g.e.below(4) {
        let dtype = if g.e.chance(50) { BOOL } else { INT };
        let v = g.b.scalar(&format!("h{i}"), dtype);
        g.clocks[0].vars.push(v);
        g.holes.push((v, 0));
    }
    for _ in 0..1 + g.e.below(size) {
        g.equation();
    }
    if g.e.below(6) == 5 {
        g.circle();
        for _ in 0..g.e.below(size) {
            g.equation();
        }
    }
    g.fill_holes();
    for _ in 0..1 + g.e.below(3) {
        let clock = g.e.below(g.clocks.len());
        if let Some(v) = g.any(clock, None) {
            g.b.output(v);
        }
    }
    if g.e.chance(30) {
        g.assertion();
    }
    (g.b.build(), inputs)
}

impl Generator<'_> {
    /// Adds an assertion about a condition; most assertions are true in every cycle.
    fn assertion(&mut self) -> Option<()> {
        let clock = self.e.below(self.clocks.len());
        let c = self.any(clock, Some(BOOL))?;
        let holds = if self.e.chance(70) { self.mostly_true(c) } else { c };
        self.b.assertion("holds", holds);
        Some(())
    }

    fn is(&self, v: Var, dtype: DType) -> bool {
        self.b.flat.vars[v].ty.dtype == dtype
    }

    /// A variable of the given clock; in wild programs, sometimes a variable of any clock.
    fn any(&mut self, clock: usize, dtype: Option<DType>) -> Option<Var> {
        let everywhere = self.wild && self.e.chance(15);
        let among: Vec<Var> = if everywhere {
            self.clocks.iter().flat_map(|c| c.vars.iter().copied()).collect()
        } else {
            self.clocks[clock].vars.clone()
        };
        let among: Vec<Var> = among.into_iter().filter(|&v| dtype.is_none_or(|t| self.is(v, t))).collect();
        self.e.pick(&among)
    }

    fn window(&mut self) -> Option<Window> {
        if self.e.chance(50) {
            return None;
        }
        if self.windows.len() < 3 && self.e.chance(60) {
            let clock = self.e.below(self.clocks.len());
            let end = self.any(clock, Some(BOOL))?;
            let parent = if self.e.chance(50) { self.e.pick(&self.windows) } else { None };
            let w = self.b.window(end, parent);
            self.windows.push(w);
            return Some(w);
        }
        self.e.pick(&self.windows)
    }

    fn equation(&mut self) -> Option<()> {
        let clock = self.e.below(self.clocks.len());
        match self.e.below(14) {
            0 | 1 => self.arithmetic(clock),
            2 => self.logic(clock),
            3 => {
                let v = if self.e.chance(50) {
                    let b = self.e.chance(50);
                    self.b.lit(b)
                } else {
                    let i = self.e.below(5);
                    self.b.lit(if i == 4 { i64::MAX / 3 } else { i as i64 })
                };
                // A variable has one clock, so a named constant belongs to this clock from now on.
                self.clocks[clock].vars.push(v);
                Some(())
            }
            4 => {
                let (c, x) = (self.any(clock, Some(BOOL))?, self.any(clock, None)?);
                let y = self.any(clock, Some(self.b.flat.vars[x].ty.dtype))?;
                let v = self.b.choice(c, x, y);
                self.clocks[clock].vars.push(v);
                Some(())
            }
            5..=7 => self.sample(clock),
            8 | 9 => self.merge(clock),
            _ => {
                let y = self.any(clock, None)?;
                let o = self.b.var("", self.b.ty(y));
                self.delay(o, y, clock);
                self.clocks[clock].vars.push(o);
                Some(())
            }
        }
    }

    fn arithmetic(&mut self, clock: usize) -> Option<()> {
        let (x, y) = (self.any(clock, Some(INT))?, self.any(clock, Some(INT))?);
        let ops = [
            Op::Binary(Binary::Add),
            Op::Binary(Binary::Add),
            Op::Binary(Binary::Sub),
            Op::Binary(Binary::Mul),
            Op::Compare(Compare::Lt),
            Op::Compare(Compare::Eq),
        ];
        let i = self.e.below(ops.len());
        let v = self.b.apply(ops[i].clone(), &[x, y]);
        self.clocks[clock].vars.push(v);
        Some(())
    }

    fn logic(&mut self, clock: usize) -> Option<()> {
        let (x, y) = (self.any(clock, Some(BOOL))?, self.any(clock, Some(BOOL))?);
        let v = match self.e.below(6) {
            0 => self.b.apply(Op::Not, &[x]),
            1 => self.b.apply(Op::And, &[x, y]),
            2 => self.b.apply(Op::Or, &[x, y]),
            3 => self.b.apply(Op::Convert(DType::Int), &[x]),
            4 => self.constant_case(x),
            _ => self.b.apply(Op::Copy, &[x]),
        };
        self.clocks[clock].vars.push(v);
        Some(())
    }

    /// `false and x`, `true or x` and so on: an expression that a constant decides or does not change.
    fn constant_case(&mut self, x: Var) -> Var {
        let rhs = self.decided(x);
        let v = self.b.scalar("", BOOL);
        self.b.define(v, rhs);
        v
    }

    /// An expression of a constant and a condition.
    fn decided(&mut self, x: Var) -> Rhs {
        let k = self.e.chance(50);
        let k = self.b.lit(k);
        match self.e.below(6) {
            0 | 1 => Rhs::Apply { op: Op::And, args: vec![k, x] },
            2 => Rhs::Apply { op: Op::Or, args: vec![x, k] },
            3 => Rhs::If { cond: x, then: k, other: x },
            4 => Rhs::If { cond: k, then: x, other: k },
            _ => Rhs::If { cond: k, then: k, other: x },
        }
    }

    /// A condition that is equal to `c` if it has a value, but may have no value.
    fn twin(&mut self, clock: usize, c: Var) -> Option<Var> {
        let other = self.any(clock, Some(BOOL))?;
        Some(match self.e.below(5) {
            0 => self.b.choice(other, c, c),
            1 => {
                let k = self.b.lit(true);
                self.b.apply(Op::And, &[c, k])
            }
            2 => {
                let not = self.b.apply(Op::Not, &[other]);
                let always = self.b.apply(Op::Or, &[other, not]);
                self.b.apply(Op::And, &[always, c])
            }
            3 => {
                let k = self.b.lit(false);
                let never = self.b.apply(Op::And, &[k, other]);
                self.b.choice(never, other, c)
            }
            _ => self.b.apply(Op::Copy, &[c]),
        })
    }

    /// Declares the clock of an input: the cycles in which the first input has a certain value.
    fn declare(&mut self, input: usize) -> usize {
        let cond = self.b.flat.inputs[0].var;
        let positive = self.e.chance(60);
        self.b.flat.inputs[input].clock = Some((cond, positive));
        let (_, yes, no) = self.sampling(0, cond);
        if positive { yes } else { no }
    }

    /// A condition and the two clocks of sampling by it.
    fn sampling(&mut self, clock: usize, c: Var) -> (Var, usize, usize) {
        let known = self.clocks[clock].samplings.iter().find(|s| s.0 == c).copied();
        known.unwrap_or_else(|| {
            let n = self.clocks.len();
            self.clocks.extend([0, 1].map(|_| Clock { vars: Vec::new(), samplings: Vec::new() }));
            self.clocks[clock].samplings.push((c, n, n + 1));
            (c, n, n + 1)
        })
    }

    fn sample(&mut self, clock: usize) -> Option<()> {
        let (c, x) = (self.any(clock, Some(BOOL))?, self.any(clock, None)?);
        let (_, yes, no) = self.sampling(clock, c);
        let c = if self.e.chance(20) { self.twin(clock, c)? } else { c };
        let (v, to) = if self.e.chance(50) { (self.b.when(x, c), yes) } else { (self.b.when_not(x, c), no) };
        self.clocks[to].vars.push(v);
        Some(())
    }

    /// Adds two clocks that depend on each other. No input determines them, unless some other equation connects one of
    /// them to a clock of an input.
    fn circle(&mut self) {
        let (first, second) = (self.clocks.len(), self.clocks.len() + 1);
        self.clocks.extend([0, 1].map(|_| Clock { vars: Vec::new(), samplings: Vec::new() }));
        let (x, n) = (self.b.scalar("", BOOL), self.b.scalar("", INT));
        let c = self.mostly_true(x);
        let together = self.b.choice(c, n, n);
        self.clocks[first].vars.extend([x, n, c, together]);
        let (y, m) = (self.b.when(x, c), self.b.when(n, c));
        let d = self.mostly_true(y);
        let other = self.b.choice(d, m, m);
        self.clocks[second].vars.extend([y, m, d, other]);
        if self.e.chance(50) {
            let k = self.b.lit(3);
            let back = self.b.merge(d, n, k);
            self.clocks[second].vars.push(back);
        } else {
            let sampled = self.b.when(m, d);
            let back = self.b.apply(Op::Binary(Binary::Add), &[sampled, n]);
            self.clocks[first].vars.extend([sampled, back]);
        }
        for (o, init) in [(x, self.b.init(true)), (n, self.b.init(1))] {
            let dtype = self.b.flat.vars[o].ty.dtype;
            let (window, next) = (self.window(), self.any(first, Some(dtype)).unwrap_or(o));
            self.b.define(o, Rhs::Fby { init, next, window });
        }
    }

    /// A condition on the clock of `x` that is true if it has a value. In wild programs it is sometimes false where `x`
    /// is false.
    fn mostly_true(&mut self, x: Var) -> Var {
        let k = self.b.lit(true);
        match self.e.below(10) {
            0..=3 => self.b.choice(x, k, k),
            4..=6 => {
                let not = self.b.apply(Op::Not, &[x]);
                self.b.apply(Op::Or, &[x, not])
            }
            9 if self.wild => self.b.apply(Op::And, &[x, k]),
            _ => self.b.apply(Op::Or, &[x, k]),
        }
    }

    fn merge(&mut self, clock: usize) -> Option<()> {
        let (c, yes, no) = self.e.pick(&self.clocks[clock].samplings)?;
        let y = self.any(yes, None)?;
        let z = match self.any(no, Some(self.b.flat.vars[y].ty.dtype)) {
            Some(z) => z,
            None if self.is(y, INT) => self.b.lit(7),
            None => self.b.lit(true),
        };
        let c = if self.e.chance(20) { self.twin(clock, c)? } else { c };
        let v = self.b.merge(c, y, z);
        self.clocks[clock].vars.push(v);
        Some(())
    }

    fn delay(&mut self, o: Var, y: Var, clock: usize) {
        let window = self.window();
        let dtype = self.b.flat.vars[o].ty.dtype;
        let stream = if self.e.chance(20) { self.any(clock, Some(dtype)) } else { None };
        let init = match stream {
            Some(v) => Init::Stream(v),
            None if dtype == INT => self.b.init(-1),
            None => {
                let b = self.e.chance(50);
                self.b.init(b)
            }
        };
        let rhs = match self.e.below(3) {
            0 => Rhs::Fby { init, next: y, window },
            1 => Rhs::FbyBack { init, next: y, window },
            _ => Rhs::Post { next: y, window },
        };
        self.b.define(o, rhs);
    }

    fn fill_holes(&mut self) {
        for (o, clock) in std::mem::take(&mut self.holes) {
            let dtype = self.b.flat.vars[o].ty.dtype;
            match self.any(clock, Some(dtype)) {
                Some(y) if self.e.chance(60) => self.delay(o, y, clock),
                Some(y) if dtype == BOOL && self.e.chance(70) => {
                    let rhs = self.decided(y);
                    self.b.define(o, rhs);
                }
                Some(y) => {
                    self.b.define(o, Rhs::Apply { op: Op::Copy, args: vec![y] });
                }
                None => unreachable!("the hole itself has that type and clock"),
            }
        }
    }
}

/// A trace. In some base cycles all inputs are absent; in wild traces, sometimes only one input is absent.
pub fn trace(flat: &Flat, numbers: &[u32], cycles: usize, wild: bool) -> Vec<Vec<InputCell>> {
    let mut e = Entropy(numbers.iter());
    let (absent, on_demand) = (e.below(3) * 20, if e.chance(25) { 40 } else { 0 });
    let value = |dtype: DType, e: &mut Entropy<'_>| match dtype {
        DType::Bool => Value::Bool(e.chance(50)),
        _ => Value::Int(e.below(9) as i64 - 2),
    };
    let mut cycle = |_| {
        let nobody = e.chance(absent);
        let mut gate = None;
        let mut input = |i: usize, dtype: DType| {
            let v = value(dtype, &mut e);
            if let Some((_, positive)) = flat.inputs[i].clock {
                return if gate == Some(positive) { InputCell::Given(v) } else { InputCell::Absent };
            }
            let input = match (nobody, i > 0 && e.chance(on_demand)) {
                _ if wild && e.chance(4) => InputCell::Absent,
                (true, _) => InputCell::Absent,
                (false, true) if wild && e.chance(4) => InputCell::OnDemand(None),
                (false, true) => InputCell::OnDemand(Some(v)),
                (false, false) => InputCell::Given(v),
            };
            if let (0, InputCell::Given(Value::Bool(b))) = (i, &input) {
                gate = Some(*b);
            }
            input
        };
        flat.inputs.iter().enumerate().map(|(i, f)| input(i, flat.vars[f.var].ty.dtype)).collect()
    };
    (0..cycles).map(&mut cycle).collect()
}
