//! What an editor shows of a source: names and errors of form at once, and then what is known of each variable.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_base::{Diagnostics, Error, FileId, Sources, Span};
use rml_elab::{Index, NodePlace, VariableKind};
use rml_ir::flat::Var;
use rml_ir::typed::StaticValue;

use crate::front::Front;
use crate::options::Options;
use crate::report::{self, CheckReport};
use crate::source::Source;

/// The names of a source.
///
/// ```
/// # use rml_driver as rml;
/// # fn main() -> Result<(), rml_base::Error> {
/// let source = rml::Source::text("f.rml", "node f(x) -> (o)  o = x;  node g(x) -> (o)  o = f(x);");
/// let survey = rml::survey(&source)?;
/// assert!(survey.findings.is_empty());
/// assert_eq!(survey.sources.name(survey.main), "f.rml");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Survey {
    /// Its text and those that it imports.
    pub sources: Arc<Sources>,
    /// Its own text.
    pub main: FileId,
    /// Names and what they mean.
    pub index: Index,
    /// What is wrong with names, types and shapes, if that was asked for.
    pub findings: Diagnostics,
}

/// All that is known of a source, whatever is wrong with it.
///
/// ```
/// # use rml_driver as rml;
/// let source = rml::Source::text("f.rml", "node f(x: num [2]) -> (o)  o = sum(x);");
/// let inspection = rml::inspect(&source);
/// let name = inspection.instances.keys().find(|name| name.variable == "x").expect("an input");
/// assert_eq!(inspection.type_of(inspection.instances[name][0]), "num [2]");
/// ```
#[derive(Clone, Debug)]
pub struct Inspection {
    /// Findings and analyses.
    pub report: CheckReport,
    /// Its own text.
    pub main: FileId,
    /// Which variables of which analyses a variable of the text became: one for each instance of its node.
    pub instances: IndexMap<VariableName, Vec<(usize, Var)>>,
    /// The named dimensions by the sizes that stand for them in the analyses.
    pub sizes: IndexMap<usize, String>,
}

/// A variable, wherever it stands at the moment.
///
/// ```
/// # use rml_driver as rml;
/// let source = rml::Source::text("f.rml", "node f(x: num [2]) -> (o)  o = sum(x);");
/// let inspection = rml::inspect(&source);
/// let mut names = inspection.instances.keys().map(|name| (&*name.node, &*name.variable));
/// assert!(names.any(|name| name == ("f", "o")));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct VariableName {
    /// The name of the text.
    pub text: String,
    /// The node.
    pub node: String,
    /// The variable.
    pub variable: String,
}

impl Survey {
    /// The node that a place lies in.
    pub fn node_at(&self, place: Span) -> Option<&NodePlace> {
        node_at(&self.index, place)
    }
}

/// The names of a source and what they mean.
///
/// # Errors
/// The text cannot be read.
pub fn survey(source: &Source) -> Result<Survey, Error> {
    let (front, index) = Front::indexed(source)?;
    Ok(Survey { sources: front.sources, main: front.main, index, findings: Diagnostics::new() })
}

/// As [`survey`], with what is wrong with names, types and shapes: what can be told at once.
///
/// # Errors
/// As [`survey`].
pub fn survey_checked(source: &Source) -> Result<Survey, Error> {
    let (front, index) = Front::indexed(source)?;
    let findings = front.check_all(&report::any_batch(&Options::default())).1;
    Ok(Survey { sources: front.sources, main: front.main, index, findings })
}

/// Checks a source as [`check_report`](crate::check_report) does, and finds out what its variables became.
pub fn inspect(source: &Source) -> Inspection {
    let (front, index) = match Front::indexed(source) {
        Ok(front) => front,
        Err(error) => {
            let (report, instances) = (report::unread(error), IndexMap::new());
            return Inspection { report, main: FileId(0), instances, sizes: IndexMap::new() };
        }
    };
    let main = front.main;
    let sizes = sizes(&index, main);
    let values = sizes.iter().map(|(size, name)| (name.clone(), StaticValue::Int(*size as i64))).collect();
    let report = report::report_for_sizes(front, values);
    let instances = instances(&report, &index);
    Inspection { report, main, instances, sizes }
}

/// Sizes that a text is not likely to name, for its named dimensions.
fn sizes(index: &Index, main: FileId) -> IndexMap<usize, String> {
    const SIZES: [usize; 12] = [101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157];
    let own = index.nodes.iter().filter(|node| node.name_span.file == main);
    let dimensions = own.flat_map(|node| &node.variables).filter(|v| v.kind == VariableKind::Dimension);
    let names: IndexSet<&String> = dimensions.map(|v| &v.name).collect();
    SIZES.into_iter().zip(names.into_iter().cloned()).collect()
}

impl Inspection {
    /// The type of a variable of an analysis, with named dimensions by their names.
    pub fn type_of(&self, (analysis, var): (usize, Var)) -> String {
        let analysis = &self.report.analyses[analysis];
        let ty = &analysis.flat.vars[var].ty;
        let assumed = |size: usize| {
            let value = StaticValue::Int(size as i64);
            analysis.assumed.iter().find(|(_, of)| *of == value).map(|(name, _)| name)
        };
        let name = |size: &usize| match self.sizes.get(size).or_else(|| assumed(*size)) {
            Some(name) => name.clone(),
            None => size.to_string(),
        };
        let dims: Vec<String> = ty.shape.dims().iter().map(name).collect();
        format!("{} [{}]", ty.dtype, dims.join(", "))
    }
}

fn node_at(index: &Index, place: Span) -> Option<&NodePlace> {
    let holds = |n: &&NodePlace| {
        n.span.file == place.file && n.span.start <= place.start && place.start <= n.span.end
    };
    index.nodes.iter().find(holds)
}

/// The variables that have the name that stands where they come from: not those that a pass made of them.
fn instances(report: &CheckReport, index: &Index) -> IndexMap<VariableName, Vec<(usize, Var)>> {
    let mut by_place: IndexMap<Span, Vec<(usize, Var)>> = IndexMap::new();
    for (i, analysis) in report.analyses.iter().enumerate() {
        for (v, data) in analysis.flat.vars.iter_enumerated() {
            let own = data.name.as_deref().and_then(|name| name.rsplit('.').next());
            if own == Some(report.sources.snippet(data.span)) {
                by_place.entry(data.span).or_default().push((i, v));
            }
        }
    }
    let named = |(span, all)| {
        let node = node_at(index, span)?.name.clone();
        let (text, variable) =
            (report.sources.name(span.file).to_owned(), report.sources.snippet(span).to_owned());
        Some((VariableName { text, node, variable }, all))
    };
    by_place.into_iter().filter_map(named).collect()
}
