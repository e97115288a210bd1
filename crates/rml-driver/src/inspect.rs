//! Facts that an editor shows of a source: first names and errors in names, types and shapes, then the facts about each
//! variable.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_base::{Diagnostics, EntityId as _, Error, FileId, Sources, Span};
use rml_elab::{Index, NodePlace, VariableKind};
use rml_ir::flat::{Var, VarData};
use rml_ir::typed::StaticValue;

use crate::analysis::Analysis;
use crate::front::Front;
use crate::reach::Places;
use crate::report::CheckReport;
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
    /// The text of the source and the imported texts.
    pub sources: Arc<Sources>,
    /// The file of the source's own text.
    pub main: FileId,
    /// The names and their meanings.
    pub index: Arc<Index>,
    /// The errors in names, types and shapes, if they were requested.
    pub findings: Diagnostics,
}

/// All facts about a source, which may have errors.
///
/// ```
/// # use rml_driver as rml;
/// let source = rml::Source::text("f.rml", "node f(x: num [2]) -> (o)  o = sum(x);");
/// let inspection = rml::inspect(&source);
/// let name = inspection.instances.keys().find(|name| &*name.variable == "x").expect("an input");
/// assert_eq!(inspection.type_of(inspection.instances[name][0]), "num [2]");
/// ```
#[derive(Clone, Debug)]
pub struct Inspection {
    /// Findings and analyses.
    pub report: CheckReport,
    /// The file of the source's own text.
    pub main: FileId,
    /// The variables of analyses that correspond to a variable of the text: one for each instance of its node.
    pub instances: IndexMap<VariableName, Vec<(usize, Var)>>,
    /// The named dimensions, by the sizes that represent them in the analyses.
    pub sizes: IndexMap<usize, String>,
}

/// A variable, identified independently of its position.
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
    pub text: Arc<str>,
    /// The node.
    pub node: Arc<str>,
    /// The variable.
    pub variable: Arc<str>,
}

impl Survey {
    /// The node that contains a place.
    pub fn node_at(&self, place: Span) -> Option<&NodePlace> {
        let holds = |n: &&NodePlace| {
            n.span.file == place.file && n.span.start <= place.start && place.start <= n.span.end
        };
        self.index.nodes.iter().find(holds)
    }
}

/// The names of a source and their meanings.
///
/// # Errors
/// The text cannot be read.
pub fn survey(source: &Source) -> Result<Survey, Error> {
    let (front, index) = Front::indexed(&source.from)?;
    Ok(Survey {
        sources: front.sources,
        main: front.main,
        index: Arc::new(index),
        findings: Diagnostics::new(),
    })
}

/// Sizes for the named dimensions of a text that are unlikely to occur in it.
pub(crate) fn sizes(index: &Index, main: FileId) -> IndexMap<usize, String> {
    const SIZES: [usize; 12] = [101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157];
    let own = index.nodes.iter().filter(|node| node.name_span.file == main);
    let dimensions = own.flat_map(|node| &node.variables).filter(|v| v.kind == VariableKind::Dimension);
    let names: IndexSet<&String> = dimensions.map(|v| &v.name).collect();
    SIZES.into_iter().zip(names.into_iter().cloned()).collect()
}

impl Inspection {
    /// The type of a variable of an analysis, with the names of named dimensions.
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

/// The names in a version of a text, which the names of its variables share.
pub(crate) struct Names {
    texts: Vec<Arc<str>>,
    nodes: Vec<Arc<str>>,
    places: Places,
}

impl Names {
    pub(crate) fn new(sources: &Sources, index: &Index) -> Self {
        Self {
            texts: sources.ids().map(|id| sources.name(id).into()).collect(),
            nodes: index.nodes.iter().map(|node| (*node.name).into()).collect(),
            places: Places::new(&index.nodes),
        }
    }

    /// The variables of an analysis whose name is the text at their place; this excludes variables that a pass made.
    pub(crate) fn variables(&self, analysis: &Analysis) -> Vec<(VariableName, Var)> {
        let named = |(v, data): (Var, &VarData)| {
            let own = data.name.as_deref()?.rsplit('.').next()?;
            if own != analysis.sources.snippet(data.span) {
                return None;
            }
            let node = Arc::clone(&self.nodes[self.places.at(data.span)?]);
            let text = Arc::clone(self.texts.get(data.span.file.index())?);
            Some((VariableName { text, node, variable: own.into() }, v))
        };
        analysis.flat.vars.iter_enumerated().filter_map(named).collect()
    }
}
