//! What every part of the text knows: names, groups, and where values lie.

use std::cell::RefCell;
use std::collections::BTreeSet;

use rml_base::IndexVec;
use rml_ir::{Positions, Shape, Value};
use rml_plan::{Atom, Const, Guard, Plan, Reader, Reg, Rule, Tape, Tick};

use crate::Options;
use crate::fuse::{Block, Blocks, blocks};
use crate::groups::{Group, groups};
use crate::names::{Names, field};
use crate::operand::{Operand, literals, times};
use crate::prelude::Prelude;
use crate::registers::{Register, registers};
use crate::store::{Arrays, DTYPES, Home, Memory, Wanted, array_name, place};
use crate::views::{View, views};

/// All that is known before text is written.
#[derive(Debug)]
pub(crate) struct Scope<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) name: String,
    pub(crate) cycles: usize,
    pub(crate) groups: Vec<(Group, Blocks)>,
    pub(crate) tapes: IndexVec<Tape, String>,
    pub(crate) homes: IndexVec<Tape, Home>,
    /// Tapes that are parts of others.
    pub(crate) views: IndexVec<Tape, Option<View>>,
    pub(crate) registers: IndexVec<Reg, Register>,
    pub(crate) inputs: Vec<String>,
    pub(crate) outputs: Vec<String>,
    pub(crate) arrays: Arrays,
    pub(crate) prelude: Prelude,
    /// Constants that are tables.
    pub(crate) tables: RefCell<BTreeSet<Const>>,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(plan: &'a Plan, options: &Options) -> Self {
        let steady = plan.steady();
        let groups = groups(plan, &steady).into_iter();
        let registers = registers(plan, &DTYPES.map(array_name));
        let views = views(plan, &registers);
        let groups: Vec<(Group, Blocks)> = groups
            .map(|g| {
                let b = blocks(plan, &views, &g);
                (g, b)
            })
            .collect();
        // Names that differ have fields that differ; a plan may give one output twice.
        let mut names = Names::default();
        let inputs = plan.inputs.iter().map(|(name, _)| names.fresh(field(name), &[])).collect();
        let mut names = Names::default();
        let mut output = |name: &str| names.fresh(field(name), &["_present"]);
        let outputs = plan.outputs.iter().map(|o| output(&o.name)).collect();
        let (mut locals, mut tapes) = (Names::default(), IndexVec::new());
        for tape in plan.tapes.iter() {
            // No word of C ends so, and no other name in the source.
            let name = field(&format!("{}_", tape.name.as_deref().unwrap_or("v")));
            let _: Tape = tapes.push(locals.fresh(name, &[]));
        }
        let homes = IndexVec::filled(Home::Local, plan.tapes.len());
        let mut scope = Self {
            plan,
            name: options.name.clone(),
            cycles: options.cycles,
            groups,
            tapes,
            homes,
            views,
            registers,
            inputs,
            outputs,
            arrays: Arrays::default(),
            prelude: Prelude::new(plan.precision, options.math),
            tables: RefCell::default(),
        };
        scope.settle(&steady);
        scope
    }

    /// Gives every tape its home.
    fn settle(&mut self, steady: &IndexVec<Tape, bool>) {
        let uses = Uses::new(self);
        let mut wanted = Vec::new();
        for id in self.plan.tapes.ids() {
            if let Some(home) = self.alias(id, &uses) {
                self.homes[id] = home;
                continue;
            }
            let Some(span) = uses.spans[id].filter(|_| uses.outside[id]) else { continue };
            let tape = &self.plan.tapes[id];
            let width = tape.ty.shape.len();
            if width == 0 {
                continue;
            }
            let one = tape.place().is_edge() || steady[id] || !uses.apart[id] || self.cycles == 1;
            let (len, stride) = if one { (width, 0) } else { (width * self.cycles, width) };
            wanted.push(Wanted { tape: id, span, len, stride });
        }
        self.arrays = place(self.plan, wanted, &mut self.homes);
    }

    /// Where a tape is found that is not computed.
    fn alias(&self, id: Tape, uses: &Uses) -> Option<Home> {
        if let Some(view) = self.views[id] {
            return Some(Home::Part(view));
        }
        let [case] = &self.plan.tapes[id].cases[..] else { return None };
        match case.rule {
            Rule::Input(input) => Some(Home::Input(input)),
            Rule::Read { register, .. } => {
                let r = &self.registers[register];
                // What another register takes over has to be there still when this one is written.
                let stays = !r.looped && !r.flagged && !uses.committed.contains(&id);
                stays.then_some(Home::Register(register))
            }
            _ => None,
        }
    }

    /// A condition on where a tick lies; none if it always holds.
    pub(crate) fn position(&self, at: Positions) -> Option<String> {
        use rml_ir::Position::{First, Last, Middle, Only};
        if self.cycles == 1 {
            return if at.contains(Only) { None } else { Some("false".to_owned()) };
        }
        let has = [First, Last, Middle, Only].map(|p| at.contains(p));
        let text = match has {
            [true, true, true, true] => return None,
            [false, false, false, false] => "false",
            [true, false, false, true] => "t == 0",
            [false, true, true, false] => "t > 0",
            [false, true, false, true] => "last",
            [true, false, true, false] => "!last",
            [true, false, false, false] => "t == 0 && !last",
            [false, true, false, false] => "t > 0 && last",
            [false, false, true, false] => "t > 0 && !last",
            [false, false, false, true] => "t == 0 && last",
            [false, true, true, true] => "(t > 0 || last)",
            [true, false, true, true] => "(t == 0 || !last)",
            [true, true, false, true] => "(t == 0 || last)",
            [true, true, true, false] => "(t > 0 || !last)",
            [false, false, true, true] => "(t == 0) == last",
            [true, true, false, false] => "(t == 0) != last",
        };
        Some(text.to_owned())
    }

    /// An operand as seen from tick `t`.
    pub(crate) fn atom(&self, atom: Atom, t: &str, used: &RefCell<BTreeSet<Tape>>) -> Operand {
        let (tape, tick) = match atom {
            Atom::Const(k) => return self.constant(k),
            Atom::Tape(tape, tick) => (tape, tick),
        };
        let at = match tick {
            _ if self.cycles == 1 => "0".to_owned(),
            Tick::Now => t.to_owned(),
            Tick::Before => format!("{t} - 1"),
            Tick::After => format!("{t} + 1"),
            Tick::First => "0".to_owned(),
            Tick::Last => "ticks - 1".to_owned(),
        };
        self.tape(tape, &at, used)
    }

    /// A tape at a tick.
    pub(crate) fn tape(&self, id: Tape, at: &str, used: &RefCell<BTreeSet<Tape>>) -> Operand {
        let ty = &self.plan.tapes[id].ty;
        let (dtype, shape) = (ty.dtype, ty.shape.clone());
        if shape.is_empty() {
            return Operand::alike("0", dtype, shape);
        }
        match self.homes[id] {
            Home::Local => Operand::alike(self.tapes[id].clone(), dtype, shape),
            Home::Input(input) => {
                let field = format!("in[{at}].{}", self.inputs[input as usize]);
                if shape.is_scalar() {
                    Operand::alike(field, dtype, shape)
                } else {
                    Operand::array(field, "", dtype, shape)
                }
            }
            Home::Register(register) => self.register(register, ""),
            Home::Part(view) => self.tape(view.of, at, used).part(view.from, shape),
            Home::Slot { stride, .. } => {
                used.borrow_mut().insert(id);
                Operand::array(self.tapes[id].clone(), times(at, stride), dtype, shape)
            }
        }
    }

    /// A register, or its copy of that kind.
    pub(crate) fn register(&self, id: Reg, suffix: &str) -> Operand {
        let (r, ty) = (&self.registers[id], &self.plan.registers[id].ty);
        let field = match (r.fixed, r.looped) {
            (true, _) => self.table("value", id),
            (_, true) => format!("work->{}{suffix}", r.name),
            _ => format!("state->{}", r.name),
        };
        scalar_or_array(field, ty.dtype, &ty.shape)
    }

    /// The table of what a register is, of what it starts with (`start`), or takes at its first tick (`first`).
    pub(crate) fn table(&self, kind: &str, id: Reg) -> String {
        format!("{}_{kind}_{}", self.name, self.registers[id].name)
    }

    /// What of a register outlives windows.
    pub(crate) fn state(&self, id: Reg) -> Operand {
        let ty = &self.plan.registers[id].ty;
        scalar_or_array(format!("state->{}", self.registers[id].name), ty.dtype, &ty.shape)
    }

    /// Whether a register, or its copy of that kind, has a value.
    pub(crate) fn flag(&self, id: Reg, suffix: &str) -> String {
        let r = &self.registers[id];
        if r.looped { format!("work->{}{suffix}_set", r.name) } else { format!("state->{}_set", r.name) }
    }

    fn constant(&self, k: Const) -> Operand {
        let value = &self.plan.consts[k];
        let (dtype, shape) = (value.dtype(), value.shape());
        match alike(value) {
            Some(text) if text.starts_with('-') => Operand::alike(format!("({text})"), dtype, shape),
            Some(text) => Operand::alike(text, dtype, shape),
            None => {
                self.tables.borrow_mut().insert(k);
                Operand::array(format!("{}_k{}", self.name, k.0), "", dtype, shape)
            }
        }
    }

    /// The conditions under which a block runs.
    pub(crate) fn condition(
        &self,
        at: Positions,
        when: &[Guard],
        ahead: u32,
        t: &str,
        used: &RefCell<BTreeSet<Tape>>,
    ) -> Option<String> {
        let mut all: Vec<String> = self.position(at).into_iter().collect();
        if ahead < self.plan.ahead() {
            all.push(if ahead == 0 { format!("{t} < done") } else { format!("{t} < done + {ahead}") });
        }
        all.extend(when.iter().map(|guard| self.holds(guard, t, used)));
        (!all.is_empty()).then(|| all.join(" && "))
    }

    pub(crate) fn holds(&self, guard: &Guard, t: &str, used: &RefCell<BTreeSet<Tape>>) -> String {
        let cond = self.atom(guard.cond, t, used).at("0");
        if guard.value { cond } else { format!("!{cond}") }
    }

    pub(crate) fn memory(&self) -> Memory {
        let precision = self.plan.precision;
        let mut memory = Memory { work: self.arrays.bytes(precision), ..Memory::default() };
        for (id, r) in self.registers.iter_enumerated() {
            let bytes = self.plan.registers[id].ty.bytes(precision) + u64::from(r.flagged);
            if r.fixed {
                continue;
            }
            if !r.local {
                memory.state += bytes;
            }
            if r.looped {
                memory.work += bytes * if self.plan.ahead() > 0 { 2 } else { 1 };
            }
        }
        memory
    }
}

