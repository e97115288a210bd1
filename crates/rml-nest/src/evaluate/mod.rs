//! Runs nests one tick and one element at a time: slow and easy to understand. Tests compare it with the reference of
//! plans; executors of nests are to be compared with it.

use std::sync::Arc;

use rml_base::{IndexVec, Span};
use rml_ir::op::EvalError;
use rml_ir::{Data, Shape, Value};

use crate::{
    Access, Ends, Guard, Home, Kind, Node, Order, Position, Program, Slot, Source, Stage, Test, Tick,
    Variant, Write,
};

mod fold;
mod stage;
mod waits;

/// Why a window has no result.
#[derive(Clone, PartialEq, Debug)]
pub enum Fault {
    /// An operator has none.
    Operator {
        /// Of which equation.
        span: Span,
        /// Why.
        error: EvalError,
    },
    /// A nest reads an element that was not computed: the program and the data do not fit each other.
    Missing {
        /// What is read.
        slot: Slot,
    },
}

/// A cell for each tick: a value, or absence.
pub type Column = Vec<Option<Value>>;

/// The elements of a value, each of them a scalar.
type Elements = Vec<Value>;

/// A program that runs, window after window.
#[derive(Debug)]
pub struct Machine {
    program: Arc<Program>,
    /// The constants, and what registers hold.
    kept: IndexVec<Slot, Option<Elements>>,
    registers: Vec<Slot>,
}

impl Machine {
    /// Starts a program in its initial state.
    pub fn new(program: Arc<Program>) -> Self {
        let held = |data: &crate::SlotData| match &data.home {
            Home::Const(value) => Some(elements(value)),
            Home::Input | Home::Register { .. } | Home::Tick { .. } => None,
        };
        let kept = program.slots.iter().map(held).collect();
        let registers = program.registers().collect();
        Self { program, kept, registers }
    }

    /// The current value of a register, by its number; none if it is not set.
    pub fn register(&self, register: usize) -> Option<Value> {
        let slot = self.registers[register];
        let shape = &self.program.slots[slot].ty.shape;
        self.kept[slot].as_ref().and_then(|elements| self.program.tensor(slot, shape, elements))
    }

    /// Sets a register.
    pub fn set_register(&mut self, register: usize, value: &Value) {
        self.kept[self.registers[register]] = Some(elements(value));
    }

    /// How many ticks the next window has; none if it does not end within `cycles` cycles.
    ///
    /// # Errors
    /// The first fault.
    pub fn length(&self, cycles: usize, inputs: &[Column]) -> Result<Option<usize>, Fault> {
        let mut window = self.begin(cycles, inputs);
        match (&self.program.ends, self.program.nodes.first()) {
            (Ends::Nothing, _) => Ok((cycles > self.program.ahead as usize).then_some(cycles)),
            (Ends::Given(ends), _) => {
                // An absent input ends nothing.
                let holds =
                    |t: usize| ends.iter().any(|end| window.holds(std::slice::from_ref(end), t) == Ok(true));
                Ok((0..cycles).find(|t| holds(*t)).map(|t| t + 1))
            }
            (Ends::Found { conds, head }, Some(node)) => {
                // No tick is the last one before it is found.
                window.ticks = cycles + 1;
                for t in 0..cycles {
                    node.stages[..*head].iter().try_for_each(|stage| window.run(stage, t))?;
                    let ends = conds.iter().map(|end| window.holds(std::slice::from_ref(end), t));
                    if ends.collect::<Result<Vec<_>, _>>()?.contains(&true) {
                        return Ok(Some(t + 1));
                    }
                    node.stages[*head..].iter().try_for_each(|stage| window.run(stage, t))?;
                    window.write(&node.writes, t)?;
                }
                Ok(None)
            }
            (Ends::Found { .. }, None) => Ok(None),
        }
    }

