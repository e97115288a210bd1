//! The part of a node's interface that is in its text but not in its types: which shapes begin with `batch`.

use std::collections::{BTreeMap, BTreeSet};

use bumpalo::Bump;
use rml_base::{FileId, Sources, Span};
use rml_syntax::ast::{DTypeName, Definition, Dim, ExprKind, Form, Node};

/// The dimension that stacked windows share.
pub const BATCH: &str = "batch";

/// The nodes of a text as far as the dimension `batch` goes.
#[derive(Debug)]
pub(crate) struct Interfaces(Vec<Interface>);

/// The interface of one node.
#[derive(Clone, Debug)]
pub struct Interface {
    name: String,
    /// Its formals.
    inputs: Vec<String>,
    /// Its formals as they are declared.
    declared: Vec<String>,
    /// Its outputs.
    outputs: Vec<String>,
    /// Formals whose shape begins with `batch`.
    batched: Vec<String>,
    /// Formals without a type, which can be set.
    untyped: Vec<String>,
    /// Formals of integers.
    integers: Vec<String>,
    /// Formals of enumerations, with the names of the cases in their order.
    cases: Vec<(String, Vec<String>)>,
    /// Formals of truth values.
    conditions: Vec<String>,
    /// Whether `batch` stands in any shape of the interface, or is itself a formal.
    pub has_batch: bool,
}

impl Interface {
    /// Whether the declared shape of a formal begins with `batch`.
    pub fn is_batched(&self, input: &str) -> bool {
        self.batched.iter().any(|b| b == input)
    }

    /// The formals.
    pub fn inputs(&self) -> &[String] {
        &self.inputs
    }

    /// The text of an equation that calls the node. Its variables have the names of the formals and outputs.
    pub fn call(&self) -> String {
        format!("{} = {}({});", self.outputs.join(", "), self.name, self.inputs.join(", "))
    }

    /// The text of a node of that name that calls this one and nothing else.
    pub fn caller(&self, name: &str) -> String {
        let (inputs, outputs) = (self.declared.join(", "), self.outputs.join(", "));
        format!("node {name}({inputs}) -> ({outputs})  {}", self.call())
    }

    /// The formals that have a type which is not `bool`.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        let others = [&self.untyped, &self.conditions];
        let is_value = move |input: &&String| !others.iter().any(|list| list.contains(input));
        self.inputs.iter().filter(is_value).map(String::as_str)
    }

    /// Whether a formal has no type, so that it can be set from outside.
    pub fn is_untyped(&self, input: &str) -> bool {
        self.untyped.iter().any(|b| b == input)
    }
}

impl Interfaces {
    /// Reads the interfaces of a text; a text with errors has those nodes that could be read.
    pub(crate) fn of(sources: &Sources, file: FileId) -> Self {
        let bump = Bump::new();
        let mut names = lasso::Rodeo::new();
        let parsed = rml_syntax::parse(&bump, &mut names, file, sources.text(file));
        let own = enumerations(&parsed.file, &names);
        let mut imported = Vec::new();
        for other in sources.ids().filter(|other| *other != file) {
            let parsed = rml_syntax::parse(&bump, &mut names, other, sources.text(other));
            imported.extend(enumerations(&parsed.file, &names));
        }
        let cases = |name: &str| cases(name, &own).or_else(|| cases(name, &imported));
        let text = |span: Span| sources.snippet(span);
        Self(parsed.file.nodes().map(|n| read(n, &names, (&cases, &text))).collect())
    }

    /// The names of the inputs of all nodes; `None` if that node is none of them.
    pub(crate) fn inputs(&self, node: Option<&str>) -> Option<BTreeSet<String>> {
        let is_here = node.is_none_or(|node| self.get(node).is_some());
        is_here.then(|| self.0.iter().flat_map(|interface| interface.inputs.iter().cloned()).collect())
    }

    /// The inputs of all nodes that take integers.
    pub(crate) fn integers(&self) -> BTreeSet<String> {
        self.0.iter().flat_map(|interface| interface.integers.iter().cloned()).collect()
    }

    /// The inputs of all nodes that take cases of an enumeration, with these. One that has other cases in another node
    /// is left out.
    pub(crate) fn cases(&self) -> BTreeMap<String, Vec<String>> {
        let all = || self.0.iter().flat_map(|interface| &interface.cases);
        let agree = |input: &String, cases: &Vec<String>| {
            all().all(|(other, found)| other != input || found == cases)
        };
        all().filter(|(input, cases)| agree(input, cases)).cloned().collect()
    }

    /// The interface of that node.
    pub(crate) fn get(&self, node: &str) -> Option<&Interface> {
        self.0.iter().find(|i| i.name == node)
    }
}

