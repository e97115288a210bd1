//! The part of a node's interface that is in its text but not in its types: which shapes begin with `batch`.

use std::collections::{BTreeMap, BTreeSet};

use bumpalo::Bump;
use rml_base::{FileId, Sources, Span};
use rml_syntax::ast::{
    ColumnList, ColumnPart, DTypeName, Decl, Definition, DefinitionForm, Dim, Expr, ExprKind, File, Ident,
    Literal, Node,
};

/// The dimension that stacked windows share.
pub const BATCH: &str = "batch";

/// The interfaces of the nodes of a text, and its lists of columns.
#[derive(Debug)]
pub(crate) struct Interfaces(Vec<Interface>, Vec<DeclaredColumns>);

/// One or more columns of data that a program names for an input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DeclaredColumn {
    /// A column.
    One(String),
    /// From one column to another, both included.
    Range(String, String),
    /// A property of the dates in a column: its name, the place of this name, and the column.
    Date(String, Span, String),
}

/// The columns of data that a program names for an input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeclaredColumns {
    /// The input.
    pub input: String,
    /// Its columns, in order.
    pub columns: Vec<DeclaredColumn>,
}

/// The interface of one node.
#[derive(Clone, Debug)]
pub struct Interface {
    name: String,
    /// Its formals.
    formals: Vec<String>,
    /// Its inputs: the formals, with a record replaced by its fields.
    inputs: Vec<String>,
    /// The declarations of its formals.
    declared: Vec<String>,
    /// Its outputs.
    outputs: Vec<String>,
    /// Inputs whose shape begins with `batch`.
    batched: Vec<String>,
    /// Inputs without a type, which can be set from outside.
    untyped: Vec<String>,
    /// Integer inputs.
    integers: Vec<String>,
    /// Inputs of enumerations, with the names of the cases in order.
    cases: Vec<(String, Vec<String>)>,
    /// Truth-value inputs.
    conditions: Vec<String>,
    /// Inputs whose first dimension, apart from `batch`, is a literal number: this number, and the number of
    /// dimensions.
    lists: Vec<(String, (usize, usize))>,
    /// Whether `batch` occurs in any shape of the interface, or is itself a formal.
    pub has_batch: bool,
}

impl Interface {
    /// Whether the declared shape of an input begins with `batch`.
    pub fn is_batched(&self, input: &str) -> bool {
        self.batched.iter().any(|b| b == input)
    }

    /// The inputs: the formals, with a record replaced by its fields, `s.h`.
    pub fn inputs(&self) -> &[String] {
        &self.inputs
    }

    /// The text of an equation that calls the node. Its variables have the names of the formals and outputs.
    pub fn call(&self) -> String {
        format!("{} = {}({});", self.outputs.join(", "), self.name, self.formals.join(", "))
    }

    /// The text of a node of this name that only calls this node.
    pub fn caller(&self, name: &str) -> String {
        let (inputs, outputs) = (self.declared.join(", "), self.outputs.join(", "));
        format!("node {name}({inputs}) -> ({outputs})  {}", self.call())
    }

    /// The inputs with a type other than `bool`.
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
    /// Reads the interfaces of a text; of a text with errors, those of the nodes that can be read.
    pub(crate) fn of(sources: &Sources, file: FileId) -> Self {
        let bump = Bump::new();
        let mut names = lasso::Rodeo::new();
        let own = rml_syntax::parse(&bump, &mut names, file, sources.text(file)).file;
        let others = sources.ids().filter(|other| *other != file);
        let others =
            others.map(|other| rml_syntax::parse(&bump, &mut names, other, sources.text(other)).file);
        let others: Vec<File<'_>> = others.collect();
        let reader = Reader {
            names: &names,
            enumerations: [
                enumerations(&own, &names),
                others.iter().flat_map(|f| enumerations(f, &names)).collect(),
            ],
            records: [records(&own, &names), others.iter().flat_map(|f| records(f, &names)).collect()],
            sources,
        };
        let columns = own.columns().map(|of| declared(of, &names)).collect();
        Self(own.nodes().map(|node| reader.interface(node)).collect(), columns)
    }