/// A field or a table; what has no elements is never read.
pub(crate) fn scalar_or_array(field: String, dtype: rml_ir::DType, shape: &Shape) -> Operand {
    if shape.is_empty() {
        Operand::alike("0", dtype, shape.clone())
    } else if shape.is_scalar() {
        Operand::alike(field, dtype, shape.clone())
    } else {
        Operand::array(field, "", dtype, shape.clone())
    }
}

/// The literal of all elements, if they are the same; any, if there are none.
pub(crate) fn alike(value: &Value) -> Option<String> {
    let mut literals = literals(value).into_iter();
    let Some(first) = literals.next() else { return Some("0".to_owned()) };
    literals.all(|other| other == first).then_some(first)
}

/// Where tapes are needed.
struct Uses {
    /// What is read where a part of it is.
    views: IndexVec<Tape, Option<View>>,
    spans: IndexVec<Tape, Option<(usize, usize)>>,
    /// Whether a tape is needed outside of the loop over elements that computes it.
    outside: IndexVec<Tape, bool>,
    /// Whether it is needed at other ticks, or in other groups.
    apart: IndexVec<Tape, bool>,
    /// Tapes that registers are given when all groups have run.
    committed: BTreeSet<Tape>,
    /// The group and the block of each tape.
    made: IndexVec<Tape, Vec<(usize, usize)>>,
}

