//! Name resolution: the node that a name means in a file. The order is: its own nodes, selective imports, whole
//! imports, the prelude, builtins; `m.f` is node `f` of the text imported as `m`. `diff_<f>` is the adjoint of `f`
//! unless a node with that name is in scope.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::{IndexMap, IndexSet};
use rml_base::{EntityId, FileId, IndexVec, Span, suggest};

use crate::builtins::{self, Builtin};
use crate::hir::{Node, Order, SourceId};

/// All resolved nodes, and the scopes of their files.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) nodes: IndexVec<SourceId, Arc<Node>>,
    pub(crate) scopes: Arc<Scopes>,
    pub(crate) main: FileId,
    /// All nodes, each after the nodes that it calls.
    pub(crate) order: Vec<SourceId>,
    /// Whether the program contains errors, which are reported.
    pub(crate) in_error: bool,
    /// A node that calls its node argument, for `by`. It cannot be named in a program.
    pub(crate) update: SourceId,
}

/// The scopes of all files.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    pub(crate) files: IndexMap<FileId, FileScope>,
    pub(crate) prelude: IndexMap<String, SourceId>,
    /// The nodes that are constants, cases included.
    pub(crate) constants: IndexSet<SourceId>,
    /// The nodes that are enumerations, and the cases of each.
    pub(crate) enums: IndexMap<SourceId, Vec<SourceId>>,
    /// The nodes that are records.
    pub(crate) records: IndexSet<SourceId>,
    /// The embedded library, for help lines.
    pub(crate) library: &'static [(&'static str, &'static str)],
    /// The imports, or the names in imports, that were used to find a node.
    pub(crate) used: Mutex<IndexSet<Span>>,
}

/// The names that one file can use.
#[derive(Debug, Default)]
pub(crate) struct FileScope {
    /// The nodes that the file defines.
    pub(crate) own: IndexMap<String, SourceId>,
    /// The nodes of the file that other files cannot name.
    pub(crate) private: IndexSet<String>,
    /// `import a (f);`
    pub(crate) selective: IndexMap<String, (SourceId, Span)>,
    /// `import a;`
    pub(crate) whole: IndexMap<String, Vec<(SourceId, Span)>>,
    /// The files that the file imports.
    pub(crate) imported: Vec<FileId>,
    /// `import a as m;`
    pub(crate) modules: IndexMap<String, (FileId, Span)>,
    /// Names that may be defined by parts that did not parse or imports that were not found.
    pub(crate) lost: IndexSet<String>,
    /// Whether an import was not found that could define any name.
    pub(crate) incomplete: bool,
    /// The text of the file, if it belongs to the library.
    pub(crate) library: Option<&'static str>,
    /// The place of the file's last import.
    pub(crate) last_import: Option<Span>,
}

impl FileScope {
    /// The nodes that other files can name.
    pub(crate) fn exports(&self) -> impl Iterator<Item = (&str, SourceId)> {
        let own = self.own.iter().map(|(name, id)| (name.as_str(), *id));
        own.filter(|(name, _)| !self.private.contains(*name))
    }

    /// The node with that name, if other files can name it.
    pub(crate) fn export(&self, name: &str) -> Option<SourceId> {
        self.own.get(name).copied().filter(|_| !self.private.contains(name))
    }
}

/// The meaning of a name before a parenthesis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Callable {
    /// A node, and the order to which it is differentiated.
    Node(SourceId, Order),
    /// A builtin function.
    Builtin(Builtin),
    /// A name that several imports define.
    Ambiguous(Vec<Span>),
}

/// The maximum order of a derivative.
const MAX_ORDER: u8 = 4;

impl Scopes {
    /// The imports, or the names in imports, that were used to find a node.
    pub(crate) fn used(&self) -> MutexGuard<'_, IndexSet<Span>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The node with exactly that name; `Err` with the imports if several define it.
    pub(crate) fn node(&self, file: FileId, name: &str) -> Result<Option<SourceId>, Vec<Span>> {
        let (id, import) = self.find(file, name)?;
        self.used().extend(import);
        Ok(id)
    }

    /// The constant with that name.
    pub(crate) fn constant(&self, file: FileId, name: &str) -> Option<SourceId> {
        let (id, import) = self.find(file, name).ok()?;
        let id = id.filter(|id| self.constants.contains(id))?;
        self.used().extend(import);
        Some(id)
    }

