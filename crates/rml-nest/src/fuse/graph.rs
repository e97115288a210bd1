//! Stages, the units that run them, and what must come before what.

use rml_base::IndexVec;

use crate::{
    Access, Ends, Guard, Home, NestNode, NestProgram, NestStage, Order, Positions, Slot, SlotData, Tick,
    Variants, Work, Write,
};

/// A program whose stages may move.
pub(super) struct Graph {
    /// The program without its nodes.
    pub(super) rest: NestProgram,
    /// The nodes. A node over all ticks is split into units: stages that fill the same slot stay together, all others
    /// are units of their own.
    pub(super) units: Vec<Unit>,
    /// The stages, by number; none for a stage that was merged into another one.
    pub(super) stages: Vec<Option<Placed>>,
    /// The stages that may fail, in the order in which they do.
    failing: Vec<usize>,
}

/// A node without its stages.
#[derive(Clone)]
pub(super) struct Unit {
    pub(super) order: Order,
    by: Vec<Access>,
    writes: Vec<Write>,
    /// Breaks ties in the order of units: lower numbers come first.
    key: usize,
    /// Whether it finds the end of the window, and has to stay the first one.
    search: bool,
    /// Whether it was merged into another one.
    gone: bool,
}

/// A stage, and where it runs.
#[derive(Clone)]
pub(super) struct Placed {
    pub(super) stage: NestStage,
    pub(super) unit: usize,
    /// Whether it belongs to the stages that find the end of the window.
    pub(super) head: bool,
}

/// Which stages fill and read each slot, and the order of stages and units.
pub(super) struct Uses {
    /// For each slot, the stages that fill it.
    pub(super) fillers: IndexVec<Slot, Vec<usize>>,
    /// For each slot, the stages that read it.
    pub(super) readers: IndexVec<Slot, Vec<usize>>,
    /// Whether something other than a stage reads it.
    pub(super) outside: IndexVec<Slot, bool>,
    /// For each stage, the stages of its unit that have to run before it at a tick.
    before: Vec<Vec<usize>>,
    /// For each unit, the units that have to run before it.
    units: Vec<Vec<usize>>,
}

impl Graph {
    pub(super) fn new(program: &NestProgram) -> Graph {
        let mut rest = program.clone();
        let (mut units, mut stages): (Vec<Unit>, Vec<Option<Placed>>) = (Vec::new(), Vec::new());
        for (n, node) in std::mem::take(&mut rest.nodes).into_iter().enumerate() {
            let head = match &program.ends {
                Ends::Found { head, .. } if n == 0 => Some(*head),
                Ends::Found { .. } | Ends::Nothing | Ends::Given(_) => None,
            };
            let unit = |key: usize, writes: Vec<Write>| Unit {
                order: node.order,
                by: node.by.clone(),
                writes,
                key,
                search: head.is_some(),
                gone: false,
            };
            let each = node.order == Order::Over && head.is_none() && node.writes.is_empty();
            if !each {
                units.push(unit(units.len(), node.writes.clone()));
            }
            let (first, groups) = (units.len(), if each { groups(&node.stages) } else { Vec::new() });
            for (i, stage) in node.stages.into_iter().enumerate() {
                let place = if each { first + groups[i] } else { units.len() - 1 };
                if place == units.len() {
                    units.push(unit(place, Vec::new()));
                }
                let head = head.is_some_and(|head| i < head);
                stages.push(Some(Placed { stage, unit: place, head }));
            }
        }
        let may_fail = |id: &usize| stages[*id].as_ref().is_some_and(|placed| placed.stage.may_fail);
        let failing = (0..stages.len()).filter(may_fail).collect();
        Graph { rest, units, stages, failing }
    }

    /// The stages that are left, with their numbers.
    pub(super) fn placed(&self) -> impl Iterator<Item = (usize, &Placed)> {
        self.stages.iter().enumerate().filter_map(|(id, placed)| Some((id, placed.as_ref()?)))
    }

    pub(super) fn slots(&self) -> &IndexVec<Slot, SlotData> {
        &self.rest.slots
    }

