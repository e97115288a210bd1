//! A node of the model as the operators see it: its operands, its attributes.

use super::Val;
use crate::model::{Attr, Graph, Node};
use crate::refuse::{Refusal, Res};
use crate::tensor::{Tensor, ints, nums};

/// A node with its operands.
pub(crate) struct Call<'n> {
    pub(crate) node: &'n Node,
    /// `None` for an operand that is left out.
    pub(crate) args: Vec<Option<Val>>,
    /// The version of the operators of its domain.
    pub(crate) opset: i64,
}

impl Call<'_> {
    /// The operand at a position.
    ///
    /// # Errors
    /// It is left out.
    pub(crate) fn arg(&self, i: usize) -> Res<&Val> {
        self.opt(i).ok_or_else(|| Refusal::malformed(format!("operand {i} is missing")))
    }

    /// The operand at a position, if it is given.
    pub(crate) fn opt(&self, i: usize) -> Option<&Val> {
        self.args.get(i).and_then(Option::as_ref)
    }

    /// All operands.
    pub(crate) fn all(&self) -> Res<Vec<&Val>> {
        (0..self.args.len()).map(|i| self.arg(i)).collect()
    }

    /// How many results are asked for.
    pub(crate) fn results(&self) -> usize {
        self.node.outputs.len()
    }

    /// Whether a result is read.
    pub(crate) fn wants(&self, i: usize) -> bool {
        self.node.outputs.get(i).is_some_and(|name| !name.is_empty())
    }

    pub(crate) fn attr(&self, name: &str) -> Option<&Attr> {
        self.node.attrs.get(name)
    }

    pub(crate) fn int(&self, name: &str, default: i64) -> i64 {
        if let Some(Attr::Int(i)) = self.attr(name) { *i } else { default }
    }

    pub(crate) fn flag(&self, name: &str, default: bool) -> bool {
        self.int(name, i64::from(default)) != 0
    }

    pub(crate) fn ints(&self, name: &str) -> Option<Vec<i64>> {
        if let Some(Attr::Int(i)) = self.attr(name) {
            return Some(vec![*i]);
        }
        if let Some(Attr::Ints(v)) = self.attr(name) { Some(v.clone()) } else { None }
    }

    pub(crate) fn float(&self, name: &str, default: f32) -> f64 {
        let x = if let Some(Attr::Float(x)) = self.attr(name) { *x } else { default };
        // As it reads in single precision: 0.01 and not 0.009999999776.
        x.to_string().parse().unwrap_or(f64::from(x))
    }

    pub(crate) fn text<'a>(&'a self, name: &str, default: &'a str) -> &'a str {
        if let Some(Attr::Text(text)) = self.attr(name) { text } else { default }
    }

    pub(crate) fn texts(&self, name: &str) -> Option<&[String]> {
        if let Some(Attr::Texts(texts)) = self.attr(name) { Some(texts) } else { None }
    }

    pub(crate) fn floats(&self, name: &str) -> Option<Vec<f64>> {
        let Some(Attr::Floats(v)) = self.attr(name) else { return None };
        Some(v.iter().map(|x| x.to_string().parse().unwrap_or(f64::from(*x))).collect())
    }

    pub(crate) fn tensor(&self, name: &str) -> Option<&Tensor> {
        if let Some(Attr::Tensor(t)) = self.attr(name) { Some(t) } else { None }
    }

    /// # Errors
    /// There is no such graph.
    pub(crate) fn graph(&self, name: &str) -> Res<&Graph> {
        let Some(Attr::Graph(graph)) = self.attr(name) else {
            return Err(Refusal::malformed(format!("the graph `{name}` is missing")));
        };
        Ok(graph)
    }

    /// The integers of an operand that has to be known.
    ///
    /// # Errors
    /// It depends on the inputs.
    pub(crate) fn known_ints(&self, i: usize, what: &str) -> Res<Option<Vec<i64>>> {
        let Some(val) = self.opt(i) else { return Ok(None) };
        match val.known().and_then(ints) {
            Some(v) => Ok(Some(v)),
            None => refuse_unknown(what),
        }
    }

    /// The numbers of an operand that has to be known.
    ///
    /// # Errors
    /// It depends on the inputs.
    pub(crate) fn known_nums(&self, i: usize, what: &str) -> Res<Option<Vec<f64>>> {
        let Some(val) = self.opt(i) else { return Ok(None) };
        match val.known() {
            Some(value) => Ok(Some(nums(value))),
            None => refuse_unknown(what),
        }
    }

    /// Integers that are an attribute in old versions, and an operand in newer ones.
    ///
    /// # Errors
    /// The operand depends on the inputs.
    pub(crate) fn ints_of(&self, name: &str, i: usize) -> Res<Option<Vec<i64>>> {
        match self.ints(name) {
            Some(v) => Ok(Some(v)),
            None => self.known_ints(i, name),
        }
    }

    /// An axis counted from the front, of that many.
    ///
    /// # Errors
    /// There is no such axis.
    pub(crate) fn axis(&self, axis: i64, rank: usize) -> Res<usize> {
        axis_of(axis, rank)
    }

    /// Several axes, in order.
    ///
    /// # Errors
    /// One does not exist, or stands twice.
    pub(crate) fn axes(&self, axes: &[i64], rank: usize) -> Res<Vec<usize>> {
        let mut found: Vec<usize> = axes.iter().map(|a| axis_of(*a, rank)).collect::<Res<_>>()?;
        found.sort_unstable();
        if found.windows(2).any(|w| w[0] == w[1]) {
            return Err(Refusal::malformed("an axis is named twice"));
        }
        Ok(found)
    }
}

/// An axis counted from the front.
pub(crate) fn axis_of(axis: i64, rank: usize) -> Res<usize> {
    let signed = i64::try_from(rank).unwrap_or(i64::MAX);
    let found = if axis < 0 { axis.checked_add(signed) } else { Some(axis) };
    match found.and_then(|a| usize::try_from(a).ok()).filter(|a| *a < rank) {
        Some(axis) => Ok(axis),
        None => Err(Refusal::malformed(format!("there is no axis {axis}; there are {rank}"))),
    }
}

fn refuse_unknown<T>(what: &str) -> Res<T> {
    let refusal = Refusal::new(format!("its {what} depends on the values of inputs"));
    Err(refusal.help(
        "shapes have to be known: fix an input with `--set NAME=VALUE`, or a dimension with `--dim NAME=N`",
    ))
}
