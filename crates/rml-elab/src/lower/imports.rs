//! Brings the imports of a text into scope, and finds unused imports.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, FileId, IndexVec, Span, suggest};
use rml_syntax::ast::{Ident, Import, ImportKind, ImportName};

use super::Header;
use crate::builtins;
use crate::hir::SourceId;
use crate::load::LoadedFile;
use crate::report::Report;
use crate::scope::{FileScope, Scopes};

/// Binds the names that a text imports.
pub(super) fn bind(
    file: &LoadedFile<'_>,
    names: &lasso::Rodeo,
    headers: &IndexVec<SourceId, Header<'_>>,
    scopes: &mut Scopes,
    report: &mut Report,
) {
    let mut bind = Bind { names, headers, scopes, report, scope: FileScope::default() };
    for (import, target) in &file.imports {
        bind.scope.imported.push(*target);
        match import.kind {
            ImportKind::Whole => bind.whole(import, *target),
            ImportKind::Names(wanted) => wanted.iter().for_each(|name| bind.name(name, *target)),
            ImportKind::Qualified(alias) => bind.module(alias, import, *target),
        }
    }
    let imports = bind.scope;
    if let Some(scope) = scopes.files.get_mut(&file.id) {
        let FileScope { own, private, lost, incomplete, library, last_import, .. } = std::mem::take(scope);
        *scope = FileScope { own, private, incomplete, library, last_import, ..imports };
        scope.lost.extend(lost);
    }
}

struct Bind<'a, 'b> {
    names: &'b lasso::Rodeo,
    headers: &'b IndexVec<SourceId, Header<'a>>,
    scopes: &'b Scopes,
    report: &'b mut Report,
    /// The names imported so far.
    scope: FileScope,
}

impl Bind<'_, '_> {
    fn whole(&mut self, import: &Import<'_>, target: FileId) {
        let Some(exporting) = self.scopes.files.get(&target) else { return };
        self.scope.lost.extend(exporting.lost.iter().cloned());
        for (name, id) in exporting.exports() {
            let entry = self.scope.whole.entry(name.to_owned()).or_default();
            if entry.iter().all(|(known, _)| *known != id) {
                entry.push((id, import.span));
            }
        }
    }

    fn name(&mut self, wanted: &ImportName, target: FileId) {
        let Some(exporting) = self.scopes.files.get(&target) else { return };
        let name = self.names.resolve(&wanted.name.name);
        let here = self.names.resolve(&wanted.here().name);
        let Some(id) = exporting.export(name) else {
            self.scope.lost.insert(here.to_owned());
            if exporting.lost.contains(name) {
                return;
            }
            let d = match exporting.own.get(name) {
                Some(private) => self.private(*private, wanted.name.span),
                None => not_exported("the imported text", name, wanted.name.span, exporting),
            };
            return self.report.push(d);
        };
        match self.scope.selective.get(here) {
            Some(&(other, span)) if other != id => self.report.push(
                Diagnostic::error(codes::DUPLICATE_DEFINITION, format!("two nodes `{here}` are imported"))
                    .label(wanted.here().span, "imported again here")
                    .label(span, "imported here")
                    .note(format!("the other one is node `{}` of another text", self.headers[other].name))
                    .help(format!("give one of them another name: `import .. ({name} as other_{name});`")),
            ),
            _ => {
                self.scope.selective.insert(here.to_owned(), (id, wanted.here().span));
            }
        }
    }

    fn module(&mut self, alias: Ident, import: &Import<'_>, target: FileId) {
        let name = self.names.resolve(&alias.name);
        if let Some(&(_, first)) = self.scope.modules.get(name) {
            return self.report.push(
                Diagnostic::error(codes::DUPLICATE_DEFINITION, format!("two imports are called `{name}`"))
                    .label(alias.span, "called so again here")
                    .label(first, "this import has that name")
                    .help("choose another name for one of them"),
            );
        }
        self.scope.modules.insert(name.to_owned(), (target, import.span));
    }

    fn private(&self, id: SourceId, span: Span) -> Diagnostic {
        private(&self.headers[id], span)
    }
}

/// The error that a private node of another file is used.
pub(super) fn private(node: &Header<'_>, span: Span) -> Diagnostic {
    let name = &node.name;
    let keyword = node.ast.private.unwrap_or(node.ast.name.span);
    Diagnostic::error(codes::PRIVATE_NODE, format!("node `{name}` is private to the file that defines it"))
        .label(span, "used in another file")
        .label(keyword.to(node.ast.name.span), "private")
        .help("use a node that is not private, or remove `private` if the file is yours")
}

/// The error that the imported text has no node with that name.
pub(super) fn not_exported(text: &str, name: &str, span: Span, exporting: &FileScope) -> Diagnostic {
    let d = Diagnostic::error(codes::IMPORT_NOT_FOUND, format!("{text} has no node `{name}`"))
        .label(span, "not found");
    if builtins::find(name).is_some() {
        return d.help(format!("`{name}` is a function of the language: leave it out here, and call it"));
    }
    match suggest(name, exporting.exports().map(|(name, _)| name)) {
        Some(near) => d.fix(format!("there is `{near}`"), last_part(span, name), near),
        None => d,
    }
}

/// The place of the name itself, without the name of an import that may precede it.
fn last_part(span: Span, name: &str) -> Span {
    Span { start: span.end.saturating_sub(u32::try_from(name.len()).unwrap_or(0)).max(span.start), ..span }
}

/// Warns about unused imports. An import that brings an adjoint may be used without being named.
pub(super) fn unused(file: &LoadedFile<'_>, names: &lasso::Rodeo, scopes: &Scopes, report: &mut Report) {
    let used = scopes.used();
    for (import, target) in &file.imports {
        let brings_adjoint = |target: &FileId| {
            let exports = scopes.files.get(target).into_iter().flat_map(FileScope::exports);
            exports.into_iter().any(|(name, _)| name.starts_with("diff_"))
        };
        match import.kind {
            ImportKind::Whole if brings_adjoint(target) => {}
            ImportKind::Whole | ImportKind::Qualified(_) => {
                if !used.contains(&import.span) {
                    report.push(warning("nothing from this import is used", import.span));
                }
            }
            ImportKind::Names(wanted) => {
                let is_used = |name: &&ImportName| {
                    let here = names.resolve(&name.here().name);
                    used.contains(&name.here().span) || here.starts_with("diff_")
                };
                let none = !wanted.iter().any(|name| is_used(&name));
                for (i, name) in wanted.iter().enumerate().filter(|(_, name)| !is_used(name)) {
                    // A name is removed with the comma before or after it. If no name of the import is used, the whole
                    // import is removed.
                    let removed = match (none, i.checked_sub(1).map(|i| wanted[i]), wanted.get(i + 1)) {
                        (true, ..) => import.span,
                        (_, Some(before), _) => Span { start: before.span().end, ..name.span() },
                        (_, None, Some(behind)) => Span { end: behind.span().start, ..name.span() },
                        (_, None, None) => name.span(),
                    };
                    let message =
                        format!("the imported node `{}` is not used", names.resolve(&name.here().name));
                    let d = Diagnostic::warning(codes::UNUSED_IMPORT, message);
                    report.push(d.label(name.span(), "not used").fix("remove it", removed, ""));
                }
            }
        }
    }
}

fn warning(message: &str, span: Span) -> Diagnostic {
    Diagnostic::warning(codes::UNUSED_IMPORT, message).label(span, "not used").fix("remove it", span, "")
}
