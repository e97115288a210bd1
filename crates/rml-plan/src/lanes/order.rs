//! The order of scalar parts after their loops are merged.
//!
//! A *segment* is a sequence of regions that fill only scalars. Its loops are merged into *stages*, alternately forward
//! and backward: a part belongs to the first stage in which everything that it reads is available. Parts over all ticks
//! run before the loop of their stage, after it, or inside it if they are between two merged loops.

use crate::{Atom, Case, Part, Plan, Region, Rule, Tape, Tick};

/// Where a part of a stage runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Section {
    Before,
    Loop,
    Behind,
}

/// When a part runs. Parts with the same place do not depend on each other within a tick.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Place {
    pub(super) segment: usize,
    pub(super) stage: usize,
    pub(super) section: Section,
    /// The length of the longest chain of parts that depend on each other, up to this part.
    pub(super) depth: usize,
}

/// A region that is not changed, or a segment of merged regions.
#[derive(Debug)]
pub(super) enum Piece {
    Fixed(Region),
    Segment(Vec<Item>),
}

/// A part over all ticks, or a loop.
#[derive(Debug)]
pub(super) struct Item {
    /// The direction of a loop.
    backward: Option<bool>,
    pub(super) parts: Vec<Part>,
}

/// The order of a plan.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) pieces: Vec<Piece>,
    /// For each tape, the place of the part that fills it, if it is in a segment.
    pub(super) places: Vec<Option<Place>>,
}

impl Order {
    /// None if there are no loops to merge.
    pub(super) fn of(plan: &Plan) -> Option<Self> {
        let mut order = Self { pieces: pieces(plan), places: vec![None; plan.tapes.len()] };
        let pieces = std::mem::take(&mut order.pieces);
        let mut loops = 0;
        for (segment, piece) in pieces.iter().enumerate() {
            if let Piece::Segment(items) = piece {
                loops += items.iter().filter(|item| item.backward.is_some()).count();
                order.stages(plan, segment, items);
                order.sections(plan, items);
                order.depths(plan, items)?;
            }
        }
        order.pieces = pieces;
        (loops > 1).then_some(order)
    }

    pub(super) fn place(&self, tape: Tape) -> Option<Place> {
        self.places[tape.0 as usize]
    }

    /// The place of a tape that is filled in the same segment and stage.
    fn near(&self, of: Place, tape: Tape) -> Option<Place> {
        self.place(tape).filter(|p| (p.segment, p.stage) == (of.segment, of.stage))
    }

    fn stages(&mut self, plan: &Plan, segment: usize, items: &[Item]) {
        for item in items {
            let mut stage = 0;
            for case in cases(plan, item) {
                let is_sum = matches!(case.rule, Rule::Sum { .. });
                for atom in case.all_reads() {
                    if let Atom::Tape(tape, tick) = atom
                        && let Some(place) = self.place(tape).filter(|p| p.segment == segment)
                    {
                        let waits = is_sum || !is_there(tick, place.stage);
                        stage = stage.max(place.stage + usize::from(waits));
                    }
                }
            }
            if item.backward.is_some_and(|backward| backward != is_backward(stage)) {
                stage += 1;
            }
            let section = if item.backward.is_some() { Section::Loop } else { Section::Before };
            for part in &item.parts {
                self.places[part.tape.0 as usize] = Some(Place { segment, stage, section, depth: 1 });
            }
        }
    }

    fn sections(&mut self, plan: &Plan, items: &[Item]) {
        for item in items.iter().filter(|item| item.backward.is_none()) {
            for part in &item.parts {
                let Some(place) = self.place(part.tape) else { continue };
                let waits = cases(plan, item).flat_map(Case::all_reads).any(|atom| {
                    matches!(atom, Atom::Tape(x, _) if self.near(place, x).is_some_and(|p| p.section != Section::Before))
                });
                if waits {
                    self.places[part.tape.0 as usize] = Some(Place { section: Section::Behind, ..place });
                }
            }
        }
        // A part that waits for a loop, and for which the loop waits, belongs to the loop.
        for item in items.iter().rev() {
            let Some(own) = item.parts.first().and_then(|part| self.place(part.tape)) else { continue };
            if own.section != Section::Loop {
                continue;
            }
            for atom in cases(plan, item).flat_map(Case::all_reads) {
                if let Atom::Tape(tape, _) = atom
                    && let Some(place) = self.near(own, tape).filter(|p| p.section == Section::Behind)
                {
                    self.places[tape.0 as usize] = Some(Place { section: Section::Loop, ..place });
                }
            }
        }
    }