    /// All accesses outside of stages: by units, writes, outputs and ends.
    fn others(&self) -> Vec<(Option<usize>, Access)> {
        let mut all = Vec::new();
        for (u, unit) in self.units.iter().enumerate().filter(|(_, unit)| !unit.gone) {
            all.extend(unit.by.iter().map(|cond| (Some(u), cond.clone())));
            all.extend(unit.writes.iter().flat_map(written).map(|access| (Some(u), access)));
        }
        let put_out =
            self.rest.outputs.iter().flat_map(|output| &output.cases).flat_map(|(_, when, source)| {
                when.iter().map(|guard| guard.cond.clone()).chain(read(source)).collect::<Vec<_>>()
            });
        let ends = match &self.rest.ends {
            Ends::Found { conds, .. } => conds.iter().map(|guard| guard.cond.clone()).collect(),
            Ends::Nothing | Ends::Given(_) => Vec::new(),
        };
        let behind = put_out.chain(self.rest.commits.iter().flat_map(written)).chain(ends);
        all.extend(behind.map(|access| (None, access)));
        all
    }

    pub(super) fn uses(&self) -> Uses {
        let slots = self.slots().len();
        let mut uses = Uses {
            fillers: IndexVec::filled(Vec::new(), slots),
            readers: IndexVec::filled(Vec::new(), slots),
            outside: IndexVec::filled(false, slots),
            before: vec![Vec::new(); self.stages.len()],
            units: vec![Vec::new(); self.units.len()],
        };
        for (id, placed) in self.placed() {
            placed.stage.fills().for_each(|slot| uses.fillers[slot].push(id));
        }
        for fillers in uses.fillers.iter_mut() {
            fillers.dedup();
        }
        for (id, placed) in self.placed() {
            for (at, access) in placed.stage.reads() {
                uses.readers[access.slot].push(id);
                for filler in &uses.fillers[access.slot] {
                    let unit = self.unit(*filler);
                    if unit != placed.unit {
                        uses.units[placed.unit].push(unit);
                    } else if is_same_tick(at, access.tick) {
                        uses.before[id].push(*filler);
                    }
                }
            }
        }
        for readers in uses.readers.iter_mut() {
            readers.dedup();
        }
        for (unit, access) in self.others() {
            uses.outside[access.slot] = true;
            let Some(unit) = unit else { continue };
            for filler in &uses.fillers[access.slot] {
                uses.units[unit].extend(Some(self.unit(*filler)).filter(|other| *other != unit));
            }
        }
        for pair in self.failing.windows(2) {
            let (first, then) = (self.unit(pair[0]), self.unit(pair[1]));
            if first == then {
                uses.before[pair[1]].push(pair[0]);
            } else {
                uses.units[then].push(first);
            }
        }
        uses.before.iter_mut().chain(&mut uses.units).for_each(|all| {
            all.sort_unstable();
            all.dedup();
        });
        uses
    }

    pub(super) fn unit(&self, id: usize) -> usize {
        self.stages[id].as_ref().map_or(usize::MAX, |placed| placed.unit)
    }

    /// The unit in which stage `b`, which reads stage `a`, can be merged with it; none if they cannot.
    pub(super) fn together(&self, uses: &Uses, a: usize, b: usize) -> Option<Unit> {
        let (u, v) = (self.unit(a), self.unit(b));
        if u == v {
            return (!between(&uses.before, a, b)).then(|| self.units[u].clone());
        }
        let unit = self.united(uses, u, v)?;
        (!self.inside(uses, (a, u), (b, v))).then_some(unit)
    }

