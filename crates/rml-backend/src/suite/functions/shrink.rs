//! Shrinks a failing function: removes results, and replaces computed values by inputs.

use std::collections::BTreeMap;

use rml_base::EntityId;
use rml_ir::{Precision, Value};

use super::{Sample, converted, in_precision, try_sample};
use crate::contract::Backend;
use crate::function::{DefKind, Function, Val};
use crate::reference::evaluate;

/// The smallest failing function found, and the reason of its failure.
pub(super) fn shrink(
    backend: &dyn Backend,
    sample: &Sample,
    precision: Precision,
    why: String,
) -> (Sample, String) {
    let mut best = (sample.clone(), why);
    // Chooses the first value that is wrong as the only result. There may be none: some values are wrong only together.
    let applied = |x: &Val| matches!(sample.function.values[*x].kind, DefKind::Apply { .. });
    for x in sample.function.values.ids().filter(applied) {
        let one = rebuilt(sample, &[x], &[]);
        if let Err(why) = try_sample(backend, &one, precision) {
            best = (one, why);
            break;
        }
    }
    // Replaces one operator after another by an input, starting with the first one.
    let mut next = 0;
    while next < best.0.function.values.len() {
        let at = Val::from_index(next);
        let computed = matches!(best.0.function.values[at].kind, DefKind::Apply { .. });
        let results = best.0.function.results.clone();
        if computed && !results.contains(&at) {
            let cut = rebuilt(&best.0, &results, &[at]);
            if let Err(why) = try_sample(backend, &cut, precision) {
                best = (cut, why);
                next = 0;
                continue;
            }
        }
        next += 1;
    }
    best
}

/// The part of a function that the given results need, with inputs in place of the values in `cut`.
fn rebuilt(sample: &Sample, results: &[Val], cut: &[Val]) -> Sample {
    let old = &sample.function;
    let mut needed = vec![false; old.values.len()];
    results.iter().for_each(|r| needed[r.index()] = true);
    for (x, def) in old.values.iter_enumerated().collect::<Vec<_>>().into_iter().rev() {
        if let DefKind::Apply { args, .. } = &def.kind
            && needed[x.index()]
            && !cut.contains(&x)
        {
            args.iter().for_each(|a| needed[a.index()] = true);
        }
    }
    let mut function = Function::new(old.name.clone(), old.precision);
    let (mut new, mut args) = (BTreeMap::new(), Vec::new());
    let inputs = old
        .values
        .iter_enumerated()
        .filter(|(x, def)| needed[x.index()] && (matches!(def.kind, DefKind::Input) || cut.contains(x)));
    for (x, def) in inputs {
        new.insert(x, function.input(def.ty.clone(), def.span));
        args.push(value_of(sample, x));
    }
    for (x, def) in old.values.iter_enumerated().filter(|(x, _)| needed[x.index()]) {
        let DefKind::Apply { op, args } = &def.kind else {
            if let DefKind::Const(value) = &def.kind {
                new.insert(x, function.constant(value, def.span));
            }
            continue;
        };
        if !new.contains_key(&x) {
            let args = args.iter().map(|a| new[a]).collect();
            let result = function.apply(op.clone(), args, def.span);
            new.insert(x, result.expect("the operator had that type before"));
        }
    }
    function.results = results.iter().map(|r| new[r]).collect();
    Sample { function, args }
}

/// The value that the reference computes, in single precision.
fn value_of(sample: &Sample, x: Val) -> Value {
    let mut function = in_precision(&sample.function, Precision::F32);
    function.results = vec![x];
    let results = evaluate(&function, &converted(&sample.args, Precision::F32));
    results.expect("the function had results").remove(0)
}
