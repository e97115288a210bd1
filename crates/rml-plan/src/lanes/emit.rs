//! Writes a plan with vectors.

use std::collections::BTreeMap;

use crate::{Atom, Case, Const, Part, Plan, Region, Rule, Tape, TapeData, Tick};
use rml_ir::op::{AxisIndex, Op};
use rml_ir::{DType, Data, Positions, Precision, Shape, Type, Value};

use super::groups::{Groups, Piece, slots};
use super::order::{self, Order, Place, Section, is_backward};

/// What comes first at a place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Turn {
    Computed,
    Seen,
    Joined,
}

struct Emitter<'a> {
    source: &'a Plan,
    plan: Plan,
    order: Order,
    groups: &'a Groups,
    /// The vector of each group.
    vectors: Vec<Option<Tape>>,
    /// Vectors that are made of several tapes.
    joined: BTreeMap<Vec<Tape>, Tape>,
    /// Parts of a vector, by the vector, the first lane and the length.
    parts: BTreeMap<(Tape, usize, usize), Tape>,
    /// Scalar tapes as vectors of one element (`single`), or repeated to a length (`wide`).
    single: BTreeMap<Tape, Tape>,
    wide: BTreeMap<(Tape, usize), Tape>,
    consts: BTreeMap<Vec<Const>, Const>,
    turns: Vec<(Place, Turn, Tape)>,
}

/// The plan with a vector for each group.
pub(super) fn emit(plan: &Plan, order: Order, groups: &Groups) -> Plan {
    let mut emitter = Emitter {
        source: plan,
        plan: plan.clone(),
        vectors: vec![None; groups.lanes.len()],
        joined: BTreeMap::new(),
        parts: BTreeMap::new(),
        single: BTreeMap::new(),
        wide: BTreeMap::new(),
        consts: BTreeMap::new(),
        turns: Vec::new(),
        order,
        groups,
    };
    for id in plan.tapes.ids().filter(|id| groups.of[id.0 as usize].is_none()) {
        if let Some(place) = emitter.order.place(id) {
            emitter.turns.push((place, Turn::Computed, id));
        }
    }
    let place = |group: usize| Some((emitter.order.place(*groups.lanes[group].first()?)?, group));
    let mut all: Vec<(Place, usize)> = (0..groups.lanes.len()).filter_map(place).collect();
    all.sort_unstable();
    all.iter().for_each(|(place, group)| emitter.declare(*place, *group));
    all.iter().for_each(|(place, group)| emitter.fill(*place, *group));
    emitter.regions();
    emitter.plan
}

