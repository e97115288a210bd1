//! Random numbers: the same bits on every backend.

use rml_ir::op::Op;
use rml_ir::{Precision, Shape, Value};

use super::Check;
use super::dice::Dice;
use super::group::{Ask, Group};
use super::instances;
use super::report::Report;
use crate::contract::Backend;

const KEYS: [i64; 8] = [0, 1, -1, i64::MIN, i64::MAX, 0x0123_4567_89ab_cdef, 1 << 32, -(1 << 31)];
const TICKS: [i64; 6] = [0, 1, 2, 1 << 32, i64::MAX, -1];

pub(super) fn checks() -> Vec<Check> {
    let both = |precision: Precision| {
        [
            Check::new("random", &format!("uniform_{precision}"), move |b| {
                run(b, precision, |shape| Op::RandomUniform { shape })
            }),
            Check::new("random", &format!("normal_{precision}"), move |b| {
                run(b, precision, |shape| Op::RandomNormal { shape })
            }),
        ]
    };
    [Precision::F32, Precision::F64].into_iter().flat_map(both).collect()
}

fn run(backend: &dyn Backend, precision: Precision, op: impl Fn(Shape) -> Op) -> Report {
    let mut report = Report::default();
    let name = op(Shape::scalar()).name();
    let group = Group::new(&format!("draws of {name}"), precision, instances::all(name));
    let ready = match group.prepare(backend, Ask::WithReference) {
        Ok(ready) => ready,
        Err(refused) => {
            report.record(Err(refused));
            return report;
        }
    };
    let mut dice = Dice::new(name);
    let drawn: Vec<i64> = (0..8).map(|_| dice.bits().cast_signed()).collect();
    for key in KEYS.into_iter().chain(drawn) {
        for tick in TICKS {
            let args = |(_, types): &instances::Instance| {
                [key, tick].into_iter().take(types.len()).map(Value::Int).collect()
            };
            ready.check(&group.instances().iter().map(args).collect::<Vec<Vec<Value>>>(), &mut report);
        }
    }
    report
}
