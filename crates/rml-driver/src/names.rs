//! The names of integers: the cases of enumerations, and the classes of texts in data.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use rml_analysis::{Domain, domains};
use rml_ir::flat::{Flat, Var};
use rml_ir::{DType, Names};

use crate::program::Program;

/// The classes of inputs, in the order of their numbers.
pub type InputClasses = BTreeMap<String, Vec<String>>;

/// For each parameter, by checkpoint key: the inputs whose classes number the positions along each axis, if there are
/// any.
pub type ClassAxes = BTreeMap<String, Vec<Option<String>>>;

/// The names of the values of a program.
///
/// ```
/// # use rml_driver as rml;
/// # fn main() -> Result<(), rml_base::Error> {
/// use rml::{Options, Source};
///
/// let text = "enum way = Up, Down;
///   node next(a: way, s: num [2], y: int []) -> (b, found, sure)
///     b = Up fby a;  found = argmax(s, -1);  sure = found == y;";
/// let program = rml::compile(&Source::text("way.rml", text), &Options::default())?;
/// let classes = [("y".to_owned(), vec!["cat".to_owned(), "dog".to_owned()])];
/// let names = program.names(&classes.into(), &Default::default());
/// assert_eq!(names.of("b"), Some(&["Up".into(), "Down".into()][..]));
/// assert_eq!(names.of("found"), Some(&["cat".into(), "dog".into()][..]));
/// assert_eq!(names.of("sure"), None);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct ValueNames {
    vars: IndexMap<Var, Names>,
    /// The names by variable; if several variables have one name, the first counts.
    named: IndexMap<Arc<str>, Names>,
}

impl ValueNames {
    /// The names of the values of an input, an output or another named variable.
    pub fn of(&self, name: &str) -> Option<&[Arc<str>]> {
        self.named.get(name).map(|names| &names[..])
    }

    /// The names of the values of a variable.
    pub fn of_var(&self, v: Var) -> Option<&[Arc<str>]> {
        self.vars.get(&v).map(|names| &names[..])
    }
}

impl Program {
    /// The names of the values of inputs, outputs and other variables: the cases of an enumeration, or the classes of
    /// an input. The classes also name other values that the program shows to number the same things, such as the index
    /// of the largest score that it compares with a label.
    pub fn names(&self, classes: &InputClasses, axes: &ClassAxes) -> ValueNames {
        let flat = self.flat();
        let mut vars: IndexMap<Var, Names> = IndexMap::new();
        if !classes.is_empty() {
            let domains = domains(flat);
            let known = known(flat, &domains, classes, axes);
            for (v, _) in flat.vars.iter_enumerated().filter(|(_, data)| data.ty.dtype == DType::Int) {
                if let Some(Some(names)) = known.get(&domains.elements(v)) {
                    vars.insert(v, Arc::clone(names));
                }
            }
        }
        for (input, v) in self.inputs().iter().zip(flat.inputs.iter().map(|input| input.var)) {
            if let Some(own) = classes.get(&*input.name).filter(|_| input.ty.dtype == DType::Int) {
                vars.insert(v, shared(own));
            }
        }
        for (v, data) in flat.vars.iter_enumerated() {
            vars.extend(data.cases.clone().map(|cases| (v, cases)));
        }
        let mut named: IndexMap<Arc<str>, Option<&Names>> = IndexMap::new();
        for (v, data) in flat.vars.iter_enumerated() {
            if let Some(name) = &data.name {
                named.entry(Arc::clone(name)).or_insert_with(|| vars.get(&v));
            }
        }
        let named = named.into_iter().filter_map(|(name, names)| Some((name, names?.clone()))).collect();
        ValueNames { vars, named }
    }

    /// The axes of parameters along which positions are classes of inputs. Another node with these parameters can use
    /// them to name its values without the inputs.
    pub fn class_axes(&self, classes: &InputClasses) -> ClassAxes {
        let flat = self.flat();
        let mut axes = ClassAxes::new();
        if classes.is_empty() {
            return axes;
        }
        let domains = domains(flat);
        let is_label = |name: &&str, domain: Domain| {
            let label = self.inputs().iter().position(|input| *input.name == **name);
            label.is_some_and(|at| domains.elements(flat.inputs[at].var) == domain)
        };
        for (key, state) in flat.states.iter().filter(|(_, state)| state.parameter) {
            let v = flat.equations[state.equation].lhs;
            let input = |axis| {
                let domain = domains.axis(v, axis);
                classes.keys().map(String::as_str).find(|name| is_label(name, domain)).map(str::to_owned)
            };
            let found: Vec<Option<String>> = (0..flat.vars[v].ty.shape.rank()).map(input).collect();
            if found.iter().any(Option::is_some) {
                axes.insert(key.to_string(), found);
            }
        }
        axes
    }
}

