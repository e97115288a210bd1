//! Inspects successive versions of a text.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::{Diagnostics, Error, FileId};
use rml_elab::{FormalKind, Index, NodeSignature};
use rml_ir::flat::Var;
use rml_ir::typed::{self, Input, StaticValue};

use crate::analyse::{Placed, Unchecked, analyse_alone, analyse_each_by};
use crate::analysis::Analysis;
use crate::batch::any_batch;
use crate::check::{Findings, Forms};
use crate::front::Front;
use crate::inspect::{Inspection, Names, Survey, VariableName, sizes};
use crate::interface::BATCH;
use crate::kept::Kept;
use crate::options::Options;
use crate::reach::{Grounds, Reach, Versions};
use crate::report::{self, CheckReport};
use crate::source::Source;

/// Inspects successive versions of a text, and analyses again only the nodes for which the result may differ: nodes
/// whose text, or a callee's text, has changed.
///
/// ```
/// # use rml_driver as rml;
/// # fn main() -> Result<(), rml_base::Error> {
/// let mut inspector = rml::Inspector::default();
/// for text in ["node f(x: num [2]) -> (o)  o = sum(y);", "node f(x: num [2]) -> (o)  o = sum(x);"] {
///     let survey = inspector.survey(&rml::Source::text("f.rml", text))?;
///     let inspection = inspector.inspect().expect("a text was surveyed");
///     assert_eq!(survey.findings.has_errors(), text.contains('y'));
///     assert_eq!(inspection.report.findings.has_errors(), text.contains('y'));
/// }
/// # Ok(()) }
/// ```
#[derive(Default)]
pub struct Inspector {
    surveyed: Option<Surveyed>,
    versions: Versions,
    forms: Kept<()>,
    analyses: Kept<Option<Analysed>>,
}

/// A node's analysis, and the names of its variables.
type Analysed = (Arc<Analysis>, Arc<[(VariableName, Var)]>);

/// A text whose names, types and shapes have been checked.
struct Surveyed {
    front: Front,
    index: Arc<Index>,
    modules: Vec<typed::Module>,
    findings: Diagnostics,
}

/// The options for surveying a version.
fn surveyed() -> Options {
    any_batch(&Options::default())
}

impl fmt::Debug for Inspector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inspector").field("surveyed", &self.surveyed.is_some()).finish_non_exhaustive()
    }
}

impl Inspector {
    /// The names of the next version, with the errors in names, types and shapes, which take little time to find.
    ///
    /// # Errors
    /// The text cannot be read.
    pub fn survey(&mut self, source: &Source) -> Result<Survey, Error> {
        self.surveyed = None;
        let (front, index) = Front::indexed(&source.from)?;
        let index = Arc::new(index);
        let (modules, findings) = front.check_all(&surveyed());
        let survey = Survey {
            sources: Arc::clone(&front.sources),
            main: front.main,
            index: Arc::clone(&index),
            findings: findings.clone(),
        };
        self.surveyed = Some(Surveyed { front, index, modules, findings });
        Ok(survey)
    }

    /// All facts about the version that was surveyed last. An analysis that is reused from an older version has the
    /// texts of that version; the findings in the report have their places in this version. `None` if nothing has been
    /// surveyed since the last call.
    pub fn inspect(&mut self) -> Option<Inspection> {
        let Surveyed { front, index, modules, findings } = self.surveyed.take()?;
        let main = front.main;
        let reach = self.versions.update(&front.sources, &index, &findings);
        let nodes = Nodes::new(&front, &index, reach, Forms::new(&front, &surveyed(), modules));
        let mut all = Findings::default();
        all.add(findings);
        all.add(self.forms(&nodes));
        let mut findings = all.list;
        let sizes = sizes(&index, main);
        let clean = !findings.has_errors();
        let Analyses { analyses, unchecked, instances, found } = self.analyses(&nodes, &sizes, clean);
        report::merge(&mut findings, found.iter());
        findings.sort();
        let report = CheckReport { sources: Arc::clone(&front.sources), findings, analyses, unchecked };
        Some(Inspection { report, main, instances, sizes })
    }

