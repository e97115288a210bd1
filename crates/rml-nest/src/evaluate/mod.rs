//! Runs nests one tick and one element at a time: slow and easy to understand. Tests compare it with the reference of
//! plans; executors of nests are to be compared with it.

use std::sync::Arc;

use rml_base::{IndexVec, Span};
use rml_ir::Value;
use rml_ir::op::EvalError;

use crate::{
    Access, Ends, Guard, Home, Lifetime, NestNode, NestProgram, NestStage, Order, Position, Slot, Test, Tick,
    Variant, Variants, Write,
};

mod domain;
mod fold;
mod stage;
mod waits;

use domain::Numbers;
pub(crate) use domain::{Domain, Fails, Tensor};

/// Why a window has no result.
#[derive(Clone, PartialEq, Debug)]
pub enum Fault {
    /// An operator has none.
    Operator {
        /// The place of the equation in the source.
        span: Span,
        /// Why.
        error: EvalError,
    },
    /// A nest reads an element that was not computed: the program and the data do not fit each other.
    Missing {
        /// The slot that is read.
        slot: Slot,
    },
}

/// A cell for each tick: a value, or absence.
pub type Cells = Vec<Option<Value>>;

/// The elements of a value, each of them a scalar.
type Elements = Vec<Value>;

/// A program that runs, window after window.
#[derive(Debug)]
pub struct Machine {
    program: Arc<NestProgram>,
    /// The values of constants and registers.
    kept: IndexVec<Slot, Option<Elements>>,
    registers: Vec<Slot>,
}

impl Machine {
    /// Starts a program in its initial state.
    pub fn new(program: Arc<NestProgram>) -> Self {
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
        let numbers = Numbers(self.program.precision);
        self.kept[slot].as_ref().map(|elements| numbers.value(&self.program.slots[slot].ty, elements))
    }

    /// Sets a register.
    pub fn set_register(&mut self, register: usize, value: &Value) {
        self.kept[self.registers[register]] = Some(elements(value));
    }

