//! A machine on the embedded backend: a suspect window changes no register, routines are kept for few lengths, ends
//! are searched for and guessed, and time is shared among tapes.

use std::sync::Arc;

use rml_backend::{Backend, Held, Outcome};
use rml_backend_cpu::Cpu;
use rml_base::Sources;
use rml_base::profile::Profile;
use rml_ir::{Data, Shape, Value};
use rml_lower::{Fault, KEPT, Machine, Running as _};

/// The sum of an input over all windows, which each window gives at its last tick.
const SUMS: &str = "plan \"sums\" f32 until end
in end: bool []
in x: int []
state r0: int [] \"sum\"
over end: bool [] = in end
over x: int [] = in x
over at first t2: int [] = r0 or 0
loop forward {
   at behind first t3: int [] = add(t3[t-1], x)
   at first t3: int [] = add(t2, x)
}
commit r0 at last = t3
out at last n: int [] = t3
";

/// The same of `x - 1`, in windows that end where `x` is large.
const FOUND: &str = "plan \"found\" f32
in x: int []
state r0: int [] \"sum\"
loop forward {
   x: int [] = in x
   y: int [] = sub(x, 1)
   at first t2: int [] = r0 or 0
   at behind first t3: int [] = add(t3[t-1], y)
   at first t3: int [] = add(t2, y)
   nothing: int [] = mul(t3, 0)
   z: int [] = add(x, nothing)
   end: bool [] = gt(z, 8)
   until end
}
commit r0 at last = t3
out at last n: int [] = t3
";

fn machine_of(text: &str) -> Machine {
    let plan = rml_plan::parse(text).expect("a plan");
    rml_plan::verify(&plan).expect("a right one");
    Machine::new(Arc::new(plan), Arc::new(Cpu))
}

fn machine() -> Machine {
    machine_of(SUMS)
}

fn sum(machine: &Machine) -> Option<i64> {
    machine.register(0).expect("it has a start").to_host().expect("on the host").as_int()
}

fn set(machine: &mut Machine, x: &[i64]) {
    machine.set_rows(0, x.len(), &|_| true, &Data::Int(x.to_vec()), 0);
}

#[test]
fn a_guess_that_is_wrong_changes_nothing() {
    let mut machine = machine_of(FOUND);
    set(&mut machine, &[1, 2, 9]);
    assert!(matches!(machine.windows(3, 1), Ok(true)));
    assert_eq!(sum(&machine), Some(9));
    let last = machine.output(0, 2).expect("on the host");
    assert!(last.is_some_and(|n| n.as_int() == Some(9)));
    for longer_or_shorter in [[1, 9, 9], [1, 2, 3]] {
        set(&mut machine, &longer_or_shorter);
        assert!(matches!(machine.windows(3, 1), Ok(false)));
        assert_eq!(sum(&machine), Some(9));
    }
}

#[test]
fn windows_in_one_call_are_what_they_are_alone() {
    let all = [1, 2, 9, 4, 5, 10, 7, 8, 11, 0, 0, 12];
    let mut alone = machine_of(FOUND);
    let mut wanted = Vec::new();
    for x in all.chunks(3) {
        set(&mut alone, x);
        alone.window(3).expect("it computes");
        wanted.push((0..3).map(|t| alone.output(0, t).expect("on the host")).collect::<Vec<_>>());
    }
    let mut machine = machine_of(FOUND);
    set(&mut machine, &all);
    assert!(matches!(machine.windows(3, 4), Ok(true)));
    assert_eq!(sum(&machine), sum(&alone));
    let found: Vec<_> = (0..12).map(|t| machine.output(0, t).expect("on the host")).collect();
    assert_eq!(format!("{:?}", found.chunks(3).collect::<Vec<_>>()), format!("{wanted:?}"));
    // What is suspect in one of them, or ends elsewhere, happens in none.
    for wrong in [[1, 2, 9, 9, 5, 10], [1, 2, 9, i64::MIN, i64::MIN, 10]] {
        set(&mut machine, &wrong);
        assert!(matches!(machine.windows(3, 2), Ok(false) | Err(Fault::Suspect)));
        assert_eq!(sum(&machine), sum(&alone));
    }
}

/// The last input of each window, which the next one gives at its first tick; before the first one there is none.
const LAST: &str = "plan \"last\" f32 until end
in end: bool []
in x: num [2]
state r0: num [2] \"last\"
over end: bool [] = in end
over x: num [2] = in x
over at first before: num [2] = r0 or x
commit r0 at last = x
out at first y: num [2] = before
";

