//! The checks that every executor must pass. An executor runs small plans beside the [`Reference`](crate::Reference),
//! and the results must satisfy X1 to X6 of the [contract](crate).
//!
//! The plans are texts: loops forward and backward, windows that end where data say it or the plan finds it, inputs on
//! clocks, memories that slide, cycles that are looked at ahead, blocks that wait, operators that may have no result.
//! Plans that an executor refuses are left out, and [counted](Report::refused).

mod cases;
mod compare;
mod feed;
mod limits;
mod pair;

use std::fmt;

use rml_ir::Precision;

use crate::contract::{Executor, PrepareOptions};
use cases::{Case, cases};
pub use limits::limits;
use pair::Pair;

/// The parts of the contract.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ContractRule {
    /// Outputs and registers are those of the reference.
    X1,
    /// An executor suspects only windows in which an operator may fail, and always those in which one fails.
    X2,
    /// A fault and a search change no register.
    X3,
    /// The memory that an executor asks for is its footprint.
    X4,
    /// Bits do not depend on threads, segments or blocks.
    X5,
    /// Cycles that were not done can be fed again.
    X6,
}

/// A violation of the contract.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Breach {
    /// The violated rule.
    pub rule: ContractRule,
    /// The name of the plan.
    pub case: String,
    /// The error.
    pub what: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, plan `{}`: {}", self.rule, self.case, self.what)
    }
}

/// The findings of the suite.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Report {
    /// The number of plans that ran.
    pub ran: usize,
    /// The names of the plans that the executor refuses.
    pub refused: Vec<String>,
    /// The violations; empty if the executor satisfies the contract.
    pub findings: Vec<Breach>,
}

/// Runs all checks except [`limits`].
pub fn check(executor: &dyn Executor) -> Report {
    let mut report = Report::default();
    for precision in [Precision::F32, Precision::F64] {
        for case in cases(precision) {
            match case_of(executor, &case) {
                Ok(()) => report.ran += 1,
                Err(Failed::Refused) => report.refused.push(case.name),
                Err(Failed::Found(rule, what)) => {
                    report.findings.push(Breach { rule, case: case.name, what });
                }
            }
        }
    }
    report
}

/// The reason why a case ends early.
enum Failed {
    Refused,
    Found(ContractRule, String),
}

/// The bits of all outputs, cycle by cycle, and of the registers at the end.
type Bits = Vec<Vec<u64>>;

fn case_of(executor: &dyn Executor, case: &Case) -> Result<(), Failed> {
    let run = |threads: usize, seed: u64| {
        let mut pair = Pair::new(executor, case, &PrepareOptions { threads })?;
        pair.run(seed).map(|()| pair.bits)
    };
    let alone: Bits = run(1, 1)?;
    if run(3, 1)? != alone {
        return Err(Failed::Found(ContractRule::X5, "bits depend on the number of threads".to_owned()));
    }
    let cut = run(1, 2)?;
    if case.streams() && cut != alone {
        return Err(Failed::Found(
            ContractRule::X5,
            "bits depend on how the stream is cut into blocks".to_owned(),
        ));
    }
    Ok(())
}
