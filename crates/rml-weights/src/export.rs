//! From the parameters of a program to foreign tensors: an import read backward.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics};
use rml_ir::{Data, Shape, Value};

use crate::cells::{Terms, Wholes, terms};
use crate::element::{Refused, Written, add, scatter};
use crate::expand::{Expanded, Made};
use crate::import::{about, forgotten, left_alone, present, typed_all};
use crate::shapes::{Extent, Typed, typed};
use crate::tensors::{FileTensor, Stored, TensorFile, rounded};
use rml_data::tree::TreeName as Name;

/// The tensors made from the parameters. `like` is a file for shapes, types of elements, and tensors that are no
/// parameters; `stored` is the type of numbers, by default that of `like`, or else that of the parameters.
pub(crate) fn export(
    expanded: &Expanded<'_>,
    params: &IndexMap<Arc<str>, Value>,
    like: Option<&TensorFile>,
    stored: Option<Stored>,
) -> Result<TensorFile, Diagnostics> {
    let known: Option<IndexMap<String, Shape>> =
        like.map(|l| l.tensors.iter().map(|(name, t)| (name.clone(), t.shape.clone())).collect());
    if let Some(like) = like {
        present(expanded, like)?;
    }
    let typed = typed_all(expanded, |made| typed(&made.expr, made.wanted.ty.shape.dims(), known.as_ref()))?;
    let wholes = wholes(expanded, &typed, known.as_ref())?;
    let written = write(expanded, params, &typed, &wholes)?;
    let mut tensors = IndexMap::new();
    for ((name, dims), written) in wholes.iter().zip(written) {
        let own = match &written.data {
            Data::Bool(_) => Stored::Bool,
            Data::Int(_) => Stored::I64,
            Data::F32(_) => Stored::F32,
            Data::F64(_) => Stored::F64,
        };
        let number = own.is_number();
        let there = like.and_then(|l| l.tensors.get(name)).map(|t| t.stored);
        let there = there.filter(|t| t.is_number() == number);
        let stored = stored.filter(|_| number).or(there).unwrap_or(own);
        let data = rounded(&written.data, stored);
        tensors.insert(name.clone(), FileTensor { stored, shape: Shape::new(dims), data });
    }
    rest(expanded, like, &mut tensors)?;
    Ok(TensorFile { origin: "the parameters".into(), tensors, ..TensorFile::default() })
}

