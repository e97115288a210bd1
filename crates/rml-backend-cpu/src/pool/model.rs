//! The pool in all orders in which its threads may run, by `loom`: `cargo xtask loom`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Pool;

/// Checks it in all orders with that many changes of the thread that runs at most, not counting those where one waits.
/// An order in which a thread stays behind, or waits for ever, is an error.
fn in_all_orders(check: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(check);
}

#[test]
fn each_part_of_each_job_runs_once() {
    in_all_orders(|| {
        let mut pool = Pool::new(2).expect("threads");
        let mut seats = [0; 2];
        for round in 1..3 {
            pool.run(&mut seats, &|i, seat: &mut usize| *seat += i + 1);
            assert_eq!(seats, [round, 2 * round]);
        }
    });
}

#[test]
fn a_panic_is_passed_on_when_all_parts_have_ended() {
    in_all_orders(|| {
        let mut pool = Pool::new(2).expect("threads");
        for culprit in 0..2 {
            let mut seats = [false; 2];
            let run = AssertUnwindSafe(|| {
                pool.run(&mut seats, &|i, ended: &mut bool| {
                    if i == culprit {
                        std::panic::resume_unwind(Box::new(i));
                    }
                    *ended = true;
                });
            });
            let panic = catch_unwind(run).expect_err("it panics");
            assert_eq!(panic.downcast_ref::<usize>(), Some(&culprit));
            assert!(seats[1 - culprit] && !seats[culprit]);
        }
    });
}

/// Also where a worker has not begun, searches for work, or is about to sleep.
#[test]
fn workers_end_with_their_pool() {
    in_all_orders(|| drop(Pool::new(3).expect("threads")));
}