impl Emitter<'_> {
    /// Makes the vector of a group, and its lanes views of it.
    fn declare(&mut self, place: Place, group: usize) {
        let lanes = &self.groups.lanes[group];
        let mut data = self.source.tapes[lanes[0]].clone();
        data.ty.shape = Shape::new(&[lanes.len()]);
        data.name = None;
        let vector = self.add(place, Turn::Computed, data);
        self.vectors[group] = Some(vector);
        for (lane, tape) in self.groups.lanes[group].iter().enumerate() {
            let op = Op::Index { items: vec![AxisIndex::At(lane)] };
            let rule = Rule::Apply { op, args: vec![Atom::Tape(vector, Tick::Now)] };
            let data = &mut self.plan.tapes[*tape];
            data.cases = vec![Case { at: data.place(), when: Vec::new(), rule }];
            self.turns.push((place, Turn::Seen, *tape));
        }
    }

    /// Makes the rules of the lanes of a group into rules of its vector.
    fn fill(&mut self, place: Place, group: usize) {
        let lanes = &self.groups.lanes[group];
        let Some(vector) = self.vectors[group] else { return };
        for case in 0..self.source.tapes[lanes[0]].cases.len() {
            let rules: Vec<Vec<Atom>> =
                lanes.iter().map(|lane| operands(&self.source.tapes[*lane].cases[case].rule)).collect();
            let columns = (0..rules[0].len()).map(|slot| rules.iter().map(|atoms| atoms[slot]).collect());
            let columns: Vec<Vec<Atom>> = columns.collect();
            let Case { mut rule, when, .. } = self.source.tapes[lanes[0]].cases[case].clone();
            if let (Rule::Select { cond, then, other }, false) = (&rule, is_same(&columns[0])) {
                rule = Rule::Apply { op: Op::Where, args: vec![*cond, *then, *other] };
            }
            let whole = whole(&rule, &columns);
            let mut slot = 0;
            slots(&mut rule, |atom| {
                *atom = self.vector(place, &columns[slot], whole[slot]);
                slot += 1;
            });
            let alike = lanes.iter().all(|lane| self.source.tapes[*lane].cases[case].when == when);
            let to = &mut self.plan.tapes[vector].cases[case];
            to.rule = rule;
            // If some lanes have other guards, the vector is computed at all ticks.
            if !alike {
                to.when.clear();
            }
        }
    }

    /// One operand for the operands of all lanes: a vector, unless all lanes have the same operand and `whole` is
    /// false.
    fn vector(&mut self, place: Place, atoms: &[Atom], whole: bool) -> Atom {
        let n = atoms.len();
        if !whole && is_same(atoms) {
            return atoms[0];
        }
        let (mut consts, mut tapes) = (Vec::new(), Vec::new());
        for atom in atoms {
            match atom {
                Atom::Const(k) => consts.push(*k),
                Atom::Tape(tape, _) => tapes.push(*tape),
            }
        }
        let Atom::Tape(first, tick) = atoms[0] else { return Atom::Const(self.constants(consts)) };
        if tapes.iter().all(|tape| *tape == first) {
            let at = self.filled(place, first);
            let op = Op::Broadcast { shape: Shape::new(&[n]) };
            let known = self.wide.get(&(first, n)).copied();
            let tape = known.unwrap_or_else(|| self.made((at, Turn::Joined), first, n, (op, &[first])));
            self.wide.insert((first, n), tape);
            return Atom::Tape(tape, tick);
        }
        Atom::Tape(self.lanes(place, tapes), tick)
    }

    /// The vector with these lanes.
    fn lanes(&mut self, place: Place, tapes: Vec<Tape>) -> Tape {
        if let Some(tape) = self.joined.get(&tapes) {
            return *tape;
        }
        let pieces = self.groups.pieces(tapes.iter().copied());
        let tape = if let [piece] = pieces[..] {
            self.piece(place, piece)
        } else {
            let at = tapes.iter().map(|tape| self.filled(place, *tape)).max().unwrap_or(place);
            let single = |piece: &Piece| matches!(piece, Piece::One(_) | Piece::Lanes { len: 1, .. });
            let (op, args) = if pieces.iter().all(single) {
                (Op::Stack { axis: 0 }, tapes.clone())
            } else {
                let pieces = pieces.iter().map(|piece| self.piece(place, *piece)).collect();
                (Op::Concat { axis: 0 }, pieces)
            };
            self.made((at, Turn::Joined), tapes[0], tapes.len(), (op, &args))
        };
        self.joined.insert(tapes, tape);
        tape
    }

    /// A vector of a part of a group, or of one tape.
    fn piece(&mut self, place: Place, piece: Piece) -> Tape {
        match piece {
            Piece::One(tape) => {
                let at = self.filled(place, tape);
                let op = Op::Reshape { shape: Shape::new(&[1]) };
                let known = self.single.get(&tape).copied();
                let single = known.unwrap_or_else(|| self.made((at, Turn::Seen), tape, 1, (op, &[tape])));
                self.single.insert(tape, single);
                single
            }
            Piece::Lanes { group, start, len } => {
                let lane = self.groups.lanes[group][start];
                let vector = self.vectors[group].unwrap_or(lane);
                if len == self.groups.lanes[group].len() {
                    return vector;
                }
                let op = Op::Index { items: vec![AxisIndex::Slice { start, len, step: 1 }] };
                let known = self.parts.get(&(vector, start, len)).copied();
                let at = self.filled(place, lane);
                let part = known.unwrap_or_else(|| self.made((at, Turn::Seen), vector, len, (op, &[vector])));
                self.parts.insert((vector, start, len), part);
                part
            }
        }
    }

    /// A constant with these elements.
    fn constants(&mut self, consts: Vec<Const>) -> Const {
        if let Some(k) = self.consts.get(&consts) {
            return *k;
        }
        let values = || consts.iter().map(|k| &self.source.consts[*k]);
        let nums = || values().filter_map(Value::as_num);
        let data = match (self.source.consts[consts[0]].dtype(), self.source.precision) {
            (DType::Bool, _) => Data::Bool(values().filter_map(Value::as_bool).collect()),
            (DType::Int, _) => Data::Int(values().filter_map(Value::as_int).collect()),
            #[allow(clippy::cast_possible_truncation, reason = "it was of that precision")]
            (DType::Num, Precision::F32) => Data::F32(nums().map(|x| x as f32).collect()),
            (DType::Num, Precision::F64) => Data::F64(nums().collect()),
        };
        let k = self.plan.consts.push(Value::new(Shape::new(&[consts.len()]), data));
        self.consts.insert(consts, k);
        k
    }

    /// The place where a tape is filled; a tape outside of all segments counts as filled at the start of the segment of
    /// `place`.
    fn filled(&self, place: Place, tape: Tape) -> Place {
        let first = Place { stage: 0, section: Section::Before, depth: 0, ..place };
        self.order.place(tape).unwrap_or(first)
    }

    fn add(&mut self, place: Place, turn: Turn, data: TapeData) -> Tape {
        let tape = self.plan.tapes.push(data);
        self.order.places.push(Some(place));
        self.turns.push((place, turn, tape));
        tape
    }

    /// A vector computed by an operator from tapes at the same tick, wherever all of them are present.
    fn made(
        &mut self,
        (place, turn): (Place, Turn),
        like: Tape,
        n: usize,
        (op, args): (Op, &[Tape]),
    ) -> Tape {
        let at = args.iter().fold(Positions::ALL, |at, tape| at.and(self.plan.tapes[*tape].place()));
        let data = &self.plan.tapes[like];
        let args = args.iter().map(|tape| Atom::Tape(*tape, Tick::Now)).collect();
        let data = TapeData {
            name: None,
            ty: Type { dtype: data.ty.dtype, shape: Shape::new(&[n]) },
            span: data.span,
            asserts: None,
            ahead: data.ahead,
            cases: vec![Case { at, when: Vec::new(), rule: Rule::Apply { op, args } }],
        };
        self.add(place, turn, data)
    }

    /// Sorts the tapes of loops into phases, alternately of scalars and of vectors, so that runs of either are as long
    /// as possible.
    fn phases(&mut self) {
        let mut phases: Vec<Option<usize>> = vec![None; self.plan.tapes.len()];
        for (place, turn, tape) in &self.turns {
            if place.section != Section::Loop {
                continue;
            }
            let data = &self.plan.tapes[*tape];
            let near = |atom: Atom| match atom {
                Atom::Tape(x, Tick::Now | Tick::First | Tick::Last) => {
                    let other = self.order.place(x)?;
                    let same = (other.segment, other.stage) == (place.segment, place.stage);
                    phases[x.0 as usize].filter(|_| same)
                }
                _ => None,
            };
            let earliest = data.cases.iter().flat_map(Case::all_reads).filter_map(near).max().unwrap_or(0);
            // Scalars have even phases, vectors odd ones. A view has the phase of its operand.
            let is_vector = !data.ty.shape.is_scalar();
            let waits = *turn != Turn::Seen && is_vector != (earliest % 2 == 1);
            phases[tape.0 as usize] = Some(earliest + usize::from(waits));
        }
        self.turns.sort_by_key(|(place, turn, tape)| {
            (place.segment, place.stage, place.section, phases[tape.0 as usize], place.depth, *turn, *tape)
        });
    }

    /// Puts everything in order.
    fn regions(&mut self) {
        self.turns.sort_unstable();
        self.phases();
        let mut turns = self.turns.iter().peekable();
        let mut regions: Vec<Region> = Vec::new();
        for (i, piece) in std::mem::take(&mut self.order.pieces).into_iter().enumerate() {
            if let order::Piece::Fixed(region) = piece {
                regions.push(region);
                continue;
            }
            let mut before = None;
            while let Some((place, turn, tape)) = turns.next_if(|(place, ..)| place.segment == i) {
                let part = Part { tape: *tape, at: self.plan.tapes[*tape].place() };
                let joins = before.is_some_and(|before: Place| {
                    let same = (before.stage, before.section) == (place.stage, place.section);
                    same && (place.section == Section::Loop || *turn != Turn::Computed)
                });
                match regions.last_mut() {
                    Some(Region::Over(parts) | Region::Loop { parts, .. }) if joins => parts.push(part),
                    _ if place.section == Section::Loop => regions.push(Region::Loop {
                        backward: is_backward(place.stage),
                        by: Vec::new(),
                        parts: vec![part],
                        writes: Vec::new(),
                    }),
                    _ => regions.push(Region::Over(vec![part])),
                }
                before = Some(*place);
            }
        }
        self.plan.regions = regions;
    }
}

fn operands(rule: &Rule) -> Vec<Atom> {
    let (mut rule, mut atoms) = (rule.clone(), Vec::new());
    slots(&mut rule, |atom| atoms.push(*atom));
    atoms
}

/// Which operands must be vectors even if all lanes have the same operand, so that the result is a vector.
fn whole(rule: &Rule, columns: &[Vec<Atom>]) -> Vec<bool> {
    let mut whole = vec![!matches!(rule, Rule::Apply { .. } | Rule::Sum { .. }); columns.len()];
    let mut first = 0;
    let mut one_of = |n: usize| {
        let all = first..first + n;
        if columns[all].iter().all(|column| is_same(column)) {
            // Choose the last operand: a condition may stay scalar.
            whole[first + n - 1] = true;
        }
        first += n;
    };
    match rule {
        Rule::Apply { args, .. } => one_of(args.len()),
        Rule::Sum { init, terms, .. } => {
            init.iter().for_each(|_| one_of(1));
            terms.iter().for_each(|term| one_of(term.args.len()));
        }
        Rule::Select { .. } => whole[0] = false,
        _ => {}
    }
    whole
}

fn is_same(atoms: &[Atom]) -> bool {
    atoms.iter().all(|atom| *atom == atoms[0])
}
