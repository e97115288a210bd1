//! Explains clock errors about the arguments of an adjoint: the gradient, and the condition before it.

use rml_base::Diagnostic;
use rml_base::codes::analysis::CLOCK_MISMATCH;
use rml_ir::Sample;
use rml_ir::flat::{Rhs, Var};
use rml_ir::op::Op;

use super::constraint::Constraint;
use super::infer::{Origin, TermId};
use super::mismatch::{Kind, Mismatch};
use super::report::Reporter;
use super::show::Names;

impl Reporter<'_> {
    /// The error about an adjoint whose gradient or condition is present in other cycles than the adjoint expects, if
    /// this is caused only by the arguments of the call.
    pub(super) fn of_call(&self, mismatch: &Mismatch) -> Option<Diagnostic> {
        self.off(mismatch).or_else(|| self.unmerged(mismatch)).or_else(|| {
            let Kind::Sample(sample) = mismatch.kind else { return None };
            self.constraints.get(mismatch.constraint)?.claim?;
            self.some_cycles(sample).or_else(|| self.condition_twice(sample))
        })
    }

    /// The error that an optimiser of the program adds the gradient in the cycles in which it is present only, so that
    /// the parameter has a value in no other cycle.
    fn unmerged(&self, mismatch: &Mismatch) -> Option<Diagnostic> {
        let vars = match mismatch.kind {
            Kind::Together(a, b) => vec![a, b],
            Kind::Sample(sample) => vec![sample.var, sample.cond],
        };
        let is_named = |name: String| self.flat.vars.iter().any(|data| data.name.as_deref() == Some(&*name));
        for mut v in vars {
            let mut reader: Option<&Constraint> = None;
            for _ in 0..self.flat.vars.len() {
                let name = self.flat.vars[v].name.as_deref().unwrap_or_default();
                let optimiser = name.strip_suffix(".do").filter(|path| {
                    ["init", "bp"].into_iter().all(|input| is_named(format!("{path}.{input}")))
                });
                if let (Some(_), Some(reader)) = (optimiser, reader) {
                    let what = "an optimiser gives a parameter a value only in the cycles with a gradient";
                    return Some(
                        Diagnostic::error(CLOCK_MISMATCH, what)
                            .label(reader.span, "`do` is present only where `bp` is true, and so is what is computed here")
                            .note("the network reads the parameter in every cycle")
                            .help("write `merge bp do 0.0` in place of `do`: where there is no gradient, it is 0"),
                    );
                }
                let Origin::Constraint { constraint, from } = self.inferred.origin[v] else { break };
                (reader, v) = (self.constraints.get(constraint), from);
            }
        }
        None
    }

    /// The outermost adjoint in the path of a variable: the path of the instance, and the name of the adjoint.
    fn adjoint_of(&self, v: Var) -> Option<(&str, &str)> {
        let path = self.flat.vars[v].name.as_deref()?;
        let mut end = 0;
        for part in path.split('.') {
            end += part.len();
            if let Some((name, _)) = part.rsplit_once('_').filter(|(name, _)| name.starts_with("diff_")) {
                return Some((path.get(..end)?, name));
            }
            end += 1;
        }
        None
    }

    /// The error that a gradient is present only in some cycles although its adjoint expects one in every cycle.
    fn some_cycles(&self, sample: Sample) -> Option<Diagnostic> {
        if self.truth(sample.cond) != Some(true) {
            return None;
        }
        let (path, name) = self.adjoint_of(sample.var)?;
        let call = self.flat.call(path)?;
        let names = Names::within(self.flat, rml_ir::flat::around(path));
        let asked = self.conditions(self.inferred.of[sample.cond]);
        let given = self.conditions(self.inferred.of[sample.var]);
        let (before, more) = given.split_at_checked(asked.len())?;
        if before != asked || more.is_empty() {
            return None;
        }
        let whens: Vec<String> = more.iter().map(|(c, p)| self.when(&names, *c, *p)).collect();
        if whens.iter().any(|when| when.contains('.')) {
            return None;
        }
        let condition = whens.join(" and ");
        let what = format!("`{name}` gets a gradient in some cycles only, and expects one in every cycle");
        Some(
            Diagnostic::error(CLOCK_MISMATCH, what)
                .label(call, format!("the gradient is present where `{condition}`"))
                .note("the condition before the gradient, `true` here, says in which cycles there is one")
                .help(format!("write `{condition}` in place of `true`")),
        )
    }

    /// The error that a condition is present in more cycles than the outputs of the node.
    fn condition_twice(&self, sample: Sample) -> Option<Diagnostic> {
        let (path, name) = self.adjoint_of(sample.var)?;
        if self.flat.vars[sample.var].name.as_deref()?.strip_prefix(path)? != ".bp" {
            return None;
        }
        let call = self.flat.call(path)?;
        let names = Names::within(self.flat, rml_ir::flat::around(path));
        let given = self.conditions(self.inferred.of[sample.var]);
        let asked = self.conditions(self.inferred.sampled(self.inferred.of[sample.cond], sample)?);
        let more = asked.get(given.len()..).filter(|more| !more.is_empty() && asked.starts_with(&given))?;
        let whens: Vec<String> = more.iter().map(|(c, p)| self.when(&names, *c, *p)).collect();
        let all: String = whens.iter().map(|when| format!(" when {when}")).collect();
        let passed = self.passed(sample.var).map(|v| names.operand_of(v))?;
        let is_same = matches!(&whens[..], [one] if *one == passed);
        let d = Diagnostic::error(
            CLOCK_MISMATCH,
            format!("the condition of `{name}` is not present in the same cycles as what it gives"),
        )
        .label(call, format!("what it gives is present where `{}`", whens.join(" and ")))
        .note(format!(
            "the condition before the gradient, `{passed}` here, says in which of these cycles to learn"
        ));
        Some(match is_same {
            true => d.help(format!(
                "these are only those of `{passed}` already: write `true` in place of `{passed}`"
            )),
            false => d.help(format!(
                "write `{passed}{all}` in place of `{passed}`, or `true` to learn in all of them"
            )),
        })
    }

    /// The samplings of a clock, without conditions that are always true.
    fn conditions(&self, term: TermId) -> Vec<(Var, bool)> {
        let (_, path) = self.inferred.path(term);
        path.into_iter().filter(|(cond, positive)| self.truth(*cond) != Some(*positive)).collect()
    }

    /// A condition as written where the adjoint is called.
    fn when(&self, names: &Names<'_>, cond: Var, positive: bool) -> String {
        self.sampling(names, cond, positive).replacen(" on ", "", 1)
    }

    /// The argument for an input of an instance.
    fn passed(&self, v: Var) -> Option<Var> {
        let equation = self.flat.equations.iter().find(|e| e.lhs == v)?;
        let Rhs::Apply { op: Op::Copy, args } = &equation.rhs else { return None };
        args.first().copied()
    }
}