    /// Computes the depth of each part. None if some part comes before a part that it reads at the same tick.
    fn depths(&mut self, plan: &Plan, items: &[Item]) -> Option<()> {
        let mut done = std::collections::BTreeSet::new();
        for part in items.iter().flat_map(|item| &item.parts) {
            let own = self.place(part.tape)?;
            let mut depth = 1;
            for case in &plan.tapes[part.tape].cases {
                for atom in case.all_reads() {
                    let Atom::Tape(tape, tick) = atom else { continue };
                    let Some(other) = self.near(own, tape).filter(|p| p.section == own.section) else {
                        continue;
                    };
                    let in_turn = own.section != Section::Loop
                        || match tick {
                            Tick::Now => true,
                            Tick::First => case.at.iter().any(rml_ir::Position::is_start),
                            Tick::Last => case.at.iter().any(rml_ir::Position::is_end),
                            Tick::Before | Tick::After => false,
                        };
                    if in_turn {
                        done.contains(&tape).then_some(())?;
                        depth = depth.max(other.depth + 1);
                    }
                }
            }
            done.insert(part.tape);
            self.places[part.tape.0 as usize] = Some(Place { depth, ..own });
        }
        Some(())
    }
}

/// Stages alternate.
pub(super) fn is_backward(stage: usize) -> bool {
    stage % 2 == 1
}

/// Whether an element that a stage fills may be read in it.
fn is_there(tick: Tick, stage: usize) -> bool {
    match tick {
        Tick::Now => true,
        Tick::Before | Tick::First => !is_backward(stage),
        Tick::After | Tick::Last => is_backward(stage),
    }
}

fn cases<'a>(plan: &'a Plan, item: &'a Item) -> impl Iterator<Item = &'a Case> {
    item.parts.iter().flat_map(|part| &plan.tapes[part.tape].cases)
}

/// The regions of a plan as segments, and those between.
fn pieces(plan: &Plan) -> Vec<Piece> {
    let mut times = vec![0; plan.tapes.len()];
    plan.regions.iter().flat_map(Region::parts).for_each(|part| times[part.tape.0 as usize] += 1);
    let is_scalar = |atom: Atom| match atom {
        Atom::Const(k) => plan.consts[k].shape().is_scalar(),
        Atom::Tape(tape, _) => plan.tapes[tape].ty.shape.is_scalar(),
    };
    let fits = |part: &Part| {
        let tape = &plan.tapes[part.tape];
        let alone = times[part.tape.0 as usize] == 1 && tape.ty.shape.is_scalar();
        alone && tape.cases.iter().flat_map(Case::all_reads).all(is_scalar)
    };
    let mut pieces: Vec<Piece> = Vec::new();
    for (i, region) in plan.regions.iter().enumerate() {
        let finds = i == 0 && !plan.ends.found().is_empty();
        match region {
            Region::Loop { backward, parts, writes, .. }
                if !finds && writes.is_empty() && parts.iter().all(fits) =>
            {
                add(&mut pieces, Item { backward: Some(*backward), parts: parts.clone() });
            }
            Region::Over(parts) if !finds => {
                for part in parts {
                    match pieces.last_mut() {
                        _ if fits(part) => add(&mut pieces, Item { backward: None, parts: vec![*part] }),
                        Some(Piece::Fixed(Region::Over(parts))) => parts.push(*part),
                        _ => pieces.push(Piece::Fixed(Region::Over(vec![*part]))),
                    }
                }
            }
            _ => pieces.push(Piece::Fixed(region.clone())),
        }
    }
    pieces
}

fn add(pieces: &mut Vec<Piece>, item: Item) {
    match pieces.last_mut() {
        Some(Piece::Segment(items)) => items.push(item),
        _ => pieces.push(Piece::Segment(vec![item])),
    }
}