/// The dimensions of all tensors, derived from their parts.
fn wholes(
    expanded: &Expanded<'_>,
    typed: &[Typed],
    known: Option<&IndexMap<String, Shape>>,
) -> Result<Wholes, Diagnostics> {
    let mut found: IndexMap<String, Vec<Extent>> = IndexMap::new();
    let mut targets: Vec<(&Made<'_>, &Name, &[usize])> = Vec::new();
    let mut findings = Diagnostics::new();
    for (made, typed) in expanded.made.iter().zip(typed) {
        leaves(typed, &mut |leaf| match leaf {
            Typed::Leaf { tensor, whole, absent, .. } => {
                if absent.is_some() && known.is_some_and(|k| !k.contains_key(&tensor.text)) {
                    return;
                }
                let entry = found.entry(tensor.text.clone()).or_insert_with(|| whole.clone());
                match combined(entry, whole) {
                    Some(both) => *entry = both,
                    None => findings.push(about(made, disagree(tensor))),
                }
            }
            Typed::Fill { shape, into: Some(name), .. } => targets.push((made, name, shape)),
            _ => {}
        });
    }
    let size = |e: &Extent| match *e {
        Extent::Exactly(n) | Extent::AtLeast(n) => n,
    };
    let wholes: Wholes = found.iter().map(|(name, w)| (name.clone(), w.iter().map(size).collect())).collect();
    for (made, name, shape) in targets {
        if wholes.get(&name.text).is_none_or(|whole| whole != shape) {
            findings.push(about(made, disagree(name)));
        }
    }
    if findings.is_empty() { Ok(wholes) } else { Err(findings) }
}

fn disagree(tensor: &Name) -> Diagnostic {
    Diagnostic::error(
        codes::EXPORT_MISMATCH,
        format!("entries disagree about the shape of tensor `{}`", tensor.text),
    )
    .label(tensor.span, "used with another shape here")
}

fn combined(a: &[Extent], b: &[Extent]) -> Option<Vec<Extent>> {
    let both = a.iter().zip(b).map(|pair| match pair {
        (Extent::Exactly(a), Extent::Exactly(b)) => (a == b).then_some(Extent::Exactly(*a)),
        (Extent::Exactly(n), Extent::AtLeast(m)) | (Extent::AtLeast(m), Extent::Exactly(n)) => {
            (m <= n).then_some(Extent::Exactly(*n))
        }
        (Extent::AtLeast(a), Extent::AtLeast(b)) => Some(Extent::AtLeast(*a.max(b))),
    });
    if a.len() == b.len() { both.collect() } else { None }
}

fn leaves<'t>(typed: &'t Typed, f: &mut dyn FnMut(&'t Typed)) {
    match typed {
        Typed::Leaf { .. } | Typed::Fill { .. } => f(typed),
        Typed::Sum(parts) | Typed::Concat { parts, .. } => parts.iter().for_each(|p| leaves(p, f)),
        Typed::Rearrange(of, _) | Typed::Reorder { of, .. } | Typed::Flip { of, .. } => leaves(of, f),
    }
}

/// Writes all parameters.
fn write(
    expanded: &Expanded<'_>,
    params: &IndexMap<Arc<str>, Value>,
    typed: &[Typed],
    wholes: &Wholes,
) -> Result<Vec<Written>, Diagnostics> {
    let mut written: Vec<Option<Written>> = vec![None; wholes.len()];
    let mut findings = Diagnostics::new();
    let values: Vec<Data> = expanded.made.iter().map(|made| params[&made.wanted.key].to_data()).collect();
    for (typed, data) in typed.iter().zip(&values) {
        leaves(typed, &mut |leaf| {
            let Typed::Leaf { tensor, .. } = leaf else { return };
            let Some((number, _, whole)) = wholes.get_full(&tensor.text) else { return };
            written[number].get_or_insert_with(|| empty(data, whole.iter().product()));
        });
    }
    let mut written: Vec<Written> = written.into_iter().flatten().collect();
    for adding in [false, true] {
        for ((made, typed), data) in expanded.made.iter().zip(typed).zip(&values) {
            if let Err(refused) = parameter(data, &terms(typed, wholes), &mut written, adding) {
                findings.push(about(made, refusal(made, refused, wholes)));
            }
        }
    }
    for ((name, _), tensor) in wholes.iter().zip(&written) {
        let missing = tensor.filled.iter().filter(|f| !**f).count();
        if findings.is_empty() && missing > 0 {
            let message = format!("the mapping does not say what all of tensor `{name}` is made of");
            let d = Diagnostic::error(codes::EXPORT_MISMATCH, message);
            findings
                .push(d.note(format!("{missing} of its {} elements are in no `cut`", tensor.filled.len())));
        }
    }
    if findings.is_empty() { Ok(written) } else { Err(findings) }
}

fn empty(like: &Data, n: usize) -> Written {
    let data = match like {
        Data::Bool(_) => Data::Bool(vec![false; n]),
        Data::Int(_) => Data::Int(vec![0; n]),
        Data::F32(_) => Data::F32(vec![0.0; n]),
        Data::F64(_) => Data::F64(vec![0.0; n]),
    };
    Written { data, filled: vec![false; n] }
}

fn parameter(data: &Data, terms: &Terms, written: &mut [Written], adding: bool) -> Result<(), Refused> {
    match (data, adding) {
        (Data::Bool(v), false) => scatter(v, terms, written),
        (Data::Int(v), false) => scatter(v, terms, written),
        (Data::F32(v), false) => scatter(v, terms, written),
        (Data::F64(v), false) => scatter(v, terms, written),
        (Data::Bool(v), true) => add(v, terms, written),
        (Data::Int(v), true) => add(v, terms, written),
        (Data::F32(v), true) => add(v, terms, written),
        (Data::F64(v), true) => add(v, terms, written),
    }
}

fn refusal(made: &Made<'_>, refused: Refused, wholes: &Wholes) -> Diagnostic {
    let key = &made.wanted.key;
    let name = |n: u32| wholes.get_index(n as usize).map_or("", |(name, _)| name.as_str());
    let position = |i: usize| Shape::new(&index(i, made.wanted.ty.shape.dims()));
    match refused {
        Refused::Constant(i) => {
            let message = format!("parameter `{key}` has learned values that the other layout cannot store");
            Diagnostic::error(codes::EXPORT_MISMATCH, message)
                .label(made.expr.span, "the mapping says that it is constant")
                .note(format!("element {} is another number", position(i)))
        }
        Refused::Taken(i, n) => {
            let message = format!("two parameters share tensor `{}`, but differ", name(n));
            Diagnostic::error(codes::EXPORT_MISMATCH, message)
                .label(made.expr.span, format!("element {} of `{key}` differs", position(i)))
                .help("write them to tensors of their own")
        }
        Refused::Type(n) => {
            let message = format!("parameters of different types share tensor `{}`", name(n));
            Diagnostic::error(codes::EXPORT_MISMATCH, message)
                .label(made.expr.span, "this is of another type")
        }
    }
}

/// The multi-dimensional index of an element.
fn index(mut at: usize, dims: &[usize]) -> Vec<usize> {
    let mut index = vec![0; dims.len()];
    for axis in (0..dims.len()).rev() {
        index[axis] = at % dims[axis].max(1);
        at /= dims[axis].max(1);
    }
    index
}

/// Adds the tensors that are no parameters; with a file `like`, no tensor may be missing or superfluous.
fn rest(
    expanded: &Expanded<'_>,
    like: Option<&TensorFile>,
    tensors: &mut IndexMap<String, FileTensor>,
) -> Result<(), Diagnostics> {
    if let Some(like) = like {
        let alone = like.tensors.iter().filter(|(name, _)| left_alone(expanded, name));
        let alone: Vec<_> = alone.map(|(name, t)| (name.clone(), t.clone())).collect();
        for (name, tensor) in alone {
            tensors.entry(name).or_insert(tensor);
        }
    }
    for fixed in &expanded.fixed {
        let n = fixed.shape.iter().product();
        #[allow(clippy::cast_possible_truncation, reason = "the value is written for that type")]
        let data = match fixed.stored {
            Stored::Bool => Data::Bool(vec![fixed.value != 0.0; n]),
            Stored::F64 => Data::F64(vec![fixed.value; n]),
            Stored::F16 | Stored::Bf16 | Stored::F32 => Data::F32(vec![fixed.value as f32; n]),
            _ => Data::Int(vec![fixed.value as i64; n]),
        };
        let tensor = FileTensor { stored: fixed.stored, shape: Shape::new(&fixed.shape), data };
        if like.is_none_or(|l| l.tensors.contains_key(&fixed.name)) {
            tensors.entry(fixed.name.clone()).or_insert(tensor);
        }
    }
    let Some(like) = like else { return Ok(()) };
    let known: IndexSet<&String> = tensors.keys().collect();
    let missing = like.tensors.iter().filter(|(name, _)| !known.contains(name));
    let mut notes: Vec<String> =
        missing.map(|(name, t)| format!("`{name}`: {} {}", t.stored, t.shape)).collect();
    let unusable = like.unusable.iter().filter(|(name, _)| !left_alone(expanded, name));
    notes.extend(unusable.map(|(name, why)| format!("`{name}`: {why}")));
    match forgotten(&like.origin, notes) {
        Some(d) => return Err(d.into()),
        None => tensors.sort_by(|a, _, b, _| like.tensors.get_index_of(a).cmp(&like.tensors.get_index_of(b))),
    }
    Ok(())
}
