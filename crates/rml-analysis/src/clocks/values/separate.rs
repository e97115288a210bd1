//! The search for the coarsest consistent partition of the delays, and for delays that always return a constant.
//!
//! Everything that may change has a *place*: first the variables in the order in which they are computed, then clocks,
//! windows and delays. A heap contains the places to be visited again; all dependences of a value are visited before
//! it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use indexmap::IndexMap;
use rml_base::{EntityId, Graph, IndexVec};
use rml_ir::flat::{Eq, Flat, Var, Window};

use super::Steady;
use super::blocks::{Blocks, Signature, is_delay};
use super::pass::Pass;
use super::structure::{Structure, is_immediate};
use crate::clocks::infer::{Inferred, Term, TermId};

/// The average number of visits per place after which delays that are not separated yet count as equal only to
/// themselves.
const VISITS: usize = 100;

pub(super) struct Separation<'a> {
    pass: Pass<'a>,
    inferred: &'a Inferred,
    delays: Vec<Eq>,
    members: Members,
    places: Places,
    /// For each place: the places to visit again when it changes.
    readers: Graph<usize>,
    pending: BinaryHeap<Reverse<usize>>,
    waiting: Vec<bool>,
    pub(super) visits: usize,
}

impl<'a> Separation<'a> {
    /// Begins with the values for the coarsest partition, and with the delays that are known to be constant.
    pub(super) fn new(
        flat: &'a Flat,
        inferred: &'a Inferred,
        structure: &'a Structure,
        steady: Steady,
    ) -> Self {
        let mut pass = Pass::new(flat, structure, Blocks::new(flat, structure), steady);
        pass.run(inferred);
        let delays: Vec<Eq> =
            flat.equations.iter_enumerated().filter(|(_, e)| is_delay(&e.rhs)).map(|(eq, _)| eq).collect();
        let places = Places::new(flat, inferred, structure);
        let readers = places.readers(flat, inferred, structure);
        Self {
            members: Members::new(&pass.blocks, &delays),
            waiting: vec![false; readers.len()],
            visits: readers.len(),
            pending: BinaryHeap::new(),
            pass,
            inferred,
            delays,
            places,
            readers,
        }
    }

    /// The coarsest partition whose blocks agree in operands, windows and clocks.
    pub(super) fn blocks(&mut self) -> Blocks {
        let mut changed = self.delays.clone();
        while !changed.is_empty() {
            let moved = self.members.part(&changed, |eq| self.pass.signature(self.inferred, eq));
            for (eq, block) in moved {
                self.pass.blocks.of[eq] = block;
                self.look_at(self.places.of_var(self.pass.flat.equations[eq].lhs));
            }
            self.pass.blocks.count = self.members.of_block.len();
            changed = self.update();
            if self.visits > VISITS * self.readers.len() {
                return Blocks::alone(self.pass.flat);
            }
        }
        self.pass.blocks.clone()
    }

    /// Finds the delays of a constant that also begin or end with it; returns whether there are more of them than
    /// before.
    pub(super) fn settle(&mut self) -> bool {
        let mut is_more = false;
        let mut changed = self.delays.clone();
        while !changed.is_empty() {
            for eq in changed {
                if self.pass.steady[eq].is_none()
                    && let Some(key) = self.pass.constant_of(eq)
                {
                    self.pass.steady[eq] = Some(key);
                    self.look_at(self.places.of_var(self.pass.flat.equations[eq].lhs));
                    is_more = true;
                }
            }
            changed = self.update();
        }
        is_more
    }

    pub(super) fn steady(self) -> Steady {
        let (of, constants) = self.pass.steady();
        Steady { of, constants }
    }

    fn look_at(&mut self, place: usize) {
        if !std::mem::replace(&mut self.waiting[place], true) {
            self.pending.push(Reverse(place));
        }
    }

    /// Visits the pending places and all places affected by changes. Returns the delays that are affected.
    fn update(&mut self) -> Vec<Eq> {
        let mut delays = Vec::new();
        while let Some(Reverse(place)) = self.pending.pop() {
            self.waiting[place] = false;
            self.visits += 1;
            let is_changed = match self.places.what(place) {
                Place::Value(v) => self.pass.update(v),
                Place::Clock(term) => self.pass.update_presence(self.inferred, term),
                Place::Window(window) => self.pass.update_window(self.inferred, window),
                Place::Delay(eq) => {
                    delays.push(eq);
                    false
                }
            };
            for i in 0..if is_changed { self.readers.of(place).len() } else { 0 } {
                self.look_at(self.readers.of(place)[i]);
            }
        }
        delays
    }
}

/// The delays in each block, and their common signatures.
struct Members {
    of_block: Vec<Vec<Eq>>,
    signatures: Vec<Option<Signature>>,
    block: IndexVec<Eq, usize>,
    /// The index of a delay in its block.
    at: IndexVec<Eq, usize>,
}

impl Members {
    fn new(blocks: &Blocks, delays: &[Eq]) -> Members {
        let mut members = Members {
            of_block: vec![Vec::new(); blocks.count],
            signatures: vec![None; blocks.count],
            block: blocks.of.clone(),
            at: IndexVec::filled(0, blocks.of.len()),
        };
        for &eq in delays {
            let block = &mut members.of_block[blocks.of[eq]];
            members.at[eq] = block.len();
            block.push(eq);
        }
        members
    }

