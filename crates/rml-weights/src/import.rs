//! From foreign tensors to the parameters of a program.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics, suggest};
use rml_ir::{DType, Data, Precision, Shape, Value};

use crate::cells::{Cell, Terms, Wholes, terms};
use crate::element::gather;
use crate::expand::{Expanded, Made};
use crate::pattern::glob;
use crate::shapes::{Typed, typed};
use crate::tensors::{FileTensor, Stored, TensorFile, rounded};
use rml_data::tree::listed;

/// The parameters made from a file of tensors, and how many numbers were rounded.
pub(crate) fn import(
    expanded: &Expanded<'_>,
    weights: &TensorFile,
    precision: Precision,
) -> Result<(IndexMap<Arc<str>, Value>, usize), Diagnostics> {
    let shapes: IndexMap<String, Shape> =
        weights.tensors.iter().map(|(name, t)| (name.clone(), t.shape.clone())).collect();
    present(expanded, weights)?;
    let typed = typed_all(expanded, |made| typed(&made.expr, made.wanted.ty.shape.dims(), Some(&shapes)))?;
    let wholes: Wholes = shapes.into_iter().map(|(name, shape)| (name, shape.dims().to_vec())).collect();
    let mut read = Read { weights, precision, used: vec![None; wholes.len()], rounded: 0 };
    let mut params = IndexMap::new();
    let mut findings = Diagnostics::new();
    for (made, typed) in expanded.made.iter().zip(&typed) {
        match read.parameter(made, &terms(typed, &wholes)) {
            Ok(value) => {
                params.insert(Arc::clone(&made.wanted.key), value);
            }
            Err(d) => findings.push(d),
        }
    }
    if findings.is_empty()
        && let Some(d) = read.unused(expanded)
    {
        findings.push(d);
    }
    if findings.is_empty() { Ok((params, read.rounded)) } else { Err(findings) }
}