impl Uses {
    fn new(scope: &Scope<'_>) -> Self {
        let n = scope.plan.tapes.len();
        let mut uses = Self {
            views: scope.views.clone(),
            spans: IndexVec::filled(None, n),
            outside: IndexVec::filled(false, n),
            apart: IndexVec::filled(false, n),
            committed: BTreeSet::new(),
            made: IndexVec::filled(Vec::new(), n),
        };
        for (g, (group, blocks)) in scope.groups.iter().enumerate() {
            let all = blocks.once.iter().chain(&blocks.ticks);
            for (b, block) in all.enumerate() {
                for (tape, _) in &block.fills {
                    uses.made[*tape].push((g, b));
                    uses.touch(*tape, g);
                    // An operator that has loops of its own has to have a place for its result, though only its errors count.
                    uses.outside[*tape] |= block.len.is_none();
                }
                uses.block(scope.plan, block, (g, b));
            }
            for write in &group.writes {
                write.reads().for_each(|atom| uses.read(atom, (g, usize::MAX), false));
            }
        }
        uses.end(scope);
        uses
    }

    fn touch(&mut self, tape: Tape, g: usize) {
        let span = self.spans[tape].get_or_insert((g, g));
        span.1 = span.1.max(g);
    }

    fn block(&mut self, plan: &Plan, block: &Block, at: (usize, usize)) {
        block.when.iter().for_each(|guard| self.read(guard.cond, at, false));
        for (tape, cases) in &block.fills {
            for case in cases.iter().map(|i| &plan.tapes[*tape].cases[*i]) {
                case.rule.operands().into_iter().for_each(|atom| self.read(atom, at, block.len.is_some()));
                for atom in case.rule.terms().iter().flat_map(rml_plan::Term::reads) {
                    self.read(atom, at, false);
                    if let Atom::Tape(tape, _) = atom {
                        self.apart[self.views[tape].map_or(tape, |view| view.of)] = true;
                    }
                }
            }
        }
    }

    fn read(&mut self, atom: Atom, (g, b): (usize, usize), inline: bool) {
        let Atom::Tape(tape, tick) = atom else { return };
        if let Some(view) = self.views[tape] {
            return self.read(Atom::Tape(view.of, tick), (g, b), false);
        }
        self.touch(tape, g);
        let (now, made) = (tick == Tick::Now, &self.made[tape]);
        self.outside[tape] |= !(inline && now && made[..] == [(g, b)]);
        self.apart[tape] |= !now || made.iter().any(|(group, _)| *group != g);
    }

    fn end(&mut self, scope: &Scope<'_>) {
        let end = (scope.groups.len(), 0);
        for read in scope.plan.root_reads() {
            match read.by {
                Reader::Output => self.read(read.atom, end, false),
                Reader::Commit(_) => {
                    self.read(read.atom, end, false);
                    self.committed.extend(read.atom.tape());
                }
                Reader::End => self.read(read.atom, (0, usize::MAX), false),
                // These belong to a group.
                Reader::Write(_) | Reader::Guard(_) | Reader::Rule(_) | Reader::Term(_) => {}
            }
        }
    }
}
