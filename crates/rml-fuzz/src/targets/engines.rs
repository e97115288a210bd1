//! Random flat programs on every engine: the oracle, the simulator in all its modes, and tensor functions.

use std::sync::Arc;

use rml_base::IndexVec;
use rml_ir::flat::{ConstKind, Constant, Drawn, Equation, Flat, Rhs, Var, parse, print, verify_drawn};
use rml_ir::{Precision, Value};
use rml_sim::InputCell;
use rml_testkit::Lcg;
use rml_testkit::flat::{column_texts, columns, random, run};

use super::Target;
use crate::{Corpus, FuzzInput};

pub(super) const TARGET: Target = Target {
    name: "engines",
    about: "random flat programs: the simulator, with functions and without, gives every cell of the fixed point",
    chunk: 500,
    generate,
    check,
    smaller,
};

pub(super) fn generate(r: &mut Lcg, _: &Corpus) -> FuzzInput {
    let wild = r.chance(0.4);
    let size = if wild { 14 } else { 28 };
    let numbers = 20 + r.below(220);
    let (flat, _) = random::program(&r.take(numbers), size, wild);
    let cycles = r.below(12);
    let inputs = random::trace(&flat, &r.take(140), cycles, wild);
    case(&flat, &inputs, r.chance(0.5))
}

/// A program with a trace.
pub(super) fn case(flat: &Flat, inputs: &[Vec<InputCell>], closed: bool) -> FuzzInput {
    let mut settings = vec![("closed", closed.to_string()), ("cycles", inputs.len().to_string())];
    settings.extend(column_texts(inputs).into_iter().map(|column| ("input", column)));
    let lines: String = settings.iter().map(|(key, value)| format!("# {key}: {value}\n")).collect();
    FuzzInput::text("flat", lines + &print(flat))
}

/// The program, its trace, and whether the trace is closed; `None` if the file does not contain these.
pub(super) fn read(case: &FuzzInput) -> Option<(Arc<Drawn>, Vec<Vec<InputCell>>, bool)> {
    let text = case.as_text();
    let start = text.find("flat ")?;
    let (head, program) = text.split_at(start);
    let of = |key: &str| {
        let lines = head.lines().filter_map(|l| l.strip_prefix("# ")?.split_once(": "));
        lines.filter(|(k, _)| *k == key).map(|(_, v)| v).collect::<Vec<_>>()
    };
    let flat = Drawn::new(parse(program).ok()?).ok()?;
    let (cells, cycles) = (of("input"), of("cycles").first()?.parse().ok()?);
    let mut inputs = columns(&cells);
    if cells.is_empty() {
        inputs = vec![Vec::new(); cycles];
    }
    let fits = |row: &Vec<InputCell>| row.len() == flat.inputs.len();
    (inputs.len() == cycles && inputs.iter().all(fits))
        .then(|| (Arc::new(flat), inputs, of("closed") == ["true"]))
}

fn check(case: &FuzzInput) -> Result<(), String> {
    let Some((flat, inputs, closed)) = read(case) else { return Ok(()) };
    run(&flat, &inputs, closed);
    Ok(())
}

/// Smaller cases with fewer cycles, fewer outputs, or constants instead of equations.
pub(super) fn smaller(case: &FuzzInput) -> Vec<FuzzInput> {
    let Some((flat, inputs, closed)) = read(case) else { return Vec::new() };
    let mut all: Vec<(Flat, Vec<Vec<InputCell>>)> = Vec::new();
    for at in (0..inputs.len()).rev() {
        let mut fewer = inputs.clone();
        fewer.remove(at);
        all.push((Flat::clone(&flat), fewer));
    }
    for at in 0..flat.outputs.len() {
        let mut fewer = Flat::clone(&flat);
        fewer.outputs.remove(at);
        all.push((fewer, inputs.clone()));
    }
    for eq in flat.equations.ids().filter(|eq| !matches!(flat.equations[*eq].rhs, Rhs::Const(_))) {
        let mut simpler = Flat::clone(&flat);
        let ty = flat.vars[flat.equations[eq].lhs].ty.clone();
        let kind = ConstKind::Value(Value::filled(&ty, 0.0, Precision::F64));
        let constant = simpler.consts.push(Constant { kind, ty, text: None });
        simpler.equations[eq].rhs = Rhs::Const(constant);
        simpler.states.retain(|_, state| state.equation != eq);
        all.push((simpler, inputs.clone()));
    }
    all.push((without_unread(&flat), inputs.clone()));
    let fits = |(flat, _): &(Flat, _)| verify_drawn(flat).is_ok();
    let shorter = |made: &FuzzInput| made.bytes.len() < case.bytes.len();
    all.into_iter()
        .filter(fits)
        .map(|(flat, inputs)| self::case(&flat, &inputs, closed))
        .filter(shorter)
        .collect()
}

/// The program without unused equations.
fn without_unread(flat: &Flat) -> Flat {
    let mut read: Vec<Var> = flat.outputs.clone();
    read.extend(flat.windows.iter().map(|w| w.end));
    read.extend(flat.claims.iter().flat_map(|c| [c.var, c.cond]));
    flat.equations.iter().for_each(|eq| eq.rhs.for_each_operand(|v| read.push(v)));
    let keep = |eq: &Equation| read.contains(&eq.lhs);
    let mut made = Flat::clone(flat);
    let kept: Vec<_> = flat.equations.ids().filter(|eq| keep(&flat.equations[*eq])).collect();
    made.equations = kept.iter().map(|eq| flat.equations[*eq].clone()).collect::<IndexVec<_, _>>();
    made.states.clear();
    for (key, state) in &flat.states {
        if let Some(at) = kept.iter().position(|eq| *eq == state.equation) {
            let equation = made.equations.ids().nth(at).unwrap_or(state.equation);
            made.states.insert(Arc::clone(key), rml_ir::flat::State { equation, ..*state });
        }
    }
    made
}
