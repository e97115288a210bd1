//! The symbolic run: two programs compute the same if they make the same terms.
//!
//! A window runs on *terms* instead of numbers. An input is a term, what a register holds when the window begins is
//! one, and an operator makes a term of its operands. So are folds, which list their terms in order, and calls, whose
//! operands are tensors of terms. Terms are kept once each, so two elements with the same number have the same bits,
//! whatever the data are: signed zeros, NaN and the order of sums count, since nothing is simplified. What is compared
//! is all that can be seen of a window: the cells of each output, what each register holds afterwards, how many ticks
//! are done, the conditions by which a program finds its end, and the operators that may fail, in their order, with
//! their equations. Reading an element that is not there is a difference, too.
//!
//! **Conditions** (guards, tests of variants, registers that are set or not, ends of sequences) need truth values, not
//! terms. In the first run of a window, every condition is false. In each further run, the last condition that was
//! false becomes true, until no such condition is left or [`PATHS`] choices were tried; then as many more are drawn.
//! `not`, `and`, `or`, `where`, `any` and `all` have the value that follows from their operands. Both programs request
//! the same terms, so they get the same values. Some choices cannot happen, such as `x < 1` together with `x > 2`;
//! comparing them, too, is stricter than necessary. Such a window may read missing elements; if the first program does,
//! the choice is left out.
//!
//! **Windows** have 1 to 5 ticks. Which stages run at a tick depends only on its position (first, middle, last or
//! only), and accesses reach only the tick before or after, or an edge. So a window with two middle ticks contains
//! every pair of neighbours, and longer windows repeat them. Nests have no blocks of ticks; sums over ticks add term by
//! term. The start value of a register is an arbitrary term, so a single window is enough.

use std::collections::BTreeMap;
use std::fmt;

use rml_base::IndexVec;

use crate::evaluate::{Fault, Ran, Window, elements};
use crate::{Ends, Home, Lifetime, NestProgram, NestStage, Slot, Work};

mod domain;
mod terms;

use domain::Symbols;
use terms::{Form, Ports, Term};

/// How long windows are.
const TICKS: [usize; 5] = [1, 2, 3, 4, 5];

/// How many choices of conditions are tried for a window, and how many are drawn where there are more.
const PATHS: usize = 48;

/// The most elements that a window may compute; all choices together may compute twice as many.
const ELEMENTS: usize = 1 << 20;

/// How much was compared.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Extent {
    /// The number of windows: for each length, one for each choice of conditions.
    pub windows: usize,
    /// The number of choices without a result, because the first program reads a missing element.
    pub impossible: usize,
    /// The number of lengths left out because their windows have too many elements.
    pub large: usize,
}

/// A difference between two programs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// How many ticks the window has.
    pub ticks: usize,
    /// The element that differs, and its tick.
    pub place: String,
    /// The term of the first program.
    pub expected: String,
    /// The term of the second one.
    pub found: String,
    /// The conditions that were chosen, and their values.
    pub conditions: Vec<(String, bool)>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { ticks, place, expected, found, conditions } = self;
        let s = if *ticks == 1 { "" } else { "s" };
        write!(f, "in a window of {ticks} tick{s}, {place} is\n  {found}\nand not\n  {expected}")?;
        for (i, (condition, value)) in conditions.iter().enumerate() {
            write!(f, "{} {condition} is {value}", if i == 0 { "\nwhere" } else { " and" })?;
        }
        Ok(())
    }
}

/// Compares what two programs compute. Both verify, and have the same inputs, registers and outputs.
///
/// # Errors
/// The first difference.
pub fn check(expected: &NestProgram, found: &NestProgram) -> Result<Extent, Box<Mismatch>> {
    bounded(expected, found, ELEMENTS)
}

/// The same, for windows with at most `most` elements.
pub(crate) fn bounded(
    expected: &NestProgram,
    found: &NestProgram,
    most: usize,
) -> Result<Extent, Box<Mismatch>> {
    if let Some((wanted, other)) = ports(expected).iter().zip(&ports(found)).find(|(a, b)| a != b) {
        let (expected, found) = (wanted.clone(), other.clone());
        let place = "an input, a register or an output".to_owned();
        return Err(Box::new(Mismatch { ticks: 0, place, expected, found, conditions: Vec::new() }));
    }
    let mut checker = Checker::new(expected, found);
    for ticks in TICKS {
        let cost = (size(expected) + size(found)).saturating_mul(ticks + expected.ahead as usize);
        if cost > most {
            checker.extent.large += 1;
        } else {
            let paths = (2 * most / cost.max(1)).clamp(1, PATHS);
            checker.length(ticks, paths)?;
        }
    }
    Ok(checker.extent)
}

