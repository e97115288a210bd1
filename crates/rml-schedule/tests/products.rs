//! Recurrences whose products are over concatenations: what does not come from the loop leaves it, with the same bits,
//! and nothing is computed that nobody reads.

use std::path::Path;
use std::sync::Arc;

use rml::{Options, Source};
use rml_backend_cpu::plan::Machine;
use rml_ir::flat::Drawn;
use rml_ir::{Data, Type, Value};
use rml_plan::{Atom, Plan, Region, Rule};
use rml_schedule::{Fed, schedule};
use rml_sim::InputCell;
use rml_testkit::plans::{Planned, compare};
use rml_testkit::{Lcg, joined};

const NETWORKS: u64 = 60;
const CYCLES: usize = 24;

fn compiled(text: &str, node: &str) -> Arc<Drawn> {
    let options = Options { node: Some(node.to_owned()), ..Options::default() };
    let program = rml::compile(&Source::text("main", text), &options);
    Arc::clone(program.unwrap_or_else(|e| panic!("{e}\n{text}")).flat())
}

/// Windows of random length.
fn inputs(flat: &Drawn, r: &mut Lcg) -> Vec<Vec<Value>> {
    let value = |ty: &Type, r: &mut Lcg| {
        let x = (0..ty.shape.len()).map(|_| r.range(-1.0, 1.0) as f32).collect();
        Value::new(ty.shape.clone(), Data::F32(x))
    };
    let cycle = |n: usize, r: &mut Lcg| {
        let end = Value::Bool(r.chance(0.3) || n + 1 == CYCLES);
        let ty = |i: usize| &flat.vars[flat.inputs[i].var].ty;
        vec![value(ty(0), r), value(ty(1), r), end]
    };
    (0..CYCLES).map(|n| cycle(n, r)).collect()
}

/// How many products continue from one that is computed before the loop.
fn splits(plan: &Plan) -> usize {
    let cases = plan.tapes.iter().flat_map(|tape| &tape.cases);
    cases.filter(|case| matches!(case.rule, Rule::Product { .. })).count()
}

#[test]
fn split_products_mean_the_same() {
    let mut split = 0;
    for seed in 0..NETWORKS {
        let mut r = Lcg(seed);
        let text = joined::network(&mut r);
        for node in ["net", "main"] {
            let flat = compiled(&text, node);
            let rows = inputs(&flat, &mut r);
            let given: Vec<Vec<InputCell>> =
                rows.into_iter().map(|row| row.into_iter().map(InputCell::Given).collect()).collect();
            match compare(&flat, &given, &mut r) {
                Ok(Planned::Equal) => {}
                Ok(other) => panic!("seed {seed}: {other:?}\n{text}"),
                Err(why) => panic!("seed {seed}: {why}\n{text}"),
            }
            split += splits(&schedule(&flat, Fed::Windows).expect("it has a plan"));
        }
    }
    assert!(split > 100, "{split} products are split");
}

/// Everything that a plan puts out, in blocks of those lengths.
fn outputs(plan: Plan, rows: &[Vec<Value>], blocks: &[usize]) -> Vec<Vec<u32>> {
    let mut machine = Machine::<f32>::new(Arc::new(plan)).unwrap();
    let (mut from, mut all) = (0, Vec::new());
    for ticks in blocks {
        for (t, row) in rows[from..from + ticks].iter().enumerate() {
            row.iter().enumerate().for_each(|(i, value)| machine.set_input(i, *ticks, t, value));
        }
        machine.window(*ticks).unwrap();
        all.extend((0..*ticks).map(|t| match machine.output(0, t).map(|value| value.to_data()) {
            Some(Data::F32(x)) => x.iter().map(|x| x.to_bits()).collect(),
            _ => Vec::new(),
        }));
        from += ticks;
    }
    all
}

#[test]
fn streams_have_the_bits_of_windows() {
    for seed in 0..NETWORKS {
        let mut r = Lcg(seed);
        let flat = compiled(&joined::network(&mut r), "net");
        let rows = inputs(&flat, &mut r);
        let mut lengths = vec![0];
        for row in &rows {
            *lengths.last_mut().unwrap() += 1;
            if row[2].as_bool() == Some(true) {
                lengths.push(0);
            }
        }
        lengths.pop();
        let (windows, stream) =
            (schedule(&flat, Fed::Windows).unwrap(), schedule(&flat, Fed::Blocks).unwrap());
        assert_eq!(splits(&stream), 0, "a step has nothing to gain");
        assert_eq!(outputs(windows, &rows, &lengths), outputs(stream, &rows, &[1; CYCLES]), "seed {seed}");
    }
}

const CELL: &str = include_str!("products/cell.rml");

#[test]
fn the_plan_of_a_cell_over_a_concatenation() {
    let plan = schedule(&compiled(CELL, "main"), Fed::Windows).unwrap();
    let text = rml_plan::print(&plan);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/products/cell.plan");
    if std::env::var("RML_BLESS").is_ok() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(path).unwrap());
    // Nothing that reads the concatenation stands in a loop, and no loop computes more columns than the state has.
    for region in &plan.regions {
        let Region::Loop { parts, .. } = region else { continue };
        for case in parts.iter().flat_map(|part| &plan.tapes[part.tape].cases) {
            let operands = case.rule.operands();
            let wide = |atom: &Atom| plan.ty(*atom).shape.dims().contains(&7);
            assert!(!operands.iter().any(wide), "{text}");
        }
    }
}