    /// The unit into which unit `u` and unit `v`, which reads it, can be merged; none if they cannot.
    pub(super) fn united(&self, uses: &Uses, u: usize, v: usize) -> Option<Unit> {
        let (first, then) = (&self.units[u], &self.units[v]);
        let order = match (first.order, then.order) {
            (Order::Over, order) | (order, Order::Over) => order,
            (one, other) if one == other && first.by == then.by => one,
            _ => return None,
        };
        let fails = |unit: usize| self.failing.iter().any(|id| self.unit(*id) == unit);
        if first.search || then.search || fails(u) && fails(v) || between(&uses.units, u, v) {
            return None;
        }
        let by = if first.order == Order::Over { &then.by } else { &first.by };
        let passed = match order {
            _ if !by.is_empty() => None,
            Order::Over => None,
            Order::Forward => Some(Tick::Before),
            Order::Backward => Some(Tick::After),
        };
        // They may read each other only at the same tick, or at a tick that has already run.
        let filled = |slot: Slot| uses.fillers[slot].iter().any(|id| self.unit(*id) == u);
        let is_near = |access: &Access| access.tick == Tick::Now || Some(access.tick) == passed;
        let reads_near = |from: usize, of: usize| {
            let filled = |slot: Slot| uses.fillers[slot].iter().any(|id| self.unit(*id) == of);
            let stages = self.placed().filter(|(_, placed)| placed.unit == from);
            let reads = stages.flat_map(|(_, placed)| placed.stage.reads()).map(|(_, access)| access);
            let mut reads = reads.chain(self.units[from].writes.iter().flat_map(written));
            reads.all(|access| !filled(access.slot) || is_near(&access))
        };
        // Calls do not move into loops: executors make one product of many ticks.
        let moves = |unit: usize| {
            let mut own = self.placed().filter(|(_, placed)| placed.unit == unit);
            self.units[unit].order == order
                || reads_near(unit, unit) && own.all(|(_, placed)| matches!(placed.stage.work, Work::Nest(_)))
        };
        if !reads_near(v, u) || !moves(u) || !moves(v) || then.by.iter().any(|cond| filled(cond.slot)) {
            return None;
        }
        let keeper = if then.order == Order::Over { first } else { then };
        let key = if first.order == then.order { first.key.min(then.key) } else { keeper.key };
        let writes = first.writes.iter().chain(&then.writes).cloned().collect();
        Some(Unit { order, by: by.clone(), writes, key, search: false, gone: false })
    }

    /// Whether something would have to run between two stages, if their units were one.
    fn inside(&self, uses: &Uses, (a, u): (usize, usize), (b, v): (usize, usize)) -> bool {
        let mut before = uses.before.clone();
        for (id, placed) in self.placed().filter(|(_, placed)| placed.unit == v) {
            for (_, access) in placed.stage.reads().into_iter().filter(|(_, access)| access.tick == Tick::Now)
            {
                before[id].extend(uses.fillers[access.slot].iter().filter(|filler| self.unit(**filler) == u));
            }
        }
        between(&before, a, b)
    }

    /// Merges two units into `unit`.
    pub(super) fn unite(&mut self, u: usize, v: usize, unit: Unit) {
        self.units[u].gone = true;
        self.units[v] = unit;
        self.stages.iter_mut().flatten().filter(|placed| placed.unit == u).for_each(|placed| placed.unit = v);
    }

    /// Merges two stages into `stage`, in that unit.
    pub(super) fn join(&mut self, a: usize, b: usize, unit: Unit, stage: NestStage) {
        self.unite(self.unit(a), self.unit(b), unit);
        self.stages[a] = None;
        if let Some(placed) = &mut self.stages[b] {
            placed.stage = stage;
        }
    }

    /// The program, with units and stages in an order that respects their dependences.
    pub(super) fn program(&self) -> NestProgram {
        let uses = self.uses();
        let mut program = self.rest.clone();
        let keys: Vec<(bool, usize)> = self.units.iter().map(|unit| (!unit.search, unit.key)).collect();
        for u in sorted(&uses.units, &keys) {
            let unit = &self.units[u];
            let own: Vec<usize> = self.placed().filter(|(_, p)| p.unit == u).map(|(id, _)| id).collect();
            if unit.gone || own.is_empty() && unit.writes.is_empty() && !unit.search {
                continue;
            }
            let key = |id: usize| (self.stages[id].as_ref().is_none_or(|placed| !placed.head), id);
            let keys: Vec<(bool, usize)> = (0..self.stages.len()).map(key).collect();
            let order = sorted(&uses.before, &keys).into_iter().filter(|id| own.contains(id));
            let placed: Vec<&Placed> = order.filter_map(|id| self.stages[id].as_ref()).collect();
            let stages: Vec<NestStage> = placed.iter().map(|placed| placed.stage.clone()).collect();
            if unit.search
                && let Ends::Found { head, .. } = &mut program.ends
            {
                *head = placed.iter().filter(|placed| placed.head).count();
            }
            match program.nodes.last_mut() {
                Some(last)
                    if [last.order, unit.order] == [Order::Over; 2]
                        && last.writes.is_empty()
                        && unit.writes.is_empty() =>
                {
                    last.stages.extend(stages);
                }
                _ => {
                    let (by, writes) = (unit.by.clone(), unit.writes.clone());
                    program.nodes.push(NestNode { order: unit.order, by, stages, writes });
                }
            }
        }
        program
    }

