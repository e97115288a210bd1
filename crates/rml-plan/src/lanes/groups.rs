//! Which scalar tapes become the lanes of one vector.
//!
//! Tapes of one group have the same rules at the same positions, and run at the same place. The first groups are tapes
//! with similar surroundings. Further groups are found from a known one: the operands or the readers of its lanes, in
//! the same order.
//!
//! Lanes may be present under different conditions: a vector is computed where any of its lanes is present. The value
//! of an absent lane is never used, and none of these operators fails.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};

use crate::{Atom, Case, Const, Ends, Plan, Reg, Rule, Tape};
use rml_base::IndexVec;
use rml_ir::DType;
use rml_ir::op::{Binary, Compare, Op, Unary};

use super::order::{Order, Section};

/// Fewer lanes are not worth a vector.
const FEWEST: usize = 4;

/// Lanes, and their order.
#[derive(Clone, Default, Debug)]
pub(super) struct Groups {
    pub(super) lanes: Vec<Vec<Tape>>,
    /// The group and the lane of each tape.
    pub(super) of: Vec<Option<(usize, usize)>>,
}

/// The key by which tapes are grouped.
struct Node {
    /// The number of its rule with the operands left out: tapes with equal numbers may form a group.
    kind: usize,
    slots: Vec<Atom>,
}

/// Consecutive lanes of a group, or a tape that is in no group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Piece {
    Lanes { group: usize, start: usize, len: usize },
    One(Tape),
}

pub(super) struct Finder<'a> {
    plan: &'a Plan,
    order: &'a Order,
    nodes: Vec<Option<Node>>,
    users: Vec<Vec<Tape>>,
    /// For each register that changes within a window, the region that writes it.
    written: IndexVec<Reg, Option<usize>>,
}

/// The operands of a rule that may differ from lane to lane.
pub(super) fn slots(rule: &mut Rule, mut f: impl FnMut(&mut Atom)) {
    match rule {
        Rule::Restart { init, next, .. } => [init, next].into_iter().for_each(f),
        rule => rule.for_each_operand_mut(&mut f),
    }
}

impl<'a> Finder<'a> {
    pub(super) fn new(plan: &'a Plan, order: &'a Order) -> Self {
        let mut kinds = BTreeMap::new();
        let written = plan.loops_of_registers();
        let users = vec![Vec::new(); plan.tapes.len()];
        let mut finder = Self { plan, order, nodes: Vec::new(), users, written };
        for (id, tape) in plan.tapes.iter_enumerated() {
            let node =
                order.place(id).filter(|_| tape.cases.iter().all(|case| finder.fits(case))).map(|place| {
                    let mut slots_of = Vec::new();
                    let cases: Vec<Case> =
                        tape.cases.iter().cloned().map(|case| finder.bare(case, &mut slots_of)).collect();
                    let next = kinds.len();
                    let kind = *kinds
                        .entry(format!("{place:?} {} {} {cases:?}", tape.ty, tape.ahead))
                        .or_insert(next);
                    Node { kind, slots: slots_of }
                });
            for atom in node.iter().flat_map(|node: &Node| &node.slots) {
                if let Atom::Tape(x, _) = atom
                    && finder.users[x.0 as usize].last() != Some(&id)
                {
                    finder.users[x.0 as usize].push(id);
                }
            }
            finder.nodes.push(node);
        }
        finder
    }

    fn dtype(&self, atom: Atom) -> DType {
        match atom {
            Atom::Const(k) => self.plan.consts[k].dtype(),
            Atom::Tape(tape, _) => self.plan.tapes[tape].ty.dtype,
        }
    }

    /// Whether a rule computes the same for lanes of a vector.
    fn fits(&self, case: &Case) -> bool {
        let by = |op: &Op, args: &[Atom]| {
            args.iter().all(|a| self.dtype(*a) != DType::Int)
                && is_lanewise(op, self.dtype(args[args.len() - 1]))
        };
        match &case.rule {
            Rule::Apply { op, args } => by(op, args),
            Rule::Copy(a) | Rule::Select { then: a, .. } | Rule::Restart { init: a, .. } => {
                self.dtype(*a) != DType::Int
            }
            Rule::Sum { init, terms, .. } => {
                let is_num = |a: &Atom| self.dtype(*a) == DType::Num;
                init.iter().all(is_num)
                    && terms
                        .iter()
                        .all(|t| t.when.is_empty() && by(&t.op, &t.args) && t.args.iter().all(is_num))
            }
            Rule::Product { .. } | Rule::Input(_) | Rule::Read { .. } => false,
        }
    }

