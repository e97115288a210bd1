//! A tick of a plan, as values of a graph.

use rml_backend::Function;
use rml_base::{EntityId, IndexVec, Span};
use rml_ir::op::{Binary, Op, Reduction};
use rml_ir::{Position, Type};
use rml_plan::{Atom, Case, Guard, Lifetime, Part, Plan, Reg, Rule, Tape, Term, Tick};

use crate::batch::{Batch, Val};
use crate::body::Body;
use crate::graph::{Graph, Node};
use crate::tapes::{Piece, Tapes};

/// The role of an input of a routine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Source {
    /// A register, as it is when the window begins.
    Register(usize),
    /// Whether a register is set when the window begins.
    Told(usize),
    /// A constant that is too large to stand in functions.
    Const(usize),
    /// An input of the program at all ticks of the window, one after the other.
    Column(usize),
    /// An input of the program at one tick.
    Cell(usize, usize),
}

/// Whether a register is set, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Set {
    No,
    Yes,
    /// Only the data tell.
    Told(Node),
}

/// Whether a register is set when a window begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Begin {
    Unset,
    Set,
    /// An input of the routine tells.
    Told,
}

/// A register in the course of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct State {
    pub(crate) value: Option<Node>,
    pub(crate) set: Set,
}

/// Constants of more elements are uploaded once.
const INLINE: usize = 256;

pub(crate) struct Lower<'a> {
    pub(crate) plan: &'a Plan,
    /// Those of its inputs: the ticks that are done, and those that are ahead.
    pub(crate) ticks: usize,
    pub(crate) done: usize,
    /// How many of them are gone through: all, and behind the regions those that are done.
    until: usize,
    /// Whether it is not known which tick is the last one, as in a search for it, and where there are ticks ahead.
    open: bool,
    /// How many ticks behind those that are done each register is written.
    pub(crate) reaches: IndexVec<Reg, u32>,
    pub(crate) g: Graph,
    pub(crate) tapes: Tapes,
    pub(crate) registers: Vec<State>,
    pub(crate) sources: Vec<(Source, Node)>,
    consts: Vec<Option<Node>>,
}

/// Where a value is computed.
#[derive(Clone, Copy)]
pub(crate) enum At<'a> {
    /// At these ticks, at once.
    Ticks(usize, usize),
    /// In the body of a loop.
    Body(&'a Body),
}

impl<'a> Lower<'a> {
    pub(crate) fn new(plan: &'a Plan, ticks: usize, begins: &[Begin], searches: bool) -> Self {
        let mut lower = Self {
            plan,
            ticks,
            done: ticks - plan.ahead() as usize,
            until: ticks,
            open: searches || plan.ahead() > 0,
            reaches: plan.reaches(),
            g: Graph::new(plan.precision),
            tapes: Tapes::new(plan.tapes.len()),
            registers: Vec::new(),
            sources: Vec::new(),
            consts: vec![None; plan.consts.len()],
        };
        for (i, (register, begin)) in plan.registers.iter().zip(begins).enumerate() {
            let begin = if register.kind == Lifetime::Local { Begin::Unset } else { *begin };
            let value =
                (begin != Begin::Unset).then(|| lower.source(Source::Register(i), register.ty.clone()));
            let set = match begin {
                Begin::Unset => Set::No,
                Begin::Set => Set::Yes,
                Begin::Told => Set::Told(lower.source(Source::Told(i), Type::condition())),
            };
            lower.registers.push(State { value, set });
        }
        lower
    }

    fn source(&mut self, source: Source, ty: Type) -> Node {
        if let Some((_, node)) = self.sources.iter().find(|(s, _)| *s == source) {
            return *node;
        }
        let node = self.g.input(ty);
        self.sources.push((source, node));
        node
    }

    /// Continues after all regions, where only the ticks that are done exist.
    pub(crate) fn commit(&mut self) {
        if self.done < self.ticks {
            (self.until, self.open) = (self.done, false);
        }
    }

