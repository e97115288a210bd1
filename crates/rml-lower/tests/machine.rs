//! A machine on the embedded backend: what is suspect changes nothing, the routines of few lengths are kept, and time is shared among tapes.

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

fn machine() -> Machine {
    let plan = rml_plan::parse(SUMS).expect("a plan");
    rml_plan::verify(&plan).expect("a right one");
    Machine::new(Arc::new(plan), Arc::new(Cpu))
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