    /// The findings of the stages after the front end.
    fn forms(&mut self, nodes: &Nodes<'_>) -> Diagnostics {
        let kept = &mut self.forms;
        let found = nodes.forms.findings(&mut |module, open| {
            let root = &module.nodes[module.root];
            let is_open = |input: &Input| root.vars[input.var].name.as_deref().is_some_and(open);
            let given: Vec<bool> = root.inputs().map(is_open).collect();
            let find = || (nodes.forms.findings_of(&root.name, open), ());
            kept.find(&root.name, format!("{given:?}"), nodes.grounds(&root.name), find).0
        });
        kept.end();
        found
    }

    /// The analyses of all nodes.
    fn analyses(&mut self, nodes: &Nodes<'_>, sizes: &IndexMap<usize, String>, clean: bool) -> Analyses {
        let defaults = sizes.iter().map(|(size, name)| (name.clone(), StaticValue::Int(*size as i64)));
        let options = Options { defaults: defaults.collect(), ..Options::default() };
        let (kept, names) = (&mut self.analyses, Names::new(&nodes.front.sources, nodes.index));
        let mut all = Analyses::default();
        let mut known = 0;
        let (analyses, unchecked) = analyse_each_by(nodes.front, &options, clean, &mut |node, placed| {
            let find = || {
                let analysis = analyse_alone(nodes.front, node, placed, &nodes.forms).map(Arc::new);
                let findings = analysis.iter().flat_map(|analysis| analysis.findings()).cloned().collect();
                let named = |analysis| (Arc::clone(&analysis), names.variables(&analysis).into());
                (Diagnostics(findings), analysis.map(named))
            };
            let (grounds, given) = (nodes.grounds(&node.name), given(node, placed));
            let (findings, analysed) = kept.find(&node.name, given, grounds, find);
            let (analysis, variables) = analysed?;
            for (name, var) in &*variables {
                all.instances.entry(name.clone()).or_default().push((known, *var));
            }
            all.found.extend(findings);
            known += 1;
            Some(analysis)
        });
        kept.end();
        Analyses { analyses, unchecked, ..all }
    }
}

/// The analyses of a version, and the parts of an [`Inspection`] made from them.
#[derive(Default)]
struct Analyses {
    analyses: Vec<Arc<Analysis>>,
    unchecked: Vec<Unchecked>,
    instances: IndexMap<VariableName, Vec<(usize, Var)>>,
    found: Diagnostics,
}

/// The nodes of a version.
struct Nodes<'a> {
    front: &'a Front,
    index: &'a Index,
    reach: Reach,
    /// The nodes without errors in the front end.
    forms: Forms<'a>,
    /// The nodes of the main text, by their indices in the index of names.
    own: IndexMap<&'a str, usize>,
}

impl<'a> Nodes<'a> {
    fn new(front: &'a Front, index: &'a Index, reach: Reach, forms: Forms<'a>) -> Self {
        let all = index.nodes.iter().enumerate().rev();
        let own = all.filter(|(_, node)| node.span.file == front.main).map(|(i, node)| (&*node.name, i));
        Self { front, index, reach, forms, own: own.collect() }
    }

    /// The facts on which findings about a node of the main text depend.
    fn grounds(&self, name: &str) -> Option<Grounds> {
        self.reach.of(*self.own.get(name)?)
    }
}

/// The values of a node's static parameters and dimensions.
fn given(node: &NodeSignature, placed: &Placed) -> String {
    let statics = node.formals.iter().filter(|formal| formal.kind == FormalKind::Static).map(|f| &*f.name);
    let names = statics.chain(node.dimensions.iter().map(|name| &**name)).chain([BATCH]);
    let values: Vec<_> = names.map(|name| placed.options.defaults.get(name)).collect();
    format!("{values:?}")
}

/// Checks a source as [`check_report`](crate::check_report) does, and also maps its variables to those of the analyses.
pub fn inspect(source: &Source) -> Inspection {
    let mut inspector = Inspector::default();
    let unread = |error: Error| Inspection {
        report: report::unread(error),
        main: FileId(0),
        instances: IndexMap::new(),
        sizes: IndexMap::new(),
    };
    match inspector.survey(source) {
        Ok(survey) => {
            inspector.inspect().unwrap_or_else(|| unread(Error::new(survey.findings, survey.sources)))
        }
        Err(error) => unread(error),
    }
}