    /// A case with its operands left out; these are added to `found`.
    fn bare(&self, mut case: Case, found: &mut Vec<Atom>) -> Case {
        case.when.clear();
        slots(&mut case.rule, |atom| {
            found.push(*atom);
            let dtype = self.dtype(*atom) as u32;
            *atom = match atom {
                Atom::Const(_) => Atom::Const(Const(dtype)),
                Atom::Tape(_, tick) => Atom::Tape(Tape(dtype), *tick),
            };
        });
        case
    }

    fn node(&self, tape: Tape) -> Option<&Node> {
        self.nodes[tape.0 as usize].as_ref()
    }

    fn slots(&self, tape: Tape) -> &[Atom] {
        self.node(tape).map_or(&[], |node| &node.slots)
    }

    /// The groups that cost least, if they cost less than the scalars.
    pub(super) fn find(&self) -> Option<Groups> {
        let found = [0, 1, 3].map(|rounds| {
            let mut groups = Groups { lanes: Vec::new(), of: vec![None; self.plan.tapes.len()] };
            self.grow_all(&self.surroundings(rounds), &mut groups);
            self.prune(&mut groups);
            // Pruned tapes may read lanes of groups that stayed.
            for group in 0..groups.lanes.len() {
                if !groups.lanes[group].is_empty() {
                    self.readers(group, &groups).into_iter().for_each(|lanes| self.grow(lanes, &mut groups));
                }
            }
            self.prune(&mut groups);
            (self.cost(&groups), groups)
        });
        let none = self.cost(&Groups { lanes: Vec::new(), of: vec![None; self.plan.tapes.len()] });
        let (cost, groups) = found.into_iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
        (cost < 0.7 * none).then_some(groups)
    }

    /// A hash for each tape: of its kind and of the kinds around it, up to `rounds` steps away.
    fn surroundings(&self, rounds: usize) -> Vec<u64> {
        let hash = |x: &dyn Fn(&mut DefaultHasher)| {
            let mut hasher = DefaultHasher::new();
            x(&mut hasher);
            hasher.finish()
        };
        let mut near: Vec<u64> =
            self.nodes.iter().map(|n| n.as_ref().map_or(0, |n| hash(&|h| (n.kind + 1).hash(h)))).collect();
        for _ in 0..rounds {
            let of = |tape: Tape| near[tape.0 as usize];
            let next = self.plan.tapes.ids().map(|id| {
                let Some(node) = self.node(id) else { return 0 };
                let operands: Vec<u64> =
                    node.slots.iter().map(|a| if let Atom::Tape(x, _) = a { of(*x) } else { 1 }).collect();
                let users: BTreeSet<(u64, usize)> = self.users[id.0 as usize]
                    .iter()
                    .flat_map(|user| {
                        let reads = move |a: &Atom| matches!(a, Atom::Tape(x, _) if *x == id);
                        self.slots(*user)
                            .iter()
                            .enumerate()
                            .filter(move |(_, a)| reads(a))
                            .map(move |(i, _)| (of(*user), i))
                    })
                    .collect();
                hash(&|h| (of(id), &operands, &users).hash(h))
            });
            near = next.collect();
        }
        near
    }

    fn grow_all(&self, near: &[u64], groups: &mut Groups) {
        let mut seeds: BTreeMap<u64, Vec<Tape>> = BTreeMap::new();
        for id in self.plan.tapes.ids() {
            let looped = self.order.place(id).is_some_and(|place| place.section == Section::Loop);
            if looped && self.node(id).is_some() {
                seeds.entry(near[id.0 as usize]).or_default().push(id);
            }
        }
        let mut seeds: Vec<Vec<Tape>> = seeds.into_values().filter(|lanes| lanes.len() >= FEWEST).collect();
        let price =
            |lanes: &Vec<Tape>| (!self.is_function(lanes[0]), std::cmp::Reverse(lanes.len()), lanes[0]);
        seeds.sort_by_key(price);
        for mut seed in seeds {
            seed.retain(|tape| groups.of[tape.0 as usize].is_none());
            if seed.len() >= FEWEST {
                seed.sort_by_cached_key(|tape| self.nearest(*tape, groups));
                self.grow(seed, groups);
            }
        }
    }

