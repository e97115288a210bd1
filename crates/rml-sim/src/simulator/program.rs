//! The program in the form that the simulator runs: one step for each equation, with operands resolved to table
//! positions; and for each clock class and variable, the steps to run when something becomes known about it. It is
//! built once and never changes.
//!
//! Constants have no cell. An operand that is defined by a constant is read from a table of constants. This is the
//! demand-driven rule ("the value, once present"), decided before the run.

use std::sync::Arc;

use rml_base::{EntityId, IndexVec};
use rml_ir::Value;
use rml_ir::flat::{ClockClasses, Drawn, Eq, Equation, Flat, Init, Rhs, Var, Window};
use rml_ir::op::Op;

use super::cell::Cell;

/// The place of an operand's value: a cell of the row, or a constant.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, Debug)]
pub(super) struct Operand(u32);

const CONSTANT: u32 = 1 << 31;

impl Operand {
    /// The cell of the row; `None` for a constant.
    pub(super) fn cell(self) -> Option<usize> {
        (self.0 & CONSTANT == 0).then_some(self.0 as usize)
    }

    /// The content of the operand. A constant is known even where it is not present.
    #[inline]
    pub(super) fn get<'a>(self, row: &'a [Cell], constants: &'a [Cell]) -> &'a Cell {
        if self.0 & CONSTANT == 0 { &row[self.0 as usize] } else { &constants[(self.0 & !CONSTANT) as usize] }
    }
}

/// The work for one equation in one cycle. `out` is a cell; classes are table positions.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A constant, which needs no work.
    Constant,
    /// An operator with one operand.
    Unary { op: Op, x: Operand, out: u32, class: u32 },
    /// An operator with two operands.
    Binary { op: Op, x: Operand, y: Operand, out: u32, class: u32 },
    /// An operator with any number of operands.
    Apply { op: Op, args: Box<[Operand]>, out: u32, class: u32 },
    /// A copy of an operand.
    Copy { x: Operand, out: u32, class: u32 },
    /// A lazy choice.
    If { cond: Operand, then: Operand, other: Operand, out: u32, class: u32 },
    /// Sampling: operands in class `from`, result in `to`.
    When { value: Operand, cond: Operand, out: u32, from: u32, to: u32 },
    /// Merging: condition and result in `class`, branches in their own.
    Merge { cond: Operand, branches: [(Operand, u32); 2], out: u32, class: u32 },
    /// A forward delay, by its index.
    Forward(u32),
    /// A backward delay, by its index.
    Backward(u32),
    /// A parameter, by its index.
    Param { param: u32, init: Operand, out: u32, class: u32 },
    /// The declared clock of an input; it has no equation.
    InputClock(InputClock),
}

/// An input in class `class`. It is declared to be present where a condition that the program computes, in class
/// `from`, has the value `flag`.
#[derive(Clone, Copy, Debug)]
pub(super) struct InputClock {
    pub(super) input: Var,
    pub(super) cond: Operand,
    pub(super) flag: bool,
    pub(super) from: u32,
    pub(super) class: u32,
}

impl Step {
    /// The cell and class of the result of an operator or a copy.
    #[inline]
    pub(super) fn result(&self) -> Option<(u32, u32)> {
        match self {
            Step::Unary { out, class, .. }
            | Step::Binary { out, class, .. }
            | Step::Apply { out, class, .. }
            | Step::Copy { out, class, .. } => Some((*out, *class)),
            _ => None,
        }
    }

    /// Calls `f` for each operand of an operator or a copy, in order.
    #[inline]
    pub(super) fn for_each_operand(&self, mut f: impl FnMut(Operand)) {
        match self {
            Step::Unary { x, .. } | Step::Copy { x, .. } => f(*x),
            Step::Binary { x, y, .. } => [*x, *y].into_iter().for_each(f),
            Step::Apply { args, .. } => args.iter().copied().for_each(f),
            _ => {}
        }
    }
}

/// A delay.
#[derive(Clone, Debug)]
pub(super) struct Delay {
    pub(super) step: u32,
    /// The first or last value; a `post` has none.
    pub(super) start: Option<Operand>,
    pub(super) next: Operand,
    pub(super) out: u32,
    pub(super) class: u32,
    /// The window ends that cut the delay, with their classes, innermost first.
    pub(super) ends: Box<[(Operand, u32)]>,
}

/// A parameter.
#[derive(Clone, Debug)]
pub(super) struct Param {
    pub(super) out: u32,
}