    /// The enumeration or record with that name.
    pub(crate) fn named_type(&self, file: FileId, name: &str) -> Option<SourceId> {
        let (id, import) = self.find(file, name).ok()?;
        let id = id.filter(|id| self.enums.contains_key(id) || self.records.contains(id))?;
        self.used().extend(import);
        Some(id)
    }

    /// The cases of an enumeration; empty for other nodes.
    pub(crate) fn cases(&self, id: SourceId) -> &[SourceId] {
        self.enums.get(&id).map_or(&[], |cases| &cases[..])
    }

    /// The enumeration to which a case belongs.
    pub(crate) fn enum_of(&self, case: SourceId) -> Option<SourceId> {
        self.enums.iter().find(|(_, cases)| cases.contains(&case)).map(|(of, _)| *of)
    }

    /// Whether an item cannot be called because it is a constant or an enumeration.
    fn is_no_node(&self, id: SourceId) -> bool {
        self.constants.contains(&id) || self.enums.contains_key(&id)
    }

    /// The node or constant with exactly that name, and the import that brings it.
    fn find(&self, file: FileId, name: &str) -> Result<(Option<SourceId>, Option<Span>), Vec<Span>> {
        let Some(scope) = self.files.get(&file) else { return Ok((None, None)) };
        if let Some((module, name)) = name.split_once('.') {
            let Some(&(target, import)) = scope.modules.get(module) else { return Ok((None, None)) };
            return Ok((self.files.get(&target).and_then(|target| target.export(name)), Some(import)));
        }
        if let Some(&id) = scope.own.get(name) {
            return Ok((Some(id), None));
        }
        if let Some(&(id, import)) = scope.selective.get(name) {
            return Ok((Some(id), Some(import)));
        }
        match scope.whole.get(name).map(Vec::as_slice) {
            Some([(id, import)]) => Ok((Some(*id), Some(*import))),
            Some(several @ [_, _, ..]) => Err(several.iter().map(|(_, span)| *span).collect()),
            _ => Ok((self.prelude.get(name).copied(), None)),
        }
    }

    /// The meaning of `name` as a callee.
    pub(crate) fn callable(&self, file: FileId, name: &str) -> Option<Callable> {
        let (module, mut rest) = name.split_at(name.find('.').map_or(0, |dot| dot + 1));
        let mut order = Order::NONE;
        loop {
            match self.node(file, &format!("{module}{rest}")) {
                Ok(Some(id)) if self.is_no_node(id) => {}
                // A record has no adjoint.
                Ok(Some(id)) if order.times > 0 && self.records.contains(&id) => {}
                Ok(Some(id)) => return Some(Callable::Node(id, order)),
                Err(imports) => return Some(Callable::Ambiguous(imports)),
                Ok(None) => {}
            }
            match derivative(rest, order) {
                Some(inner) => (rest, order) = inner,
                None => break,
            }
        }
        builtins::find(name).map(Callable::Builtin)
    }

    /// Whether an unknown name may be defined by a part that did not parse or an import that was not found.
    pub(crate) fn is_excused(&self, file: FileId, name: &str, callee: bool) -> bool {
        let Some(scope) = self.files.get(&file) else { return false };
        if let Some((module, inner)) = name.split_once('.') {
            return match scope.modules.get(module) {
                Some((target, _)) => self.is_excused(*target, inner, false),
                None => scope.incomplete || scope.lost.contains(module),
            };
        }
        let plain = adjoint_prefix(name).1;
        scope.lost.contains(name) || callee && (scope.incomplete || scope.lost.contains(plain))
    }

    /// Whether a file belongs to the library.
    pub(crate) fn is_library(&self, file: FileId) -> bool {
        self.files.get(&file).is_some_and(|scope| scope.library.is_some())
    }

    /// A name in scope that `name` may be a misspelling of.
    pub(crate) fn suggest(&self, file: FileId, name: &str) -> Option<String> {
        let mut known: Vec<&str> = builtins::names().collect();
        known.extend(self.prelude.keys().map(String::as_str));
        if let Some(scope) = self.files.get(&file) {
            let nodes = scope.own.keys().chain(scope.selective.keys()).chain(scope.whole.keys());
            known.extend(nodes.map(String::as_str));
        }
        let (prefix, inner) = adjoint_prefix(name);
        let adjoint = !prefix.is_empty();
        // Functions have no adjoint.
        let nodes = || known.iter().copied().filter(|name| builtins::find(name).is_none());
        let near = if adjoint { suggest(inner, nodes()) } else { None };
        let misspelt = || {
            let adjoints: Vec<String> = nodes().map(|known| format!("diff_{known}")).collect();
            suggest(name, adjoints.iter().map(String::as_str)).map(str::to_owned)
        };
        near.map(|near| format!("{prefix}{near}"))
            .or_else(|| suggest(name, known.iter().copied()).map(str::to_owned))
            .or_else(|| if name.starts_with("di") { misspelt() } else { None })
    }

