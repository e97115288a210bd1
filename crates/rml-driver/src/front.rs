//! The first step of compilation for every node of a source: reads its texts, and binds names.

use std::sync::{Arc, OnceLock};

use rml_analysis::RootRole;
use rml_base::{Diagnostics, Error, FileId, Sources, Span};
use rml_elab::{Index, Loader, NoFiles, NodeSignature, Resolved, Root};
use rml_ir::normal;
use rml_ir::typed::{self, StaticValue};

use crate::batch::{self, Wide};
use crate::interface::{BATCH, Interfaces};
use crate::library::{LIBRARY, PRELUDE, is_library};
use crate::load;
use crate::options::Options;
use crate::origin::Origin;

/// The default node for training.
const TRAIN: &str = "train";
/// The default nodes to evaluate a training: with data, and without.
const EVALUATING: [&str; 2] = ["infer", "evaluate"];

/// Binds names, and returns additional information of type `T`.
type Resolve<T> = fn(&mut Sources, FileId, &rml_elab::Options, &mut dyn Loader) -> (Resolved, T);

/// The texts of a program with their names bound. Every compilation of a source starts from the same front.
#[derive(Debug)]
pub(crate) struct Front {
    /// The texts, for printing diagnostics.
    pub(crate) sources: Arc<Sources>,
    /// The program's own text.
    pub(crate) main: FileId,
    resolved: Resolved,
    interfaces: OnceLock<Interfaces>,
}

impl Front {
    /// Reads the texts and binds names. Errors in names are reported when a node is elaborated.
    ///
    /// # Errors
    /// The main text cannot be read.
    pub(crate) fn new(origin: &Origin) -> Result<Self, Error> {
        let resolve: Resolve<_> =
            |sources, main, options, loader| (Resolved::new(sources, main, options, loader), ());
        Ok(Self::with(origin, resolve)?.0)
    }

