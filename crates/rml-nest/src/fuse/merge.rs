//! Merges two nests, of which the second one loads what the first one stores.

use rml_base::IndexVec;
use rml_ir::op::{Binary, Op, Unary};
use rml_ir::{DType, Position, Precision};

use super::clean;
use super::graph::{Graph, Placed, Uses};
use super::place::{Map, wide, widened};
use crate::{
    Access, Def, Home, Nest, NestProgram, NestStage, Order, Positions, Slot, Tick, Val, Variants, Work,
};

/// How many values a nest may have.
const VALUES: usize = 200;

/// The most bytes of values that a nest may keep from before a fold until after it: they should fit in the second-level
/// cache.
const KEPT: usize = 1 << 18;

/// How many operators may be computed again.
const AGAIN: usize = 4;

/// A stage that fills slots, and one that reads them.
pub(super) struct Pair<'a> {
    graph: &'a Graph,
    uses: &'a Uses,
    ids: (usize, usize),
    /// The order of the unit in which they are merged.
    order: Order,
}

impl<'a> Pair<'a> {
    pub(super) fn new(graph: &'a Graph, uses: &'a Uses, ids: (usize, usize), order: Order) -> Pair<'a> {
        Pair { graph, uses, ids, order }
    }

    /// The merged stage; none if it would compute something else, or not be cheaper.
    pub(super) fn merged(&self) -> Option<NestStage> {
        let (a, b) = (self.graph.stages[self.ids.0].as_ref()?, self.graph.stages[self.ids.1].as_ref()?);
        let (a, b) = self.aligned(a, b)?;
        let Work::Nest(first) = &a.work else { return None };
        let kept: Vec<&(Access, Val)> =
            first.stores.iter().filter(|(to, _)| !self.vanishes(to.slot)).collect();
        self.combined(first, &kept, b)
    }

    /// The second stage, changed to compute the values of the first one itself; none if that is expensive, or not the
    /// same.
    pub(super) fn again(&self) -> Option<NestStage> {
        let (a, b) = (self.graph.stages[self.ids.0].as_ref()?, self.graph.stages[self.ids.1].as_ref()?);
        let (mut a, b) = (a.stage.clone(), b.stage.clone());
        let has_guards = a.when.iter().all(|guard| b.when.contains(guard));
        if !b.at.is_within(a.at) || !has_guards || a.may_fail || b.may_fail {
            return None;
        }
        restrict(&mut a, b.at);
        let Work::Nest(first) = &a.work else { return None };
        is_cheap(first).then(|| self.combined(first, &[], b)).flatten()
    }

    /// The second stage with the values of nest `first` in place of its loads; it also stores those in `kept`.
    fn combined(&self, first: &Nest, kept: &[&(Access, Val)], b: NestStage) -> Option<NestStage> {
        let Work::Nest(second) = &b.work else { return None };
        let mut dims: Vec<usize> = second.dims.iter().copied().collect();
        let maps = self.maps(first, second, b.at, &mut dims)?;
        let whole = maps.iter().flatten().map(|(map, _)| map).find(|map| map.is_whole(first, &dims));
        let mut all: Vec<&Map> = whole.into_iter().collect();
        for (map, _) in maps.iter().flatten() {
            if !all.contains(&map) {
                all.push(map);
            }
        }
        if whole.is_none() && !kept.is_empty() || all.len() > usize::from(whole.is_some()) && !is_cheap(first)
        {
            return None;
        }
        let mut nest = Nest { dims: dims.iter().copied().collect(), ..Nest::default() };
        let made: Vec<Vec<Val>> = all.iter().map(|map| copy(&mut nest, first, map)).collect();
        let of = |map: &Map, val: Val| {
            let at = all.iter().position(|other| *other == map).unwrap_or_default();
            made[at][val.0 as usize]
        };
        let mut vals: Vec<Val> = Vec::new();
        for (def, map) in second.body.iter().zip(&maps) {
            let val = match map {
                Some((map, val)) => of(map, *val),
                None => add(&mut nest, widened(def, dims.len(), &vals)),
            };
            vals.push(val);
        }
        for (access, val) in &second.stores {
            nest.stores.push((wide(access, dims.len()), vals[val.0 as usize]));
        }
        for (access, val) in kept {
            nest.stores.push((all[0].access(access, dims.len()), made[0][val.0 as usize]));
        }
        clean::nest(&mut nest);
        clean::order(&mut nest);
        let fits = nest.body.len() <= VALUES && bytes_kept(&self.graph.rest, &nest) <= KEPT;
        fits.then_some(NestStage { work: Work::Nest(nest), ..b })
    }

    /// The two stages, running at the same positions under the same conditions.
    fn aligned(&self, a: &Placed, b: &Placed) -> Option<(NestStage, NestStage)> {
        let (head, mut a, mut b) = ((a.head, b.head), a.stage.clone(), b.stage.clone());
        let ahead = |slot: Slot| self.graph.slots()[slot].ahead();
        let is_nest = |stage: &NestStage| match &stage.work {
            Work::Nest(nest) => !nest.dims.iter().any(|n| *n == 0),
            Work::Call(_) => false,
        };
        let depth = a.fills().next().map(ahead)?;
        if head.0 != head.1
            || a.may_fail
            || b.may_fail
            || !is_nest(&a)
            || !is_nest(&b)
            || a.fills().chain(b.fills()).any(|slot| ahead(slot) != depth)
            || b.when.iter().any(|guard| a.fills().any(|slot| slot == guard.cond.slot))
        {
            return None;
        }
        if a.at == b.at && a.when == b.when {
            return Some((a, b));
        }
        let is_weaker = b.at.is_within(a.at) && a.when.iter().all(|guard| b.when.contains(guard));
        if is_weaker && a.fills().all(|slot| self.vanishes(slot)) {
            restrict(&mut a, b.at);
            a.when.clone_from(&b.when);
            return Some((a, b));
        }
        // If `b` runs at middle ticks, running it at the positions of `a`, too, adds at most a few ticks to a long
        // window.
        let grows = a.when == b.when && b.at.is_within(a.at) && b.at.contains(Position::Middle);
        (grows && self.extend(&a, &mut b)).then_some((a, b))
    }

    /// Extends stage `b` to all positions of stage `a`, which it reads. Returns whether that is possible.
    fn extend(&self, a: &NestStage, b: &mut NestStage) -> bool {
        let fills: Vec<Slot> = b.fills().collect();
        // At the new positions, another stage already fills the slot, or other elements of it.
        let taken = self.graph.placed().any(|(id, placed)| {
            id != self.ids.1
                && !placed.stage.at.and(a.at).is_empty()
                && placed.stage.fills().any(|slot| fills.contains(&slot))
        });
        let at = b.at;
        let mut is_there = !taken && !b.may_fail;
        for source in sources(b) {
            let plain = source.len() == 1 && source[0].any.is_empty() && source[0].at == at;
            let access = &source[0].access;
            let own = a.fills().any(|slot| slot == access.slot);
            is_there &= plain
                && access.tick == Tick::Now
                && (own || self.graph.is_filled_by(access.slot, a.at, self.uses));
            source[0].at = a.at;
        }
        b.at = a.at;
        is_there
    }

    /// Whether the first stage need not store a slot any more: only the second one reads it, at the same tick.
    pub(super) fn vanishes(&self, slot: Slot) -> bool {
        let Some(b) = &self.graph.stages[self.ids.1] else { return false };
        !self.uses.outside[slot]
            && self.uses.readers[slot].iter().all(|id| *id == self.ids.1)
            && b.stage.reads().iter().all(|(_, access)| access.slot != slot || access.tick == Tick::Now)
    }

    /// For each load of the second nest that reads the first one: the map between their dimensions, and the value that
    /// is stored. None if the second nest also reads the first one in another way.
    fn maps(
        &self,
        first: &Nest,
        second: &Nest,
        at: Positions,
        dims: &mut Vec<usize>,
    ) -> Option<Vec<Option<(Map, Val)>>> {
        let fills = |slot: Slot| first.stores.iter().any(|(to, _)| to.slot == slot);
        let mut maps = Vec::new();
        for def in second.body.iter() {
            let (Def::Load(source) | Def::Take { source, .. }) = def else {
                maps.push(None);
                continue;
            };
            let reads = crate::accesses(source);
            let mut own = reads.iter().filter(|(_, access)| fills(access.slot)).peekable();
            if own.peek().is_none() {
                maps.push(None);
                continue;
            }
            let passed = match self.order {
                Order::Over => None,
                Order::Forward => Some(Tick::Before),
                Order::Backward => Some(Tick::After),
            };
            if own.all(|(_, access)| Some(access.tick) == passed) {
                maps.push(None);
                continue;
            }
            let (Def::Load(_), [variant]) = (def, &source[..]) else { return None };
            if !variant.any.is_empty() || variant.at != at || variant.access.tick != Tick::Now {
                return None;
            }
            let mut found = None;
            for (to, val) in first.stores.iter().filter(|(to, _)| to.slot == variant.access.slot) {
                let before = dims.len();
                found = Map::new(first, to, second, &variant.access, dims).map(|map| (map, *val));
                if found.is_some() {
                    break;
                }
                dims.truncate(before);
            }
            maps.push(Some(found?));
        }
        Some(maps)
    }
}

