//! Documentation of nodes: the comment before each, its interface, and its static inputs. It is read from the source,
//! so it is always up to date.

mod forms;

use bumpalo::Bump;
use indexmap::IndexMap;
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Diagnostics, Error, Sources, Span, suggest};
use rml_elab::{FormalKind, FormalSignature, NodePlace, NodeSignature, VariableKind};
use rml_ir::op::{self, OpInfo};
use rml_syntax::ast::{ColumnList, DTypeName, Decl, File, Node};

pub use forms::FormDoc;

use crate::library::{LIBRARY, PRELUDE};
use crate::load;
use crate::source::Source;
use forms::FORMS;

/// A text of nodes with its comments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModuleDoc {
    /// `std.layers`, or the name of a file.
    pub name: String,
    /// The comment at its beginning; empty if there is none.
    pub introduction: String,
    /// Its nodes, in textual order.
    pub nodes: Vec<NodeDoc>,
}

/// A node with its comment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeDoc {
    /// Its name.
    pub name: String,
    /// Whether other texts cannot refer to it.
    pub private: bool,
    /// The interface, in canonical layout: `node f(x: num [d]) -> (y)`.
    pub header: String,
    /// The comment before it, without its delimiters; empty if there is none.
    pub comment: String,
    /// The interface of its derived adjoint, in the same layout: `node diff_f(..) -> (..)`. An input or output without
    /// a written type counts as `num`.
    pub adjoint: String,
    /// The names of the adjoint's inputs.
    pub adjoint_inputs: Vec<String>,
    /// Its inputs and outputs, each with its declaration: `x` with `x: num [d]`.
    pub declarations: Vec<(String, String)>,
    /// The inputs that are static parameters.
    pub statics: Vec<String>,
    /// The named dimensions that its inputs bind.
    pub dimensions: Vec<String>,
    /// The lists of columns of its inputs, in canonical layout: `columns x = open, low..high;`.
    pub columns: Vec<String>,
}

impl NodeDoc {
    /// The first sentence of the comment.
    pub fn summary(&self) -> String {
        first_sentence(&self.comment)
    }
}