/// Enumerations by name, with their cases in order.
type Enumerations = Vec<(String, Vec<String>)>;

/// The enumerations of a text.
fn enumerations(file: &rml_syntax::ast::File<'_>, names: &lasso::Rodeo) -> Enumerations {
    let mut all: Enumerations = Vec::new();
    for Definition { node, form } in file.definitions() {
        let name = || names.resolve(&node.name.name).to_owned();
        match form {
            Form::Enum => all.push((name(), Vec::new())),
            Form::Case => all.last_mut().into_iter().for_each(|(_, cases)| cases.push(name())),
            Form::Node | Form::Constant | Form::Record => {}
        }
    }
    all
}

/// The cases of the only enumeration of that name.
fn cases(name: &str, all: &Enumerations) -> Option<Vec<String>> {
    let mut found = all.iter().filter(|(other, _)| other == name);
    found.next().filter(|_| found.next().is_none()).map(|(_, cases)| cases.clone())
}

/// The cases of an enumeration.
type CasesOf<'c> = &'c dyn Fn(&str) -> Option<Vec<String>>;
/// The source text at a place.
type TextOf<'t> = &'t dyn Fn(Span) -> &'t str;

fn read(node: &Node<'_>, names: &lasso::Rodeo, (cases, text): (CasesOf<'_>, TextOf<'_>)) -> Interface {
    let is_batch = |d: &Dim<'_>| matches!(d, Dim::Expr(e) if matches!(e.kind, ExprKind::Var(s) if names.resolve(&s) == BATCH));
    let (mut inputs, mut batched, mut untyped) = (Vec::new(), Vec::new(), Vec::new());
    let (mut integers, mut conditions, mut all_cases) = (Vec::new(), Vec::new(), Vec::new());
    let mut has_batch = false;
    for decl in node.inputs {
        let name = names.resolve(&decl.name.name);
        inputs.push(name.to_owned());
        has_batch |= name == BATCH;
        let Some(ty) = &decl.ty else {
            untyped.push(name.to_owned());
            continue;
        };
        match ty.dtype {
            DTypeName::Int => integers.push(name.to_owned()),
            DTypeName::Named(of) => {
                all_cases.extend(cases(names.resolve(&of.name)).map(|cases| (name.to_owned(), cases)));
            }
            DTypeName::Bool => conditions.push(name.to_owned()),
            DTypeName::Num => {}
        }
        has_batch |= ty.dims.iter().any(is_batch);
        if ty.dims.first().is_some_and(is_batch) {
            batched.push(name.to_owned());
        }
    }
    let name = names.resolve(&node.name.name).to_owned();
    let declared = node.inputs.iter().map(|decl| text(decl.span).to_owned()).collect();
    let outputs = node.outputs.iter().map(|decl| names.resolve(&decl.name.name).to_owned()).collect();
    Interface {
        name,
        inputs,
        declared,
        outputs,
        batched,
        untyped,
        integers,
        cases: all_cases,
        conditions,
        has_batch,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_of_inputs_are_those_of_their_enumeration() {
        let mut sources = Sources::new();
        let text = "enum phase = Idle, Heat;\nrecord pair = (a: num [], b: num []);\n\
                    node f(p: phase, q: other [4], r: pair, s: twice, n: int []) -> (o) o = n;";
        let file = sources.add("t", text);
        sources.add("a", "enum other = Up, Down;\nenum phase = Low, High;\nenum twice = A, B;");
        sources.add("b", "enum twice = B, A;");
        let all = Interfaces::of(&sources, file);
        let expected = [("p", ["Idle", "Heat"]), ("q", ["Up", "Down"])];
        let expected = expected.map(|(input, cases)| (input.to_owned(), cases.map(str::to_owned).to_vec()));
        assert_eq!(all.cases(), expected.into());
        assert!(all.integers().iter().eq(["n"]));
    }

    #[test]
    fn leading_batch_is_seen() {
        let mut sources = Sources::new();
        let text = "node f(x: num [batch, 8], y: num [8, batch], z, b: num [batch]) -> (o) o = z;\n\
                    node g(batch, x: num [8]) -> (o) o = x;\nnode h(x: num [batch2]) -> (o) o = x;";
        let file = sources.add("t", text);
        let all = Interfaces::of(&sources, file);
        let f = all.get("f").unwrap();
        assert_eq!(f.batched, ["x", "b"]);
        assert!(f.has_batch && all.get("g").unwrap().has_batch && !all.get("h").unwrap().has_batch);
        assert!(all.get("f").unwrap().values().eq(["x", "y", "b"]));
        assert!(all.get("i").is_none() && all.inputs(Some("i")).is_none());
        assert!(all.inputs(Some("h")).unwrap().iter().eq(["b", "batch", "x", "y", "z"]));
    }
}