    /// The lists of columns.
    pub(crate) fn columns(&self) -> &[DeclaredColumns] {
        &self.1
    }

    /// The names of the inputs of all nodes; `None` if `node` is none of these nodes.
    pub(crate) fn inputs(&self, node: Option<&str>) -> Option<BTreeSet<String>> {
        let is_here = node.is_none_or(|node| self.get(node).is_some());
        is_here.then(|| self.0.iter().flat_map(|interface| interface.inputs.iter().cloned()).collect())
    }

    /// The integer inputs of all nodes.
    pub(crate) fn integers(&self) -> BTreeSet<String> {
        self.0.iter().flat_map(|interface| interface.integers.iter().cloned()).collect()
    }

    /// The inputs of all nodes that are cases of an enumeration, with the cases. An input with other cases in another
    /// node is left out.
    pub(crate) fn cases(&self) -> BTreeMap<String, Vec<String>> {
        agreed(self.0.iter().map(|interface| &interface.cases))
    }

    /// The inputs of all nodes whose first dimension, apart from `batch`, is a literal number: this number, and the
    /// number of dimensions. An input that differs in another node is left out.
    pub(crate) fn lists(&self) -> BTreeMap<String, (usize, usize)> {
        agreed(self.0.iter().map(|interface| &interface.lists))
    }

    /// The interface of a node.
    pub(crate) fn get(&self, node: &str) -> Option<&Interface> {
        self.0.iter().find(|i| i.name == node)
    }
}

fn declared(of: &ColumnList<'_>, names: &lasso::Rodeo) -> DeclaredColumns {
    let text = |name: &Ident| names.resolve(&name.name).to_owned();
    let column = |part: &ColumnPart| match part {
        ColumnPart::One(name) => DeclaredColumn::One(text(name)),
        ColumnPart::Range(first, last) => DeclaredColumn::Range(text(first), text(last)),
        ColumnPart::Date(property, of) => DeclaredColumn::Date(text(property), property.span, text(of)),
    };
    DeclaredColumns { input: text(&of.input), columns: of.parts.iter().map(column).collect() }
}

/// The properties of inputs on which all nodes agree.
fn agreed<'a, T: Clone + PartialEq + 'a>(
    of: impl Iterator<Item = &'a Vec<(String, T)>> + Clone,
) -> BTreeMap<String, T> {
    let all = || of.clone().flatten();
    let agree = |input: &String, known: &T| all().all(|(other, found)| other != input || found == known);
    all().filter(|(input, known)| agree(input, known)).cloned().collect()
}

/// Enumerations by name, with their cases in order.
type Enumerations = Vec<(String, Vec<String>)>;

/// The enumerations of a text.
fn enumerations(file: &File<'_>, names: &lasso::Rodeo) -> Enumerations {
    let mut all: Enumerations = Vec::new();
    for Definition { node, form } in file.definitions() {
        let name = || names.resolve(&node.name.name).to_owned();
        match form {
            DefinitionForm::Enum => all.push((name(), Vec::new())),
            DefinitionForm::Case => all.last_mut().into_iter().for_each(|(_, cases)| cases.push(name())),
            DefinitionForm::Node | DefinitionForm::Constant | DefinitionForm::Record => {}
        }
    }
    all
}

/// Records by name, with their fields.
type Records<'a> = Vec<(String, &'a [Decl<'a>])>;

/// The records of a text.
fn records<'a>(file: &File<'a>, names: &lasso::Rodeo) -> Records<'a> {
    let records = file.definitions().filter(|definition| definition.form == DefinitionForm::Record);
    records.map(|record| (names.resolve(&record.node.name.name).to_owned(), record.node.inputs)).collect()
}

/// The deepest nesting of records; deeper records contain themselves.
const MAX_DEPTH: usize = 16;

/// The definitions needed to read interfaces. Those of the text itself take precedence over imported ones.
struct Reader<'a> {
    names: &'a lasso::Rodeo,
    enumerations: [Enumerations; 2],
    records: [Records<'a>; 2],
    sources: &'a Sources,
}