/// An item that a program can name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Documented {
    /// A module.
    Module(ModuleDoc),
    /// A node of a module: the module's name, and the node.
    Node(String, NodeDoc),
    /// A builtin operator or function.
    Operator(&'static OpInfo),
    /// A form of the language.
    Form(&'static FormDoc),
}

/// All modules of the library, the prelude first.
pub fn library() -> Vec<ModuleDoc> {
    std::iter::once(("std.prelude", PRELUDE))
        .chain(LIBRARY.iter().copied())
        .map(|(n, t)| module(n, t))
        .collect()
}

/// The nodes of a source with their comments.
///
/// # Errors
/// A file that cannot be read; a text that does not parse.
pub fn document(source: &Source) -> Result<ModuleDoc, Error> {
    let mut sources = Sources::new();
    let id = load::main_text(&source.from, &mut sources)?;
    let parsed = rml_syntax::parse(&Bump::new(), &mut lasso::Rodeo::new(), id, sources.text(id)).diagnostics;
    if !parsed.is_empty() {
        return Err(Error::new(Diagnostics(parsed), std::sync::Arc::new(sources)));
    }
    let known = source.front().map(|front| front.signatures()).unwrap_or_default();
    Ok(read(sources.name(id), sources.text(id), &known))
}

/// The meanings of `name` without a program's own imports: a module, the nodes of this name, a node as in
/// `std.layers.lstm`, or an operator.
///
/// # Errors
/// Nothing has this name; the nearest name is suggested.
pub fn find(name: &str) -> Result<Vec<Documented>, Diagnostic> {
    let modules = library();
    let mut found: Vec<Documented> =
        modules.iter().filter(|m| m.name == name).cloned().map(Documented::Module).collect();
    for module in &modules {
        let nodes = module.nodes.iter().filter(|n| !n.private);
        let of_name = nodes.filter(|n| n.name == name || format!("{}.{}", module.name, n.name) == name);
        found.extend(of_name.map(|n| Documented::Node(module.name.clone(), n.clone())));
    }
    found.extend(op::entries().filter(|e| e.name == name).map(Documented::Operator));
    found.extend(FORMS.iter().filter(|form| form.name == name).map(Documented::Form));
    if !found.is_empty() {
        return Ok(found);
    }
    let nodes = modules.iter().flat_map(|m| m.nodes.iter()).filter(|n| !n.private).map(|n| n.name.as_str());
    let operators: Vec<&str> = op::names().collect();
    let forms = FORMS.iter().map(|form| form.name);
    let all =
        nodes.chain(modules.iter().map(|m| m.name.as_str())).chain(operators.iter().copied()).chain(forms);
    let d = Diagnostic::error(codes::UNKNOWN_NAME, format!("nothing in the library is called `{name}`"));
    Err(match name.strip_prefix("diff_").map(|inner| (inner, find(inner))) {
        Some((inner, Ok(_))) => {
            d.help(format!("`{name}` is derived from `{inner}`: `rml diff FILE --node {inner}` prints it"))
        }
        _ => match suggest(name, all) {
            Some(near) => d.help(format!("there is `{near}`")),
            None => d.help("`rml doc` lists all modules, `rml doc std.layers` the nodes of one"),
        },
    })
}

/// The node of this name in a module.
///
/// # Errors
/// There is no such node; the nearest name is suggested.
pub fn node<'m>(module: &'m ModuleDoc, name: &str) -> Result<&'m NodeDoc, Diagnostic> {
    module.nodes.iter().find(|n| n.name == name).ok_or_else(|| {
        let d = Diagnostic::error(codes::UNKNOWN_NAME, format!("{} has no node `{name}`", module.name));
        match suggest(name, module.nodes.iter().map(|n| n.name.as_str())) {
            Some(near) => d.help(format!("there is `{near}`")),
            None => d,
        }
    })
}

/// The nodes of a text with their comments, as far as the text parses.
pub fn module(name: &str, text: &str) -> ModuleDoc {
    let known = Source::text(name, text).front().map(|front| front.signatures()).unwrap_or_default();
    read(name, text, &known)
}

/// The documentation of a text that parses.
fn read(name: &str, text: &str, known: &[NodeSignature]) -> ModuleDoc {
    let bump = Bump::new();
    let mut names = lasso::Rodeo::new();
    let mut sources = Sources::new();
    let id = sources.add(name, text);
    let file = rml_syntax::parse(&bump, &mut names, id, text).file;
    let by_name: IndexMap<&str, &NodeSignature> = known.iter().rev().map(|s| (&*s.name, s)).collect();
    let is_static = |f: &&FormalSignature| f.kind == FormalKind::Static;
    let of_node = |n: &Node<'_>| {
        let signature = by_name.get(names.resolve(&n.name.name)).copied();
        let statics = signature.into_iter().flat_map(|s| s.formals.iter().filter(is_static));
        let statics = statics.map(|f| f.name.clone()).collect();
        let dimensions = signature.map(|s| s.dimensions.clone()).unwrap_or_default();
        node_doc(&file, n, text, (statics, dimensions), &names)
    };
    let nodes: Vec<NodeDoc> = file.nodes().map(of_node).collect();
    let first =
        file.comments.first().filter(|c| text.get(..c.start as usize).is_some_and(|t| t.trim().is_empty()));
    let belongs = |c: &Span| file.nodes().any(|n| behind(text, *c, n.span.start as usize));
    let introduction = first.filter(|c| !belongs(c)).map(|c| plain(&text[c.range()])).unwrap_or_default();
    ModuleDoc { name: name.to_owned(), introduction, nodes }
}