    /// Behind which tick a tape is not filled.
    pub(crate) fn end(&self, tape: Tape) -> usize {
        self.until.min(self.done + self.plan.tapes[tape].ahead as usize)
    }

    /// The ticks of each position, in order.
    pub(crate) fn ranges(&self) -> Vec<(Position, usize, usize)> {
        let n = self.until;
        match n {
            _ if self.open => {
                let behind = (n > 1).then_some((Position::Middle, 1, n));
                std::iter::once((Position::First, 0, 1)).chain(behind).collect()
            }
            1 => vec![(Position::Only, 0, 1)],
            2 => vec![(Position::First, 0, 1), (Position::Last, 1, 2)],
            _ => vec![(Position::First, 0, 1), (Position::Middle, 1, n - 1), (Position::Last, n - 1, n)],
        }
    }

    /// Ranges over which `of` gives the same; those where it gives nothing are left out.
    pub(crate) fn alike<K: PartialEq>(&self, of: impl Fn(Position) -> Option<K>) -> Vec<(usize, usize, K)> {
        let mut found: Vec<(usize, usize, K)> = Vec::new();
        for (p, from, to) in self.ranges() {
            let Some(key) = of(p) else { continue };
            match found.last_mut() {
                Some((_, end, last)) if *end == from && *last == key => *end = to,
                _ => found.push((from, to, key)),
            }
        }
        found
    }

    /// Which case of a tape a part fills at a position.
    pub(crate) fn case_at(&self, part: &Part, p: Position) -> Option<usize> {
        let cases = &self.plan.tapes[part.tape].cases;
        if part.at.contains(p) { cases.iter().position(|c| c.at.contains(p)) } else { None }
    }

    pub(crate) fn over(&mut self, part: &Part) {
        for (from, to, case) in self.alike(|p| self.case_at(part, p)) {
            let to = to.min(self.end(part.tape));
            if from < to {
                self.fill(part.tape, case, from, to);
            }
        }
    }

    /// Fills a tape at ticks that need none of each other.
    pub(crate) fn fill(&mut self, tape: Tape, case: usize, from: usize, to: usize) {
        let data = &self.plan.tapes[tape];
        if let Some(value) = self.value(&data.cases[case], &data.ty, data.span, At::Ticks(from, to)) {
            self.tapes.put(tape, Piece { from, to, value, edge: None });
        }
    }

    /// The value of a case; none if the case cannot hold.
    pub(crate) fn value(&mut self, case: &Case, ty: &Type, span: Span, at: At<'_>) -> Option<Val> {
        match &case.rule {
            Rule::Apply { op, args } => {
                let args = args.iter().map(|a| self.read(*a, at)).collect::<Option<Vec<Val>>>()?;
                let may_fail = op.may_fail(args.iter().map(|arg| self.g.ty(arg.node).dtype));
                let args = if may_fail { self.guarded(args, &case.when, at, span) } else { args };
                Some(self.apply(op, &args, ty, span, at))
            }
            Rule::Product { start, args: [a, b] } => {
                let (start, a, b) = (self.read(*start, at)?, self.read(*a, at)?, self.read(*b, at)?);
                let product = self.apply(&Op::MatMul, &[a, b], ty, span, at);
                Some(self.apply(&Op::Binary(Binary::Add), &[start, product], ty, span, at))
            }
            Rule::Copy(a) => self.read(*a, at),
            Rule::Select { cond, then, other } => {
                let cond = self.read(*cond, at)?;
                match (self.read(*then, at), self.read(*other, at)) {
                    (Some(then), Some(other)) => Some(self.choose(cond, then, other, ty, at)),
                    (one, None) | (None, one) => one,
                }
            }
            Rule::Restart { ends, init, next } => {
                let ended = self.any(ends, at);
                match (self.read(*init, at), self.read(*next, at)) {
                    (Some(init), Some(next)) => Some(match ended {
                        Some(ended) => self.choose(ended, init, next, ty, at),
                        None => next,
                    }),
                    (one, None) | (None, one) => one,
                }
            }
            Rule::Sum { init, terms, .. } => self.sum(*init, terms, ty, span, at),
            Rule::Input(i) => Some(self.input(*i as usize, ty, at)),
            Rule::Read { register, init } => {
                let init = init.and_then(|init| self.read(init, at));
                let state = self.registers[register.0 as usize];
                match (state.set, state.value.map(Val::same), init) {
                    (Set::Told(set), Some(value), Some(init)) => {
                        Some(self.choose(Val::same(set), value, init, ty, at))
                    }
                    (Set::No, _, init) => init,
                    (_, value, _) => value,
                }
            }
        }
    }