/// The names and types of inputs, registers and outputs.
fn ports(program: &NestProgram) -> Vec<String> {
    let head = format!("{:?} {:?}", program.precision, (program.waits, program.ahead));
    let ends = match &program.ends {
        Ends::Nothing => "no end".to_owned(),
        Ends::Given(ends) => {
            let name = |slot: Slot| program.inputs().position(|input| input == slot);
            format!("{:?}", ends.iter().map(|end| (name(end.cond.slot), end.value)).collect::<Vec<_>>())
        }
        Ends::Found { conds, .. } => {
            format!("until {:?}", conds.iter().map(|cond| cond.value).collect::<Vec<_>>())
        }
    };
    let slots = program.inputs().chain(program.registers());
    let slots = slots.map(|slot| format!("{} {:?}", program.slots[slot].ty, program.slots[slot].home));
    let outputs = program.outputs.iter().map(|output| format!("{}: {}", output.name, output.ty));
    [head, ends].into_iter().chain(slots).chain(outputs).chain(["the end".to_owned()]).collect()
}

/// About how many elements are computed or read at a tick.
fn size(program: &NestProgram) -> usize {
    let points = |dims: &mut dyn Iterator<Item = usize>| dims.fold(1_usize, usize::saturating_mul);
    let stages = program.nodes.iter().flat_map(|node| &node.stages);
    let of = |stage: &NestStage| match &stage.work {
        Work::Nest(nest) => {
            let spans = nest.spans();
            let value = |span: &Vec<crate::Dim>| points(&mut span.iter().map(|dim| nest.dims[*dim]));
            spans.iter().map(value).fold(0, usize::saturating_add)
        }
        Work::Call(call) => {
            let operands = call.operands.iter().map(|o| points(&mut o.dims.iter().copied()));
            operands.fold(program.slots[call.out].ty.shape.len(), usize::saturating_add)
        }
    };
    stages.map(of).fold(program.inputs().map(|slot| program.slots[slot].ty.shape.len()).sum(), |a, b| {
        usize::saturating_add(a, b)
    })
}

struct Checker<'a> {
    expected: &'a NestProgram,
    found: &'a NestProgram,
    symbols: Symbols,
    extent: Extent,
}

/// What a window of terms gives, and what may fail in it.
type Outcome = (Result<Ran<Term>, Fault>, Vec<(Term, rml_base::Span)>);

impl<'a> Checker<'a> {
    fn new(expected: &'a NestProgram, found: &'a NestProgram) -> Self {
        Checker { expected, found, symbols: Symbols::default(), extent: Extent::default() }
    }

    /// Compares windows of `ticks` ticks, for some choices of conditions.
    fn length(&mut self, ticks: usize, paths: usize) -> Result<(), Box<Mismatch>> {
        let mut first = Vec::new();
        for _ in 0..paths {
            let asked = self.window(ticks, first, None)?;
            // The next choice: the last condition that was false becomes true.
            let Some(last) = asked.iter().rposition(|value| !value) else { return Ok(()) };
            first = [&asked[..last], &[true]].concat();
        }
        (0..paths as u64).try_for_each(|seed| self.window(ticks, Vec::new(), Some(seed)).map(drop))
    }

    /// Compares one window; returns the values of all conditions that it requested.
    fn window(
        &mut self,
        ticks: usize,
        first: Vec<bool>,
        seed: Option<u64>,
    ) -> Result<Vec<bool>, Box<Mismatch>> {
        self.symbols.begin(self.given(ticks), first, seed);
        let wanted = self.run(self.expected, ticks);
        let asked = |symbols: &Symbols| symbols.asked().into_iter().map(|(_, value)| value).collect();
        if wanted.0.is_err() {
            self.extent.impossible += 1;
            return Ok(asked(&self.symbols));
        }
        self.extent.windows += 1;
        let found = self.run(self.found, ticks);
        self.compare(ticks, wanted, found).map_err(|(place, expected, found)| {
            let ports = self.names();
            let terms = self.symbols.terms.borrow();
            let text = |(term, value): (Term, bool)| (terms.text(term, &ports), value);
            let conditions = self.symbols.asked().into_iter().map(text).collect();
            Box::new(Mismatch { ticks, place, expected, found, conditions })
        })?;
        Ok(asked(&self.symbols))
    }

