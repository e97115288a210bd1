//! What has to be computed, at which positions, and how. Starts from the outputs, the states and operators that may
//! fail.

use std::collections::{BTreeMap, BTreeSet};

use rml_analysis::{Position, Positions};
use rml_base::Span;
use rml_ir::flat::{Eq, Init, Rhs, Var};
use rml_ir::op::Op;
use rml_plan::{Lifetime, Tick};

use crate::Declined;
use crate::resolve::{Resolver, Source};
use crate::window::Window;

mod checks;
mod delays;
mod grouped;
mod registers;

use grouped::{grouped, merged};

/// The rule of a variable at a position: as [`rml_plan::Rule`], but with variables in place of tapes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Rule {
    Apply {
        op: Op,
        args: Vec<Source>,
    },
    Copy(Source),
    Select {
        cond: Source,
        then: Source,
        other: Source,
    },
    Restart {
        ends: Vec<Source>,
        init: Source,
        next: Source,
    },
    Input(u32),
    /// The register of a delay or a parameter.
    Read {
        of: Var,
        init: Option<Source>,
    },
}

impl Rule {
    /// Its operands, in order.
    pub(crate) fn operands(&self) -> Vec<Source> {
        match self {
            Rule::Apply { args, .. } => args.clone(),
            Rule::Copy(a) => vec![*a],
            Rule::Select { cond, then, other } => vec![*cond, *then, *other],
            Rule::Restart { ends, init, next } => ends.iter().copied().chain([*init, *next]).collect(),
            Rule::Input(_) => Vec::new(),
            Rule::Read { init, .. } => init.iter().copied().collect(),
        }
    }

    /// The same rule with other operands.
    pub(crate) fn map(&self, mut f: impl FnMut(Source) -> Source) -> Rule {
        match self {
            Rule::Apply { op, args } => {
                Rule::Apply { op: op.clone(), args: args.iter().map(|a| f(*a)).collect() }
            }
            Rule::Copy(a) => Rule::Copy(f(*a)),
            Rule::Select { cond, then, other } => {
                Rule::Select { cond: f(*cond), then: f(*then), other: f(*other) }
            }
            Rule::Restart { ends, init, next } => {
                Rule::Restart { ends: ends.iter().map(|a| f(*a)).collect(), init: f(*init), next: f(*next) }
            }
            Rule::Input(i) => Rule::Input(*i),
            Rule::Read { of, init } => Rule::Read { of: *of, init: init.map(f) },
        }
    }
}

/// The rule of a variable at some positions.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Case {
    pub(crate) at: Positions,
    pub(crate) when: Vec<(Source, bool)>,
    pub(crate) rule: Rule,
}

/// The register of a delay.
#[derive(Clone, Debug)]
pub(crate) struct Register {
    pub(crate) kind: Lifetime,
    pub(crate) writes: Vec<Write>,
    /// Whether it is read and written at each tick of one loop.
    pub(crate) in_turn: bool,
    pub(crate) backward: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) at: Positions,
    pub(crate) when: Vec<(Source, bool)>,
    pub(crate) unless: Vec<Source>,
    pub(crate) value: Source,
}

/// An output of the program: positions, guards and its value there.
pub(crate) type Output = Vec<(Positions, Vec<(Source, bool)>, Source)>;

/// Everything that has to be computed.
pub(crate) struct Demanded {
    pub(crate) cases: BTreeMap<Var, Vec<Case>>,
    /// If the program finds the end of a window: the variables of the same tick that the end depends on.
    pub(crate) head: BTreeSet<Var>,
    pub(crate) registers: BTreeMap<Var, Register>,
    pub(crate) outputs: Vec<Output>,
}

