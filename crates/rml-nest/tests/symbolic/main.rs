//! The symbolic run accepts programs as they are, and refuses those of which a stride, an offset, a tick, a position, a
//! variant, a fold, a guard, an operand, a store or the order of stages was changed.

use std::sync::Arc;

use rml_ir::{DType, Data, Type, Value};
use rml_nest::evaluate::{Cells, Machine};
use rml_nest::{NestProgram, check, parse, print, verify};
use rml_testkit::Lcg;

mod change;

/// The programs of the file tests.
fn programs() -> Vec<(String, NestProgram)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let (_, nests) = text.split_once("---\n").unwrap();
        all.push((path.file_stem().unwrap().to_string_lossy().into_owned(), parse(nests).unwrap()));
    }
    for seed in 0..120 {
        let (flat, _) = rml_testkit::flat::random::program(&Lcg(seed).take(220), 24, false);
        let fed = if seed % 2 == 0 { rml_schedule::Fed::Windows } else { rml_schedule::Fed::Blocks };
        if let Ok(proved) = rml_schedule::proved(&flat, fed) {
            all.push((format!("random program {seed}"), rml_nest::lower(&proved.plan)));
        }
    }
    all
}

#[test]
fn programs_as_they_are_are_accepted() {
    for (name, program) in programs() {
        let extent = check(&program, &program).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(extent.windows > 0 && extent.large == 0, "{name}: {extent:?}");
    }
}

/// Whether two programs give different results for some random windows.
fn differ(a: &NestProgram, b: &NestProgram, r: &mut Lcg) -> bool {
    let (a, b) = (Arc::new(a.clone()), Arc::new(b.clone()));
    (0..12).any(|_| {
        let ticks = 1 + r.below(5) + a.ahead as usize;
        let inputs: Vec<Cells> = a.inputs().map(|slot| column(&a, &a.slots[slot].ty, ticks, r)).collect();
        let run = |program: &Arc<NestProgram>| {
            let mut machine = Machine::new(Arc::clone(program));
            let registers = program.registers().count();
            let results: Vec<String> = (0..2)
                .map(|_| {
                    let cells = machine.window(ticks, &inputs);
                    let held: Vec<_> = (0..registers).map(|i| machine.register(i)).collect();
                    format!("{cells:?} {held:?}")
                })
                .collect();
            results
        };
        run(&a) != run(&b)
    })
}

fn column(program: &NestProgram, ty: &Type, ticks: usize, r: &mut Lcg) -> Cells {
    let mut cell = |_| {
        let n = ty.shape.len();
        let data = match ty.dtype {
            DType::Bool => Data::Bool((0..n).map(|_| r.chance(0.5)).collect()),
            DType::Int => Data::Int((0..n).map(|_| r.below(3) as i64).collect()),
            DType::Num => Data::F64((0..n).map(|_| r.range(-2.0, 2.0)).collect()),
        };
        Some(Value::new(ty.shape.clone(), data).to_precision(program.precision))
    };
    (0..ticks).map(&mut cell).collect()
}

#[test]
fn changed_programs_are_refused() {
    let (mut refused, mut finer, mut by_verifier, mut alike, mut missed) = (0, 0, 0, 0, Vec::new());
    for (n, (name, program)) in programs().into_iter().enumerate() {
        for seed in 0..120 {
            let r = &mut Lcg((n * 1000 + seed) as u64);
            // Every second one is a change of the fused program.
            let base = if seed % 2 == 0 { program.clone() } else { rml_nest::fuse(&program) };
            let mut changed = base.clone();
            let what = change::change(&mut changed, r);
            if print(&changed) == print(&base) {
                continue;
            }
            let differs = || differ(&program, &changed, &mut Lcg(seed as u64));
            if verify(&changed).is_err() {
                by_verifier += 1;
            } else if check(&program, &changed).is_err() {
                refused += 1;
                finer += usize::from(!differs());
            } else if differs() {
                missed.push(format!("{name}: {what}\n{}", print(&changed)));
            } else {
                alike += 1;
            }
        }
    }
    let all = format!(
        "{refused} refused, {finer} of them with equal numbers; {alike} alike; {by_verifier} do not verify"
    );
    assert!(missed.is_empty(), "{all}\n{}", missed.join("\n"));
    assert!(refused > 700 && finer > 10, "{all}");
}

/// A recurrence and a sum over its elements.
const SUM: &str = "nests \"sum\" f32
in x: num [3]
in c: bool []
state r0: num [3] \"s\"
const k0: num [] = 0.0
tick h: num [3]
tick s: num []
forward {
  nest for i0<3 {
    v0 = load h@-1(1) at behind first | r0(1) at first if r0 is set | k0(0) at first
    v1 = load x(1)
    v2 = add(v0, v1)
    store h(1) = v2
  }
}
over {
  nest for i0<3 when c {
    v0 = load h(1)
    v1 = fold lanes i0 v0
    v2 = load k0(0)
    v3 = add(v1, v2)
    store s(0) = v3
  }
}
commit r0 at last = h(1)
out s: num [] = s when c
";

/// Why the text in which `from` is replaced by `to` does not compute the same.
fn why(from: &str, to: &str) -> String {
    assert!(SUM.contains(from), "{from}");
    let (program, changed) = (parse(SUM).unwrap(), parse(&SUM.replacen(from, to, 1)).unwrap());
    assert_eq!(verify(&changed), Ok(()), "{to}");
    check(&program, &changed).expect_err(to).to_string()
}

#[test]
fn differences_name_slot_tick_element_and_terms() {
    // An order of terms.
    assert_eq!(
        why("v0 = load h(1)\n    v1 = fold", "v0 = load h:2(-1)\n    v1 = fold"),
        "in a window of 1 tick, element 0 of the slot `s` at tick 0 is
  lanes(add(0.0, x@0[2]), add(0.0, x@0[1]), add(0.0, x@0[0]))
and not
  lanes(add(0.0, x@0[0]), add(0.0, x@0[1]), add(0.0, x@0[2]))
where r0 is set is false and c@0[0] is true"
    );
    // A zero that decides the sign of a zero.
    let text = why("v3 = add(v1, v2)\n    store s(0) = v3", "v3 = add(v1, v2)\n    store s(0) = v1");
    assert!(
        text.contains("\n  lanes(add(0.0, x@0[0]), add(0.0, x@0[1]), add(0.0, x@0[2]))\nand not\n  add("),
        "{text}"
    );
    // A value of another tick, in a window that is long enough.
    let text = why("v1 = load x(1)", "v1 = load x(1) at first | x@-1(1) at behind first");
    let tick =
        "in a window of 2 ticks, element 0 of the slot `h` at tick 1 is\n  x@0[0]\nand not\n  x@1[0]\n";
    assert!(text.starts_with(tick), "{text}");
    // Both outcomes of a condition, and a register that is set.
    let text = why("out s: num [] = s when c", "out s: num [] = s when not c");
    assert!(text.starts_with("in a window of 1 tick, what is read is\n  s, which is not there\n"), "{text}");
    let text = why("r0(1) at first if r0 is set | k0(0) at first", "k0(0) at first");
    assert!(text.contains("is\n  0.0\nand not\n  r0[0]\nwhere r0 is set is true"), "{text}");
}
