//! Which node a name means in a file: its own nodes, then selective imports, then whole imports, then the prelude, then builtins.
//! `diff_<f>` names the adjoint of `f` unless a node of that name is in scope.

use indexmap::IndexMap;
use rml_base::{FileId, IndexVec, Span};

use crate::builtins::{self, Builtin};
use crate::hir::{Node, SourceId};
use crate::suggest::suggest;

/// All resolved nodes, and the scopes of the files they stand in.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) nodes: IndexVec<SourceId, Node>,
    pub(crate) scopes: Scopes,
    pub(crate) main: FileId,
    /// Every node after the nodes that it calls.
    pub(crate) order: Vec<SourceId>,
    /// The nodes that hold no error and call none that does, as far as names tell.
    pub(crate) sound: Vec<SourceId>,
}

/// The scopes of all files.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    pub(crate) files: IndexMap<FileId, FileScope>,
    pub(crate) prelude: IndexMap<String, SourceId>,
}

/// What one file can name.
#[derive(Debug, Default)]
pub(crate) struct FileScope {
    /// Its own nodes.
    pub(crate) own: IndexMap<String, SourceId>,
    /// `import a (f);`
    pub(crate) selective: IndexMap<String, (SourceId, Span)>,
    /// `import a;`
    pub(crate) whole: IndexMap<String, Vec<(SourceId, Span)>>,
}

/// What the name before a parenthesis means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Callable {
    /// A node, differentiated that often.
    Node(SourceId, u8),
    /// A builtin function.
    Builtin(Builtin),
    /// Several imports define it.
    Ambiguous(Vec<Span>),
}

/// The greatest order of a derivative.
const MAX_ORDER: u8 = 4;

impl Scopes {
    /// The node of exactly that name: `Err` with the imports if several define it.
    pub(crate) fn node(&self, file: FileId, name: &str) -> Result<Option<SourceId>, Vec<Span>> {
        let Some(scope) = self.files.get(&file) else { return Ok(None) };
        if let Some(&id) = scope.own.get(name) {
            return Ok(Some(id));
        }
        if let Some(&(id, _)) = scope.selective.get(name) {
            return Ok(Some(id));
        }
        match scope.whole.get(name).map(Vec::as_slice) {
            Some([(id, _)]) => Ok(Some(*id)),
            Some(several @ [_, _, ..]) => Err(several.iter().map(|(_, span)| *span).collect()),
            _ => Ok(self.prelude.get(name).copied()),
        }
    }

    /// What a call of `name` means.
    pub(crate) fn callable(&self, file: FileId, name: &str) -> Option<Callable> {
        let mut rest = name;
        let mut order = 0;
        loop {
            match self.node(file, rest) {
                Ok(Some(id)) => return Some(Callable::Node(id, order)),
                Err(imports) => return Some(Callable::Ambiguous(imports)),
                Ok(None) => {}
            }
            match rest.strip_prefix("diff_") {
                Some(inner) if order < MAX_ORDER => {
                    rest = inner;
                    order += 1;
                }
                _ => break,
            }
        }
        builtins::find(name).map(Callable::Builtin)
    }

    /// A name in scope that `name` may be a slip of the pen for.
    pub(crate) fn suggest(&self, file: FileId, name: &str) -> Option<String> {
        let mut known: Vec<&str> = builtins::names().collect();
        known.extend(self.prelude.keys().map(String::as_str));
        if let Some(scope) = self.files.get(&file) {
            let nodes = scope.own.keys().chain(scope.selective.keys()).chain(scope.whole.keys());
            known.extend(nodes.map(String::as_str));
        }
        let (prefix, inner) = name.split_at(name.rfind("diff_").map_or(0, |i| i + "diff_".len()));
        let adjoint = prefix.split("diff_").all(str::is_empty);
        let near = if adjoint { suggest(inner, known.iter().copied()) } else { None };
        near.map(|near| format!("{prefix}{near}"))
            .or_else(|| suggest(name, known.into_iter()).map(str::to_owned))
    }

    /// The override of node `id`, called `name`: the node `diff_<name>` of the main file if `name` means the same node there, else
    /// that of the file that defines it.
    pub(crate) fn override_of(
        &self,
        main: FileId,
        file: FileId,
        id: SourceId,
        name: &str,
    ) -> Option<SourceId> {
        let adjoint = format!("diff_{name}");
        let here = |file| match (self.node(file, name), self.node(file, &adjoint)) {
            (Ok(Some(f)), Ok(Some(diff))) if f == id => Some(diff),
            _ => None,
        };
        here(main).or_else(|| here(file))
    }
}