#[test]
fn a_register_that_is_not_set_yet_is_set_by_a_window_alone() {
    let mut machine = machine_of(LAST);
    let fill = |machine: &mut Machine, first: u8| {
        let x: Vec<f32> = (first..first + 8).map(f32::from).collect();
        machine.set_rows(0, 4, &|_| true, &Data::Bool(vec![false, true, false, true]), 0);
        machine.set_rows(1, 4, &|_| true, &Data::F32(x), 0);
    };
    let shown = |machine: &mut Machine, t| format!("{:?}", machine.output(0, t).expect("on the host"));
    fill(&mut machine, 0);
    assert!(matches!(machine.windows(2, 2), Ok(false)));
    machine.set_rows(1, 2, &|_| true, &Data::F32(vec![1.0, 2.0, 3.0, 4.0]), 0);
    machine.window(2).expect("it computes");
    fill(&mut machine, 10);
    assert!(matches!(machine.windows(2, 2), Ok(true)));
    assert!(shown(&mut machine, 0).contains("[3.0, 4.0]"), "{}", shown(&mut machine, 0));
    assert!(shown(&mut machine, 2).contains("[12.0, 13.0]"), "{}", shown(&mut machine, 2));
    assert_eq!(shown(&mut machine, 1), "None");
}

#[test]
fn an_end_is_looked_for_in_the_inputs_alone() {
    let mut machine = machine_of(FOUND);
    // A search continues after these inputs, and the sum gets less with each tick.
    machine.set_register(0, &Value::Int(i64::MIN + 2).into()).expect("it fits");
    for (x, end) in [(&[1, 0, 1][..], None), (&[0, 1], None), (&[1, 9, 0], Some(2)), (&[9], Some(1))] {
        set(&mut machine, x);
        assert_eq!(machine.find(x.len()).expect("it computes"), end, "{x:?}");
    }
    set(&mut machine, &[0, 0, 0, 9]);
    assert!(matches!(machine.find(4), Err(Fault::Suspect)));
}

/// The state after a window with these inputs, which it puts out at its last tick.
fn window(machine: &mut Machine, x: &[i64]) -> Result<Option<Value>, Fault> {
    machine.set_rows(0, x.len(), &|_| true, &Data::Bool(vec![false; x.len()]), 0);
    machine.set_rows(1, x.len(), &|_| true, &Data::Int(x.to_vec()), 0);
    machine.window(x.len())?;
    let state = machine.register(0).expect("it is set").to_host()?;
    let last = machine.output(0, x.len() - 1)?.expect("it is present");
    assert!(state.same(&last));
    if x.len() > 1 {
        assert!(machine.output(0, 0)?.is_none());
    }
    Ok(Some(state))
}

#[test]
fn what_is_suspect_changes_no_state() {
    let mut machine = machine();
    assert!(matches!(window(&mut machine, &[1, 2, 3]), Ok(Some(Value::Int(6)))));
    assert!(matches!(window(&mut machine, &[4, i64::MAX, 1]), Err(Fault::Suspect)));
    assert!(matches!(window(&mut machine, &[1]), Ok(Some(Value::Int(7)))));
    assert!(matches!(window(&mut machine, &[1, 1]), Ok(Some(Value::Int(9)))));
}

#[test]
fn windows_of_many_lengths_mean_what_they_mean_alone() {
    let mut machine = machine();
    let mut sum = 0;
    // Each length comes twice, the second time when its routine is no longer kept.
    for _ in 0..2 {
        for ticks in 1..=KEPT + 2 {
            sum += i64::try_from(ticks).expect("few");
            assert!(
                window(&mut machine, &vec![1; ticks])
                    .is_ok_and(|state| state.is_some_and(|s| s.as_int() == Some(sum)))
            );
        }
    }
}

#[test]
fn time_is_shared_among_tapes() {
    let profile = Profile::new(false);
    let mut machine = machine();
    machine.measure(&profile.scope(&Arc::new(Sources::new())));
    for _ in 0..3 {
        assert!(window(&mut machine, &[1, 2, 3]).is_ok());
    }
    drop(machine);
    let measured = profile.measured();
    let (ns, calls) = measured
        .sites
        .iter()
        .fold((0.0, 0.0), |(ns, calls), (_, _, cost)| (ns + cost.ns, calls + cost.calls));
    assert!(ns > 0.0 && ns <= measured.total as f64, "{measured:?}");
    assert!(calls >= 9.0, "{measured:?}");
}

/// A state that the last cycle of a window can leave unset, as the restart of an instance does.
const UNSET: &str = "plan \"unset\" f32
in x: int []
state r0: int [] \"kept\"
over x: int [] = in x
over at last big: bool [] = gt(x, 8)
over at first y: int [] = r0 or 5
commit r0 at last = x unless big
out at first y: int [] = y
";

#[test]
fn a_model_gives_what_an_unset_state_starts_with() {
    let plan = rml_plan::parse(UNSET).expect("a plan");
    rml_plan::verify(&plan).expect("a right one");
    let model = rml_lower::model(&plan, 2, &|_| None);
    let routine = Cpu.prepare_routine(&model.routine).expect("it is prepared");
    for (x, kept) in [(7, 7), (9, 5)] {
        let x = Value::new(Shape::new(&[2]), Data::Int(vec![1, x]));
        let args = [x, Value::Int(5)].map(Held::Host).to_vec();
        let Outcome::Done(results) = routine.run(args).expect("it runs") else { panic!("nothing stops it") };
        let all: Vec<Value> = results.iter().map(|held| held.to_host().expect("on the host")).collect();
        assert_eq!((all[0].as_int(), all[1].as_int()), (Some(5), Some(kept)), "{:?}", model.outputs);
    }
}