/// The meaning of a name, if it is unique.
fn only<'t, T>(name: &str, all: &'t [Vec<(String, T)>; 2]) -> Option<&'t T> {
    all.iter().find_map(|all| {
        let mut found = all.iter().filter(|(other, _)| other == name);
        found.next().filter(|_| found.next().is_none()).map(|(_, what)| what)
    })
}

impl Reader<'_> {
    fn interface(&self, node: &Node<'_>) -> Interface {
        let name = |decl: &Decl<'_>| self.names.resolve(&decl.name.name).to_owned();
        let mut interface = Interface {
            name: self.names.resolve(&node.name.name).to_owned(),
            formals: node.inputs.iter().map(name).collect(),
            inputs: Vec::new(),
            declared: node.inputs.iter().map(|decl| self.sources.snippet(decl.span).to_owned()).collect(),
            outputs: node.outputs.iter().map(name).collect(),
            batched: Vec::new(),
            untyped: Vec::new(),
            integers: Vec::new(),
            cases: Vec::new(),
            conditions: Vec::new(),
            lists: Vec::new(),
            has_batch: false,
        };
        node.inputs.iter().for_each(|decl| self.input(&mut interface, name(decl), decl, 0));
        interface
    }

    /// Adds an input, or one for each field of a record.
    fn input(&self, to: &mut Interface, name: String, decl: &Decl<'_>, depth: usize) {
        let is_batch = |d: &Dim<'_>| matches!(d, Dim::Expr(e) if matches!(e.kind, ExprKind::Var(s) if self.names.resolve(&s) == BATCH));
        let named = decl.ty.as_ref().and_then(|ty| match ty.dtype {
            DTypeName::Named(of) => Some(self.names.resolve(&of.name)),
            DTypeName::Bool | DTypeName::Int | DTypeName::Num => None,
        });
        if let Some(fields) = named.and_then(|of| only(of, &self.records)).filter(|_| depth < MAX_DEPTH) {
            for field in *fields {
                let of_field = format!("{name}.{}", self.names.resolve(&field.name.name));
                self.input(to, of_field, field, depth + 1);
            }
            return;
        }
        to.inputs.push(name.clone());
        to.has_batch |= name == BATCH;
        let Some(ty) = &decl.ty else {
            to.untyped.push(name);
            return;
        };
        to.has_batch |= ty.dims.iter().any(is_batch);
        if ty.dims.first().is_some_and(is_batch) {
            to.batched.push(name.clone());
        }
        let own = &ty.dims[usize::from(ty.dims.first().is_some_and(is_batch))..];
        if let Some(Dim::Expr(Expr { kind: ExprKind::Literal(Literal::Int(entries)), .. })) = own.first()
            && let Ok(entries) = usize::try_from(*entries)
        {
            to.lists.push((name.clone(), (entries, own.len())));
        }
        match ty.dtype {
            DTypeName::Int => to.integers.push(name),
            DTypeName::Named(_) => {
                let cases = named.and_then(|of| only(of, &self.enumerations));
                to.cases.extend(cases.map(|cases| (name, cases.clone())));
            }
            DTypeName::Bool => to.conditions.push(name),
            DTypeName::Num => {}
        }
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
    fn a_record_is_an_input_for_each_field() {
        let mut sources = Sources::new();
        let text = "record pair = (a: num [batch, 2], b: int []);\nrecord both = (p: pair, c: bool [], k: kind);\n\
                    record knot = (again: knot, n: num []);\nenum kind = Low, High;\n\
                    node f(s: both, x: num []) -> (o: pair) o = s.p;\nnode g(k: knot) -> (o) o = k;";
        let file = sources.add("t", text);
        let all = Interfaces::of(&sources, file);
        let f = all.get("f").unwrap();
        assert_eq!(f.inputs(), ["s.p.a", "s.p.b", "s.c", "s.k", "x"]);
        assert!(f.is_batched("s.p.a") && f.has_batch && f.values().eq(["s.p.a", "s.p.b", "s.k", "x"]));
        assert_eq!(f.call(), "o = f(s, x);");
        assert!(all.integers().iter().eq(["s.p.b"]));
        assert_eq!(all.cases()["s.k"], ["Low", "High"]);
        assert!(all.get("g").unwrap().inputs().len() > 1);
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