    /// Divides blocks by the signatures of their changed delays. The largest part of a block keeps the block; returns
    /// the delays of the other parts with their new blocks.
    fn part(&mut self, changed: &[Eq], signature: impl Fn(Eq) -> Signature) -> Vec<(Eq, usize)> {
        let mut found: IndexMap<usize, IndexMap<Signature, Vec<Eq>>> = IndexMap::new();
        for &eq in changed {
            found.entry(self.block[eq]).or_default().entry(signature(eq)).or_default().push(eq);
        }
        let mut moved = Vec::new();
        for (block, mut parts) in found {
            let touched: usize = parts.values().map(Vec::len).sum();
            let size = self.of_block[block].len();
            let old = self.signatures[block].filter(|_| touched < size);
            let same = old.and_then(|old| parts.swap_remove(&old)).map_or(0, |part| part.len());
            // The delays that did not change, and those that changed back.
            let rest = size - touched + same;
            let largest = (0..parts.len()).max_by_key(|i| (parts[*i].len(), Reverse(*i)));
            match largest {
                Some(i) if parts[i].len() > rest => {
                    self.signatures[block] = parts.get_index(i).map(|(signature, _)| *signature);
                    let (_, stay) = parts.swap_remove_index(i).unzip();
                    if rest > 0 {
                        let stay = stay.unwrap_or_default();
                        self.move_rest(block, &stay, &parts, old, &mut moved);
                    }
                }
                _ => {}
            }
            for (signature, part) in parts {
                self.move_to_new(part, Some(signature), &mut moved);
            }
        }
        moved
    }

    /// Moves the delays of a block that neither stay nor belong to another part.
    fn move_rest(
        &mut self,
        block: usize,
        stay: &[Eq],
        parts: &IndexMap<Signature, Vec<Eq>>,
        signature: Option<Signature>,
        moved: &mut Vec<(Eq, usize)>,
    ) {
        let known: std::collections::BTreeSet<Eq> =
            stay.iter().chain(parts.values().flatten()).copied().collect();
        let rest = self.of_block[block].iter().copied().filter(|eq| !known.contains(eq)).collect();
        self.move_to_new(rest, signature, moved);
    }

    fn move_to_new(&mut self, part: Vec<Eq>, signature: Option<Signature>, moved: &mut Vec<(Eq, usize)>) {
        let new = self.of_block.len();
        for (at, &eq) in part.iter().enumerate() {
            let block = &mut self.of_block[self.block[eq]];
            block.swap_remove(self.at[eq]);
            if let Some(last) = block.get(self.at[eq]) {
                self.at[*last] = self.at[eq];
            }
            (self.block[eq], self.at[eq]) = (new, at);
            moved.push((eq, new));
        }
        self.of_block.push(part);
        self.signatures.push(signature);
    }
}

/// The item at a place.
enum Place {
    Value(Var),
    Clock(TermId),
    Window(Window),
    Delay(Eq),
}

/// The numbers of places.
struct Places {
    order: Vec<Var>,
    of: IndexVec<Var, usize>,
    windows: usize,
    delays: usize,
    len: usize,
}

impl Places {
    fn new(flat: &Flat, inferred: &Inferred, structure: &Structure) -> Places {
        let mut of = IndexVec::filled(0, flat.vars.len());
        for (place, v) in structure.order.iter().enumerate() {
            of[*v] = place;
        }
        let windows = structure.order.len() + inferred.terms.len();
        let delays = windows + flat.windows.len();
        Places { order: structure.order.clone(), of, windows, delays, len: delays + flat.equations.len() }
    }

    fn of_var(&self, v: Var) -> usize {
        self.of[v]
    }

    fn of_term(&self, term: TermId) -> usize {
        self.order.len() + term.index()
    }

    fn of_window(&self, window: Window) -> usize {
        self.windows + window.index()
    }

    fn what(&self, place: usize) -> Place {
        match place {
            _ if place >= self.delays => Place::Delay(Eq::from_index(place - self.delays)),
            _ if place >= self.windows => Place::Window(Window::from_index(place - self.windows)),
            _ => match self.order.get(place) {
                Some(v) => Place::Value(*v),
                None => Place::Clock(TermId::from_index(place - self.order.len())),
            },
        }
    }

    fn readers(&self, flat: &Flat, inferred: &Inferred, structure: &Structure) -> Graph<usize> {
        let mut list = Vec::new();
        for (eq, equation) in flat.equations.iter_enumerated() {
            let reader = if is_delay(&equation.rhs) {
                let delay = self.delays + eq.index();
                list.push((self.of_term(inferred.of[equation.lhs]), delay));
                list.extend(equation.rhs.window().map(|w| (self.of_window(w), delay)));
                delay
            } else {
                self.of_var(equation.lhs)
            };
            let is_fixed = is_immediate(&equation.rhs) && structure.circular[equation.lhs];
            if !is_fixed {
                equation.rhs.for_each_operand(|v| list.push((self.of_var(v), reader)));
            }
        }
        for (id, term) in inferred.terms.iter_enumerated() {
            if let Term::On { parent, cond, .. } = *term {
                list.push((self.of_term(parent), self.of_term(id)));
                list.push((self.of_var(cond), self.of_term(id)));
            }
        }
        for (id, window) in flat.windows.iter_enumerated() {
            let read = [self.of_var(window.end), self.of_term(inferred.of[window.end])];
            list.extend(
                read.into_iter()
                    .chain(window.parent.map(|w| self.of_window(w)))
                    .map(|place| (place, self.of_window(id))),
            );
        }
        Graph::new(self.len, list)
    }
}