/// Restricts a stage to some positions.
fn restrict(stage: &mut NestStage, at: Positions) {
    stage.at = at;
    for source in sources(stage) {
        source.iter_mut().for_each(|variant| variant.at = variant.at.and(at));
        source.retain(|variant| !variant.at.is_empty());
    }
}

fn sources(stage: &mut NestStage) -> Vec<&mut Variants> {
    match &mut stage.work {
        Work::Nest(nest) => nest.body.iter_mut().filter_map(Def::source_mut).collect(),
        Work::Call(call) => call.start.iter_mut().chain(&mut call.operands).map(|o| &mut o.source).collect(),
    }
}

/// Adds the values of another nest; returns their numbers here.
fn copy(nest: &mut Nest, of: &Nest, map: &Map) -> Vec<Val> {
    let mut vals = Vec::new();
    for def in of.body.iter() {
        let def = map.def(def, nest.dims.len(), &vals);
        vals.push(add(nest, def));
    }
    vals
}

/// Adds a value, unless it exists already.
fn add(nest: &mut Nest, def: Def) -> Val {
    let known = nest.body.iter_enumerated().find(|(_, known)| **known == def).map(|(val, _)| val);
    known.unwrap_or_else(|| nest.body.push(def))
}

/// Whether a nest is cheap enough to be computed again: only a few arithmetic operators.
fn is_cheap(nest: &Nest) -> bool {
    let is_quick = |op: &Op| match op {
        Op::Binary(by) => {
            matches!(by, Binary::Add | Binary::Sub | Binary::Mul | Binary::Minimum | Binary::Maximum)
        }
        Op::Unary(by) => matches!(by, Unary::Neg | Unary::Abs),
        Op::Compare(_) | Op::Not | Op::And | Op::Or | Op::Where | Op::Copy | Op::Convert(_) => true,
        _ => false,
    };
    let applied = nest.body.iter().filter(|def| matches!(def, Def::Apply(..))).count();
    applied <= AGAIN
        && nest.body.iter().all(|def| match def {
            Def::Load(_) => true,
            Def::Apply(op, _) => is_quick(op),
            Def::Take { .. } | Def::Fold(..) | Def::Chain { .. } => false,
        })
}