    /// The inputs that end a window do so at its last tick.
    fn given(&self, ticks: usize) -> BTreeMap<Term, bool> {
        let Ends::Given(ends) = &self.expected.ends else { return BTreeMap::new() };
        let mut given = BTreeMap::new();
        for (n, end) in ends.iter().enumerate() {
            let input = self.expected.inputs().position(|slot| slot == end.cond.slot).unwrap_or_default();
            for tick in 0..ticks {
                let ends = tick + 1 == ticks && n == ticks % ends.len();
                let term = self.symbols.of(Form::Input { input, tick, element: 0 });
                given.insert(term, ends == end.value);
            }
        }
        given
    }

    fn run(&self, program: &NestProgram, ticks: usize) -> Outcome {
        let cycles = ticks + program.ahead as usize;
        let of = |input: usize, tick: usize, width: usize| {
            (0..width).map(|element| self.symbols.of(Form::Input { input, tick, element })).collect()
        };
        let inputs = program.inputs().enumerate().map(|(input, slot)| {
            let width = program.slots[slot].ty.shape.len();
            (0..cycles).map(|tick| of(input, tick, width)).collect()
        });
        let inputs = inputs.collect();
        let kept = self.kept(program);
        let ran = Window::new(program, &self.symbols, cycles, inputs, kept).finish();
        (ran, self.symbols.failing())
    }

    /// What constants and registers hold when a window begins.
    fn kept(&self, program: &NestProgram) -> IndexVec<Slot, Option<Vec<Term>>> {
        let tested = tested(self.expected);
        let mut registers = 0..;
        let held = |data: &crate::SlotData| {
            let constants = |values: Vec<rml_ir::Value>| {
                values.iter().map(|x| self.symbols.terms.borrow_mut().constant(x)).collect()
            };
            match &data.home {
                Home::Const(value) => Some(constants(elements(value))),
                Home::Input | Home::Tick { .. } => None,
                Home::Register { kind, known } => {
                    let register = registers.next()?;
                    let is_set = self.symbols.of(Form::IsSet(register));
                    if matches!(kind, Lifetime::Local)
                        || tested.contains(&register)
                            && !crate::evaluate::Domain::truth(&self.symbols, &is_set)
                    {
                        return None;
                    }
                    let width = data.ty.shape.len();
                    let of = |element| self.symbols.of(Form::Register { register, element });
                    Some(match known {
                        Some(known) => constants(vec![rml_ir::Value::Bool(*known); width]),
                        None => (0..width).map(of).collect(),
                    })
                }
            }
        };
        program.slots.iter().map(held).collect()
    }

    fn names(&self) -> Ports {
        let name = |slot: Slot| std::sync::Arc::clone(&self.expected.slots[slot].name);
        Ports {
            inputs: self.expected.inputs().map(name).collect(),
            registers: self.expected.registers().map(name).collect(),
            precision: self.expected.precision,
        }
    }

    /// Where two windows differ: the place, and the terms there.
    fn compare(
        &self,
        ticks: usize,
        (wanted, fails): Outcome,
        (found, failing): Outcome,
    ) -> Result<(), (String, String, String)> {
        let Ok(wanted) = wanted else { return Ok(()) };
        let found = found.map_err(|fault| {
            let what = match fault {
                Fault::Missing { slot } => format!("{}, which is not there", self.found.slots[slot].name),
                Fault::Operator { .. } => "a failure".to_owned(),
            };
            ("what is read".to_owned(), "there".to_owned(), what)
        })?;
        let visible = self.visible(&wanted, &found, ticks).or_else(|| self.failures(&fails, &failing));
        match visible {
            None => Ok(()),
            Some(visible) => Err(self.first(&wanted, &found).unwrap_or(visible)),
        }
    }

