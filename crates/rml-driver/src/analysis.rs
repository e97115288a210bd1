//! The facts about a program before it runs.

pub(crate) mod callers;
pub(crate) mod calls;
mod certain;
mod declared;
mod loops;
mod types;
mod undeclared;

use std::ops::Deref;
use std::sync::Arc;

use rml_analysis::{Analyses, ClockReport, Facts, Verdict, WaitKind, few_windows};
use rml_base::{Diagnostic, Sources};
use rml_ir::Value;
use rml_ir::flat::{ConstKind, Drawn, Flat, Var};
use rml_ir::pass::{self, Keep};
use rml_ir::typed::StaticValue;

use crate::front::Front;
use crate::lower::needs_checkpoint;

/// The facts about one node that runs.
///
/// ```
/// # use rml_driver as rml;
/// # fn main() -> Result<(), rml_base::Error> {
/// let text = "node ahead(x: num []) -> (o)  o = post x - x;";
/// let source = rml::Source::text("ahead.rml", text);
/// let analysis = rml::analyse(&source, &rml::Options::default())?;
/// assert_eq!(analysis.node(), "ahead");
/// assert_eq!(analysis.findings().count(), 0);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The program with all calls inlined, every variable kept.
    pub flat: Arc<Flat>,
    /// The source texts, for printing diagnostics.
    pub sources: Arc<Sources>,
    /// The clocks of its variables, and whether they are consistent.
    pub clocks: ClockReport,
    /// Static parameters and named dimensions that were given an arbitrary value.
    pub assumed: Vec<(String, StaticValue)>,
    /// The facts about the program as it runs; none if its clocks are inconsistent.
    pub run: Option<RunFacts>,
    /// The error that it cannot run because memory is too small.
    pub shortage: Option<Diagnostic>,
    /// Warnings about inputs that are declared for every cycle, but used only in some.
    pub undeclared: Vec<Diagnostic>,
    /// Warnings about what the node learns and how its shapes meet, if its named dimensions have no value. Other nodes
    /// get these warnings before they are analysed.
    pub open: Vec<Diagnostic>,
}

/// The facts about a program as it runs: folded, and restricted to what the outputs and trained parameters need. Random
/// constants are not drawn; only their types are known.
///
/// ```
/// # use rml_driver as rml;
/// # fn main() -> Result<(), rml_base::Error> {
/// let source = rml::Source::text("f.rml", "node f(x: num []) -> (o)  o = x + 1.0;");
/// let analysis = rml::analyse(&source, &rml::Options::default())?;
/// assert!(analysis.run.is_some_and(|run| run.undrawn().is_some()));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct RunFacts {
    /// The program that runs.
    pub flat: Arc<Flat>,
    /// The analyses of the program.
    pub analyses: Analyses,
    /// Whether it has parameters, learns none of them, and its text does not give all of them as numbers that nothing
    /// trains.
    pub needs_checkpoint: bool,
}

impl Deref for RunFacts {
    type Target = Analyses;

    fn deref(&self) -> &Analyses {
        &self.analyses
    }
}

impl RunFacts {
    fn new(inlined: &Flat, front: &Front) -> Result<Self, Diagnostic> {
        let mut flat = pass::lower(inlined.clone(), Keep::Needed);
        flat.shrink_to_fit();
        pass::ask_for_draws(&flat)?;
        let analyses = Analyses::of(&flat);
        let needs_checkpoint = needs_checkpoint(front, inlined, &flat);
        Ok(Self { flat: Arc::new(flat), analyses, needs_checkpoint })
    }

    /// The declared form of a variable's clock, ` when end`; empty for the base clock.
    pub fn clock(&self, v: Var) -> String {
        declared::clock(&self.flat, &self.clocks, v)
    }

    /// The program with zeros for random constants, on which no plan depends.
    pub fn undrawn(&self) -> Option<Drawn> {
        let mut flat = Flat::clone(&self.flat);
        for constant in flat.consts.iter_mut() {
            if constant.value().is_none() {
                constant.kind = ConstKind::Value(Value::zeros(&constant.ty, flat.precision));
            }
        }
        // Now every constant has a value.
        Drawn::new(flat).ok()
    }

    /// The tables for a scheduler.
    pub fn facts(&self) -> Facts {
        self.analyses.facts(&self.flat)
    }
}

impl Analysis {
    pub(crate) fn new(mut flat: Flat, front: &Front) -> Self {
        flat.shrink_to_fit();
        let sources = &front.sources;
        let mut clocks = certain::clocks(&flat);
        let calls = calls::calls(&flat);
        if let Verdict::Rejected(found) | Verdict::Dynamic(found) = &mut clocks.verdict {
            found.0.iter_mut().for_each(|finding| callers::show(sources, &flat, &calls, finding));
        }
        let rejected = matches!(clocks.verdict, Verdict::Rejected(_));
        let (mut run, shortage) = match (!rejected).then(|| RunFacts::new(&flat, front)).transpose() {
            Ok(run) => (run, None),
            Err(shortage) => (None, Some(shortage)),
        };
        if let Some(run) = &mut run {
            let causality = &mut run.analyses.causality;
            for (at, found) in &causality.loops {
                causality.findings.0[*at] = loops::diagnostic(sources, (&flat, &calls), &run.flat, found);
            }
            for (at, update) in &causality.late {
                causality.findings.0[*at] = callers::late(sources, &flat, &calls, update);
            }
            causality.findings.extend(few_windows(&flat));
        }
        for finding in run.iter_mut().flat_map(|run: &mut RunFacts| &mut run.analyses.causality.findings.0) {
            callers::show(sources, &flat, &calls, finding);
        }
        let undeclared = if rejected { Vec::new() } else { undeclared::findings(&flat, &clocks, sources) };
        let (flat, sources) = (Arc::new(flat), Arc::clone(sources));
        Self { flat, sources, clocks, run, shortage, undeclared, open: Vec::new(), assumed: Vec::new() }
    }

    /// The name of the node.
    pub fn node(&self) -> &str {
        &self.flat.name
    }

    /// The declared form of a variable's clock, ` when end`; empty for the base clock.
    pub fn clock(&self, v: Var) -> String {
        declared::clock(&self.flat, &self.clocks, v)
    }

    /// How long its outputs wait.
    pub fn kind(&self) -> WaitKind {
        let runs = |r: &&RunFacts| !matches!(r.clocks.verdict, Verdict::Rejected(_));
        self.run.as_ref().filter(runs).map_or(WaitKind::Rejected, |r| r.bounds.program.kind)
    }

    /// The errors that the analyses find, and the facts that they cannot prove.
    pub fn findings(&self) -> impl Iterator<Item = &Diagnostic> {
        let clocks = match &self.clocks.verdict {
            Verdict::Synchronous => [].iter(),
            Verdict::Rejected(found) | Verdict::Dynamic(found) => found.iter(),
        };
        let run = self.run.iter().flat_map(|r| match &r.clocks.verdict {
            Verdict::Rejected(found) => found.iter(),
            Verdict::Synchronous | Verdict::Dynamic(_) => r.causality.findings.iter(),
        });
        clocks.chain(&self.undeclared).chain(&self.open).chain(&self.shortage).chain(run)
    }
}