/// Lists of steps, one for each key.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    fn new(mut lists: Vec<Vec<u32>>) -> Lists {
        let mut starts = vec![0];
        let mut items = Vec::new();
        for list in &mut lists {
            list.sort_unstable();
            list.dedup();
            items.append(list);
            starts.push(u32::try_from(items.len()).unwrap_or(u32::MAX));
        }
        Lists { starts, items }
    }

    #[inline]
    pub(super) fn of(&self, key: usize) -> &[u32] {
        &self.items[self.starts[key] as usize..self.starts[key + 1] as usize]
    }
}

/// A program that is ready to run.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) flat: Arc<Drawn>,
    pub(super) classes: ClockClasses,
    /// One step for each equation; within a cycle, operands come before their uses where possible. The declared clocks
    /// follow.
    pub(super) steps: Vec<Step>,
    /// For each step that has an equation: the equation.
    pub(super) equation_of: Vec<Eq>,
    pub(super) step_of: IndexVec<Eq, u32>,
    /// For each variable: the step that defines it; none for inputs.
    pub(super) definition: IndexVec<Var, Option<u32>>,
    pub(super) constants: Vec<Cell>,
    pub(super) operand_of: IndexVec<Var, Operand>,
    pub(super) forward: Vec<Delay>,
    pub(super) backward: Vec<Delay>,
    pub(super) params: Vec<Param>,
    /// The steps to run when a class becomes present, absent or an error.
    pub(super) on_class: Lists,
    /// The steps to run when a variable gets its value.
    pub(super) on_value: Lists,
    /// For each class: the number of cells that get a value when it is present.
    pub(super) cells_of_class: Vec<u32>,
    /// The free classes, each with the variable that is asked for.
    pub(super) demanded: Vec<(u32, Var)>,
}

impl Program {
    /// Prepares a program.
    pub(super) fn new(flat: Arc<Drawn>) -> Program {
        let classes = ClockClasses::new(&flat);
        let (constants, operand_of) = operands(&flat);
        let equation_of = order(&flat);
        let mut step_of = IndexVec::filled(0_u32, flat.equations.len());
        let mut definition = IndexVec::filled(None, flat.vars.len());
        for (i, &eq) in equation_of.iter().enumerate() {
            step_of[eq] = index(i);
            definition[flat.equations[eq].lhs] = Some(index(i));
        }
        let mut cells_of_class = vec![0; classes.len()];
        for (v, operand) in operand_of.iter_enumerated() {
            if operand.cell().is_some() {
                cells_of_class[classes.of(v).index()] += 1;
            }
        }
        let demanded =
            classes.free_representatives().into_iter().map(|v| (index(classes.of(v).index()), v)).collect();
        let mut program = Program {
            flat,
            classes,
            steps: Vec::new(),
            equation_of,
            step_of,
            definition,
            constants,
            operand_of,
            forward: Vec::new(),
            backward: Vec::new(),
            params: Vec::new(),
            on_class: Lists::default(),
            on_value: Lists::default(),
            cells_of_class,
            demanded,
        };
        for i in 0..program.equation_of.len() {
            let step = program.compile(i);
            program.steps.push(step);
        }
        program.steps.extend(program.input_clocks());
        program.subscribe();
        program
    }

    /// The table position of the class of a variable.
    pub(super) fn class(&self, v: Var) -> usize {
        self.classes.of(v).index()
    }

    /// A step's delay, if it is one.
    pub(super) fn delay(&self, step: usize) -> Option<&Delay> {
        match self.steps[step] {
            Step::Forward(r) => self.forward.get(r as usize),
            Step::Backward(r) => self.backward.get(r as usize),
            _ => None,
        }
    }

