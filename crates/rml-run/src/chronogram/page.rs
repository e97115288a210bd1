//! What a page shows of a program beside its chronogram.

use std::collections::BTreeMap;

use rml_base::profile::Profile;
use rml_base::{FileId, Span};
use rml_data::text::{self, Named};
use rml_driver::{Program, ValueNames};
use rml_engine::Status;
use rml_ir::Value;
use rml_ir::flat::{Rhs, Var};
use rml_pictures::{LineCost, Page, PageRow};

use super::statuses::Statuses;
use crate::profile::ProfileReport;

/// Tensors of more elements than that are shown by their beginnings only.
const ELEMENTS: usize = 1024;

/// The page of a program whose rows are those variables.
pub(super) fn page(
    program: &Program,
    (statuses, names): (&Statuses<'_>, &ValueNames),
    shown: &[Var],
    cycles: usize,
) -> Page {
    let (flat, sources) = (program.flat(), program.sources());
    let mut texts: Vec<FileId> = Vec::new();
    let mut place = |span: Span| {
        // Texts of the library are not the reader's.
        let name = sources.name(span.file);
        if name.starts_with("std/") || sources.text(span.file).is_empty() {
            return None;
        }
        let text = texts.iter().position(|id| *id == span.file).unwrap_or_else(|| {
            texts.push(span.file);
            texts.len() - 1
        });
        Some((text, sources.line_column(span.file, span.start).0))
    };
    let rows = shown.iter().map(|v| {
        let data = &flat.vars[*v];
        PageRow { ty: data.ty.to_string(), place: place(data.span) }
    });
    let rows = rows.collect();
    let of = |(row, v): (usize, &Var)| {
        let tensor = move |n: usize| Some((row, n, tensor(&statuses.at(*v, n), names.of_var(*v))?));
        (0..cycles).filter_map(tensor).collect::<Vec<_>>()
    };
    let tensors = shown.iter().enumerate().flat_map(of).collect();
    let sources = texts.iter().map(|id| (sources.name(*id).to_owned(), sources.text(*id).to_owned()));
    Page { title: program.node().to_owned(), sources: sources.collect(), rows, tensors, ..Page::default() }
}

/// What each line of the page's texts costs: the bytes of the values that it computes, and the time that was measured.
pub(super) fn costs(program: &Program, page: &Page, profile: Option<&Profile>) -> Vec<LineCost> {
    let (flat, sources) = (program.flat(), program.sources());
    let text = |name: &str| page.sources.iter().position(|(own, _)| own == name);
    let mut found: BTreeMap<(usize, usize), LineCost> = BTreeMap::new();
    for equation in flat.equations.iter().filter(|e| !matches!(e.rhs, Rhs::Const(_))) {
        let Some(text) = text(sources.name(equation.span.file)) else { continue };
        let line = (text, sources.line_column(equation.span.file, equation.span.start).0);
        let cost = found.entry(line).or_insert(LineCost { line, ..LineCost::default() });
        cost.bytes = cost.bytes.saturating_add(flat.vars[equation.lhs].ty.bytes(program.precision()));
    }
    for (name, line, ns) in profile.map(|p| ProfileReport::new(p).by_line()).unwrap_or_default() {
        let place = text(&name).map(|text| (text, line));
        if let Some(cost) = place.and_then(|place| found.get_mut(&place)) {
            cost.ns += ns;
        }
    }
    found.into_values().collect()
}

/// A tensor as nested arrays.
fn tensor(status: &Status, names: Named<'_>) -> Option<serde_json::Value> {
    let Status::Value(value) = status else { return None };
    let is_shown = !value.shape().is_scalar() && value.shape().len() <= ELEMENTS;
    is_shown.then(|| json(value, names))
}

fn json(value: &Value, names: Named<'_>) -> serde_json::Value {
    let text = text::written(|out| text::write_json(out, value, names));
    serde_json::from_str(&text).unwrap_or_default()
}
