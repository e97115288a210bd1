//! V1, and V4 and V5 of outputs.

use rml_ir::Type;
use rml_ir::flat::Var;
use rml_plan::Output;

use crate::Checker;

pub(crate) fn check(checker: &Checker<'_>, found: &mut Vec<String>) {
    let (flat, plan) = (checker.frame.flat, checker.plan);
    let port = |v: Var| {
        let data = &flat.vars[v];
        (data.name.clone().unwrap_or_else(|| v.to_string().into()), data.ty.clone())
    };
    if plan.precision != flat.precision {
        found.push("V1: numbers have another precision".to_owned());
    }
    let inputs: Vec<(_, Type)> = flat.inputs.iter().map(|i| port(i.var)).collect();
    if inputs != plan.inputs {
        found.push("V1: the inputs are not those of the program".to_owned());
    }
    let same = |(v, output): (&Var, &Output)| port(*v) == (output.name.clone(), output.ty.clone());
    if flat.outputs.len() != plan.outputs.len() || !flat.outputs.iter().zip(&plan.outputs).all(same) {
        found.push("V1: the outputs are not those of the program".to_owned());
        return;
    }
    for (v, output) in flat.outputs.iter().zip(&plan.outputs) {
        checker.output(*v, output, found);
    }
}

impl Checker<'_> {
    fn output(&self, v: Var, output: &Output, found: &mut Vec<String>) {
        let name = &output.name;
        if !self.frame.has_clock(v) {
            found.push(format!("V4: nothing is known about where the output {name} is present"));
            return;
        }
        for p in self.frame.possible().iter() {
            let mut cases = output.cases.iter().filter(|(at, ..)| at.contains(p));
            let Some((_, when, atom)) = cases.next() else {
                if !self.frame.is_absent(v, p) {
                    found.push(format!("V4: the output {name} is not given at {p}"));
                }
                continue;
            };
            if cases.next().is_some() {
                found.push(format!("V3: the output {name} is given twice at {p}"));
            }
            if !self.is_present(when, v, (p, 0)) {
                found.push(format!("V4: the output {name} has other guards than its clock at {p}"));
            }
            if !self.frame.is_absent(v, p) && !self.is(*atom, v, (p, 0)) {
                found.push(format!("V5: the output {name} is something else at {p}"));
            }
        }
    }
}