/// The names of domains; `None` = two inputs give them different names.
fn known(
    flat: &Flat,
    domains: &rml_analysis::Domains,
    classes: &InputClasses,
    axes: &ClassAxes,
) -> IndexMap<Domain, Option<Names>> {
    let mut known: IndexMap<Domain, Option<Names>> = IndexMap::new();
    let mut says = |domain: Domain, input: &str| {
        let Some(names) = classes.get(input).map(|own| shared(own)) else { return };
        let before = known.entry(domain).or_insert_with(|| Some(Arc::clone(&names)));
        if before.as_ref().is_some_and(|before| *before != names) {
            *before = None;
        }
    };
    for v in flat.inputs.iter().map(|input| input.var) {
        let name = flat.vars[v].name.as_deref().unwrap_or_default();
        says(domains.elements(v), name);
    }
    for (key, inputs) in axes {
        let Some(state) = flat.states.get(&**key) else { continue };
        let v = flat.equations[state.equation].lhs;
        for (axis, input) in inputs.iter().enumerate().take(flat.vars[v].ty.shape.rank()) {
            if let Some(input) = input {
                says(domains.axis(v, axis), input);
            }
        }
    }
    known
}

fn shared(names: &[String]) -> Names {
    names.iter().map(|name| Arc::from(name.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Source, compile};

    const INPUTS: &str = "l: num [batch, 3], x: num [batch, 3], y: int [batch], z: int [batch], c: bool []";

    /// The names of the output `o` of a node with these equations, in which `y` and `z` have classes. The node computes
    /// only `o` and `t`.
    fn names(equations: &str) -> Option<String> {
        let text = format!("import std.losses;\nnode main({INPUTS}) -> (o, t)\n  {equations}\n");
        let options = Options { batch: Some(2), ..Options::default() };
        let program = compile(&Source::text("p", &text), &options).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let names = program.names(&classes(), &ClassAxes::new());
        names.of("o").map(|names| names[0].to_string())
    }

    fn classes() -> InputClasses {
        let of = |name: &str, first: &str| {
            (name.to_owned(), [first, "b", "c"].into_iter().map(str::to_owned).collect())
        };
        [of("y", "cat"), of("z", "red")].into()
    }

    #[test]
    fn what_numbers_the_classes_of_a_label_has_their_names() {
        for equations in [
            "o = y;  t = x;",
            "o = post (1 fby (y when c));  t = x;",
            "o = merge c (y when c) (2 when not c);  t = x;",
            "o = where(l[.., 0] > 0.0, y, 0);  t = x;",
            "o = reshape([1, batch], y);  t = x;",
            "o = argmax(l, -1);  t = cross_entropy(l, y) when c;",
            "o = argmax(2.0 * l - x, -1);  t = o == y;",
            "o = argsort(-l, -1)[.., 0];  t = pick(l, y);",
            "o = argmax(matmul(x, w), -1);  w = param(zeros([3, 3]));  t = o == y;",
            "o = argmax(transpose(l, [1, 0]), 0);  t = pick(l, y);",
            "o = argmax(mean(one_hot(3, y), 0), 0);  t = x;",
            "o = argmax(sum(w, 1), 0);  w = param(zeros([3, 5]));  t = gather(w, y);",
        ] {
            assert_eq!(names(equations).as_deref(), Some("cat"), "{equations}");
        }
    }

    #[test]
    fn other_integers_have_none() {
        for equations in [
            "o = y + 1;  t = x;",
            "o = to_int(to_num(y));  t = x;",
            "o = argmax(l, -1);  t = x;",
            "o = argmax(l, 0);  t = cross_entropy(l, y);",
            "o = argmax(x, -1);  t = cross_entropy(l, y);",
            "o = 0 fby (o + 1);  t = o < y[0];",
            "o = [0, 1];  t = y == o;",
            "o = where(y == 0, 1, 0);  t = x;",
            "o = argmax(l, -1);  t = o == y and o == z;",
        ] {
            assert_eq!(names(equations), None, "{equations}");
        }
    }

    #[test]
    fn parameters_know_which_axes_are_classes() {
        let text = "import std.layers;  import std.losses;
            node net(x: num [batch, 4]) -> (l)  l = dense(3, tanh(dense(5, x)));
            node train(x: num [batch, 4], y: int [batch]) -> (loss: num [])
              l, _ = diff_net(x, true, d);  loss, d = diff_cross_entropy(l, y, true, -0.1);
            node found(x: num [batch, 4]) -> (o, n)  o = argmax(net(x), -1);  n = argmax(x, -1);";
        let program = |node: &str| {
            let options = Options { node: Some(node.to_owned()), batch: Some(2), ..Options::default() };
            compile(&Source::text("p", text), &options).unwrap_or_else(|e| panic!("{e}"))
        };
        let axes = program("train").class_axes(&classes());
        let y = Some("y".to_owned());
        let expected = [("net_0.dense_0.bias", vec![y.clone()]), ("net_0.dense_0.kernel", vec![None, y])];
        assert_eq!(axes, expected.map(|(key, axes)| (key.to_owned(), axes)).into());
        let names = program("found").names(&classes(), &axes);
        assert_eq!((names.of("o").map(|names| &*names[0]), names.of("n")), (Some("cat"), None));
    }
}
