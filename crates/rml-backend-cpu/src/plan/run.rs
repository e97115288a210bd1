//! Runs code in memory.

use std::ops::Range;

use rml_ir::op::{Number, Op};
use rml_ir::{DType, Position, Positions, Precision, Shape, Value};

use super::Suspect;
use super::arena::{Arena, Split};
use super::bind::Bound;
use super::code::{Code, Guard, Instr, Kernel, Pass, Put, Slot, Unit};
use super::link::Chain;
use super::listed::{Entry, Listed, OverStep};
use super::operand::Arg;
use super::packs::Packs;
use super::reached::Reached;
use super::scalar::{self, Spot};
use super::single::Now;
use super::threads::Team;

/// A window that runs.
pub(super) struct Run<'a, N: Number> {
    pub(super) code: &'a Listed,
    pub(super) bound: &'a Bound,
    pub(super) arena: &'a mut Arena<N>,
    /// Which registers are set.
    pub(super) set: &'a mut [bool],
    /// For the registers that ticks ahead write (`Code::done`): whether each is set after the last finished tick.
    pub(super) done: &'a mut [bool],
    /// Which registers that slide do so in this window.
    pub(super) moved: &'a mut [bool],
    pub(super) reached: &'a mut Reached,
    pub(super) precision: Precision,
    pub(super) packs: Packs<'a, N>,
    /// The threads that it may use.
    pub(super) team: Option<&'a mut Team>,
    /// The ticks that run: all, or those of a segment.
    pub(super) part: (usize, usize),
    /// Whether sums over ticks begin at these ticks, instead of being continued from earlier ones.
    pub(super) begins: bool,
}

/// The ticks at some positions of a window, as ranges.
pub(super) fn ranges(at: Positions, ticks: usize) -> impl DoubleEndedIterator<Item = (usize, usize)> {
    let end = ticks.saturating_sub(1);
    let has = |p: Position| at.contains(p);
    let parts = if ticks == 0 {
        [(0, 0); 3]
    } else if ticks == 1 {
        [(0, usize::from(has(Position::Only))), (0, 0), (0, 0)]
    } else {
        let first = (0, usize::from(has(Position::First)));
        let middle = (1, if has(Position::Middle) { end } else { 1 });
        let last = (end, end + usize::from(has(Position::Last)));
        match (has(Position::First), has(Position::Middle) || ticks == 2, has(Position::Last)) {
            (true, true, true) => [(0, ticks), (0, 0), (0, 0)],
            (true, true, false) => [(0, end), (0, 0), (0, 0)],
            (false, true, true) if ticks > 2 => [(1, ticks), (0, 0), (0, 0)],
            _ => [first, middle, last],
        }
    };
    parts.into_iter().filter(|(from, to)| from < to)
}

impl<'a, N: Number> Run<'a, N> {
    /// Runs a region at all ticks of the window: part by part over the ticks, or tick by tick.
    pub(super) fn pass(&mut self, k: usize, pass: &Pass) -> Result<(), Suspect> {
        let ticks = self.bound.ticks;
        if self.code.waits {
            return self.wait(k, pass);
        }
        if pass.over && ticks > 1 {
            return self.steps(k);
        }
        if self.code.ahead > 0 {
            return self.ahead(k);
        }
        if let Some(ran) = self.spread_pass(k, None) {
            return ran;
        }
        let at = |i: usize| if pass.backward { ticks - 1 - i } else { i };
        self.at_tick(k, at(0))?;
        // All ticks but the first and the last have the position `Middle`.
        let middle = &self.code.lists[k].at[Position::Middle.index()];
        match &middle[..] {
            _ if ticks <= 2 => {}
            [Entry::Scalars(range)] if pass.puts.is_empty() => {
                let steps = &self.bound.steps[range.clone()];
                for i in 1..ticks - 1 {
                    scalar::run(steps, self.arena, self.set, at(i))?;
                }
            }
            [] if pass.puts.is_empty() => {}
            _ => {
                for i in 1..ticks - 1 {
                    self.entries(middle, at(i))?;
                    self.puts_at(&pass.puts, at(i), Position::Middle);
                }
            }
        }
        if ticks > 1 { self.at_tick(k, at(ticks - 1)) } else { Ok(()) }
    }