    /// How many ticks the next window has; none if it does not end within `cycles` cycles.
    ///
    /// # Errors
    /// The first fault.
    pub fn length(&self, cycles: usize, inputs: &[Cells]) -> Result<Option<usize>, Fault> {
        let numbers = Numbers(self.program.precision);
        let mut window = self.begin(&numbers, cycles, inputs);
        match (&self.program.ends, self.program.nodes.first()) {
            (Ends::Nothing, _) => Ok((cycles > self.program.ahead as usize).then_some(cycles)),
            (Ends::Given(ends), _) => {
                // An absent input ends nothing.
                let holds =
                    |t: usize| ends.iter().any(|end| window.holds(std::slice::from_ref(end), t) == Ok(true));
                Ok((0..cycles).find(|t| holds(*t)).map(|t| t + 1))
            }
            (Ends::Found { conds, head }, Some(node)) => {
                // Until the end is found, no tick counts as the last one.
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

    fn begin<'a>(&'a self, numbers: &'a Numbers, ticks: usize, inputs: &[Cells]) -> Window<'a, Numbers> {
        let cell = |cell: &Option<Value>| cell.as_ref().map_or_else(Vec::new, elements);
        let inputs = inputs.iter().map(|column| column.iter().map(cell).collect()).collect();
        Window::new(&self.program, numbers, ticks, inputs, self.kept.clone())
    }

    /// Runs one window of `ticks` ticks with a column for each input. Returns a column for each output, and how many
    /// ticks are done: all except those that are ahead or wait.
    ///
    /// # Errors
    /// The first fault. Then no register has changed.
    pub fn window(&mut self, ticks: usize, inputs: &[Cells]) -> Result<(Vec<Cells>, usize), Fault> {
        let numbers = Numbers(self.program.precision);
        let ran = self.begin(&numbers, ticks, inputs).finish()?;
        let outputs = self.program.outputs.iter().zip(&ran.outputs).map(|(output, column)| {
            let value = |cell: &Option<Elements>| cell.as_ref().map(|x| numbers.value(&output.ty, x));
            column.iter().map(value).collect()
        });
        let outputs = outputs.collect();
        self.kept = ran.kept;
        Ok((outputs, ran.done))
    }
}

/// The results of a window.
pub(crate) struct Ran<E> {
    /// The cells of each output.
    pub(crate) outputs: Vec<Vec<Option<Vec<E>>>>,
    /// The values of constants and registers after the window.
    pub(crate) kept: IndexVec<Slot, Option<Vec<E>>>,
    /// How many ticks are done.
    pub(crate) done: usize,
    /// For a program that finds the end of its windows: the values of the end conditions at each tick.
    pub(crate) ends: Vec<Vec<E>>,
    /// The elements that stages have filled, at each tick.
    pub(crate) cells: IndexVec<Slot, Vec<Vec<Option<E>>>>,
}

/// A window that runs, of numbers or of terms.
pub(crate) struct Window<'a, D: Domain> {
    program: &'a NestProgram,
    domain: &'a D,
    ticks: usize,
    /// How many of these are done; the others are ahead.
    done: usize,
    /// For each register: how many ticks past the last finished one it is written.
    reaches: IndexVec<Slot, u32>,
    /// The elements of inputs and of filled slots, at each tick; none as long as they are not available.
    cells: IndexVec<Slot, Vec<Vec<Option<D::Element>>>>,
    /// The values of constants and registers.
    kept: IndexVec<Slot, Option<Vec<D::Element>>>,
    /// The values of registers after the last finished tick.
    after: IndexVec<Slot, Option<Vec<D::Element>>>,
    waits: waits::Waits,
}

/// A register and its new value; none if it becomes unset.
type Written<E> = (Slot, Option<Vec<E>>);

impl<'a, D: Domain> Window<'a, D> {
    /// A window before its first stage, with the elements of inputs at each tick, of constants and of registers.
    pub(crate) fn new(
        program: &'a NestProgram,
        domain: &'a D,
        ticks: usize,
        inputs: Vec<Vec<Vec<D::Element>>>,
        mut kept: IndexVec<Slot, Option<Vec<D::Element>>>,
    ) -> Self {
        let mut cells: IndexVec<Slot, Vec<Vec<Option<D::Element>>>> =
            IndexVec::filled(Vec::new(), program.slots.len());
        let mut columns = inputs.into_iter();
        for (slot, data) in program.slots.iter_enumerated() {
            match &data.home {
                Home::Input => {
                    let column = columns.next().unwrap_or_default().into_iter();
                    cells[slot] = column.map(|cell| cell.into_iter().map(Some).collect()).collect();
                }
                Home::Tick { .. } => cells[slot] = vec![Vec::new(); ticks + 1],
                Home::Register { kind: Lifetime::Local, .. } => kept[slot] = None,
                Home::Register { .. } | Home::Const(_) => {}
            }
        }
        Window {
            program,
            domain,
            ticks,
            done: ticks.saturating_sub(program.ahead as usize),
            reaches: program.reaches(),
            cells,
            after: kept.clone(),
            kept,
            waits: waits::Waits::new(program),
        }
    }

    /// Runs all nodes, writes registers, and collects the outputs.
    pub(crate) fn finish(mut self) -> Result<Ran<D::Element>, Fault> {
        let program = self.program;
        for (n, node) in program.nodes.iter().enumerate() {
            if program.waits { self.wait(n, node)? } else { self.node(node)? }
        }
        if program.waits {
            self.write_done()?;
        } else {
            self.kept = std::mem::take(&mut self.after);
        }
        let mut ends = Vec::new();
        if let Ends::Found { conds, .. } = &program.ends {
            for t in 0..self.ticks {
                let cond = |end: &Guard| self.element(&end.cond, t, end.cond.offset);
                ends.push(conds.iter().map(cond).collect::<Result<_, _>>()?);
            }
        }
        self.ticks = self.done;
        let outputs = program.outputs.iter().map(|output| {
            let cell = |t: usize| {
                let p = self.position(t);
                let case = output.cases.iter().find(|(at, ..)| at.contains(p));
                let Some((_, when, source)) = case else { return Ok(None) };
                if self.holds(when, t)? {
                    self.elements(source, output.ty.shape.dims(), t).map(Some)
                } else {
                    Ok(None)
                }
            };
            (0..self.done).map(cell).collect()
        });
        let outputs = outputs.collect::<Result<_, _>>()?;
        let mut written = Vec::new();
        for t in 0..self.done {
            written.extend(self.written(&program.commits, t)?);
        }
        for (register, value) in written {
            self.kept[register] = value;
        }
        Ok(Ran { outputs, kept: self.kept, done: self.done, ends, cells: self.cells })
    }

    fn position(&self, t: usize) -> Position {
        match (t == 0, t + 1 == self.ticks) {
            (true, true) => Position::Only,
            (true, false) => Position::First,
            (false, true) => Position::Last,
            (false, false) => Position::Middle,
        }
    }

    fn node(&mut self, node: &NestNode) -> Result<(), Fault> {
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
    fn order(&self, node: &NestNode) -> Result<Vec<usize>, Fault> {
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

    /// Runs a stage at a tick, unless its positions, its guards or its look-ahead exclude that tick.
    fn run(&mut self, stage: &NestStage, t: usize) -> Result<(), Fault> {
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

    /// The values that registers get at a tick.
    fn written(&self, writes: &[Write], t: usize) -> Result<Vec<Written<D::Element>>, Fault> {
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
        Ok(self.domain.truth(&self.element(cond, t, cond.offset)?))
    }

    /// The variant that applies at a tick.
    fn chosen<'s>(&self, source: &'s Variants, t: usize) -> Result<&'s Access, Fault> {
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

    /// An element of a slot, read by an access at tick `t`.
    fn element(&self, access: &Access, t: usize, index: usize) -> Result<D::Element, Fault> {
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
    fn elements(&self, source: &Variants, dims: &[usize], t: usize) -> Result<Vec<D::Element>, Fault> {
        let access = self.chosen(source, t)?;
        let mut found = Vec::new();
        points(dims, |point| {
            found.push(self.element(access, t, step(access.offset, &access.strides, point))?);
            Ok(())
        })?;
        Ok(found)
    }
}

/// The elements of a value, row-major.
pub(crate) fn elements(value: &Value) -> Elements {
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

/// The index of the element at a point: an offset plus a stride for each dimension.
fn step(offset: usize, steps: &[isize], point: &[usize]) -> usize {
    let moved = steps.iter().zip(point).map(|(step, at)| step.wrapping_mul(at.cast_signed()));
    offset.wrapping_add_signed(moved.fold(0, isize::wrapping_add))
}