    fn input(&mut self, i: usize, ty: &Type, at: At<'_>) -> Val {
        match at {
            At::Ticks(from, to) if to == from + 1 && (self.ticks == 1 || self.is_cell(i)) => {
                Val::same(self.source(Source::Cell(i, from), ty.clone()))
            }
            _ => {
                let ty = rml_backend::routine::stacked(ty, self.ticks);
                let column = self.source(Source::Column(i), ty);
                match at {
                    At::Ticks(from, to) if to == from + 1 => Val::same(self.g.element(column, from)),
                    At::Ticks(from, to) => Val::stack(self.g.slice(column, from, to)),
                    At::Body(body) => Val::same(self.g.row(column, body.from)),
                }
            }
        }
    }

    /// Whether an input is read at the first tick alone, or at the last one alone.
    fn is_cell(&self, i: usize) -> bool {
        let cases = self.plan.tapes.iter().flat_map(|t| &t.cases);
        let mut read = cases.filter(|c| c.rule == Rule::Input(u32::try_from(i).unwrap_or(u32::MAX)));
        read.all(|c| c.at.is_edge())
    }

    /// Operands that do not count where a guard does not hold are zeros there, so that nothing goes wrong with them.
    fn guarded(&mut self, args: Vec<Val>, when: &[Guard], at: At<'_>, span: Span) -> Vec<Val> {
        let Some(holds) = self.holds(when, at) else { return args };
        let mask = |lower: &mut Self, x: Val| {
            let ty = lower.element(x);
            let zeros = Val::same(lower.g.zeros(&ty));
            lower.apply(&Op::Where, &[holds, x, zeros], &ty, span, at)
        };
        args.into_iter().map(|x| mask(self, x)).collect()
    }

    /// The type of a value at one tick.
    pub(crate) fn element(&self, x: Val) -> Type {
        let ty = self.g.ty(x.node);
        if x.stacked { Type::new(ty.dtype, &ty.shape.dims()[1..]) } else { ty.clone() }
    }

    pub(crate) fn apply(&mut self, op: &Op, args: &[Val], ty: &Type, span: Span, at: At<'_>) -> Val {
        let At::Ticks(from, to) = at else {
            let nodes: Vec<Node> = args.iter().map(|a| a.node).collect();
            return Val::same(self.g.apply(op.clone(), &nodes, span));
        };
        let n = to - from;
        match (Batch { g: &mut self.g, n, span }).op(op, args, ty) {
            Some(value) => value,
            None => Val::stack(self.each(op, args, n, span)),
        }
    }

    /// An operator tick by tick.
    fn each(&mut self, op: &Op, args: &[Val], n: usize, span: Span) -> Node {
        self.g.open(n, false);
        let row = |g: &mut Graph, x: &Val| if x.stacked { g.row(x.node, 0) } else { x.node };
        let nodes: Vec<Node> = args.iter().map(|x| row(&mut self.g, x)).collect();
        let value = self.g.apply(op.clone(), &nodes, span);
        self.g.close();
        self.g.keep(value)
    }

    pub(crate) fn choose(&mut self, cond: Val, then: Val, other: Val, ty: &Type, at: At<'_>) -> Val {
        if then == other {
            return then;
        }
        self.apply(&Op::Where, &[cond, then, other], ty, Function::nowhere(), at)
    }

    /// Whether any of these conditions holds; none if there are none.
    pub(crate) fn any(&mut self, conds: &[Atom], at: At<'_>) -> Option<Val> {
        let conds: Vec<Val> = conds.iter().filter_map(|a| self.read(*a, at)).collect();
        self.join(&Op::Or, conds, at)
    }