/// How many bytes of values have to be kept from before a fold until after it, at one point of the dimensions that all
/// values have.
fn bytes_kept(program: &NestProgram, nest: &Nest) -> usize {
    let spans = nest.spans();
    let types = crate::verify::dtypes(program, nest).unwrap_or_default();
    let mut folds: IndexVec<Val, usize> = IndexVec::new();
    for def in nest.body.iter() {
        let most = def.operands().into_iter().map(|val| folds[val]).max().unwrap_or_default();
        folds.push(most + usize::from(def.folded().is_some()));
    }
    let common = |dim: &crate::Dim| spans.iter().all(|span| span.is_empty() || span.contains(dim));
    let own: Vec<usize> = nest.dims.ids().map(|dim| if common(&dim) { 1 } else { nest.dims[dim] }).collect();
    let is_late = |val: Val| {
        nest.body.iter_enumerated().any(|(user, def)| {
            let direct = def.folded().is_some() && folds[user] == folds[val] + 1;
            folds[user] > folds[val] && !direct && def.operands().contains(&val)
        })
    };
    let bytes = |(val, def): (Val, &Def)| {
        let computed = !matches!(def, Def::Load(_)) && is_late(val);
        let points = spans[val].iter().map(|dim| own[dim.0 as usize]).fold(1, usize::saturating_mul);
        if computed { points.saturating_mul(width(types[val], program.precision)) } else { 0 }
    };
    nest.body.iter_enumerated().map(bytes).fold(0, usize::saturating_add)
}

/// How many bytes an element has.
pub(super) fn width(dtype: DType, precision: Precision) -> usize {
    match (dtype, precision) {
        (DType::Bool, _) => 1,
        (DType::Num, Precision::F32) => 4,
        (DType::Num, Precision::F64) | (DType::Int, _) => 8,
    }
}

/// How many bytes a load of a slot reads in a nest.
pub(super) fn bytes_read(program: &NestProgram, nest: &Nest, slot: Slot) -> usize {
    let reads = |def: &&Def| matches!(def, Def::Load(source) if source.iter().any(|v| v.access.slot == slot && v.access.tick == Tick::Now));
    let spans = nest.spans();
    let loads = nest.body.iter_enumerated().filter(|(_, def)| reads(def));
    let points = loads.map(|(val, _)| spans[val].iter().map(|dim| nest.dims[*dim]).product::<usize>());
    let data = &program.slots[slot];
    debug_assert!(matches!(data.home, Home::Tick { .. }), "stages fill these alone");
    points.sum::<usize>().saturating_mul(width(data.ty.dtype, program.precision))
}
