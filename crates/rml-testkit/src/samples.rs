//! Plans whose results follow from their construction: operators with separate inputs. Also columns for the inputs of
//! programs.

use std::sync::Arc;

use rml_base::{FileId, IndexVec, Span};
use rml_ir::flat::Drawn;
use rml_ir::op::{Op, result_type};
use rml_ir::{DType, Data, Precision, Type, Value};
use rml_plan::reference::Cells;
use rml_plan::{Atom, Case, Ends, Output, Part, Plan, Positions, Region, Rule, Tape, TapeData, Tick};

use crate::Lcg;

fn tape(name: &str, ty: &Type, rule: Rule) -> TapeData {
    let cases = vec![Case { at: Positions::ALL, when: Vec::new(), rule }];
    let span = Span::new(FileId(0), 0, 0);
    TapeData { name: Some(name.into()), ty: ty.clone(), span, asserts: None, ahead: 0, cases }
}

/// A plan of operators with separate inputs and the results `y0`, `y1` and so on.
///
/// # Panics
/// An operator does not accept its types.
pub fn operators(all: &[(Op, Vec<Type>)], precision: Precision) -> Plan {
    let mut tapes: IndexVec<Tape, TapeData> = IndexVec::new();
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for (op, types) in all {
        let mut args = Vec::new();
        for ty in types {
            let name = format!("x{}", inputs.len());
            let x = tapes.push(tape(&name, ty, Rule::Input(inputs.len() as u32)));
            inputs.push((Arc::from(name), ty.clone()));
            args.push(Atom::Tape(x, Tick::Now));
        }
        let of = result_type(op, types).expect("a sample has a type");
        let name = format!("y{}", outputs.len());
        let y = tapes.push(tape(&name, &of, Rule::Apply { op: op.clone(), args }));
        let cases = vec![(Positions::ALL, Vec::new(), Atom::Tape(y, Tick::Now))];
        outputs.push(Output { name: name.into(), ty: of, cases });
    }
    let parts = tapes.ids().map(|tape| Part { tape, at: Positions::ALL }).collect();
    Plan {
        name: "main".into(),
        precision,
        ends: Ends::Nothing,
        waits: false,
        inputs,
        consts: IndexVec::new(),
        tapes,
        registers: IndexVec::new(),
        regions: vec![Region::Over(parts)],
        commits: Vec::new(),
        outputs,
    }
}

fn value(ty: &Type, r: &mut Lcg) -> Value {
    let n = ty.shape.len();
    let data = match ty.dtype {
        DType::Bool => Data::Bool((0..n).map(|_| r.chance(0.3)).collect()),
        DType::Int => Data::Int((0..n).map(|_| i64::from(r.chance(0.5))).collect()),
        DType::Num => Data::F64((0..n).map(|_| r.range(-1.0, 1.0)).collect()),
    };
    Value::new(ty.shape.clone(), data)
}

/// Random inputs in the precision of the program, present in the cycles of their clocks.
pub fn columns(flat: &Drawn, cycles: usize, r: &mut Lcg) -> Vec<Cells> {
    let mut all: Vec<Cells> = Vec::new();
    for input in &flat.inputs {
        let clock = input
            .clock
            .and_then(|(cond, flag)| Some((flat.inputs.iter().position(|c| c.var == cond)?, flag)));
        let is_there = |t: usize| {
            clock.is_none_or(|(cond, flag)| all[cond][t].as_ref().and_then(Value::as_bool) == Some(flag))
        };
        let ty = &flat.vars[input.var].ty;
        let cell = |t: usize| is_there(t).then(|| value(ty, r).to_precision(flat.precision));
        all.push((0..cycles).map(cell).collect());
    }
    all
}