/// Everything that `window` needs. If the program finds the end of windows, `open` is the same window before its end is
/// found.
pub(crate) fn demand<'a>(window: &'a Window<'a>, open: Option<&'a Window<'a>>) -> Result<Demanded, Declined> {
    let mut demand = Demand {
        window,
        resolver: Resolver::new(window),
        head: BTreeSet::new(),
        is_open: false,
        pending: Vec::new(),
        seen: BTreeSet::new(),
        found: BTreeMap::new(),
        registers: BTreeMap::new(),
        states: window.flat.states.iter().map(|(key, s)| (s.equation, (key.clone(), s.parameter))).collect(),
        inputs: window.flat.inputs.iter().map(|i| i.var).zip(0..).collect(),
    };
    if let Some(open) = open {
        demand.head(open)?;
    }
    let mut outputs = Vec::new();
    for v in &window.flat.outputs {
        outputs.push(demand.output(*v)?);
    }
    // States are kept up to date, even if no output needs them.
    for state in window.flat.states.values() {
        demand.register(state.equation)?;
    }
    // So are delays in inner windows, since a block may end within such a window.
    for eq in window.flat.equations.ids().filter(|eq| window.outlives(*eq)) {
        demand.register(eq)?;
    }
    demand.checks()?;
    while let Some((v, p)) = demand.pending.pop() {
        if demand.found.get(&v).is_some_and(|cases| cases.contains_key(&p.index())) {
            continue;
        }
        let case = demand.case(v, p)?;
        demand.found.entry(v).or_default().insert(p.index(), (p, case));
    }
    let meant = |case: Case| {
        let at = case.at.iter().fold(Positions::NONE, |all, p| all.or(window.meant(p)));
        Case { at, ..case }
    };
    let cases = demand.found.into_iter();
    let cases = cases
        .map(|(v, cases)| (v, grouped(cases.into_values().collect()).into_iter().map(meant).collect()))
        .collect();
    Ok(Demanded { cases, head: demand.head, registers: demand.registers, outputs })
}

/// What to write where a window ends in the cycle before a condition holds.
const RESTART: &str = "restart inside of the window: `node g(x, r) -> (y)  y = f(x) every (false fby back r);`, and call `g`, or its \
                       gradient, with `every end`, where `end` is known in its own cycle";

type At = (Position, (Vec<(Source, bool)>, Rule));

struct Demand<'a> {
    window: &'a Window<'a>,
    resolver: Resolver<'a>,
    head: BTreeSet<Var>,
    /// Whether the end of the window is not found yet.
    is_open: bool,
    pending: Vec<(Var, Position)>,
    seen: BTreeSet<(Var, Position)>,
    found: BTreeMap<Var, BTreeMap<usize, At>>,
    registers: BTreeMap<Var, Register>,
    states: BTreeMap<Eq, (std::sync::Arc<str>, bool)>,
    inputs: BTreeMap<Var, u32>,
}

impl<'a> Demand<'a> {
    /// Resolves a variable at a position, and demands the result.
    fn need(&mut self, v: Var, p: Position) -> Source {
        let source = self.resolver.source(v, p);
        self.keep(source, p);
        source
    }

    /// The same for values that leave the window. These must be known when the window has ended, whatever the facts say
    /// about them.
    fn needed_within(&mut self, v: Var, p: Position) -> Result<Source, Declined> {
        if self.window.is_known(v, p) {
            return Ok(self.need(v, p));
        }
        Err(self.looks_beyond(v))
    }

    /// Why a value is not known when the window has ended.
    fn looks_beyond(&self, v: Var) -> Declined {
        if self.is_open {
            return Declined::at("the end of a window looks ahead", self.span(v)).help(RESTART);
        }
        let why = Declined::at("a value looks beyond its window", self.span(v));
        why.help(
            "move the part that looks ahead into the node that is called with `every`: there it ends with the window",
        )
    }

    /// The reason why blocks of a program cannot look one tick ahead.
    fn looks_ahead_sampled(&self, v: Var) -> Declined {
        let why = Declined::at("a value on a sampled clock looks ahead", self.span(v));
        why.help("let it look ahead on the clock of the inputs, and sample the result: `(post x) when c`")
    }

    /// Why it is not known where a value is present.
    fn unknown_clock(&self, v: Var) -> Declined {
        let why = Declined::at("a clock is not known before the program runs", self.span(v));
        why.help("declare the clock where it enters: `x: num [] when c`, with `c` an input or output")
    }

    /// Demands what is read at a position.
    fn keep(&mut self, source: Source, p: Position) {
        let Source::Kept(u, tick) = source else { return };
        let at = tick.seen_from(self.window.canonical(p));
        if self.is_open && at == Positions::NONE.with(p) {
            self.head.insert(u);
            return;
        }
        for q in at.iter().map(|q| self.window.canonical(q)) {
            if self.seen.insert((u, q)) {
                self.pending.push((u, q));
            }
        }
    }

    fn guards(&mut self, v: Var, p: Position) -> Result<Option<Vec<(Source, bool)>>, Declined> {
        if !self.window.has_known_clock(v) {
            return Err(self.unknown_clock(v));
        }
        let Some(open) = self.window.guards(v, p) else { return Ok(None) };
        Ok(Some(open.into_iter().map(|(cond, value)| (self.need(cond, p), value)).collect()))
    }