    /// The first lane in the neighbourhood of a tape: among its operands, the other readers of these, and the other
    /// operands of its own readers. Forward and backward loops may order the same states differently, but have this
    /// lane in common.
    fn nearest(&self, tape: Tape, groups: &Groups) -> Option<(usize, usize)> {
        let operands = |tape: Tape| {
            self.slots(tape)
                .iter()
                .filter_map(|atom| if let Atom::Tape(x, _) = atom { Some(*x) } else { None })
        };
        let own = operands(tape);
        // Operands with many readers say nothing about the order.
        let own_users = |x: &Tape| self.users[x.0 as usize].len() <= 8;
        let beside = operands(tape).filter(own_users).flat_map(|x| self.users[x.0 as usize].iter().copied());
        let others = self.users[tape.0 as usize].iter().flat_map(|user| operands(*user));
        own.chain(beside).chain(others).filter_map(|x| groups.of[x.0 as usize]).min()
    }

    /// Adds a group, and everything that is found from it.
    fn grow(&self, seed: Vec<Tape>, groups: &mut Groups) {
        if seed.iter().any(|tape| groups.of[tape.0 as usize].is_some()) {
            return;
        }
        let mut backward = VecDeque::from([groups.add(seed)]);
        let mut forward = VecDeque::new();
        loop {
            if let Some(group) = backward.pop_front() {
                forward.push_back(group);
                for lanes in self.operands(group, groups) {
                    // Tapes used for one slot are not available for the next one.
                    if lanes.iter().all(|tape| groups.of[tape.0 as usize].is_none()) {
                        backward.push_back(groups.add(lanes));
                    }
                }
            } else if let Some(group) = forward.pop_front() {
                for lanes in self.readers(group, groups) {
                    if lanes.iter().all(|tape| groups.of[tape.0 as usize].is_none()) {
                        backward.push_back(groups.add(lanes));
                    }
                }
            } else {
                return;
            }
        }
    }

    /// Groups of operands.
    fn operands(&self, group: usize, groups: &Groups) -> Vec<Vec<Tape>> {
        let lanes = &groups.lanes[group];
        let mut found = Vec::new();
        for slot in 0..self.slots(lanes[0]).len() {
            let mut kinds: BTreeMap<usize, Vec<Tape>> = BTreeMap::new();
            let mut seen = BTreeSet::new();
            for lane in lanes {
                if let Atom::Tape(x, _) = self.slots(*lane)[slot]
                    && let Some(node) = self.node(x).filter(|_| groups.of[x.0 as usize].is_none())
                    && seen.insert(x)
                {
                    kinds.entry(node.kind).or_default().push(x);
                }
            }
            found.extend(kinds.into_values().filter(|lanes| lanes.len() >= FEWEST));
        }
        found
    }

    /// Groups of tapes that read lanes of a group. In such a group, the operands of each tape have the same distances
    /// between their lanes.
    fn readers(&self, group: usize, groups: &Groups) -> Vec<Vec<Tape>> {
        type Key = (usize, Vec<Option<(usize, isize)>>);
        let mut found: BTreeMap<Key, BTreeMap<usize, Tape>> = BTreeMap::new();
        let mut ambiguous = BTreeSet::new();
        let users = groups.lanes[group].iter().flat_map(|lane| &self.users[lane.0 as usize]);
        for user in users.filter(|user| groups.of[user.0 as usize].is_none()) {
            let Some(node) = self.node(*user) else { continue };
            let lane = |a: &Atom| if let Atom::Tape(x, _) = a { groups.of[x.0 as usize] } else { None };
            let Some((_, base)) = node.slots.iter().find_map(lane) else { continue };
            let far = |(group, lane): (usize, usize)| (group, lane.cast_signed() - base.cast_signed());
            let key = (node.kind, node.slots.iter().map(|a| lane(a).map(far)).collect::<Vec<_>>());
            if found.entry(key.clone()).or_default().insert(base, *user).is_some_and(|other| other != *user) {
                ambiguous.insert(key);
            }
        }
        found.retain(|key, lanes| lanes.len() >= FEWEST && !ambiguous.contains(key));
        found.into_values().map(|lanes| lanes.into_values().collect()).collect()
    }

    /// Removes groups whose operands are too scattered to pay off.
    fn prune(&self, groups: &mut Groups) {
        loop {
            let bad: Vec<usize> = (0..groups.lanes.len())
                .filter(|g| !groups.lanes[*g].is_empty() && !self.is_near(*g, groups))
                .collect();
            if bad.is_empty() {
                return;
            }
            for group in bad {
                for tape in std::mem::take(&mut groups.lanes[group]) {
                    groups.of[tape.0 as usize] = None;
                }
            }
        }
    }

    fn is_near(&self, group: usize, groups: &Groups) -> bool {
        let lanes = &groups.lanes[group];
        (0..self.slots(lanes[0]).len()).all(|slot| {
            let pieces = self.pieces(lanes, slot, groups);
            pieces.len() <= 1 || self.is_rare(lanes, slot) || pieces.len() <= 1 + lanes.len() / 4
        })
    }