    /// The first difference that is visible from outside.
    fn visible(&self, a: &Ran<Term>, b: &Ran<Term>, ticks: usize) -> Option<(String, String, String)> {
        let differ = |place: String, a: &[Term], b: &[Term]| {
            let at = a.iter().zip(b).position(|(a, b)| a != b)?;
            Some(self.texts(&format!("element {at} of {place}"), a[at], b[at]))
        };
        let present = |place: String, a: bool| {
            let text = |is| if is { "there" } else { "absent" }.to_owned();
            Some((place, text(a), text(!a)))
        };
        if a.done != b.done {
            let place = "the number of ticks that are done".to_owned();
            return Some((place, a.done.to_string(), b.done.to_string()));
        }
        for (output, (a, b)) in self.expected.outputs.iter().zip(a.outputs.iter().zip(&b.outputs)) {
            for (t, (a, b)) in a.iter().zip(b).enumerate() {
                let place = format!("the output `{}` at tick {t}", output.name);
                let found = match (a, b) {
                    (Some(a), Some(b)) => differ(place, a, b),
                    (None, None) => None,
                    (a, _) => present(place, a.is_some()),
                };
                if found.is_some() {
                    return found;
                }
            }
        }
        for (slot, other) in self.expected.registers().zip(self.found.registers()) {
            let data = &self.expected.slots[slot];
            if matches!(data.home, Home::Register { kind: Lifetime::Local, .. }) {
                continue;
            }
            let place = format!("the register `{}` after the window", data.name);
            let found = match (&a.kept[slot], &b.kept[other]) {
                (Some(a), Some(b)) => differ(place, a, b),
                (None, None) => None,
                (a, _) => present(place, a.is_some()),
            };
            if found.is_some() {
                return found;
            }
        }
        let ends = |t: usize| {
            let place = format!("the conditions that end the window at tick {t}");
            differ(place, a.ends.get(t)?, b.ends.get(t)?)
        };
        (0..ticks).find_map(ends)
    }

    /// The first difference between the operators that may fail.
    fn failures(
        &self,
        a: &[(Term, rml_base::Span)],
        b: &[(Term, rml_base::Span)],
    ) -> Option<(String, String, String)> {
        let at = (0..a.len().max(b.len())).find(|i| a.get(*i) != b.get(*i))?;
        let ports = self.names();
        let text = |of: Option<&(Term, rml_base::Span)>| {
            of.map_or("nothing more".to_owned(), |(term, _)| self.symbols.terms.borrow().text(*term, &ports))
        };
        Some((format!("operator {at} of those that may fail"), text(a.get(at)), text(b.get(at))))
    }

    /// The first difference between the slots that both programs have, in the order in which they are filled.
    fn first(&self, a: &Ran<Term>, b: &Ran<Term>) -> Option<(String, String, String)> {
        let slots = self.expected.nodes.iter().flat_map(|node| &node.stages).flat_map(NestStage::fills);
        for slot in slots {
            let name = &self.expected.slots[slot].name;
            let Some((other, _)) = self.found.slots.iter_enumerated().find(|(_, data)| data.name == *name)
            else {
                continue;
            };
            for (t, (a, b)) in a.cells[slot].iter().zip(&b.cells[other]).enumerate() {
                for (i, (a, b)) in a.iter().zip(b).enumerate() {
                    if let (Some(a), Some(b)) = (a, b)
                        && a != b
                    {
                        return Some(self.texts(
                            &format!("element {i} of the slot `{name}` at tick {t}"),
                            *a,
                            *b,
                        ));
                    }
                }
            }
        }
        None
    }

    /// The innermost terms in which two terms differ, as text.
    fn texts(&self, place: &str, a: Term, b: Term) -> (String, String, String) {
        let terms = self.symbols.terms.borrow();
        let (a, b) = terms.difference(a, b);
        let ports = self.names();
        (place.to_owned(), terms.text(a, &ports), terms.text(b, &ports))
    }
}

/// The numbers of the registers that some test checks for being set.
fn tested(program: &NestProgram) -> std::collections::BTreeSet<usize> {
    let stages = program.nodes.iter().flat_map(|node| &node.stages);
    let sources = stages.flat_map(NestStage::sources);
    let writes = program.nodes.iter().flat_map(|node| &node.writes).chain(&program.commits);
    let outputs = program.outputs.iter().flat_map(|output| &output.cases).map(|(_, _, source)| source);
    let variants = sources.chain(writes.map(|write| &write.value)).chain(outputs).flatten();
    let tests = variants.flat_map(|variant| &variant.any);
    let number = |slot: &Slot| program.registers().position(|register| register == *slot);
    tests.filter_map(|test| if let crate::Test::IsSet(slot) = test { number(slot) } else { None }).collect()
}
