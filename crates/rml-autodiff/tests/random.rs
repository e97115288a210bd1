//! Thousands of random programs against central differences in double precision, along random directions in the space
//! of all inputs and parameters. `RML_PROGRAMS` is the number of programs, and `RML_SEED` selects them. A program that
//! fails is shrunk first.

use std::sync::atomic::{AtomicUsize, Ordering};

use rml_testkit::Lcg;
use rml_testkit::gradients::{Comparison, LossProgram, outcome, shrunk};

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

#[test]
fn random_programs_agree_with_finite_differences() {
    let (count, first) = (setting("RML_PROGRAMS", 2000), setting("RML_SEED", 1) << 32);
    let tried = AtomicUsize::new(0);
    let totals = [const { AtomicUsize::new(0) }; 3];
    let failures = std::sync::Mutex::new(Vec::new());
    let work = || {
        loop {
            let seed = first + tried.fetch_add(1, Ordering::Relaxed) as u64;
            let enough = totals[0].load(Ordering::Relaxed) as u64 >= count;
            if enough || failures.lock().map_or(true, |f| f.len() >= 3) {
                return;
            }
            let program = LossProgram::random(&mut Lcg(seed));
            match outcome(&program, seed) {
                Comparison::Agrees => totals[0].fetch_add(1, Ordering::Relaxed),
                Comparison::NotProductive => totals[1].fetch_add(1, Ordering::Relaxed),
                Comparison::Kink => totals[2].fetch_add(1, Ordering::Relaxed),
                Comparison::Wrong(why) => {
                    let text = shrunk(program, seed, why);
                    failures.lock().expect("no test thread fails").push(text);
                    continue;
                }
            };
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().expect("no test thread fails");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let [agree, waiting, kinks] = totals.map(AtomicUsize::into_inner);
    assert!(
        agree as u64 >= count && kinks * 100 < agree,
        "{agree} agree, {waiting} deadlock, {kinks} at kinks"
    );
}