/// The shapes of all parameters, or all errors in them.
pub(crate) fn typed_all(
    expanded: &Expanded<'_>,
    typed: impl Fn(&Made<'_>) -> Result<Typed, Diagnostic>,
) -> Result<Vec<Typed>, Diagnostics> {
    let mut findings = Diagnostics::new();
    let mut all = Vec::new();
    for made in &expanded.made {
        match typed(made) {
            Ok(found) => all.push(found),
            Err(d) => findings.push(about(made, d)),
        }
    }
    if findings.is_empty() { Ok(all) } else { Err(findings) }
}

/// The finding with the parameter that it concerns.
pub(crate) fn about(made: &Made<'_>, d: Diagnostic) -> Diagnostic {
    let note = format!("parameter `{}` is {}", made.wanted.key, made.wanted.ty);
    let d =
        if d.labels.iter().any(|l| l.span == made.entry) { d } else { d.label(made.entry, "for this entry") };
    d.label(made.wanted.span, note)
}

/// Refuses tensors that the file lacks.
pub(crate) fn present(expanded: &Expanded<'_>, weights: &TensorFile) -> Result<(), Diagnostics> {
    let mut findings = Diagnostics::new();
    for made in &expanded.made {
        made.expr.tensors(&mut |name, optional| {
            if optional || weights.tensors.contains_key(&name.text) {
                return;
            }
            let message = format!("{} has no tensor `{}`", weights.origin, name.text);
            let mut d = Diagnostic::error(codes::UNKNOWN_TENSOR, message).label(name.span, "named here");
            if let Some(why) = weights.unusable.get(&name.text) {
                d = d.note(format!("there is an entry of that name, but {why}"));
            }
            if let Some(near) = suggest(&name.text, weights.tensors.keys().map(String::as_str)) {
                d = d.help(format!("is `{near}` meant?"));
            }
            findings.push(about(made, d.help("`rml params list` shows the tensors of a file")));
        });
    }
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

/// Whether a mapping ignores a tensor.
pub(crate) fn left_alone(expanded: &Expanded<'_>, name: &str) -> bool {
    expanded.fixed.iter().any(|f| f.name == name) || expanded.ignore.iter().any(|p| glob(&p.text, name))
}

struct Read<'r> {
    weights: &'r TensorFile,
    precision: Precision,
    /// For each tensor that was used, which of its elements were used.
    used: Vec<Option<Vec<bool>>>,
    rounded: usize,
}

impl Read<'_> {
    fn parameter(&mut self, made: &Made<'_>, terms: &Terms) -> Result<Value, Diagnostic> {
        let mut tensors: Vec<Option<Data>> = vec![None; self.used.len()];
        for cell in terms.iter().flatten() {
            let Cell::At { tensor, element } = *cell else { continue };
            let number = tensor as usize;
            let Some((name, found)) = self.weights.tensors.get_index(number) else { continue };
            if tensors[number].is_none() {
                tensors[number] = Some(self.converted(made, name, found)?);
            }
            let used = self.used[number].get_or_insert_with(|| vec![false; found.data.len()]);
            used[usize::try_from(element).unwrap_or(usize::MAX)] = true;
        }
        let data = match (made.wanted.ty.dtype, self.precision) {
            (DType::Num, Precision::F32) => Data::F32(gather(terms, &tensors)),
            (DType::Num, Precision::F64) => Data::F64(gather(terms, &tensors)),
            (DType::Int, _) => Data::Int(gather(terms, &tensors)),
            (DType::Bool, _) => Data::Bool(gather(terms, &tensors)),
        };
        Ok(Value::new(made.wanted.ty.shape.clone(), data))
    }

    /// The elements of a tensor, converted to the type of the parameter.
    fn converted(&mut self, made: &Made<'_>, name: &str, found: &FileTensor) -> Result<Data, Diagnostic> {
        let wrong = |why: String| {
            let message = format!("tensor `{name}` cannot become a part of parameter `{}`", made.wanted.key);
            let d = Diagnostic::error(codes::TENSOR_TYPE, message).label(made.entry, why);
            d.label(made.wanted.span, format!("it is {}", made.wanted.ty))
        };
        let to = match self.precision {
            Precision::F32 => Stored::F32,
            Precision::F64 => Stored::F64,
        };
        match (made.wanted.ty.dtype, &found.data) {
            (DType::Bool, Data::Bool(_)) | (DType::Int, Data::Int(_)) => Ok(found.data.clone()),
            (DType::Num, Data::F32(_)) => Ok(rounded(&found.data, to)),
            (DType::Num, Data::F64(v)) => {
                let data = rounded(&found.data, to);
                if let Data::F32(near) = &data {
                    if let Some(i) = v.iter().zip(near).position(|(x, y)| x.is_finite() && !y.is_finite()) {
                        return Err(wrong(format!("the number {:e} is too large for f32", v[i]))
                            .help("compute in double precision: `--f64`"));
                    }
                    let lossy = v.iter().zip(near).filter(|(x, y)| !x.is_nan() && **x != f64::from(**y));
                    self.rounded += lossy.count();
                }
                Ok(data)
            }
            (DType::Num, Data::Int(v)) => whole(v, self.precision)
                .ok_or_else(|| wrong(format!("its integers are not all {} numbers", self.precision))),
            _ => Err(wrong(format!("its elements are {}", found.stored))),
        }
    }

    /// The tensors, and parts of tensors, that the mapping does not use.
    fn unused(&self, expanded: &Expanded<'_>) -> Option<Diagnostic> {
        let mut notes = Vec::new();
        for ((name, tensor), used) in self.weights.tensors.iter().zip(&self.used) {
            match used {
                _ if left_alone(expanded, name) => {}
                None if tensor.data.is_empty() => {}
                None => notes.push(format!("`{name}`: {} {}", tensor.stored, tensor.shape)),
                Some(used) => {
                    let missing = used.iter().filter(|u| !**u).count();
                    if missing > 0 {
                        notes.push(format!("{missing} of the {} elements of `{name}`", used.len()));
                    }
                }
            }
        }
        let rest = self.weights.unusable.iter().filter(|(name, _)| !left_alone(expanded, name));
        notes.extend(rest.map(|(name, why)| format!("`{name}`: {why}")));
        forgotten(&self.weights.origin, notes)
    }
}

/// The finding about tensors that no entry uses.
pub(crate) fn forgotten(origin: &str, notes: Vec<String>) -> Option<Diagnostic> {
    let first = notes.first()?.split('`').nth(1).unwrap_or_default().to_owned();
    let message = format!("{origin} has tensors that the mapping does not use");
    let d = Diagnostic::error(codes::UNUSED_TENSOR, message);
    let d = notes.into_iter().fold(d, Diagnostic::note);
    Some(d.help(format!(
        "add them to an entry, or leave them alone: ignore = [{}]",
        listed(std::iter::once(first.as_str())).replace('`', "\"")
    )))
}

/// Integers as numbers, if the conversion is exact.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "what is lost is found")]
fn whole(v: &[i64], precision: Precision) -> Option<Data> {
    match precision {
        Precision::F32 => {
            let exact = v.iter().all(|i| *i as f32 as i64 == *i);
            exact.then(|| Data::F32(v.iter().map(|i| *i as f32).collect()))
        }
        Precision::F64 => {
            let exact = v.iter().all(|i| *i as f64 as i64 == *i);
            exact.then(|| Data::F64(v.iter().map(|i| *i as f64).collect()))
        }
    }
}
