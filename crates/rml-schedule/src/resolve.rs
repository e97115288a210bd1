//! Resolves a variable at a position of a window: to a constant, another variable, or itself.

use std::collections::{BTreeMap, BTreeSet};

use rml_analysis::{Hold, Position};
use rml_ir::flat::{ConstId, Init, Rhs, Var};
use rml_ir::op::Op;
use rml_plan::Tick;

use crate::window::{Restart, Window};

/// The value of a variable at a position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Source {
    /// A constant.
    Const(ConstId),
    /// The value of a tape at that tick: of another variable, or of the variable itself if it has to be computed.
    Kept(Var, Tick),
    /// False, where the end of a window is absent.
    Never,
}

/// The longest chain of copies that is followed; a copy beyond it gets a tape of its own.
const DEPTH: usize = 2000;

/// Resolves variables, each only once.
pub(crate) struct Resolver<'a> {
    pub(crate) window: &'a Window<'a>,
    known: BTreeMap<(Var, Position), Source>,
    path: BTreeSet<(Var, Position)>,
    /// The resolver for earlier ticks, if the window is [open](Window::open).
    past: Option<Box<Resolver<'a>>>,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(window: &'a Window<'a>) -> Self {
        Self { window, known: BTreeMap::new(), path: BTreeSet::new(), past: None }
    }

    /// A resolver for an open window. `past` resolves earlier ticks, for which the window is not open.
    pub(crate) fn open(window: &'a Window<'a>, past: Resolver<'a>) -> Self {
        Self { past: Some(Box::new(past)), ..Self::new(window) }
    }

    /// The value of a variable where it is present at a position. In a circle of copies, one variable gets a tape of
    /// its own.
    pub(crate) fn source(&mut self, v: Var, p: Position) -> Source {
        let p = self.window.canonical(p);
        if let Some(known) = self.known.get(&(v, p)) {
            return *known;
        }
        let own = Source::Kept(v, Tick::Now);
        // It is the same at all ticks, the first one among them.
        if self.window.held(v).is_some() {
            return own;
        }
        if self.path.len() >= DEPTH || !self.path.insert((v, p)) {
            return own;
        }
        let found = self.held(v, p).or_else(|| self.copied(v, p)).unwrap_or(own);
        self.path.remove(&(v, p));
        if !self.depends_on_path(found) {
            self.known.insert((v, p), found);
        }
        found
    }

    /// Whether a result may still change, because its variable is being resolved.
    fn depends_on_path(&self, found: Source) -> bool {
        let Source::Kept(u, _) = found else { return false };
        Position::ALL.into_iter().any(|p| self.path.contains(&(u, p)))
    }

    /// The value that the facts prove.
    fn held(&mut self, v: Var, p: Position) -> Option<Source> {
        let [first, last] = self.window.holds(v, p);
        match (first, last) {
            (Hold::Const(k), _) | (_, Hold::Const(k)) => Some(Source::Const(k)),
            (Hold::At(u), _) if (u, p) != (v, p.start()) => Some(self.at_edge(u, p, p.start(), Tick::First)),
            (_, Hold::At(u)) if (u, p) != (v, p.end()) => Some(self.at_edge(u, p, p.end(), Tick::Last)),
            _ => None,
        }
    }

    fn at_edge(&mut self, u: Var, p: Position, edge: Position, tick: Tick) -> Source {
        match self.source(u, edge) {
            Source::Kept(w, Tick::Now) if p != edge => Source::Kept(w, tick),
            // It is a neighbour of the edge, which other positions cannot read, so the copy gets a tape.
            Source::Kept(_, Tick::Before | Tick::After) if p != edge => Source::Kept(u, tick),
            other => other,
        }
    }

    /// The value that its equation copies.
    fn copied(&mut self, v: Var, p: Position) -> Option<Source> {
        match self.window.rhs(v)? {
            Rhs::Const(k) => Some(Source::Const(*k)),
            Rhs::Apply { op: Op::Copy | Op::StopGradient, args } => Some(self.source(args[0], p)),
            Rhs::When { value, .. } => Some(self.source(*value, p)),
            Rhs::If { cond, then, other } | Rhs::Merge { cond, on_true: then, on_false: other } => {
                let present = |v: &Var| self.window.may_be_present(*v, p);
                let taken = match (self.window.truth(*cond, p), present(then), present(other)) {
                    (Some(true), ..) | (_, true, false) => *then,
                    (Some(false), ..) | (_, false, true) => *other,
                    _ => return None,
                };
                Some(self.source(taken, p))
            }
            Rhs::Fby { init, next, window } => {
                let restart = self.window.restart(*window);
                if p.is_start() {
                    return (restart == Restart::Edge && self.is_steady(v)).then(|| self.init(init, p));
                }
                (self.is_steady(v) && !matches!(restart, Restart::Inner { .. }))
                    .then(|| self.neighbour(*next, p, Tick::Before))
            }
            // It is not known whether there is a tick after this one.
            Rhs::FbyBack { .. } | Rhs::Post { .. } if self.past.is_some() => None,
            Rhs::FbyBack { init, next, window } => {
                let restart = self.window.restart(*window);
                if p.is_end() {
                    return (restart == Restart::Edge && self.is_steady(v)).then(|| self.init(init, p));
                }
                (self.is_steady(v) && !matches!(restart, Restart::Inner { .. }))
                    .then(|| self.neighbour(*next, p, Tick::After))
            }
            Rhs::Post { next, .. } if self.is_steady(v) && !p.is_end() => {
                Some(self.neighbour(*next, p, Tick::After))
            }
            _ => None,
        }
    }

    pub(crate) fn init(&mut self, init: &Init, p: Position) -> Source {
        match init {
            Init::Const(k) => Source::Const(*k),
            Init::Stream(v) => self.source(*v, p),
        }
    }

    /// Whether a variable is present at every tick of a window, independently of data.
    pub(crate) fn is_steady(&self, v: Var) -> bool {
        self.window.place(v) == self.window.all && self.is_unguarded(v)
    }

    /// Whether the position alone decides where a variable is present.
    pub(crate) fn is_unguarded(&self, v: Var) -> bool {
        let at = |p| self.window.guards(v, p).is_some_and(|g| g.is_empty());
        self.window.has_known_clock(v) && self.window.place(v).iter().all(at)
    }

    /// The value of a variable at the tick before or after one at position `p`: if it resolves equally at all positions
    /// that this tick may have, that value, else its own tape.
    fn neighbour(&mut self, next: Var, p: Position, tick: Tick) -> Source {
        let mut found: Option<Source> = None;
        for p in tick.seen_from(p).iter() {
            let source = match &mut self.past {
                Some(past) => past.source(next, p),
                None => self.source(next, p),
            };
            if found.is_some_and(|f| f != source) {
                return Source::Kept(next, tick);
            }
            found = Some(source);
        }
        match found {
            Some(Source::Kept(u, Tick::Now)) => Source::Kept(u, tick),
            // If the trace may end, only a read of the tick after shows whether there is one.
            _ if self.window.looks_ahead && tick == Tick::After => Source::Kept(next, tick),
            // There and back.
            Some(Source::Kept(u, Tick::Before)) if tick == Tick::After => Source::Kept(u, Tick::Now),
            Some(Source::Kept(u, Tick::After)) if tick == Tick::Before => Source::Kept(u, Tick::Now),
            Some(Source::Kept(_, Tick::Before | Tick::After)) | None => Source::Kept(next, tick),
            Some(constant) => constant,
        }
    }
}
