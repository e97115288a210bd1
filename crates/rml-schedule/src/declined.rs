//! Why a program has no plan, and what to write instead.

use std::collections::BTreeSet;

use rml_analysis::{Causality, ClockReport, Latency, Verdict};
use rml_base::{Diagnostic, Span, codes};
use rml_ir::flat::{Flat, Var};

/// Why a program has no plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Declined {
    /// The reason.
    pub why: String,
    /// The place in the source.
    pub span: Option<Span>,
    /// A form of the program that has a plan.
    pub help: Option<String>,
}

impl Declined {
    /// A diagnostic for a request to plan that node.
    pub fn diagnostic(&self, node: &str) -> Diagnostic {
        let d = Diagnostic::error(
            codes::backend::ENGINE_DECLINES,
            format!("node {node} has no plan: {}", self.why),
        );
        let d = match self.span {
            Some(span) => d.label(span, "because of this"),
            None => d,
        };
        let d = if let Some(help) = &self.help { d.help(help) } else { d };
        d.help("the simulator runs this program, so no change is needed")
    }

    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), span: None, help: None }
    }

    pub(crate) fn at(why: impl Into<String>, span: Span) -> Self {
        Self { why: why.into(), span: Some(span), help: None }
    }

    /// The same, with a help text.
    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// With the words of a finding of an analysis.
    pub(crate) fn found(found: &Diagnostic) -> Self {
        Self { why: found.message.clone(), span: found.span(), help: found.help.first().cloned() }
    }

    /// Clocks are not proved to fit.
    pub(crate) fn clocks(clocks: &ClockReport) -> Self {
        let doubtful = match &clocks.verdict {
            Verdict::Dynamic(found) | Verdict::Rejected(found) => found.iter().next(),
            Verdict::Synchronous => None,
        };
        let help = doubtful.and_then(|d| d.help.first().cloned());
        let help = help.unwrap_or_else(|| {
            "declare the clocks of inputs, as in `x: num [] when c`, or sample by the same condition"
                .to_owned()
        });
        Self {
            span: doubtful.and_then(Diagnostic::span),
            ..Self::new("its clocks are not proved to fit").help(help)
        }
    }

    /// Some value cannot be known before the end of the trace.
    pub(crate) fn closed(causality: &Causality) -> Self {
        let found = causality.findings.iter().find(|d| d.code == codes::analysis::CLOSED_ONLY);
        Self {
            span: found.and_then(Diagnostic::span),
            ..Self::new("a value is known only when the trace ends")
                .help("give it windows: call the node that looks ahead with `every end`")
        }
    }

    /// Nothing is proved about when values are known.
    pub(crate) fn dynamic(flat: &Flat, causality: &Causality) -> Self {
        let reason = causality.reasons.first();
        let own = reason.and_then(|r| r.spans.iter().copied().find(|span| is_own(flat, *span)));
        let late = flat.outputs.iter().copied().chain(flat.vars.ids());
        let late = late.filter(|v| causality.latency[*v] == Latency::Dynamic);
        // If many values are late, prefer one of the first that is read in the node itself.
        let late = late.take(20).map(|v| line(flat, v)).find(|span| is_own(flat, *span));
        let declined =
            Self { span: own.or(late), ..Self::new("when its values are known depends on the data") };
        // A late update names the call to change, which is the remedy for what waits for it, too.
        let update = causality.findings.iter().find(|d| d.code == codes::analysis::UPDATE_CAUSALITY);
        let help = update.and_then(|d| d.help.first().map(String::as_str));
        let help = help.or(reason.map(|reason| reason.help));
        declined.help(help.unwrap_or("`rml check --explain` says which values, and where they wait"))
    }
}

/// Whether a place is in the file of the node that runs.
fn is_own(flat: &Flat, span: Span) -> bool {
    let ports = flat.outputs.iter().copied().chain(flat.inputs.iter().map(|input| input.var));
    ports.map(|v| flat.vars[v].span.file).next().is_none_or(|file| file == span.file)
}

/// The place of a variable in the file of the node that is run. For a variable of an imported node, the place of its
/// reader there.
pub(crate) fn line(flat: &Flat, v: Var) -> Span {
    let place = |v: Var| {
        let defines = flat.equations.iter().find(|equation| equation.lhs == v);
        defines.map_or(flat.vars[v].span, |equation| equation.span)
    };
    let (mut seen, mut pending) = (BTreeSet::from([v]), vec![v]);
    while !pending.is_empty() {
        if let Some(span) = pending.iter().map(|v| place(*v)).find(|span| is_own(flat, *span)) {
            return span;
        }
        let mut readers = Vec::new();
        for equation in &flat.equations {
            let mut reads = false;
            equation.rhs.for_each_operand(|u| reads |= pending.contains(&u));
            if reads && seen.insert(equation.lhs) {
                readers.push(equation.lhs);
            }
        }
        pending = readers;
    }
    place(v)
}