    /// Runs a window of one tick, and commits what it changes.
    pub(super) fn single(&mut self) -> Result<(), Suspect> {
        let (code, bound) = (self.code, self.bound);
        for now in &bound.single.0 {
            match now {
                Now::Scalars(range) => {
                    scalar::run(&bound.steps[range.clone()], self.arena, self.set, 0)?;
                }
                Now::Chain(range) => self.chain(range.clone(), 0),
                Now::Unit(unit) => self.unit(&code.units[*unit], 0)?,
                Now::Puts(pass) => self.puts_at(&code.passes[*pass].puts, 0, Position::Only),
                Now::Put { register, dtype, to, from, width, is_packed } => {
                    self.set[*register] = true;
                    if *is_packed {
                        self.changed(code.register(*register));
                    }
                    self.arena.copy(*dtype, *to, self.spot(*from).get(0), *width);
                }
                Now::Commit(put) => {
                    self.puts_at(std::slice::from_ref(&code.commits[*put]), 0, Position::Only);
                }
            }
        }
        Ok(())
    }

    /// Runs a region over all of several ticks.
    fn steps(&mut self, k: usize) -> Result<(), Suspect> {
        let code = self.code;
        let steps = &code.lists[k].over;
        if steps.is_empty() {
            return code.passes[k].units.clone().try_for_each(|unit| self.over(unit));
        }
        steps.iter().try_for_each(|step| match step {
            OverStep::Unit(unit) => self.over(*unit),
            OverStep::First(entries) => self.entries(entries, 0),
            OverStep::Last(entries) => self.entries(entries, self.bound.ticks - 1),
        })
    }

    fn at_tick(&mut self, k: usize, t: usize) -> Result<(), Suspect> {
        let (code, p) = (self.code, Position::of(t, self.bound.ticks));
        self.entries(&code.lists[k].at[p.index()], t)?;
        self.puts_at(&code.passes[k].puts, t, p);
        Ok(())
    }

    /// Sets registers back to their values after the last finished tick.
    pub(super) fn go_back(&mut self, code: &Code) {
        for (i, (register, slot)) in code.done.iter().enumerate() {
            self.set[*register] = self.done[i];
            let own = code.register(*register);
            let data = code.slot(own);
            self.arena.copy(data.dtype, self.bound.base(own), self.bound.base(*slot), data.width);
            self.changed(own);
        }
    }

    /// Marks matrices laid out from a place as out of date.
    pub(super) fn changed(&mut self, slot: Slot) {
        self.packs.change(self.code, slot);
    }

    /// Runs a forward loop in a plan that looks ahead: the finished ticks, then the ticks ahead.
    fn ahead(&mut self, k: usize) -> Result<(), Suspect> {
        let code = self.code;
        (0..self.bound.ticks).try_for_each(|t| {
            self.entries(self.at(k, t), t)?;
            self.put(&code.passes[k], t);
            Ok(())
        })
    }