/// The documentation of one node of a text. Only the part from byte `after` to the end of the node is read; the item
/// before the node and its comment ends at `after`.
pub fn of_node(text: &str, after: usize, node: &NodePlace) -> Option<NodeDoc> {
    let text = text.get(after..node.span.range().end)?;
    let (bump, mut names, mut sources) = (Bump::new(), lasso::Rodeo::new(), Sources::new());
    let id = sources.add("", text);
    let file = rml_syntax::parse(&bump, &mut names, id, text).file;
    let dimensions = node.variables.iter().filter(|v| v.kind == VariableKind::Dimension);
    let dimensions = dimensions.map(|v| v.name.clone()).collect();
    let parsed = file.nodes().last()?;
    Some(node_doc(&file, parsed, text, (node.statics.clone(), dimensions), &names))
}

fn node_doc(
    file: &File<'_>,
    node: &Node<'_>,
    text: &str,
    (statics, dimensions): (Vec<String>, Vec<String>),
    names: &lasso::Rodeo,
) -> NodeDoc {
    let name = names.resolve(&node.name.name).to_owned();
    let layout =
        |header: &str| rml_syntax::format(header).unwrap_or_else(|_| header.to_owned()).trim_end().to_owned();
    let declared = |decl: &Decl<'_>| {
        let named = names.resolve(&decl.name.name).to_owned();
        (named, text.get(decl.span.range()).unwrap_or("").to_owned())
    };
    let of_input = |of: &&ColumnList<'_>| {
        let fed = names.resolve(&of.input.name);
        let record = fed.split_once('.').map_or(fed, |(record, _)| record);
        node.inputs.iter().any(|decl| names.resolve(&decl.name.name) == record)
    };
    let columns = file.columns().filter(of_input).map(|of| layout(text.get(of.span.range()).unwrap_or("")));
    let columns = columns.collect();
    let (adjoint, adjoint_inputs) = adjoint(node, &name, &statics, names, text);
    NodeDoc {
        name,
        private: node.private.is_some(),
        header: layout(text.get(node.header_span.range()).unwrap_or("")),
        comment: comment(file, node.span.start as usize, text),
        adjoint: layout(&adjoint),
        adjoint_inputs,
        declarations: node.inputs.iter().chain(node.outputs).map(declared).collect(),
        statics,
        dimensions,
        columns,
    }
}

/// The interface of a node's adjoint as text, and the names of its inputs.
fn adjoint(
    node: &Node<'_>,
    name: &str,
    statics: &[String],
    names: &lasso::Rodeo,
    text: &str,
) -> (String, Vec<String>) {
    let written = |span: Span| text.get(span.range()).unwrap_or("");
    let named = |decl: &Decl<'_>| names.resolve(&decl.name.name).to_owned();
    let num = |decl: &&Decl<'_>| decl.ty.is_none_or(|ty| ty.dtype == DTypeName::Num);
    let mut inputs: Vec<String> = node.inputs.iter().map(&named).collect();
    let mut declared: Vec<&str> = node.inputs.iter().map(|decl| written(decl.span)).collect();
    let gradient = |decl: &Decl<'_>| {
        let ty = decl.ty.map(|ty| format!(": {} when bp", written(ty.span)));
        (format!("d{}", named(decl)), ty.unwrap_or_default())
    };
    let given: Vec<(String, String)> = node.outputs.iter().filter(num).map(gradient).collect();
    let given_text: Vec<String> = given.iter().map(|(name, ty)| format!("{name}{ty}")).collect();
    declared.push("bp: bool []");
    declared.extend(given_text.iter().map(String::as_str));
    inputs.push("bp".to_owned());
    inputs.extend(given.into_iter().map(|(name, _)| name));
    let returned = node.inputs.iter().filter(num).map(&named).filter(|input| !statics.contains(input));
    let outputs = node.outputs.iter().map(&named).chain(returned.map(|input| format!("d{input}")));
    let outputs: Vec<String> = outputs.collect();
    (format!("node diff_{name}({}) -> ({})", declared.join(", "), outputs.join(", ")), inputs)
}