    /// The operands of lanes as pieces; none if all lanes have the same operand, or only constants.
    fn pieces(&self, lanes: &[Tape], slot: usize, groups: &Groups) -> Vec<Piece> {
        let first = self.slots(lanes[0])[slot];
        let same = lanes.iter().all(|lane| self.slots(*lane)[slot] == first);
        let tapes = lanes
            .iter()
            .filter_map(|lane| if let Atom::Tape(x, _) = self.slots(*lane)[slot] { Some(x) } else { None });
        if same { Vec::new() } else { groups.pieces(tapes) }
    }

    /// Whether the operands of lanes have to be joined only once per window: they exist at one tick only, or are
    /// registers that do not change in it.
    fn is_rare(&self, lanes: &[Tape], slot: usize) -> bool {
        let rare = |lane: &Tape| {
            let Atom::Tape(x, _) = self.slots(*lane)[slot] else { return true };
            let tape = &self.plan.tapes[x];
            let is_read = matches!(&tape.cases[..], [Case { rule: Rule::Read { register, .. }, .. }] if self.written[*register].is_none());
            tape.place().is_edge() || is_read
        };
        lanes.iter().all(rare)
    }

    fn is_function(&self, tape: Tape) -> bool {
        let light =
            |op: &Op| matches!(op, Op::Unary(Unary::Neg | Unary::Abs) | Op::Not | Op::Convert(DType::Num));
        let heavy = |case: &Case| {
            matches!(&case.rule, Rule::Apply { op, args }
                if args.len() == 1 && !light(op) || matches!(op, Op::Binary(Binary::Pow | Binary::Atan2 | Binary::LogAddExp)))
        };
        self.plan.tapes[tape].cases.iter().any(heavy)
    }

    /// The estimated nanoseconds per tick.
    fn cost(&self, groups: &Groups) -> f64 {
        let once = if self.plan.ends == Ends::Nothing { 1.0 } else { 1.0 / 16.0 };
        let mut cost = 0.0;
        for id in self.plan.tapes.ids().filter(|id| groups.of[id.0 as usize].is_none()) {
            let tape = &self.plan.tapes[id];
            let in_turn = self.order.place(id).is_some_and(|place| place.section == Section::Loop)
                || tape.cases.iter().any(|case| !case.when.is_empty());
            cost += match (in_turn, self.is_function(id)) {
                _ if tape.place().is_edge() => 0.0,
                (true, true) => 12.0,
                (true, false) => 2.5,
                (false, true) => 0.5,
                (false, false) => 0.2,
            };
        }
        for lanes in groups.lanes.iter().filter(|lanes| !lanes.is_empty()) {
            let n = lanes.len().next_multiple_of(16) as f64;
            cost += 5.0 + n * if self.is_function(lanes[0]) { 0.5 } else { 0.1 };
            for slot in 0..self.slots(lanes[0]).len() {
                let pieces = self.pieces(lanes, slot, groups).len();
                if pieces > 1 {
                    cost += pieces as f64 * if self.is_rare(lanes, slot) { once } else { 4.0 };
                }
            }
        }
        cost
    }
}

impl Groups {
    fn add(&mut self, lanes: Vec<Tape>) -> usize {
        let group = self.lanes.len();
        for (lane, tape) in lanes.iter().enumerate() {
            self.of[tape.0 as usize] = Some((group, lane));
        }
        self.lanes.push(lanes);
        group
    }

    /// Tapes as pieces of groups.
    pub(super) fn pieces(&self, tapes: impl Iterator<Item = Tape>) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        for tape in tapes {
            let Some((group, lane)) = self.of[tape.0 as usize] else {
                pieces.push(Piece::One(tape));
                continue;
            };
            match pieces.last_mut() {
                Some(Piece::Lanes { group: g, start, len }) if *g == group && *start + *len == lane => {
                    *len += 1
                }
                _ => pieces.push(Piece::Lanes { group, start: lane, len: 1 }),
            }
        }
        pieces
    }
}

/// Whether an operator has a loop over elements that computes each of them with the same bits as a scalar.
fn is_lanewise(op: &Op, dtype: DType) -> bool {
    match op {
        Op::And | Op::Or | Op::Not => true,
        Op::Convert(to) => *to == DType::Num && dtype == DType::Bool,
        Op::Where => dtype != DType::Int,
        Op::Unary(_) => dtype == DType::Num,
        Op::Binary(_) => dtype == DType::Num,
        Op::Compare(how) => dtype == DType::Num && !matches!(how, Compare::Eq | Compare::Ne),
        _ => false,
    }
}