    /// As [`new`](Self::new), with an index of all names.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn indexed(origin: &Origin) -> Result<(Self, Index), Error> {
        Self::with(origin, Resolved::indexed)
    }

    fn with<T>(origin: &Origin, resolve: Resolve<T>) -> Result<(Self, T), Error> {
        rml_files::memory::prepare();
        let mut sources = Sources::new();
        let main = load::main_text(origin, &mut sources)?;
        let loader: &mut dyn Loader = match origin {
            Origin::File(_) => &mut load::Files::default(),
            Origin::Edited { texts, .. } => &mut load::Files { open: Some(texts) },
            Origin::Text { .. } => &mut NoFiles,
        };
        let options = elaboration(&Options::default(), Root::Default);
        let (resolved, more) = resolve(&mut sources, main, &options, loader);
        let (sources, interfaces) = (Arc::new(sources), OnceLock::new());
        Ok((Self { sources, main, resolved, interfaces }, more))
    }

    /// Whether a place is in the library.
    pub(crate) fn is_library(&self, place: Span) -> bool {
        is_library(&self.sources, place)
    }

    /// Whether the program's own texts call an adjoint, so that they may train parameters.
    pub(crate) fn differentiates(&self) -> bool {
        self.resolved.differentiates()
    }

    /// The warnings about what a program learns.
    pub(crate) fn learning(&self, module: &normal::Module, role: RootRole) -> Diagnostics {
        rml_analysis::learning(module, role, &|place| self.is_library(place))
    }

    /// The role of a node, by its name.
    pub(crate) fn role(&self, node: &str) -> RootRole {
        let trains = || self.signatures().iter().any(|other| other.name == TRAIN);
        match node {
            TRAIN => RootRole::Trains,
            _ if EVALUATING.contains(&node) && trains() => RootRole::Evaluates,
            _ => RootRole::Runs,
        }
    }

    /// The inputs of a program's root that it compares with values of a known range.
    pub(crate) fn bounded(&self, module: &normal::Module) -> Vec<rml_analysis::Bounded> {
        rml_analysis::bounded(module, &|place| self.is_library(place))
    }

    /// The places of the learning rates of a program.
    pub(crate) fn learning_rates(&self, module: &normal::Module) -> Vec<Span> {
        rml_analysis::learning_rates(module, &|place| self.is_library(place))
    }

    /// The interfaces of the nodes, read from the main text.
    pub(crate) fn interfaces(&self) -> &Interfaces {
        self.interfaces.get_or_init(|| Interfaces::of(&self.sources, self.main))
    }

    /// The signatures of the nodes of the main text, as far as they can be resolved.
    pub(crate) fn signatures(&self) -> Vec<NodeSignature> {
        self.resolved.signatures()
    }

    /// The typed stage of a root, with warnings.
    pub(crate) fn elaborate(
        &self,
        options: &Options,
        root: Root,
    ) -> Result<(typed::Module, Diagnostics), Diagnostics> {
        match self.resolved.elaborate(&elaboration(options, root)) {
            (Some(module), findings) => Ok((module, findings)),
            (None, findings) => Err(findings),
        }
    }

    /// The typed stage of a root, regardless of errors in other nodes.
    ///
    /// # Errors
    /// Errors in the root or in nodes that it needs.
    pub(crate) fn elaborate_alone(
        &self,
        options: &Options,
        root: Root,
    ) -> Result<typed::Module, Diagnostics> {
        self.resolved.elaborate_alone(&elaboration(options, root))
    }

    /// The typed stage of each node without errors that no other node calls, and all findings.
    pub(crate) fn check_all(&self, options: &Options) -> (Vec<typed::Module>, Diagnostics) {
        let check = |options: &Options| self.resolved.check_all(&elaboration(options, Root::Default));
        let (modules, found) = check(options);
        let Some(wide) = self.many(options) else { return (modules, found) };
        let (many, mut wider) = check(&wide.options(options));
        many.iter().for_each(|module| wider.extend(batch::twice(module, &self.sources, &wide)));
        (modules, batch::widest(found, wider, &wide))
    }

    /// As [`elaborate`](Self::elaborate), for any number of stacked windows.
    pub(crate) fn elaborate_any(
        &self,
        options: &Options,
        root: Root,
    ) -> Result<(typed::Module, Diagnostics), Diagnostics> {
        let made = self.elaborate(options, root.clone());
        let Some(wide) = self.many(options) else { return made };
        match (made, self.elaborate(&wide.options(options), root)) {
            (Ok((_, found)) | Err(found), Err(many)) => Err(batch::widest(found, many, &wide)),
            (Ok((module, found)), Ok((many, _))) => {
                Ok((module, batch::widest(found, batch::twice(&many, &self.sources, &wide), &wide)))
            }
            (made, Ok(_)) => made,
        }
    }

    /// A large number of stacked windows, if the number is open and a node has stacked windows.
    fn many(&self, options: &Options) -> Option<Wide> {
        (batch::is_open(options) && self.is_stacked()).then(|| Wide::batch(&self.sources))
    }

    /// Whether a node has stacked windows.
    fn is_stacked(&self) -> bool {
        self.signatures().iter().any(|node| node.dimensions.iter().any(|name| name == BATCH))
    }

    /// The findings that appear only with many stacked windows, for a program that is right with its own number.
    pub(crate) fn stacked(&self, options: &Options, root: Root) -> Diagnostics {
        if !self.is_stacked() {
            return Diagnostics::new();
        }
        let wide = Wide::batch(&self.sources);
        let many = self.elaborate(&wide.options(options), root).ok();
        many.map(|(module, _)| batch::twice(&module, &self.sources, &wide)).unwrap_or_default()
    }

    /// The result, or the findings together with the texts that they point into.
    pub(crate) fn fail<T>(&self, result: Result<T, Diagnostics>) -> Result<T, Error> {
        result.map_err(|findings| Error::new(findings, Arc::clone(&self.sources)))
    }
}

/// The options for elaborating a root.
fn elaboration(options: &Options, root: Root) -> rml_elab::Options {
    let mut set = options.set.clone();
    if let Some(batch) = options.batch {
        set.insert(BATCH.to_owned(), StaticValue::Int(i64::try_from(batch).unwrap_or(i64::MAX)));
    }
    rml_elab::Options {
        root,
        set,
        defaults: options.defaults.clone(),
        precision: options.precision,
        library: LIBRARY,
        prelude: PRELUDE,
    }
}
