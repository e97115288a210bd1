//! A machine on the embedded backend: what is suspect changes nothing, the routines of few lengths are kept, ends are looked for and
//! guessed, and time is shared among tapes.

use std::sync::Arc;

use rml_backend_cpu::Cpu;
use rml_base::Sources;
use rml_base::profile::Profile;
use rml_ir::{Data, Value};
use rml_lower::{Fault, KEPT, Machine};

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
    assert!(matches!(machine.guess(3), Ok(Some(3))));
    assert_eq!(sum(&machine), Some(9));
    let last = machine.output(0, 2).expect("on the host");
    assert!(last.is_some_and(|n| n.as_int() == Some(9)));
    for longer_or_shorter in [[1, 9, 9], [1, 2, 3]] {
        set(&mut machine, &longer_or_shorter);
        assert!(matches!(machine.guess(3), Ok(None)));
        assert_eq!(sum(&machine), Some(9));
    }
}

#[test]
fn an_end_is_looked_for_in_the_inputs_alone() {
    let mut machine = machine_of(FOUND);
    // Behind these inputs a search goes on, and the sum gets less with each tick.
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