    /// A private node with that name in an imported text.
    pub(crate) fn private_node(&self, file: FileId, name: &str) -> Option<SourceId> {
        let scope = self.files.get(&file)?;
        let targets = scope.imported.iter().filter_map(|target| self.files.get(target));
        targets
            .filter(|target| target.private.contains(name))
            .find_map(|target| target.own.get(name).copied())
    }

    /// The library module that exports a node with that name, or the node of which it is an adjoint; and the number of
    /// inputs of the node.
    pub(crate) fn library_module(&self, name: &str) -> Option<(&'static str, usize)> {
        let (_, inner) = adjoint_prefix(name);
        let inputs = |text: &str| {
            let mut names = lasso::Rodeo::new();
            let bump = bumpalo::Bump::new();
            let parsed = rml_syntax::parse(&bump, &mut names, FileId::from_index(0), text);
            let mut public = parsed.file.nodes().filter(|n| n.private.is_none());
            let found = public.find(|n| [name, inner].contains(&names.resolve(&n.name.name)));
            found.map(|node| node.inputs.len())
        };
        self.library.iter().find_map(|(module, text)| Some((*module, inputs(text)?)))
    }

    /// A name in the library that `name` may be a misspelling of, and its module.
    pub(crate) fn library_name(&self, name: &str) -> Option<(&'static str, String)> {
        let mut all = Vec::new();
        for (module, text) in self.library {
            let mut names = lasso::Rodeo::new();
            let bump = bumpalo::Bump::new();
            let parsed = rml_syntax::parse(&bump, &mut names, FileId::from_index(0), text);
            let public = parsed.file.nodes().filter(|n| n.private.is_none());
            all.extend(public.map(|n| (*module, names.resolve(&n.name.name).to_owned())));
        }
        let near = suggest(name, all.iter().map(|(_, name)| name.as_str()))?;
        all.iter().find(|(_, name)| name == near).cloned()
    }

    /// Whether a node with that name is used by differentiation: it updates parameters, or replaces the adjoint of a
    /// node that the file can name.
    pub(crate) fn overrides(&self, file: FileId, name: &str) -> bool {
        let of = |inner: &str| inner == "param" || matches!(self.node(file, inner), Ok(Some(_)));
        name.strip_prefix("diff_").is_some_and(of)
    }

    /// The override of node `id`, called `name`. It is the node `diff_<name>` of the main file, if `name` is this node
    /// there. Otherwise the same is tried with the other names under which the main file imports nodes, and then in the
    /// file that defines the node.
    pub(crate) fn override_of(
        &self,
        main: FileId,
        file: FileId,
        id: SourceId,
        name: &str,
    ) -> Option<SourceId> {
        let here = |file, name: &str| match (self.node(file, name), self.node(file, &format!("diff_{name}")))
        {
            (Ok(Some(f)), Ok(Some(diff))) if f == id => Some(diff),
            _ => None,
        };
        let imported = self.files.get(&main).into_iter().flat_map(|scope| scope.selective.keys());
        here(main, name)
            .or_else(|| imported.into_iter().find_map(|alias| here(main, alias)))
            .or_else(|| here(file, name))
    }
}

/// The name after a leading `diff_` or `grad_`, and the order of the derivative; `outer` is the order of the prefixes
/// before it. `grad_diff_` is not allowed, because a `grad_` cannot hold the parameters that a `diff_` updates.
pub(crate) fn derivative(name: &str, outer: Order) -> Option<(&str, Order)> {
    let (inner, held) = match name.strip_prefix("grad_") {
        Some(inner) => (inner, 1),
        None if outer.held > 0 => return None,
        None => (name.strip_prefix("diff_")?, 0),
    };
    let order = Order { times: outer.times + 1, held: outer.held + held };
    (order.times <= MAX_ORDER).then_some((inner, order))
}

/// The leading `diff_` and `grad_` prefixes of a name, and the rest.
pub(crate) fn adjoint_prefix(name: &str) -> (&str, &str) {
    let mut rest = name;
    while let Some(inner) = rest.strip_prefix("diff_").or_else(|| rest.strip_prefix("grad_")) {
        rest = inner;
    }
    name.split_at(name.len() - rest.len())
}