    /// The list for a tick of a loop.
    pub(super) fn at(&self, k: usize, t: usize) -> &'a [Entry] {
        let lists = &self.code.lists[k];
        let behind = self.bound.ticks - 1 - t;
        if behind >= self.code.ahead {
            return &lists.at[Position::of(t, self.bound.ticks).index()];
        }
        let list = lists.tails.iter().rev().find(|(short, _)| *short <= behind);
        list.map_or(&[], |(_, list)| list)
    }

    /// Writes the registers of a loop at a tick.
    pub(super) fn put(&mut self, pass: &Pass, t: usize) {
        let behind = self.bound.ticks - 1 - t;
        if behind >= self.code.ahead {
            self.puts(&pass.puts, t);
        } else {
            for put in pass.puts.iter().filter(|put| put.short <= behind) {
                self.puts(std::slice::from_ref(put), t);
            }
        }
        if behind != self.code.ahead {
            return;
        }
        for (i, (register, slot)) in self.code.done.iter().enumerate() {
            if pass.puts.iter().any(|put| put.register == *register) {
                self.done[i] = self.set[*register];
                let own = self.code.register(*register);
                let data = self.code.slot(own);
                self.arena.copy(data.dtype, self.bound.base(*slot), self.bound.base(own), data.width);
            }
        }
    }

    pub(super) fn entries(&mut self, entries: &[Entry], t: usize) -> Result<(), Suspect> {
        for entry in entries {
            match entry {
                Entry::Scalars(range) => {
                    let steps = &self.bound.steps[range.clone()];
                    scalar::run(steps, self.arena, self.set, t)?;
                }
                Entry::Chain(range) => self.chain(range.clone(), t),
                Entry::Unit(unit) => self.unit_of(*unit, t)?,
            }
        }
        Ok(())
    }

    pub(super) fn chain(&mut self, links: Range<usize>, t: usize) {
        let links = &self.bound.links[links];
        rml_kernels::run(Chain { links, arena: &mut *self.arena, t });
    }

    /// Runs a unit at a tick, shared among threads if that pays off.
    pub(super) fn unit_of(&mut self, id: usize, t: usize) -> Result<(), Suspect> {
        match self.spread_unit(id, t, t + 1) {
            Some(ran) => ran,
            None => self.unit(&self.code.units[id], t),
        }
    }

    pub(super) fn unit(&mut self, unit: &Unit, t: usize) -> Result<(), Suspect> {
        if !unit.when.is_empty() && !self.holds(&unit.when, t) {
            return Ok(());
        }
        let code = self.code;
        code.instrs[unit.instrs.clone()].iter().try_for_each(|instr| self.instruction(instr, t, t + 1))
    }

    /// How many of the first ticks of a block a unit fills.
    pub(super) fn filled(&self, unit: &Unit) -> usize {
        if self.code.waits { self.reached.tapes[unit.tape] } else { self.bound.ticks - unit.short }
    }

    pub(super) fn over(&mut self, id: usize) -> Result<(), Suspect> {
        let code = self.code;
        let unit = &code.units[id];
        let part = self.part;
        let clipped = |(from, to): (usize, usize)| (from.max(part.0), to.min(part.1));
        for (from, to) in ranges(unit.at, self.filled(unit)).map(clipped).filter(|(from, to)| from < to) {
            if let Some(ran) = self.spread_unit(id, from, to) {
                ran?;
                if unit.once {
                    return Ok(());
                }
            } else if unit.once {
                return self.unit(unit, from);
            } else if let Some(steps) = &code.steps[id] {
                let steps = &self.bound.steps[steps.clone()];
                for t in from..to {
                    scalar::run(steps, self.arena, self.set, t)?;
                }
            } else {
                self.at_ticks(unit, from, to)?;
            }
        }
        Ok(())
    }

    /// Runs a unit over all ticks at some of them.
    pub(super) fn at_ticks(&mut self, unit: &Unit, from: usize, to: usize) -> Result<(), Suspect> {
        if unit.when.is_empty() && !unit.in_turn {
            let code = self.code;
            code.instrs[unit.instrs.clone()].iter().try_for_each(|instr| self.instruction(instr, from, to))
        } else {
            (from..to).try_for_each(|t| self.unit(unit, t))
        }
    }

    pub(super) fn puts(&mut self, puts: &[Put], t: usize) {
        self.puts_at(puts, t, Position::of(t, self.bound.ticks));
    }

    pub(super) fn puts_at(&mut self, puts: &[Put], t: usize, p: Position) {
        for put in puts.iter().filter(|put| put.at.contains(p)) {
            let unset = put.unless.iter().any(|e| self.truth(*e, t));
            if !unset && !self.holds(&put.when, t) {
                continue;
            }
            self.set[put.register] = !unset;
            let slot = self.code.register(put.register);
            if self.code.slot(slot).slides != 0 {
                self.moved[put.register] = true; // what is new is there
                continue;
            }
            self.changed(slot);
            let to = self.bound.base(slot);
            let data = self.code.slot(slot);
            let from = match (unset, self.code.starts[put.register]) {
                (true, None) => continue,
                (true, Some(start)) => self.bound.base(start),
                (false, _) => self.spot(put.value).get(t),
            };
            self.arena.copy(data.dtype, to, from, data.width);
        }
    }

    #[inline]
    pub(super) fn spot(&self, arg: Arg) -> Spot {
        self.bound.spots[arg]
    }

    pub(super) fn truth(&self, arg: Arg, t: usize) -> bool {
        self.arena.bools[self.spot(arg).get(t)]
    }

    pub(super) fn holds(&self, when: &[Guard], t: usize) -> bool {
        when.iter().all(|g| self.truth(g.cond, t) == g.value)
    }

    /// Runs an instruction at the ticks `from..to`.
    pub(super) fn instruction(&mut self, instr: &Instr, from: usize, to: usize) -> Result<(), Suspect> {
        match &instr.kernel {
            Kernel::Point(op, dtype, walk) => self.point(op, *dtype, walk, instr, from, to),
            Kernel::Copy(dtype, walk) => self.copy(*dtype, walk, instr, from, to),
            Kernel::Product(size, pack) | Kernel::Further(size, pack) => {
                self.product(*size, *pack, instr, from, to);
                Ok(())
            }
            Kernel::Sum { .. } => self.sum(instr, 0..instr.width),
            kernel if self.is_joined(instr) => self.tick(kernel, instr, from, to - from),
            kernel => (from..to).try_for_each(|t| self.tick(kernel, instr, t, 1)),
        }
    }

    /// Whether an instruction computes row by row and its rows at all ticks are contiguous, so that it can run at many
    /// ticks at once.
    fn is_joined(&self, instr: &Instr) -> bool {
        let lens = match &instr.kernel {
            Kernel::Reduce(_, _, around) | Kernel::Position(_, _, around) => {
                let len = around.outer * around.inner;
                [len, len * around.n]
            }
            Kernel::Softmax(..) => [instr.width; 2],
            Kernel::OneHot(classes) => [instr.width, instr.width / (*classes).max(1)],
            _ => return false,
        };
        [self.spot(instr.out).step, self.spot(instr.args[0]).step] == lens
    }

    /// The addresses of the result and the operands of a walk at tick `t`, and how far each moves per tick.
    #[inline]
    pub(super) fn walk(&self, instr: &Instr, t: usize) -> ([usize; 4], [usize; 4]) {
        let (mut base, mut step) = ([0; 4], [0; 4]);
        for (i, arg) in std::iter::once(&instr.out).chain(&instr.args).enumerate() {
            let spot = self.spot(*arg);
            (base[i], step[i]) = (spot.get(t), spot.step);
        }
        (base, step)
    }

    fn product(&mut self, [m, k, n]: [usize; 3], pack: Option<usize>, instr: &Instr, from: usize, to: usize) {
        let (base, tick) = self.walk(instr, from);
        // If the right matrix is the same at all ticks, the products of all ticks are one product.
        let add = matches!(instr.kernel, Kernel::Further(..));
        let joined = tick[..3] == [m * n, m * k, 0] && (!add || tick[3] == m * n);
        let (m, times) = if joined { (m * (to - from), 1) } else { (m, to - from) };
        for i in 0..times {
            let [o, a, b, start] = std::array::from_fn(|j| base[j].wrapping_add(i.wrapping_mul(tick[j])));
            if add {
                self.arena.nums.copy_within(start, m * n, o);
            }
            let split = Split::new(&mut self.arena.nums, o, m * n);
            let (a, b) = (split.row(a, m * k), split.row(b, k * n));
            let rows = m * if joined { 1 } else { self.bound.ticks };
            // If all rows of the left operand are equal, as in an initial state, one row is computed and copied.
            let same = m > 1 && k > 0 && n > 0 && self.code.data(instr.args[0]).1.uniform;
            if same && add && a[0] == N::default() {
                N::product_of_zeros((k, n), &a[..k], b, split.out);
                continue;
            }
            let m = if same && !add { 1 } else { m };
            let (a, (out, others)) = (&a[..m * k], split.out.split_at_mut(m * n));
            let packed = pack.and_then(|pack| self.packs.ready(pack, rows, (k, n), b));
            match packed {
                Some(packed) => N::product_packed(m, a, packed, add, out),
                None => N::product((m, k, n), a, b, [false; 2], add, out),
            }
            others.chunks_exact_mut(n.max(1)).for_each(|other| other.copy_from_slice(out));
        }
    }

    /// Evaluates an operator without a kernel, by the reference evaluation.
    pub(super) fn general(
        &mut self,
        op: &Op,
        kinds: &[(DType, Shape)],
        dtype: DType,
        instr: &Instr,
        t: usize,
    ) -> Result<(), Suspect> {
        let value = |(arg, (dtype, shape)): (&Arg, &(DType, Shape))| {
            self.arena.value(*dtype, shape, self.spot(*arg).get(t))
        };
        let args: Vec<Value> = instr.args.iter().zip(kinds).map(value).collect();
        let result = rml_ir::op::eval(op, &args.iter().collect::<Vec<_>>(), self.precision)?;
        let at = self.spot(instr.out).get(t);
        self.arena.set(dtype, at, &result);
        Ok(())
    }
}