    fn begin(&self, ticks: usize, inputs: &[Column]) -> Window<'_> {
        let program = &*self.program;
        let mut kept = self.kept.clone();
        let mut cells: IndexVec<Slot, Vec<Vec<Option<Value>>>> =
            IndexVec::filled(Vec::new(), program.slots.len());
        let mut columns = inputs.iter();
        for (slot, data) in program.slots.iter_enumerated() {
            match &data.home {
                Home::Input => {
                    let column = columns.next().map_or(&[][..], Vec::as_slice);
                    let cell = |cell: &Option<Value>| {
                        cell.as_ref().map_or_else(Vec::new, |v| elements(v).into_iter().map(Some).collect())
                    };
                    cells[slot] = column.iter().map(cell).collect();
                }
                Home::Tick { .. } => cells[slot] = vec![Vec::new(); ticks + 1],
                Home::Register { kind: Kind::Local, .. } => kept[slot] = None,
                Home::Register { .. } | Home::Const(_) => {}
            }
        }
        let done = ticks.saturating_sub(program.ahead as usize);
        let after = kept.clone();
        Window {
            program,
            ticks,
            done,
            reaches: program.reaches(),
            cells,
            kept,
            after,
            waits: waits::Waits::new(program),
        }
    }

    /// Runs one window of `ticks` ticks with a column for each input. Gives a column for each output, and how many
    /// ticks are done: all, but for those that are ahead, and those that wait.
    ///
    /// # Errors
    /// The first fault. Then no register has changed.
    pub fn window(&mut self, ticks: usize, inputs: &[Column]) -> Result<(Vec<Column>, usize), Fault> {
        let program = Arc::clone(&self.program);
        let mut window = self.begin(ticks, inputs);
        for (n, node) in program.nodes.iter().enumerate() {
            if program.waits { window.wait(n, node)? } else { window.node(node)? }
        }
        if program.waits {
            window.write_done()?;
        } else {
            window.kept = std::mem::take(&mut window.after);
        }
        window.ticks = window.done;
        let outputs = program.outputs.iter().map(|output| {
            let cell = |t: usize| {
                let p = window.position(t);
                let case = output.cases.iter().find(|(at, ..)| at.contains(p));
                let Some((_, when, source)) = case else { return Ok(None) };
                if window.holds(when, t)? {
                    window.tensor(source, &output.ty.shape, t).map(Some)
                } else {
                    Ok(None)
                }
            };
            (0..window.done).map(cell).collect()
        });
        let outputs = outputs.collect::<Result<_, _>>()?;
        let mut written = Vec::new();
        for t in 0..window.done {
            written.extend(window.written(&program.commits, t)?);
        }
        for (register, value) in written {
            window.kept[register] = value;
        }
        let done = window.done;
        self.kept = window.kept;
        Ok((outputs, done))
    }
}

struct Window<'a> {
    program: &'a Program,
    ticks: usize,
    /// How many of these are done; the others are ahead.
    done: usize,
    /// How many ticks after these each register is written.
    reaches: IndexVec<Slot, u32>,
    /// The elements of inputs and of what is filled, at each tick: none while nothing is there.
    cells: IndexVec<Slot, Vec<Vec<Option<Value>>>>,
    /// Constants, and what registers hold.
    kept: IndexVec<Slot, Option<Elements>>,
    /// What registers hold after the last tick that is done.
    after: IndexVec<Slot, Option<Elements>>,
    waits: waits::Waits,
}