    fn compile(&mut self, i: usize) -> Step {
        let flat = Arc::clone(&self.flat);
        let eq = &flat.equations[self.equation_of[i]];
        let out = index(eq.lhs.index());
        let class = index(self.class(eq.lhs));
        let at = |v: Var| self.operand_of[v];
        match &eq.rhs {
            Rhs::Const(_) => Step::Constant,
            Rhs::Apply { op, args } => match (op, args.as_slice()) {
                (Op::Copy | Op::StopGradient, [x]) => Step::Copy { x: at(*x), out, class },
                (_, [x]) => Step::Unary { op: op.clone(), x: at(*x), out, class },
                (_, [x, y]) => Step::Binary { op: op.clone(), x: at(*x), y: at(*y), out, class },
                (_, args) => {
                    Step::Apply { op: op.clone(), args: args.iter().map(|&x| at(x)).collect(), out, class }
                }
            },
            Rhs::If { cond, then, other } => {
                Step::If { cond: at(*cond), then: at(*then), other: at(*other), out, class }
            }
            Rhs::When { value, cond } => Step::When {
                value: at(*value),
                cond: at(*cond),
                out,
                from: index(self.class(*cond)),
                to: class,
            },
            Rhs::Merge { cond, on_true, on_false } => {
                let branch = |v: Var| (at(v), index(self.class(v)));
                Step::Merge { cond: at(*cond), branches: [branch(*on_true), branch(*on_false)], out, class }
            }
            Rhs::Fby { init, next, window } => {
                let start = Some(self.init(init));
                let r = self.delay_data(i, eq.lhs, *next, *window, start);
                Step::Forward(push(&mut self.forward, r))
            }
            Rhs::FbyBack { init, next, window } => {
                let start = Some(self.init(init));
                let r = self.delay_data(i, eq.lhs, *next, *window, start);
                Step::Backward(push(&mut self.backward, r))
            }
            Rhs::Post { next, window } => {
                let r = self.delay_data(i, eq.lhs, *next, *window, None);
                Step::Backward(push(&mut self.backward, r))
            }
            Rhs::Param { init } => {
                let init = at(*init);
                let param = push(&mut self.params, Param { out });
                Step::Param { param, init, out, class }
            }
        }
    }

    /// The declared clocks that depend on computed conditions. Those that depend on inputs are checked before the
    /// cycle.
    fn input_clocks(&self) -> Vec<Step> {
        let declared = self.flat.inputs.iter().filter_map(|input| Some((input.var, input.clock?)));
        let computed = declared.filter(|(_, (cond, _))| self.definition[*cond].is_some());
        let step = |(input, (cond, flag))| {
            let (from, class) = (index(self.class(cond)), index(self.class(input)));
            Step::InputClock(InputClock { input, cond: self.operand_of[cond], flag, from, class })
        };
        computed.map(step).collect()
    }

    fn init(&mut self, init: &Init) -> Operand {
        match init {
            Init::Stream(v) => self.operand_of[*v],
            Init::Const(k) => {
                let value = self.flat.value(*k).clone();
                Operand(push(&mut self.constants, Cell::Value(value)) | CONSTANT)
            }
        }
    }

    fn delay_data(&self, i: usize, o: Var, y: Var, window: Option<Window>, start: Option<Operand>) -> Delay {
        let mut ends = Vec::new();
        let mut at = window;
        while let Some(w) = at {
            let end = self.flat.windows[w].end;
            ends.push((self.operand_of[end], index(self.class(end))));
            at = self.flat.windows[w].parent;
        }
        Delay {
            step: index(i),
            start,
            next: self.operand_of[y],
            out: index(o.index()),
            class: index(self.class(o)),
            ends: ends.into(),
        }
    }

    /// Fills `on_class` and `on_value`.
    fn subscribe(&mut self) {
        let mut on_class = vec![Vec::new(); self.classes.len()];
        let mut on_value = vec![Vec::new(); self.flat.vars.len()];
        for (i, step) in self.steps.iter().enumerate() {
            let i = index(i);
            let mut value = |x: Operand| {
                if let Some(cell) = x.cell() {
                    on_value[cell].push(i);
                }
            };
            let mut class = |c: u32| on_class[c as usize].push(i);
            let constant = |x: &Operand| x.cell().is_none();
            match step {
                Step::Constant => {}
                Step::Unary { x, class: c, .. } | Step::Copy { x, class: c, .. } => {
                    value(*x);
                    if constant(x) {
                        class(*c);
                    }
                }
                Step::Binary { x, y, class: c, .. } => {
                    value(*x);
                    value(*y);
                    if constant(x) && constant(y) {
                        class(*c);
                    }
                }
                Step::Apply { args, class: c, .. } => {
                    args.iter().for_each(|x| value(*x));
                    if args.iter().all(constant) {
                        class(*c);
                    }
                }
                Step::If { cond, then, other, class: c, .. } => {
                    [cond, then, other].into_iter().for_each(|x| value(*x));
                    if constant(cond) && (constant(then) || constant(other)) {
                        class(*c);
                    }
                }
                Step::When { value: v, cond, from, to, .. } => {
                    value(*v);
                    value(*cond);
                    class(*from);
                    class(*to);
                }
                Step::Merge { cond, branches, class: c, .. } => {
                    value(*cond);
                    class(*c);
                    for (x, b) in branches {
                        value(*x);
                        class(*b);
                    }
                }
                Step::Forward(_) | Step::Backward(_) => {}
                Step::Param { init, class: c, .. } => {
                    value(*init);
                    class(*c);
                }
                Step::InputClock(clock) => {
                    value(clock.cond);
                    class(clock.from);
                    class(clock.class);
                }
            }
        }
        for r in self.forward.iter().chain(&self.backward) {
            on_class[r.class as usize].push(r.step);
            let start = r.start.and_then(Operand::cell);
            let ends = r.ends.iter().filter_map(|(x, _)| x.cell());
            for cell in r.next.cell().into_iter().chain(start).chain(ends) {
                on_value[cell].push(r.step);
            }
            for (_, c) in &r.ends {
                on_class[*c as usize].push(r.step);
            }
        }
        self.on_class = Lists::new(on_class);
        self.on_value = Lists::new(on_value);
    }

