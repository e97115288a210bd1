//! The context of every part of the text: names, nodes, and addresses of values.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use rml_base::IndexVec;
use rml_ir::op::Op;
use rml_ir::{Positions, Shape, Value};
use rml_nest::{Access, Home, NestProgram, Slot, Tick};
use rml_plan::{Plan, Reg, Rule};

use crate::layout::{Layout, nodes};
use crate::loops::{Base, LoadElements};
use crate::names::{Names, field};
use crate::operand::literals;
use crate::registers::{Register, registers};
use crate::rings::{Ring, guarded, rings};
use crate::store::{Arrays, DTYPES, Memory, array_name};
use crate::{Options, Scalars};

/// The facts that are known before text is written.
#[derive(Debug)]
pub(crate) struct Scope<'a> {
    pub(crate) plan: &'a Plan,
    /// The nests of the plan, in the form in which C runs them.
    pub(crate) program: NestProgram,
    pub(crate) layout: Layout,
    pub(crate) name: String,
    pub(crate) cycles: usize,
    /// The slots in C: pointers, or constants.
    pub(crate) slots: IndexVec<Slot, String>,
    pub(crate) registers: IndexVec<Reg, Register>,
    /// The registers that slide.
    pub(crate) rings: IndexVec<Reg, Option<Ring>>,
    /// The registers that the plan transposes.
    pub(crate) transposed: BTreeSet<Reg>,
    /// The names of values in the source.
    names: BTreeSet<Arc<str>>,
    /// The number of each input or register among its kind.
    numbers: IndexVec<Slot, usize>,
    pub(crate) inputs: Vec<String>,
    pub(crate) outputs: Vec<String>,
    pub(crate) scalars: Scalars,
    /// Constants that are tables.
    pub(crate) tables: RefCell<BTreeSet<Slot>>,
}

/// The variables for ticks in the current text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    /// The tick.
    pub(crate) now: &'static str,
    /// The last tick.
    pub(crate) last: &'static str,
}

/// The tick of a loop over all ticks.
pub(crate) const EACH: Ticks = Ticks { now: "t", last: "ticks - 1" };

/// Before all ticks.
pub(crate) const ONCE: Ticks = Ticks { now: "0", last: "ticks - 1" };

/// The tick of a loop over the finished ticks.
pub(crate) const DONE: Ticks = Ticks { now: "t", last: "done - 1" };

impl<'a> Scope<'a> {
    pub(crate) fn new(plan: &'a Plan, options: &Options) -> Self {
        let mut program = rml_nest::fuse(&rml_nest::lower(&started(plan)));
        program.nodes = nodes(&program, options.cycles);
        let starts: Vec<_> = plan.starts().iter().map(|start| start.value(plan).cloned()).collect();
        let mut layout = Layout::new(&program, options.cycles, &starts);
        let rings = rings(&program, plan, &layout, options.cycles);
        let slides = || rings.iter().flatten().map(|ring| &ring.slide);
        slides().flat_map(|slide| slide.before.iter().chain([&slide.after])).for_each(|slot| {
            layout.spans[*slot] = None;
        });
        let mut registers = registers(plan, &DTYPES.map(array_name));
        for (id, _) in rings.iter_enumerated().filter(|(_, ring)| ring.is_some()) {
            registers[id].looped = false;
        }
        // Names that differ have fields that differ; a plan may give one output twice.
        let mut names = Names::default();
        let inputs = plan.inputs.iter().map(|(name, _)| names.fresh(field(name), &[])).collect();
        let mut names = Names::default();
        let mut output = |name: &str| names.fresh(field(name), &["_present"]);
        let outputs = plan.outputs.iter().map(|o| output(&o.name)).collect();
        let mut names = Names::default();
        // Neither a keyword of C nor another name in the source ends like that.
        let slots =
            program.slots.iter().map(|data| names.fresh(field(&format!("{}_", data.name)), &[])).collect();
        let mut numbers = IndexVec::filled(0, program.slots.len());
        program.inputs().enumerate().for_each(|(i, slot)| numbers[slot] = i);
        program.registers().enumerate().for_each(|(i, slot)| numbers[slot] = i);
        Self {
            plan,
            program,
            layout,
            name: options.name.clone(),
            cycles: options.cycles,
            slots,
            registers,
            rings,
            transposed: transposed(plan),
            names: plan.tapes.iter().filter_map(|tape| tape.name.clone()).collect(),
            numbers,
            inputs,
            outputs,
            scalars: Scalars::with(plan.precision, options.math),
            tables: RefCell::default(),
        }
    }

