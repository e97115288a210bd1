//! The memory that an executor asks for (X4), and windows in segments (X5).

use rml_base::memory;
use rml_ir::Precision;

use super::cases::{Case, cases};
use super::compare::bits;
use super::feed::Feed;
use super::{Breach, ContractRule};
use crate::contract::{Executor, Next, PrepareOptions, Running};

/// Checks the memory that an executor asks for, under limits of the process's memory. Nothing else may run in the
/// process at the same time. Afterwards there is no limit.
pub fn limits(executor: &dyn Executor) -> Vec<Breach> {
    let mut findings = Vec::new();
    for case in cases(Precision::F32).into_iter().filter(|case| case.bad.is_empty() && !case.plan.waits) {
        let result = limited(executor, &case);
        memory::set_limit(memory::UNCOUNTABLE - 1);
        if let Err((rule, what)) = result {
            findings.push(Breach { rule, case: case.name, what });
        }
    }
    findings
}

type Checked<T> = Result<T, (ContractRule, String)>;

/// Asks for the memory of a window under a limit of `bytes` bytes more than are in use.
fn ask(run: &mut dyn Running, ticks: usize, bytes: u64) -> Result<(), crate::TooLong> {
    memory::set_limit(memory::used().saturating_add(bytes));
    let asked = run.ask(ticks);
    memory::set_limit(memory::UNCOUNTABLE - 1);
    asked
}

fn limited(executor: &dyn Executor, case: &Case) -> Checked<()> {
    let Ok(prepared) = executor.prepare(&case.plan, &PrepareOptions::default()) else { return Ok(()) };
    let feed = Feed::new(case);
    let ticks = match &case.plan.ends {
        rml_plan::Ends::Given(ends) => feed.length(ends, 0).unwrap_or(case.cycles),
        rml_plan::Ends::Found { .. } => return Ok(()),
        rml_plan::Ends::Nothing => case.cycles,
    };
    let whole = prepared.footprint().at(ticks);
    // An executor on another device uses no host memory.
    if whole == 0 {
        return Ok(());
    }
    let start =
        || prepared.start(None).map_err(|short| (ContractRule::X4, format!("it does not start: {short}")));
    let mut run = start()?;
    if ask(&mut *run, ticks, whole).is_err() {
        return Err((ContractRule::X4, format!("it asks for more than the {whole} bytes of its footprint")));
    }
    let wanted = window(&mut *run, case, &feed, ticks)?;
    let mut short = start()?;
    let Err(too_long) = ask(&mut *short, ticks, 0) else {
        return Err((ContractRule::X4, "it runs a window where there is no memory".to_owned()));
    };
    if too_long.short.asked != whole {
        return Err((
            ContractRule::X4,
            format!("it asks for {} bytes, not for {whole}", too_long.short.asked),
        ));
    }
    let Ok(least) = too_long.least else { return Ok(()) };
    if ask(&mut *short, ticks, least).is_err() {
        return Err((ContractRule::X4, format!("it does not run with the {least} bytes that are enough")));
    }
    if window(&mut *short, case, &feed, ticks)? != wanted {
        return Err((ContractRule::X5, "bits depend on segments".to_owned()));
    }
    Ok(())
}

/// The bits of the outputs of a window.
fn window(run: &mut dyn Running, case: &Case, feed: &Feed, ticks: usize) -> Checked<Vec<Vec<u64>>> {
    run.next(Next::Window(ticks));
    feed.set(run, 0, ticks).map_err(|what| (ContractRule::X1, what))?;
    let done = run
        .window(ticks)
        .map_err(|fault| (ContractRule::X1, format!("a window has no result: {fault:?}")))?;
    let mut all = Vec::new();
    for (t, output) in (0..done).flat_map(|t| (0..case.plan.outputs.len()).map(move |output| (t, output))) {
        let mut data = rml_ir::Data::Bool(Vec::new());
        run.add_output(output, t, &mut data).map_err(|d| (ContractRule::X1, d.message))?;
        all.push(bits(&data));
    }
    Ok(all)
}
