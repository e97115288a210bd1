//! From syntax trees to resolved nodes: binds node names (this file, [`imports`]), interfaces and variables ([`node`]),
//! expressions ([`expr`]).

mod along;
mod automaton;
mod clauses;
mod columns;
mod delays;
mod exchanged;
mod expr;
mod gradients;
mod imports;
mod node;
mod order;
mod results;
mod rules;
mod scalars;
mod share;
mod slips;
mod states;
mod structure;
mod transitions;
mod types;
mod unknown;
mod written;

pub(crate) use exchanged::{MAX_ARGUMENTS, first_order};
pub(crate) use expr::arguments;
pub(crate) use order::{callees, ordered, recursion};

use std::sync::Arc;

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, FileId, IndexVec, Span};
use rml_syntax::ast;

use crate::hir::{Node, SourceId};
use crate::load::{Loaded, LoadedFile};
use crate::report::Report;
use crate::scope::{FileScope, Program, Scopes};
use crate::usage;

/// All nodes, before their bodies are lowered.
pub(crate) type Headers<'a> = IndexVec<SourceId, Header<'a>>;

/// Resolves all nodes. Errors are added to `report`.
pub(crate) fn lower<'a>(
    loaded: &Loaded<'a>,
    names: &lasso::Rodeo,
    report: &mut Report,
) -> (Program, Headers<'a>) {
    let mut headers: Headers<'a> = IndexVec::new();
    let mut scopes = Scopes { library: loaded.library, ..Scopes::default() };
    for file in &loaded.files {
        let scope = own_nodes(file, names, &mut headers, report);
        if file.id == loaded.prelude {
            scopes.prelude = scope.exports().map(|(name, id)| (name.to_owned(), id)).collect();
        }
        scopes.files.insert(file.id, scope);
    }
    for (id, header) in headers.iter_enumerated() {
        match header.form {
            ast::DefinitionForm::Node => {}
            ast::DefinitionForm::Constant => {
                scopes.constants.insert(id);
            }
            ast::DefinitionForm::Record => {
                scopes.records.insert(id);
            }
            ast::DefinitionForm::Enum => {
                scopes.enums.insert(id, Vec::new());
            }
            ast::DefinitionForm::Case => {
                scopes.constants.insert(id);
                if let Some((_, cases)) = scopes.enums.last_mut() {
                    cases.push(id);
                }
            }
        }
    }
    for file in &loaded.files {
        imports::bind(file, names, &headers, &mut scopes, report);
        columns::check(file, names, report);
    }
    let mut nodes: IndexVec<SourceId, Node> = IndexVec::new();
    for (id, header) in headers.iter_enumerated() {
        nodes.push(node::lower(id, &headers, &scopes, names, report));
        debug_assert_eq!(header.name.as_ref(), nodes[id].name.as_ref());
    }
    types::recursive_records(&mut nodes, &scopes, report);
    let order = order::call_order(&mut nodes, report);
    for &id in &order {
        exchanged::report(&mut nodes, id, report);
        scalars::report(&nodes[id], &scopes, report);
        delays::report(&nodes[id], &scopes, report);
        let (roles, static_order) = usage::analyse(&|callee| &nodes[callee], &nodes[id], report);
        let template = structure::is_template(&nodes, id);
        let node = &mut nodes[id];
        (node.roles, node.static_order, node.template) = (roles, static_order, template);
    }
    let prelude = Span::new(loaded.prelude, 0, 0);
    let update = rules::update(prelude);
    let (roles, static_order) = usage::analyse(&|callee| &nodes[callee], &update, report);
    let update = nodes.push(Node { roles, static_order, ..update });
    let nodes = nodes.into_vec().into_iter().map(Arc::new).collect();
    if report.errors() == 0 {
        loaded.files.iter().for_each(|file| imports::unused(file, names, &scopes, report));
    }
    let scopes = Arc::new(scopes);
    (Program { nodes, scopes, main: loaded.main, order, in_error: report.errors() > 0, update }, headers)
}

/// A node before its body is lowered.
pub(crate) struct Header<'a> {
    pub(crate) name: Arc<str>,
    pub(crate) file: FileId,
    pub(crate) ast: &'a ast::Node<'a>,
    pub(crate) form: ast::DefinitionForm,
}

impl Header<'_> {
    /// The number of values that a call of the node returns.
    fn results(&self) -> usize {
        if self.form == ast::DefinitionForm::Record { 1 } else { self.ast.outputs.len() }
    }

    /// The form of the definition, as named in messages.
    fn what(&self) -> &'static str {
        match self.form {
            ast::DefinitionForm::Record => "record",
            ast::DefinitionForm::Enum => "enumeration",
            ast::DefinitionForm::Constant | ast::DefinitionForm::Case => "constant",
            ast::DefinitionForm::Node => "node",
        }
    }
}

fn own_nodes<'a>(
    file: &LoadedFile<'a>,
    names: &lasso::Rodeo,
    headers: &mut Headers<'a>,
    report: &mut Report,
) -> FileScope {
    let mut scope = FileScope {
        lost: file.ast.lost.iter().map(|name| names.resolve(name).to_owned()).collect(),
        incomplete: file.incomplete,
        library: file.library,
        last_import: file.ast.imports().last().map(|import| import.span),
        ..FileScope::default()
    };
    for ast::Definition { node: ast, form } in file.ast.definitions() {
        let name = names.resolve(&ast.name.name);
        let id = headers.push(Header { name: name.into(), file: file.id, ast, form });
        if ast.private.is_some() {
            scope.private.insert(name.to_owned());
        }
        if let Some(&first) = scope.own.get(name) {
            let first: &Header<'_> = &headers[first];
            report.push(
                Diagnostic::error(codes::DUPLICATE_DEFINITION, format!("`{name}` is defined twice"))
                    .label(ast.name.span, "defined again here")
                    .label(first.ast.name.span, "first defined here")
                    .help("rename or remove one of them"),
            );
        } else {
            scope.own.insert(name.to_owned(), id);
        }
    }
    scope
}
