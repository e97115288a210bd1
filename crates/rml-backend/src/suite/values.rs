//! Every operator over many shapes and element types, on random operands.

use rml_ir::{Precision, Value};

use super::Check;
use super::dice::Dice;
use super::group::{Ask, Group, has_nums};
use super::instances;
use super::operands::operands;
use super::report::Report;
use crate::contract::Backend;

/// The number of calls of each function.
const CALLS: usize = 3;

/// One check for each operator.
pub(super) fn checks() -> Vec<Check> {
    instances::names().into_iter().map(|name| Check::new("values", name, move |b| run(b, name))).collect()
}

fn run(backend: &dyn Backend, name: &'static str) -> Report {
    let mut report = Report::default();
    for precision in [Precision::F32, Precision::F64] {
        let of_nums = |i: &instances::Instance| precision == Precision::F32 || has_nums(i);
        let all: Vec<_> = instances::all(name).into_iter().filter(of_nums).collect();
        let small: Vec<_> = instances::small(name).into_iter().filter(of_nums).collect();
        if all.is_empty() {
            continue;
        }
        let mut dice = Dice::new(&format!("values {name} {precision}"));
        inputs(backend, Group::new(name, precision, all), precision, &mut dice, &mut report);
        let args: Vec<Vec<Value>> =
            small.iter().map(|(op, types)| operands(op, types, precision, &mut dice)).collect();
        let constants = Group::constant(&format!("constant {name}"), precision, small, &args);
        match constants.prepare(backend, Ask::WithReference) {
            Ok(ready) => ready.check(&args, &mut report),
            Err(refused) => report.record(Err(refused)),
        }
    }
    report
}

fn inputs(backend: &dyn Backend, group: Group, precision: Precision, dice: &mut Dice, report: &mut Report) {
    let ready = match group.prepare(backend, Ask::Alone) {
        Ok(ready) => ready,
        Err(refused) => return report.record(Err(refused)),
    };
    for _ in 0..CALLS {
        let args: Vec<Vec<Value>> =
            group.instances().iter().map(|(op, types)| operands(op, types, precision, dice)).collect();
        ready.check(&args, report);
    }
}