    /// Whether a slot is a register that units write.
    pub(super) fn is_written(&self, slot: Slot) -> bool {
        self.units.iter().any(|unit| unit.writes.iter().any(|write| write.register == slot))
    }

    /// Whether a slot has a value at these positions.
    pub(super) fn is_filled_by(&self, slot: Slot, at: Positions, uses: &Uses) -> bool {
        match self.slots()[slot].home {
            Home::Const(_) | Home::Input | Home::Register { .. } => true,
            Home::Tick { .. } => {
                let fillers = || uses.fillers[slot].iter().filter_map(|id| self.stages[*id].as_ref());
                let filled = fillers().fold(Positions::NONE, |all, placed| all.or(placed.stage.at));
                at.is_within(filled) && fillers().all(|placed| placed.stage.when.is_empty())
            }
        }
    }
}

/// For each stage of a node over all ticks, the number of its unit. Stages that fill a slot at the same position stay
/// together (N1), and so does what runs between them.
fn groups(stages: &[NestStage]) -> Vec<usize> {
    let fills: Vec<Vec<Slot>> = stages.iter().map(|stage| stage.fills().collect()).collect();
    let edges = stages.iter().zip(&fills).map(|(stage, own)| {
        let reads: Vec<Slot> = stage.reads().into_iter().map(|(_, access)| access.slot).collect();
        let joins = |i: &usize| {
            let tied = !stage.at.and(stages[*i].at).is_empty() && fills[*i].iter().any(|s| own.contains(s));
            tied || fills[*i].iter().any(|slot| reads.contains(slot))
        };
        (0..stages.len()).filter(joins).collect::<Vec<usize>>()
    });
    let edges: Vec<Vec<usize>> = edges.collect();
    let components = rml_base::components(stages.len(), |v, i| edges[v].get(i).map(|next| Some(*next)));
    // Units are numbered in the order of their first stages.
    let mut known: Vec<usize> = Vec::new();
    let number = |component: &usize| {
        known.iter().position(|other| other == component).unwrap_or_else(|| {
            known.push(*component);
            known.len() - 1
        })
    };
    components.of.iter().map(number).collect()
}

/// Whether a stage that reads at these positions reads what is filled at its own tick.
fn is_same_tick(at: Positions, tick: Tick) -> bool {
    match tick {
        Tick::Now => true,
        Tick::First => !at.and(Positions::STARTS).is_empty(),
        Tick::Last => !at.and(Positions::ENDS).is_empty(),
        Tick::Before | Tick::After => false,
    }
}

/// Whether something has to run after `a` and before `b`.
fn between(before: &[Vec<usize>], a: usize, b: usize) -> bool {
    let mut seen = vec![false; before.len()];
    let mut open: Vec<usize> = before[b].iter().copied().filter(|id| *id != a).collect();
    while let Some(id) = open.pop() {
        if id == a {
            return true;
        }
        if !std::mem::replace(&mut seen[id], true) {
            open.extend(&before[id]);
        }
    }
    false
}

/// Sorts numbers so that each one follows those in `before`, and otherwise by their keys.
fn sorted(before: &[Vec<usize>], keys: &[(bool, usize)]) -> Vec<usize> {
    let mut waits: Vec<usize> = before.iter().map(Vec::len).collect();
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); before.len()];
    for (id, all) in before.iter().enumerate() {
        all.iter().for_each(|first| after[*first].push(id));
    }
    let mut ready: std::collections::BTreeSet<((bool, usize), usize)> =
        (0..before.len()).filter(|id| waits[*id] == 0).map(|id| (keys[id], id)).collect();
    let mut order = Vec::new();
    while let Some((_, id)) = ready.pop_first() {
        order.push(id);
        for then in &after[id] {
            waits[*then] -= 1;
            if waits[*then] == 0 {
                ready.insert((keys[*then], *then));
            }
        }
    }
    order
}

/// What a source reads, with the conditions of its variants.
fn read(source: &Variants) -> Vec<Access> {
    crate::accesses(source).into_iter().map(|(_, access)| access).collect()
}

/// What a write reads.
fn written(write: &Write) -> Vec<Access> {
    let conds = write.when.iter().map(|guard: &Guard| guard.cond.clone()).chain(write.unless.iter().cloned());
    conds.chain(read(&write.value)).collect()
}