    /// The name that a slot has in the source, if it has one.
    pub(crate) fn user_name(&self, slot: Slot) -> Option<&str> {
        self.names.get(&self.program.slots[slot].name).map(|name| &**name)
    }

    /// The names of the assertions that the program checks, each once.
    pub(crate) fn assertions(&self) -> impl Iterator<Item = &Arc<str>> {
        let all: BTreeSet<&Arc<str>> = self.program.slots.iter().filter_map(|s| s.asserts.as_ref()).collect();
        all.into_iter()
    }

    /// The number, from 1, of the assertion that the stage which fills a slot checks.
    pub(crate) fn asserted(&self, slot: Slot) -> Option<usize> {
        let name = self.program.slots[slot].asserts.as_ref()?;
        self.assertions().position(|of| of == name).map(|k| k + 1)
    }

    /// The register of a slot.
    pub(crate) fn reg(&self, slot: Slot) -> Reg {
        rml_base::EntityId::from_index(self.numbers[slot])
    }

    /// The positions that ticks may have.
    pub(crate) fn all(&self) -> Positions {
        if self.cycles == 1 { Positions::NONE.with(rml_ir::Position::Only) } else { Positions::ALL }
    }

    /// The condition under which a tick at one of the positions `of` is at one of the positions `at`; none if it always
    /// is.
    pub(crate) fn position(&self, at: Positions, of: Positions) -> Option<String> {
        const TEXTS: [(u8, &str); 14] = [
            (0b1010, "t == 0"),
            (0b0101, "t > 0"),
            (0b1100, "last"),
            (0b0011, "!last"),
            (0b0010, "t == 0 && !last"),
            (0b0100, "t > 0 && last"),
            (0b0001, "t > 0 && !last"),
            (0b1000, "t == 0 && last"),
            (0b1101, "(t > 0 || last)"),
            (0b1011, "(t == 0 || !last)"),
            (0b1110, "(t == 0 || last)"),
            (0b0111, "(t > 0 || !last)"),
            (0b1001, "(t == 0) == last"),
            (0b0110, "(t == 0) != last"),
        ];
        let bits = |of: Positions| of.iter().map(|p| 1 << p.index()).sum::<u8>();
        let of = bits(of.and(self.all()));
        let at = bits(at) & of;
        if at == of {
            return None;
        }
        if at == 0 {
            return Some("false".to_owned());
        }
        let fits = |(text, _): &&(u8, &str)| text & of == at;
        TEXTS.iter().find(fits).map(|(_, text)| (*text).to_owned())
    }

    /// The elements of a slot, according to the tick of an access.
    pub(crate) fn elements(&self, access: &Access, ticks: Ticks) -> LoadElements {
        let slot = access.slot;
        let data = &self.program.slots[slot];
        if let Some(base) = self.in_ring(slot, &self.tick(access.tick, ticks)) {
            return LoadElements::At(base);
        }
        match &data.home {
            Home::Const(value) => self.constant(slot, value),
            Home::Register { .. } | Home::Input | Home::Tick { .. } if data.ty.shape.is_empty() => {
                LoadElements::Same("0".to_owned())
            }
            Home::Register { .. } => LoadElements::At(self.register(self.reg(slot), "")),
            Home::Input => {
                let (at, input) = (self.tick(access.tick, ticks), &self.inputs[self.numbers[slot]]);
                LoadElements::At(base(format!("in[{at}].{input}"), &data.ty.shape))
            }
            Home::Tick { .. } => LoadElements::At(self.slot(slot, &self.tick(access.tick, ticks))),
        }
    }

    /// The value of a slot that is filled at a tick.
    pub(crate) fn slot(&self, slot: Slot, tick: &str) -> Base {
        if let Some(base) = self.in_ring(slot, tick) {
            return base;
        }
        let width = self.program.slots[slot].ty.shape.len();
        let first = if self.layout.one[slot] { String::new() } else { crate::operand::times(tick, width) };
        let first = if first == "0" { String::new() } else { first };
        Base { first, ..Base::array(self.slots[slot].clone()) }
    }

    fn tick(&self, tick: Tick, ticks: Ticks) -> String {
        match tick {
            _ if self.cycles == 1 => "0".to_owned(),
            Tick::Now => ticks.now.to_owned(),
            Tick::Before => format!("{} - 1", ticks.now),
            Tick::After => format!("{} + 1", ticks.now),
            Tick::First => "0".to_owned(),
            Tick::Last => ticks.last.to_owned(),
        }
    }