    /// The equation of a step.
    pub(super) fn equation(&self, step: u32) -> &Equation {
        &self.flat.equations[self.equation_of[step as usize]]
    }

    /// The value of an operand that is a constant, or a copy of one.
    pub(super) fn static_value(&self, mut x: Operand) -> Option<&Value> {
        for _ in 0..=self.steps.len() {
            let Some(cell) = x.cell() else { return x.get(&[], &self.constants).value() };
            let step = self.definition[Var(index(cell))]?;
            match self.steps[step as usize] {
                Step::Copy { x: source, .. } => x = source,
                _ => return None,
            }
        }
        None
    }

    /// The name of a variable in reports.
    pub(super) fn name(&self, v: Var) -> String {
        self.flat.vars[v]
            .name
            .as_ref()
            .map_or_else(|| "a part of an expression".to_owned(), |n| format!("`{n}`"))
    }
}

/// The constants, and for each variable the place of its value.
fn operands(flat: &Drawn) -> (Vec<Cell>, IndexVec<Var, Operand>) {
    let mut constants = Vec::new();
    let mut operand_of: IndexVec<Var, Operand> = flat.vars.ids().map(|v| Operand(v.0)).collect();
    for eq in flat.equations.iter() {
        if let Rhs::Const(k) = eq.rhs {
            let value = flat.value(k).clone();
            operand_of[eq.lhs] = Operand(push(&mut constants, Cell::Value(value)) | CONSTANT);
        }
    }
    (constants, operand_of)
}

/// All equations, each after the equations whose values it reads in the same cycle. Circles among them are cut
/// anywhere.
fn order(flat: &Flat) -> Vec<Eq> {
    let mut definition = IndexVec::filled(None, flat.vars.len());
    for (id, eq) in flat.equations.iter_enumerated() {
        definition[eq.lhs] = Some(id);
    }
    let mut seen = IndexVec::filled(false, flat.equations.len());
    let mut order = Vec::with_capacity(flat.equations.len());
    let mut stack: Vec<(Eq, Vec<Eq>)> = Vec::new();
    let reads = |id: Eq| -> Vec<Eq> {
        same_cycle_reads(flat, id).into_iter().filter_map(|v| definition[v]).collect()
    };
    for root in flat.equations.ids() {
        if seen[root] {
            continue;
        }
        seen[root] = true;
        stack.push((root, reads(root)));
        while let Some((id, pending)) = stack.last_mut() {
            match pending.pop() {
                Some(next) if seen[next] => {}
                Some(next) => {
                    seen[next] = true;
                    stack.push((next, reads(next)));
                }
                None => {
                    order.push(*id);
                    stack.pop();
                }
            }
        }
    }
    order
}

/// The variables whose value in a cycle an equation may need in the same cycle.
fn same_cycle_reads(flat: &Flat, id: Eq) -> Vec<Var> {
    let mut reads = Vec::new();
    match &flat.equations[id].rhs {
        Rhs::Fby { init, .. } => {
            if let Init::Stream(v) = init {
                reads.push(*v);
            }
        }
        Rhs::FbyBack { window, .. } | Rhs::Post { window, .. } => {
            let mut at = *window;
            while let Some(w) = at {
                reads.push(flat.windows[w].end);
                at = flat.windows[w].parent;
            }
        }
        rhs => rhs.for_each_operand(|v| reads.push(v)),
    }
    reads
}

/// A table position. Programs have far fewer than 2^31 entries, because elaboration and inlining limit them.
pub(super) fn index(i: usize) -> u32 {
    u32::try_from(i).ok().filter(|i| i & CONSTANT == 0).expect("tables hold fewer than 2^31 entries")
}

fn push<T>(table: &mut Vec<T>, item: T) -> u32 {
    table.push(item);
    index(table.len() - 1)
}