/// The comments directly before byte `at`, without a blank line between.
fn comment(file: &File<'_>, mut at: usize, text: &str) -> String {
    let mut parts = Vec::new();
    let before = |at: usize| file.comments.partition_point(|c| c.end as usize <= at).checked_sub(1);
    while let Some(c) = before(at).map(|last| file.comments[last]).filter(|c| behind(text, *c, at)) {
        parts.push(plain(&text[c.range()]));
        at = c.start as usize;
    }
    parts.reverse();
    parts.join("\n")
}

/// Whether byte `at` follows a comment on the same or the next line.
fn behind(text: &str, comment: Span, at: usize) -> bool {
    let between = text.get(comment.end as usize..at);
    between.is_some_and(|t| t.trim().is_empty() && t.matches('\n').count() <= 1)
}

/// A comment without delimiters and without the indentation of its lines.
fn plain(comment: &str) -> String {
    let inner = match comment.strip_prefix("(*").and_then(|c| c.strip_suffix("*)")) {
        Some(inner) => inner,
        None => comment.trim_start_matches('-'),
    };
    let mut lines = inner.trim().lines();
    let first = lines.next().unwrap_or("").trim_end().to_owned();
    let rest: Vec<&str> = lines.collect();
    let indent = |l: &&str| l.len() - l.trim_start().len();
    let least = rest.iter().filter(|l| !l.trim().is_empty()).map(indent).min().unwrap_or(0);
    rest.iter().fold(first, |all, line| all + "\n" + line.get(least..).unwrap_or("").trim_end())
}

fn first_sentence(comment: &str) -> String {
    let text = comment.lines().take_while(|l| !l.trim().is_empty()).collect::<Vec<_>>().join(" ");
    let end = text.find(". ").or_else(|| text.strip_suffix('.').map(str::len));
    text.get(..end.unwrap_or(text.len())).unwrap_or("").trim_end_matches(':').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_belong_to_what_follows_them() {
        let text = "(* About all. *)\n\nimport std.losses;\n\n(* One.\n   Two: *)\nnode f(k,x:num[k]) -> (y) y = x;\n\n\
                    -- Not this.\n\n-- Half\n-- of it. And more.\nprivate node g(x) -> (y)\n  -- inside\n  y = mse(x, x);\n";
        let doc = document(&Source::text("m", text)).expect("it parses");
        assert_eq!(doc.introduction, "About all.");
        let [f, g] = &doc.nodes[..] else { panic!("{doc:?}") };
        assert_eq!((&*f.comment, &*f.header), ("One.\nTwo:", "node f(k, x: num [k]) -> (y)"));
        assert_eq!((f.statics.as_slice(), f.private), (&["k".to_owned()][..], false));
        assert_eq!(f.adjoint, "node diff_f(k, x: num [k], bp: bool [], dy) -> (y, dx)");
        assert_eq!(f.adjoint_inputs, ["k", "x", "bp", "dy"]);
        assert_eq!(f.declarations[1], ("x".to_owned(), "x:num[k]".to_owned()));
        assert_eq!((g.summary().as_str(), g.private), ("Half of it", true));
    }

    #[test]
    fn names_are_found_or_suggested() {
        assert!(matches!(&find("lstm").expect("a node")[..], [Documented::Node(m, _)] if m == "std.layers"));
        assert!(matches!(&find("std.time.last").expect("a node")[..], [Documented::Node(..)]));
        assert!(matches!(&find("std.time").expect("a module")[..], [Documented::Module(_)]));
        assert!(matches!(&find("matmul").expect("an operator")[..], [Documented::Operator(_)]));
        assert!(find("statistics").is_err(), "private");
        let help = |name: &str| find(name).expect_err("unknown").help.join(" ");
        assert!(help("lsmt").contains("`lstm`") && help("diff_lstm").contains("rml diff"));
    }
}
