//! Every node of the examples, by plan and by simulator, over windows of random data: the same bits.

use std::path::Path;

use rml::{Options as Compile, Source};
use rml_ir::flat::Flat;
use rml_ir::{DType, Data, Type, Value};
use rml_sim::InputCell;
use rml_testkit::Lcg;
use rml_testkit::plans::{Planned, compare};

/// What has no plan, and why.
const DECLINED: &[&str] =
    &["future pcounter: `o` needs all later cycles: nothing cuts its recurrence through `post`"];

fn value(ty: &Type, r: &mut Lcg) -> Value {
    let n = ty.shape.len();
    let data = match ty.dtype {
        DType::Bool => Data::Bool((0..n).map(|_| r.chance(0.3)).collect()),
        DType::Int => Data::Int((0..n).map(|_| r.below(2) as i64).collect()),
        DType::Num => Data::F32((0..n).map(|_| r.range(-1.0, 1.0) as f32).collect()),
    };
    Value::new(ty.shape.clone(), data)
}

fn rows(flat: &Flat, cycles: usize, r: &mut Lcg) -> Vec<Vec<InputCell>> {
    let mut all = Vec::new();
    for _ in 0..cycles {
        let mut row: Vec<InputCell> =
            flat.inputs.iter().map(|i| InputCell::Given(value(&flat.vars[i.var].ty, r))).collect();
        for i in 0..row.len() {
            let Some((cond, flag)) = flat.inputs[i].clock else { continue };
            let at = flat.inputs.iter().position(|c| c.var == cond).unwrap();
            let holds = matches!(&row[at], InputCell::Given(v) if v.as_bool() == Some(flag));
            if !holds {
                row[i] = InputCell::Absent;
            }
        }
        all.push(row);
    }
    all
}

#[test]
fn plans_of_examples_mean_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut declined = Vec::new();
    let mut equal = 0;
    for folder in [folder.clone(), folder.join("paper")] {
        for file in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
            if file.extension().is_none_or(|e| e != "rml") {
                continue;
            }
            for analysis in rml::analyse_all(&Source::file(&file), &Compile::default()) {
                let node = analysis.node().to_owned();
                let defaults = analysis.assumed.iter().cloned().collect();
                let options = Compile { node: Some(node.clone()), defaults, ..Compile::default() };
                let Ok(program) = rml::compile(&Source::file(&file), &options) else { continue };
                let name = format!("{} {node}", file.file_stem().unwrap().to_string_lossy());
                let mut r = Lcg(7);
                let inputs = rows(program.flat(), 40, &mut r);
                match compare(program.flat(), &inputs, &mut r) {
                    Ok(Planned::Equal | Planned::Waited(..)) => equal += 1,
                    Ok(Planned::Declined(why)) => declined.push(format!("{name}: {why}")),
                    // Inputs on clocks that are not declared.
                    Ok(Planned::Failed | Planned::Stopped) => {}
                    Err(why) => panic!("{name}: {why}"),
                }
            }
        }
    }
    declined.sort();
    assert_eq!(declined, DECLINED);
    assert!(equal >= 40, "{equal} nodes were compared");
}