    /// Whether all of these guards hold; none if there are none.
    pub(crate) fn holds(&mut self, when: &[Guard], at: At<'_>) -> Option<Val> {
        let conds: Vec<Val> = when.iter().filter_map(|g| self.is(*g, at)).collect();
        self.join(&Op::And, conds, at)
    }

    /// Whether a condition has its value.
    pub(crate) fn is(&mut self, guard: Guard, at: At<'_>) -> Option<Val> {
        let cond = self.read(guard.cond, at)?;
        let ty = Type::condition();
        Some(if guard.value { cond } else { self.apply(&Op::Not, &[cond], &ty, Function::nowhere(), at) })
    }

    pub(crate) fn join(&mut self, op: &Op, conds: Vec<Val>, at: At<'_>) -> Option<Val> {
        let ty = Type::condition();
        conds.into_iter().reduce(|a, b| self.apply(op, &[a, b], &ty, Function::nowhere(), at))
    }

    fn sum(&mut self, init: Option<Atom>, terms: &[Term], ty: &Type, span: Span, at: At<'_>) -> Option<Val> {
        let mut sum = match init {
            Some(init) => Some(self.read(init, at)?.node),
            None => None,
        };
        for (from, to, i) in self.alike(|p| terms.iter().position(|t| t.at.contains(p))) {
            let (term, ticks) = (&terms[i], At::Ticks(from, to));
            let args = term.args.iter().map(|a| self.read(*a, ticks)).collect::<Option<Vec<Val>>>()?;
            let args = self.guarded(args, &term.when, ticks, span);
            let n = to - from;
            let all = if n == 1 {
                self.apply(&term.op, &args, ty, span, ticks).node
            } else {
                match (Batch { g: &mut self.g, n, span }).sum(&term.op, &args, ty) {
                    Some(all) => all,
                    None => {
                        let rows = self.each(&term.op, &args, n, span);
                        self.g.apply(Op::Reduce(Reduction::Sum, Some(0)), &[rows], span)
                    }
                }
            };
            sum = Some(match sum {
                Some(sum) => self.g.apply(Op::Binary(Binary::Add), &[all, sum], span),
                None => all,
            });
        }
        sum.map(Val::same)
    }

    fn constant(&mut self, k: rml_plan::Const) -> Node {
        let at = k.index();
        if let Some(node) = self.consts[at] {
            return node;
        }
        let value = &self.plan.consts[k];
        let node = if value.shape().len() > INLINE {
            self.source(Source::Const(at), value.ty())
        } else {
            self.g.constant(value)
        };
        self.consts[at] = Some(node);
        node
    }

    /// An operand; none if it is never there.
    pub(crate) fn read(&mut self, atom: Atom, at: At<'_>) -> Option<Val> {
        let (tape, tick) = match atom {
            Atom::Const(k) => return Some(Val::same(self.constant(k))),
            Atom::Tape(tape, tick) => (tape, tick),
        };
        let (from, to) = match at {
            At::Ticks(from, to) => (from, to),
            At::Body(body) => {
                if let Some(own) = body.read(tape, tick) {
                    return own.map(Val::same);
                }
                (body.from, body.to)
            }
        };
        let ty = self.plan.tapes[tape].ty.clone();
        let g = &mut self.g;
        let value = match tick {
            Tick::First => self.tapes.element(g, tape, 0),
            Tick::Last => self.tapes.element(g, tape, self.ticks - 1),
            Tick::Now => self.tapes.slice(g, tape, from, to, &ty),
            Tick::Before => self.tapes.slice(g, tape, from.checked_sub(1)?, to - 1, &ty),
            Tick::After => self.tapes.slice(g, tape, from + 1, (to < self.ticks).then_some(to + 1)?, &ty),
        }?;
        Some(match at {
            At::Body(_) if value.stacked => Val::same(self.tapes.row(&mut self.g, value.node)),
            _ => value,
        })
    }
}
