//! File tests: each `*.txt` beside this file is a plan, and after each line `--- STAGE` the stage of that name that is
//! made of it. `RML_BLESS=1` writes these again. And damaged stages, each refused by its invariant.

use std::path::PathBuf;

use rml_plan::Plan;

use super::super::code::{Guard, Kernel};
use super::super::listed::Do;
use super::super::verify::{verify, verify_lists};
use super::text::Text;
use super::*;

/// A stage of a plan, as text.
fn text(plan: &Plan, stage: &str) -> String {
    match stage {
        "lowered" => Text::new(plan, &lower(plan).0).code(),
        "placed" => {
            let Placed { code, placement } = lower(plan).place();
            let text = Text::new(plan, &code);
            text.code() + &text.places(&placement)
        }
        "listed" => {
            let (listed, _) = compiled(plan);
            Text::new(plan, &listed).lists(&listed)
        }
        other => panic!("no stage is called `{other}`"),
    }
}

fn parsed(text: &str) -> Plan {
    let plan = rml_plan::parse(text).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(rml_plan::verify(&plan), Ok(()));
    plan
}

#[test]
fn each_stage_is_made_from_the_one_before() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/plan/stages");
    let files = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path());
    let mut paths: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "txt")).collect();
    paths.sort();
    assert!(paths.len() >= 5, "{paths:?}");
    for path in paths {
        let whole = std::fs::read_to_string(&path).expect("a text");
        let mut parts = whole.split("--- ");
        let first = parts.next().unwrap_or_default();
        let plan = parsed(first);
        let stages = parts.map(|part| part.split_once('\n').map_or(part, |(stage, _)| stage));
        let found = stages.map(|stage| format!("--- {stage}\n{}", text(&plan, stage)));
        let found = first.to_owned() + &found.collect::<String>();
        if std::env::var_os("RML_BLESS").is_some() {
            std::fs::write(&path, found).expect("a writable file");
        } else {
            assert_eq!(found, whole, "{} (RML_BLESS=1 rewrites it)", path.display());
        }
    }
}

/// An LSTM in training.
const LSTM: &str = include_str!("../lstm.plan");

#[test]
fn damaged_code_is_refused_by_its_invariant() {
    let code = || lower(&parsed(LSTM)).0;
    let refused = |damage: &dyn Fn(&mut Code), stage: Stage, by: &str| {
        let mut damaged = code();
        damage(&mut damaged);
        let why = verify(&damaged, stage).expect_err(by);
        assert!(why.starts_with(by), "{by}: {why}");
    };
    assert_eq!(verify(&code(), Stage::Lowered), Ok(()));
    refused(&|c| c.refs[0].slot.0 = c.slots.len(), Stage::Lowered, "C1");
    refused(&|c| c.refs[0].offset = 1 << 20, Stage::Lowered, "C1");
    refused(&|c| c.units[0].instrs.end = c.instrs.len() + 1, Stage::Lowered, "C2");
    refused(&|c| c.instrs[0].args = vec![c.refs.len()], Stage::Lowered, "C2");
    let product = |c: &Code| c.instrs.iter().position(|i| matches!(i.kernel, Kernel::Product(..)));
    let product = |c: &Code| product(c).expect("a product");
    let short = |c: &mut Code| {
        let at = product(c);
        c.instrs[at].args.pop();
    };
    refused(&short, Stage::Lowered, "C2");
    refused(&|c| c.passes[0].units.end -= 1, Stage::Lowered, "C3");
    refused(&|c| c.units.push(c.units[0].clone()), Stage::Lowered, "C3");
    refused(&|c| c.units[0].when.push(Guard { cond: 0, value: true }), Stage::Lowered, "C4");
    let shared = |c: &mut Code| {
        let at = product(c);
        if let Kernel::Product(_, pack) = &mut c.instrs[at].kernel {
            *pack = Some(0);
        }
    };
    refused(&shared, Stage::Placed, "C5");
}

#[test]
fn damaged_lists_are_refused_by_their_invariant() {
    let (listed, _) = compiled(&parsed(LSTM));
    assert_eq!(verify_lists(&listed), Ok(()));
    for k in 0..listed.lists.len() {
        for p in 0..4 {
            for entry in 0..listed.lists[k].at[p].len() {
                let mut damaged = listed.clone();
                damaged.lists[k].at[p].remove(entry);
                assert!(verify_lists(&damaged).is_err_and(|why| why.starts_with("C6")));
            }
            if listed.lists[k].at[p].len() > 1 {
                let mut damaged = listed.clone();
                damaged.lists[k].at[p].swap(0, 1);
                assert!(verify_lists(&damaged).is_err_and(|why| why.starts_with("C6")));
            }
        }
    }
    let mut damaged = listed.clone();
    damaged.packs.clear();
    assert!(verify_lists(&damaged).is_err_and(|why| why.starts_with("C5")));
    let (mut choices, _) = compiled(&parsed(include_str!("scalars.txt").split("--- ").next().unwrap_or("")));
    let skip = choices.scalars.iter().position(|scalar| matches!(scalar.what, Do::Skip(..)));
    choices.scalars[skip.expect("a condition")].what = Do::Skip(true, 1 << 20);
    assert!(verify_lists(&choices).is_err_and(|why| why.starts_with("C7")));
}