    fn constant(&self, slot: Slot, value: &Value) -> LoadElements {
        if let Some(text) = alike(value) {
            return LoadElements::Same(if text.starts_with('-') { format!("({text})") } else { text });
        }
        let is_counted = |data: rml_ir::Data| matches!(data, rml_ir::Data::Int(all) if (0..).zip(&all).all(|(i, x): (i64, _)| i == *x));
        if is_counted(value.to_data()) {
            return LoadElements::Counted;
        }
        self.tables.borrow_mut().insert(slot);
        LoadElements::At(Base::array(format!("{}_{}", self.name, self.program.slots[slot].name)))
    }

    /// A register, or its copy with this suffix.
    pub(crate) fn register(&self, id: Reg, suffix: &str) -> Base {
        let (r, ty) = (&self.registers[id], &self.plan.registers[id].ty);
        match (r.fixed, r.looped) {
            (true, _) => Base::array(self.table("value", id)),
            (_, true) => base(format!("work->{}{suffix}", r.name), &ty.shape),
            _ => base(format!("state->{}", r.name), &ty.shape),
        }
    }

    /// The name of the table for a register: of its constant value, its start value (`start`), or its first value
    /// (`first`).
    pub(crate) fn table(&self, kind: &str, id: Reg) -> String {
        format!("{}_{kind}_{}", self.name, self.registers[id].name)
    }

    /// The part of a register that outlives windows.
    pub(crate) fn state(&self, id: Reg) -> Base {
        base(format!("state->{}", self.registers[id].name), &self.plan.registers[id].ty.shape)
    }

    /// Whether a register, or its copy with this suffix, is set.
    pub(crate) fn flag(&self, id: Reg, suffix: &str) -> String {
        let r = &self.registers[id];
        if r.looped { format!("work->{}{suffix}_set", r.name) } else { format!("state->{}_set", r.name) }
    }

    /// The memory of the program, if values take these arrays.
    pub(crate) fn memory(&self, arrays: &Arrays) -> Memory {
        let precision = self.plan.precision;
        let mut memory = Memory { work: arrays.bytes(precision), ..Memory::default() };
        for (id, r) in self.registers.iter_enumerated() {
            let bytes = self.plan.registers[id].ty.bytes(precision) + u64::from(r.flagged);
            if r.fixed {
                continue;
            }
            if let Some(ring) = &self.rings[id] {
                let size = self.plan.registers[id].ty.dtype.size(precision);
                memory.state += (ring.room * size + POSITION) as u64;
                continue;
            }
            if !r.local {
                memory.state += bytes;
            }
            if r.looped {
                memory.work += bytes * if self.plan.ahead() > 0 { 2 } else { 1 };
            }
        }
        memory.work += (guarded(&self.rings).count() * (self.cycles + 1) * POSITION) as u64;
        memory
    }
}

/// The bytes of a position in a ring.
const POSITION: usize = 4;

/// The same plan, with registers counted as set if all readers see the same constant as their start value: C stores
/// this value at the start.
fn started(plan: &Plan) -> Plan {
    let starts = plan.starts();
    let mut plan = plan.clone();
    for tape in plan.tapes.ids().collect::<Vec<_>>() {
        for i in 0..plan.tapes[tape].cases.len() {
            if let Rule::Read { register, init } = plan.tapes[tape].cases[i].rule.clone()
                && init.is_some()
                && starts[register].value(&plan).is_some()
            {
                plan.tapes[tape].cases[i].rule = Rule::Read { register, init: None };
            }
        }
    }
    plan
}

/// The registers that a plan transposes: it reads their columns.
fn transposed(plan: &Plan) -> BTreeSet<Reg> {
    let rules = || plan.tapes.iter().flat_map(|tape| &tape.cases).map(|case| &case.rule);
    let operand = |rule: &Rule| match rule {
        Rule::Apply { op: Op::Transpose { .. }, args } => args.first().and_then(|atom| atom.tape()),
        _ => None,
    };
    let read = |tape| plan.tapes[tape].cases.iter().filter_map(|case| case.rule.register());
    rules().filter_map(operand).flat_map(read).collect()
}

/// A field: an array, or a variable if it has one element.
pub(crate) fn base(field: String, shape: &Shape) -> Base {
    Base { is_variable: shape.is_scalar(), ..Base::array(field) }
}

/// The literal of all elements if they are equal; an arbitrary one if there are none.
pub(crate) fn alike(value: &Value) -> Option<String> {
    let mut literals = literals(value).into_iter();
    let Some(first) = literals.next() else { return Some("0".to_owned()) };
    literals.all(|other| other == first).then_some(first)
}
