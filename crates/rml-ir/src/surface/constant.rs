//! Constants as source text.

use super::level::{Level, Piece};
use crate::op::Distribution;
use crate::types::{DType, Shape};
use crate::value::{Data, Value};

/// A value.
pub(super) fn value(v: &Value) -> Piece {
    let data = v.to_data();
    if v.shape().is_scalar() {
        return scalar(&data, 0);
    }
    let shape = v.shape();
    if let Some(fill) = filled(v) {
        return match (v.dtype(), fill.text.as_str()) {
            (DType::Num, "0.0") => Piece::atom(format!("zeros({shape})")),
            (DType::Num, "1.0") => Piece::atom(format!("ones({shape})")),
            _ => Piece::atom(format!("broadcast({shape}, {})", fill.text)),
        };
    }
    if data.is_empty() {
        return Piece::atom(format!("zeros({shape})"));
    }
    Piece::atom(array(&data, shape.dims(), 0))
}

/// The element of a tensor (or scalar) whose elements are all the same.
pub(super) fn filled(v: &Value) -> Option<Piece> {
    let data = v.to_data();
    let first = scalar(&data, 0);
    (!data.is_empty() && (1..data.len()).all(|i| scalar(&data, i).text == first.text)).then_some(first)
}

fn scalar(data: &Data, i: usize) -> Piece {
    let text = match data {
        Data::Bool(v) => v.get(i).map(|x| format!("{x:?}")),
        Data::Int(v) => v.get(i).map(|x| format!("{x:?}")),
        Data::F32(v) => v.get(i).map(|x| format!("{x:?}")),
        Data::F64(v) => v.get(i).map(|x| format!("{x:?}")),
    };
    let text = text.unwrap_or_default();
    match text.as_str() {
        "NaN" => Piece::new("0.0 / 0.0", Level::Product),
        "inf" => Piece::new("1.0 / 0.0", Level::Product),
        "-inf" => Piece::new("-1.0 / 0.0", Level::Product),
        _ if text.starts_with('-') => Piece::new(text, Level::Unary),
        _ => Piece::atom(text),
    }
}

/// Elements from `start` on as nested brackets.
fn array(data: &Data, dims: &[usize], start: usize) -> String {
    let Some((&n, rest)) = dims.split_first() else { return scalar(data, start).text };
    let stride: usize = rest.iter().product();
    let items: Vec<String> = (0..n).map(|i| array(data, rest, start + i * stride)).collect();
    format!("[{}]", items.join(", "))
}

/// A random constant.
pub(super) fn random(distribution: Distribution, shape: &Shape) -> Piece {
    Piece::atom(match distribution {
        Distribution::GlorotUniform => format!("glorot_uniform({shape})"),
        // Stands only in a random stream, which is printed without it.
        Distribution::Key => "key".to_owned(),
        Distribution::Orthogonal => format!("orthogonal({shape})"),
        Distribution::Uniform { lo, hi } => format!("uniform({shape}, {lo:?}, {hi:?})"),
        Distribution::Normal { mean, std } => format!("normal({shape}, {mean:?}, {std:?})"),
    })
}

/// A text that stands for a constant or static argument, with a level that is surely not too high.
pub(super) fn written(text: &str) -> Piece {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let rest = text.trim_start_matches(word);
    let simple = rest.is_empty() || is_bracketed(rest);
    match text.chars().next() {
        Some('-') if text[1..].chars().all(word) => Piece::new(text, Level::Unary),
        Some(_) if simple => Piece::atom(text),
        _ => Piece::new(text, Level::If),
    }
}

/// Whether a text is one pair of brackets with what is inside.
fn is_bracketed(text: &str) -> bool {
    let mut depth = 0_usize;
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ if depth == 0 => return false,
            _ => {}
        }
        if depth == 0 && i + c.len_utf8() < text.len() {
            return false;
        }
    }
    text.starts_with(['(', '['])
}
