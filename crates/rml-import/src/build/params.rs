//! Weights: which tensors of the model become parameters, and what the mapping says about each.

use rml_ir::op::Op;
use rml_ir::{Shape, Type, Value};

use super::{Builder, Const, Held, Origin, Val};
use crate::elem::Elem;
use crate::names;
use crate::program::{Rhs, Source, Var};
use crate::refuse::{Refusal, Res};
use crate::tensor::{is_num, uniform};

/// The most elements of a constant that is written into the text.
const LITERAL: usize = 16;

/// The most integers, or truth values, that are.
const INTEGERS: usize = 1024;

/// The largest integer that single precision has exactly.
const EXACT: u64 = 1 << 24;

/// The weights of a model.
#[derive(Default)]
pub(crate) struct Weights {
    pub(crate) all: Vec<Weight>,
    names: names::Taken,
}

/// A tensor of the file of weights.
pub(crate) struct Weight {
    /// Its name in the model.
    pub(crate) name: String,
    pub(crate) elem: Elem,
    pub(crate) value: Value,
    /// Whether it is none of the model's, but was computed at import.
    pub(crate) computed: bool,
}

impl Builder<'_> {
    /// A tensor of the model: a weight if it has numbers and is large enough for one.
    pub(crate) fn tensor(&mut self, name: &str, elem: Elem, value: Value, least: usize) -> Val {
        let value = value.to_precision(self.precision);
        let weighs = is_num(&value) && !value.shape().is_scalar() && value.shape().len() >= least;
        let origin = weighs.then(|| Origin {
            axes: (0..value.shape().rank()).map(Some).collect(),
            weight: self.add_weight(name, elem, value.clone(), false),
        });
        Val { elem, held: Held::Const(Const { value, origin }) }
    }

    fn add_weight(&mut self, name: &str, elem: Elem, value: Value, computed: bool) -> usize {
        let name = self.weights.names.fresh(name);
        self.weights.all.push(Weight { name, elem, value, computed });
        self.weights.all.len() - 1
    }

    /// The variable of a constant: a literal, or a parameter.
    pub(crate) fn constant(&mut self, k: &Const, elem: Elem) -> Res<Var> {
        if let Some(origin) = &k.origin {
            return self.weight(origin, &k.value);
        }
        let found =
            self.frame().constants.iter().find(|(value, _)| value.same_bits(&k.value)).map(|(_, v)| *v);
        if let Some(var) = found {
            return Ok(var);
        }
        let len = k.value.shape().len();
        let least = if is_num(&k.value) { LITERAL } else { INTEGERS };
        let var = if len <= least || uniform(&k.value).is_some() {
            self.define(k.value.ty(), Rhs::Const(k.value.clone()))?
        } else {
            self.large(&k.value, elem)?
        };
        self.frame().constants.push((k.value.clone(), var));
        Ok(var)
    }

    /// A large constant that was computed at import: a parameter that training leaves alone.
    fn large(&mut self, value: &Value, elem: Elem) -> Res<Var> {
        if let Some(v) = crate::tensor::ints(value).filter(|v| v.iter().any(|i| i.unsigned_abs() > EXACT)) {
            let what = format!("a constant of {} integers has some beyond 2^24", v.len());
            return Err(Refusal::new(what).help("such tables have no place in a checkpoint of numbers"));
        }
        let axes = (0..value.shape().rank()).map(Some).collect();
        let stored = match crate::tensor::ints(value) {
            Some(v) => crate::tensor::of_ints(value.shape().dims(), v),
            None => value.clone(),
        };
        let weight = self.add_weight("constant", elem, stored, true);
        let var = self.weight(&Origin { weight, axes }, value)?;
        if is_num(value) {
            return Ok(var);
        }
        self.define(value.ty(), Rhs::Apply(Op::Convert(value.dtype()), vec![var]))
    }

    /// The parameter that a weight is, under that order of axes.
    fn weight(&mut self, origin: &Origin, value: &Value) -> Res<Var> {
        if let Some((var, axes)) = self.frame().weights.get(&origin.weight).cloned() {
            return self.turned(var, &axes, &origin.axes, value);
        }
        let shape = value.shape();
        let text = self.mapped(origin);
        let var = self.parameter(&shape, origin.weight, text)?;
        self.frame().weights.insert(origin.weight, (var, origin.axes.clone()));
        Ok(var)
    }

    /// A new parameter of that shape, which is made of a weight as `text` says in the mapping.
    pub(crate) fn parameter(&mut self, shape: &Shape, weight: usize, text: String) -> Res<Var> {
        let ty = Type { dtype: rml_ir::DType::Num, shape: shape.clone() };
        let entry = &self.weights.all[weight];
        // A number that an exporter gives says nothing: such a weight is called by the node that reads it.
        let name = if entry.name.starts_with("onnx::") {
            let what = if self.place.operands.get(2) == Some(&entry.name) { "bias" } else { "weight" };
            names::words(&self.place.scope).map(|words| format!("{words}_{what}"))
        } else {
            names::words(&entry.name)
        };
        let (slot, frozen) = (self.program.sources.len(), entry.computed);
        self.program.sources.push(Source { weight, text });
        let var = self.define(ty.clone(), Rhs::Param { ty, slot, frozen })?;
        self.frame().node.vars[var.0].name = name;
        Ok(var)
    }

    /// A parameter in another order than the one it has.
    fn turned(
        &mut self,
        var: Var,
        has: &[Option<usize>],
        wants: &[Option<usize>],
        value: &Value,
    ) -> Res<Var> {
        if has == wants {
            return Ok(var);
        }
        let ty = self.frame().node.ty(var).clone();
        let kept: Vec<usize> =
            wants.iter().flatten().filter_map(|a| has.iter().position(|h| *h == Some(*a))).collect();
        let mut rest: Vec<usize> = (0..has.len()).filter(|i| !kept.contains(i)).collect();
        let perm: Vec<usize> = rest.drain(..).chain(kept).collect();
        let stays = perm.iter().enumerate().all(|(i, p)| i == *p);
        let dims: Vec<usize> = perm.iter().map(|&i| ty.shape.dims()[i]).collect();
        let moved_ty = Type { shape: Shape::new(&dims), ..ty };
        let moved = if stays {
            var
        } else {
            self.define(moved_ty.clone(), Rhs::Apply(Op::Transpose { perm }, vec![var]))?
        };
        let shape = value.shape();
        if moved_ty.shape == shape {
            return Ok(moved);
        }
        self.define(Type { shape: shape.clone(), ..moved_ty }, Rhs::Apply(Op::Reshape { shape }, vec![moved]))
    }

    /// What a mapping says about a parameter that is that weight.
    pub(crate) fn mapped(&self, origin: &Origin) -> String {
        let weight = &self.weights.all[origin.weight];
        let name = quoted(&weight.name);
        let rank = weight.value.shape().rank();
        if origin.axes.iter().copied().eq((0..rank).map(Some)) {
            return name;
        }
        let letter = |axis: usize| char::from(b'a' + u8::try_from(axis).unwrap_or(25).min(25)).to_string();
        let left: Vec<String> = (0..rank)
            .map(|a| if origin.axes.contains(&Some(a)) { letter(a) } else { "1".to_owned() })
            .collect();
        let right: Vec<String> =
            origin.axes.iter().map(|a| a.map_or_else(|| "1".to_owned(), letter)).collect();
        format!("{{ tensor = {name}, rearrange = \"{} -> {}\" }}", left.join(" "), right.join(" "))
    }

    /// The weight of a constant; one that is none becomes one.
    pub(crate) fn origin(&mut self, k: &Const, elem: Elem) -> Origin {
        k.origin.clone().unwrap_or_else(|| Origin {
            axes: (0..k.value.shape().rank()).map(Some).collect(),
            weight: self.add_weight("constant", elem, k.value.clone(), true),
        })
    }

    /// The name of a weight.
    pub(crate) fn weight_name(&self, weight: usize) -> &str {
        &self.weights.all[weight].name
    }
}

/// A text between quotes, as a mapping has it.
pub(crate) fn quoted(text: &str) -> String {
    format!("{text:?}")
}