impl Window<'_> {
    fn position(&self, t: usize) -> Position {
        match (t == 0, t + 1 == self.ticks) {
            (true, true) => Position::Only,
            (true, false) => Position::First,
            (false, true) => Position::Last,
            (false, false) => Position::Middle,
        }
    }

    fn node(&mut self, node: &Node) -> Result<(), Fault> {
        if node.order == Order::Over {
            return node
                .stages
                .iter()
                .try_for_each(|stage| (0..self.ticks).try_for_each(|t| self.run(stage, t)));
        }
        self.order(node)?.into_iter().try_for_each(|t| {
            node.stages.iter().try_for_each(|stage| self.run(stage, t))?;
            let reached = |w: &&Write| t < self.done + self.reaches[w.register] as usize;
            let writes: Vec<Write> = node.writes.iter().filter(reached).cloned().collect();
            self.write(&writes, t)?;
            for write in writes.iter().filter(|_| t < self.done) {
                self.after[write.register] = self.kept[write.register].clone();
            }
            Ok(())
        })
    }

    /// The ticks in the order of a loop: the first one of each sequence, then the second one of each, and so on.
    fn order(&self, node: &Node) -> Result<Vec<usize>, Fault> {
        let (mut order, mut start) = (Vec::new(), 0);
        for t in 0..self.ticks {
            let ends = node.by.iter().map(|cond| self.truth(cond, t)).collect::<Result<Vec<_>, _>>();
            if t + 1 == self.ticks || ends?.contains(&true) {
                let tick = |i: usize| if node.order == Order::Backward { t - i } else { start + i };
                order.extend((0..=t - start).map(|i| (i, tick(i))));
                start = t + 1;
            }
        }
        order.sort_by_key(|(i, _)| *i);
        Ok(order.into_iter().map(|(_, t)| t).collect())
    }

    /// Runs a stage at a tick, where it is to run.
    fn run(&mut self, stage: &Stage, t: usize) -> Result<(), Fault> {
        let ahead = stage.fills().map(|slot| self.program.slots[slot].ahead()).max().unwrap_or(0);
        if t >= self.done + ahead as usize
            || !stage.at.contains(self.position(t))
            || !self.holds(&stage.when, t)?
        {
            return Ok(());
        }
        self.work(stage, t)
    }

    fn write(&mut self, writes: &[Write], t: usize) -> Result<(), Fault> {
        for (register, value) in self.written(writes, t)? {
            self.kept[register] = value;
        }
        Ok(())
    }

    /// What registers get at a tick.
    fn written(&self, writes: &[Write], t: usize) -> Result<Vec<(Slot, Option<Elements>)>, Fault> {
        let p = self.position(t);
        let mut written = Vec::new();
        for write in writes.iter().filter(|w| w.at.contains(p)) {
            let unset = write.unless.iter().map(|cond| self.truth(cond, t)).collect::<Result<Vec<_>, _>>()?;
            if unset.contains(&true) {
                written.push((write.register, None));
            } else if self.holds(&write.when, t)? {
                let shape = &self.program.slots[write.register].ty.shape;
                written.push((write.register, Some(self.elements(&write.value, shape.dims(), t)?)));
            }
        }
        Ok(written)
    }

    fn holds(&self, when: &[Guard], t: usize) -> Result<bool, Fault> {
        for guard in when {
            if self.truth(&guard.cond, t)? != guard.value {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn truth(&self, cond: &Access, t: usize) -> Result<bool, Fault> {
        Ok(self.element(cond, t, cond.offset)?.as_bool().unwrap_or_default())
    }

    /// The variant that applies at a tick.
    fn chosen<'s>(&self, source: &'s Source, t: usize) -> Result<&'s Access, Fault> {
        let p = self.position(t);
        let mut last = None;
        for variant in source.iter().filter(|variant| variant.at.contains(p)) {
            if self.applies(variant, t)? {
                return Ok(&variant.access);
            }
            last = Some(variant.access.slot);
        }
        Err(Fault::Missing { slot: last.unwrap_or(Slot(0)) })
    }

    fn applies(&self, variant: &Variant, t: usize) -> Result<bool, Fault> {
        for test in &variant.any {
            let holds = match test {
                Test::Is(guard) => self.holds(std::slice::from_ref(guard), t)?,
                Test::IsSet(register) => self.kept[*register].is_some(),
            };
            if holds {
                return Ok(true);
            }
        }
        Ok(variant.any.is_empty())
    }

    /// An element of a slot, as an access sees its tick.
    fn element(&self, access: &Access, t: usize, index: usize) -> Result<Value, Fault> {
        let slot = access.slot;
        let found = match self.program.slots[slot].home {
            Home::Const(_) | Home::Register { .. } => {
                self.kept[slot].as_ref().and_then(|kept| kept.get(index))
            }
            Home::Input | Home::Tick { .. } => {
                let at = match access.tick {
                    Tick::Now => Some(t),
                    Tick::Before => t.checked_sub(1),
                    Tick::After => Some(t + 1),
                    Tick::First => Some(0),
                    Tick::Last => self.ticks.checked_sub(1),
                };
                let cell = at.and_then(|at| self.cells[slot].get(at));
                cell.and_then(|cell| cell.get(index)).and_then(Option::as_ref)
            }
        };
        found.cloned().ok_or(Fault::Missing { slot })
    }

    /// The elements of a tensor, row-major.
    fn elements(&self, source: &Source, dims: &[usize], t: usize) -> Result<Elements, Fault> {
        let access = self.chosen(source, t)?;
        let mut found = Vec::new();
        points(dims, |point| {
            found.push(self.element(access, t, step(access.offset, &access.strides, point))?);
            Ok(())
        })?;
        Ok(found)
    }

    /// A tensor as a value.
    fn tensor(&self, source: &Source, shape: &Shape, t: usize) -> Result<Value, Fault> {
        let slot = self.chosen(source, t)?.slot;
        let elements = self.elements(source, shape.dims(), t)?;
        self.program.tensor(slot, shape, &elements).ok_or(Fault::Missing { slot })
    }
}

impl Program {
    /// Elements of the type of a slot as a value; none if they are of another one.
    fn tensor(&self, slot: Slot, shape: &Shape, elements: &[Value]) -> Option<Value> {
        let mut data = Value::zeros(
            &rml_ir::Type { dtype: self.slots[slot].ty.dtype, shape: shape.clone() },
            self.precision,
        )
        .into_data();
        for (i, element) in elements.iter().enumerate() {
            match (&mut data, element) {
                (Data::Bool(to), Value::Bool(x)) => *to.get_mut(i)? = *x,
                (Data::Int(to), Value::Int(x)) => *to.get_mut(i)? = *x,
                (Data::F32(to), Value::F32(x)) => *to.get_mut(i)? = *x,
                (Data::F64(to), Value::F64(x)) => *to.get_mut(i)? = *x,
                _ => return None,
            }
        }
        Some(Value::new(shape.clone(), data))
    }
}

/// The elements of a value, row-major.
fn elements(value: &Value) -> Elements {
    let data = value.to_data();
    (0..data.len()).map(|i| data.get(i)).collect()
}

/// Calls `f` at each point of some dimensions, the last one fastest.
fn points(dims: &[usize], mut f: impl FnMut(&[usize]) -> Result<(), Fault>) -> Result<(), Fault> {
    let mut point = vec![0; dims.len()];
    for _ in 0..dims.iter().product() {
        f(&point)?;
        for (at, n) in point.iter_mut().zip(dims).rev() {
            *at += 1;
            if *at < *n {
                break;
            }
            *at = 0;
        }
    }
    Ok(())
}

/// The number of an element at a point: an offset, and steps along each dimension.
fn step(offset: usize, steps: &[isize], point: &[usize]) -> usize {
    let moved = steps.iter().zip(point).map(|(step, at)| step.wrapping_mul(at.cast_signed()));
    offset.wrapping_add_signed(moved.fold(0, isize::wrapping_add))
}