    /// Demands what the end of the window depends on, as far as it is computed while it is still unknown whether a tick
    /// is the last one.
    fn head(&mut self, open: &'a Window<'a>) -> Result<(), Declined> {
        let past = Resolver::new(self.window);
        let (window, resolver) = (
            std::mem::replace(&mut self.window, open),
            std::mem::replace(&mut self.resolver, Resolver::open(open, past)),
        );
        self.is_open = true;
        self.head.extend(window.ends.iter().map(|end| end.cond));
        let mut done = BTreeSet::new();
        while let Some(v) = self.head.pop_first() {
            if !done.insert(v) {
                continue;
            }
            for (p, twin) in [(Position::First, Position::Only), (Position::Middle, Position::Last)] {
                if !open.may_be_present(v, p) {
                    continue;
                }
                let (when, rule) = self.case(v, p)?;
                let ahead = |s: &Source| matches!(s, Source::Kept(_, Tick::After | Tick::Last));
                if when.iter().map(|(cond, _)| *cond).chain(rule.operands()).any(|s| ahead(&s)) {
                    return Err(Declined::at("the end of a window looks ahead", self.span(v)).help(RESTART));
                }
                for p in [p, twin] {
                    self.seen.insert((v, p));
                    self.found.entry(v).or_default().insert(p.index(), (p, (when.clone(), rule.clone())));
                }
            }
        }
        self.head = done;
        for end in &window.ends {
            if !self.resolver.is_steady(end.cond) || open.all != Positions::ALL {
                let why = "the end of a window has no value in some cycles";
                let why = Declined::at(why, self.span(end.cond));
                return Err(why.help("give it one in each cycle, as in `merge c end false`"));
            }
        }
        (self.window, self.resolver, self.is_open) = (window, resolver, false);
        for v in self.registers.keys().copied().collect::<Vec<_>>() {
            self.writes_of(v)?;
        }
        Ok(())
    }

    fn output(&mut self, v: Var) -> Result<Output, Declined> {
        let mut output = Output::new();
        for p in self.window.place(v).iter() {
            let Some(when) = self.guards(v, p)? else { continue };
            let source = self.needed_within(v, p)?;
            output.push((Positions::NONE.with(p), when, source));
        }
        Ok(merged(output))
    }

    fn case(&mut self, v: Var, p: Position) -> Result<(Vec<(Source, bool)>, Rule), Declined> {
        let when = self.guards(v, p)?.unwrap_or_default();
        if let Some(told) = self.window.as_told(v) {
            return Ok((when, self.tells(told, p)));
        }
        let source = self.resolver.source(v, p);
        if source != Source::Kept(v, Tick::Now) {
            self.keep(source, p);
            return Ok((when, Rule::Copy(source)));
        }
        Ok((when, self.own(v, p)?))
    }

    fn span(&self, v: Var) -> Span {
        self.window.line(v)
    }

    /// The rule of a variable that is not resolved to another one.
    fn own(&mut self, v: Var, p: Position) -> Result<Rule, Declined> {
        let Some(rhs) = self.window.rhs(v) else {
            return Ok(Rule::Input(self.inputs.get(&v).copied().unwrap_or_default()));
        };
        Ok(match rhs {
            Rhs::Apply { op, args } => {
                Rule::Apply { op: op.clone(), args: args.iter().map(|a| self.need(*a, p)).collect() }
            }
            Rhs::Merge { .. } if let Some((of, init)) = self.window.held(v) => {
                self.register_of(of)?;
                Rule::Read { of, init: Some(Source::Const(init)) }
            }
            Rhs::If { cond, then, other } | Rhs::Merge { cond, on_true: then, on_false: other } => {
                Rule::Select {
                    cond: self.need(*cond, p),
                    then: self.need(*then, p),
                    other: self.need(*other, p),
                }
            }
            Rhs::When { value, .. } => Rule::Copy(self.need(*value, p)),
            Rhs::Const(k) => Rule::Copy(Source::Const(*k)),
            Rhs::Fby { .. } => self.forward(v, p)?,
            Rhs::FbyBack { .. } => self.backward(v, p)?,
            Rhs::Post { .. } if self.window.waits => {
                self.register_of(v)?;
                Rule::Read { of: v, init: None }
            }
            Rhs::Post { .. } if self.window.looks_ahead => {
                return Err(self.looks_ahead_sampled(v));
            }
            Rhs::Post { .. } => return Err(self.looks_beyond(v)),
            Rhs::Param { init } => {
                let init = self.need(*init, p);
                self.register_of(v)?;
                Rule::Read { of: v, init: Some(init) }
            }
        })
    }

    fn init(&mut self, init: &Init, p: Position) -> Source {
        let source = self.resolver.init(init, p);
        self.keep(source, p);
        source
    }
}
