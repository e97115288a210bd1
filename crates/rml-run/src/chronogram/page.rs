//! The parts of a program's page beside its chronogram.

use std::collections::BTreeMap;

use rml_base::profile::Profile;
use rml_base::{FileId, Span};
use rml_data::text::{self, Named};
use rml_driver::{Program, ValueNames};
use rml_engine::Status;
use rml_ir::Value;
use rml_ir::flat::{Flat, Rhs, Var};
use rml_pictures::{LineCost, Page, PageRow, StreamNames, WindowEnds, network, reasons};

use super::statuses::{Statuses, known};
use crate::profile::ProfileReport;

/// Tensors with more elements are shown only by their first elements.
const ELEMENTS: usize = 1024;

/// The most tensor elements of a page with all elements; beyond that, rows have only the first elements.
const ALL_ELEMENTS: usize = 600_000;

/// The page of a program with these variables as rows.
pub(super) fn page(
    program: &Program,
    (statuses, names): (&Statuses<'_>, &ValueNames),
    shown: &[(Var, String)],
    cycles: usize,
) -> Page {
    let (flat, sources) = (program.flat(), program.sources());
    let mut texts: Vec<FileId> = Vec::new();
    let mut place = |span: Span| {
        // The reader did not write the texts of the library.
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
    let rows = shown.iter().map(|(v, _)| {
        let data = &flat.vars[*v];
        PageRow { ty: data.ty.to_string(), place: place(data.span) }
    });
    let rows = rows.collect();
    let sources = texts.iter().map(|id| (sources.name(*id).to_owned(), sources.text(*id).to_owned()));
    Page {
        title: program.node().to_owned(),
        sources: sources.collect(),
        rows,
        tensors: tensors((statuses, names), shown, cycles),
        reasons: reasons(flat, shown, cycles, &|v, n| known(&statuses.at(v, n))),
        windows: windows(flat, statuses, cycles),
        network: network(flat),
        ..Page::default()
    }
}

/// The values of tensors, those of the node itself first, within the limit on elements.
fn tensors(
    (statuses, names): (&Statuses<'_>, &ValueNames),
    shown: &[(Var, String)],
    cycles: usize,
) -> Vec<(usize, usize, serde_json::Value)> {
    let mut order: Vec<usize> = (0..shown.len()).collect();
    order.sort_by_key(|row| shown[*row].1.matches('.').count());
    let (mut found, mut left) = (Vec::new(), ALL_ELEMENTS);
    for row in order {
        let v = shown[row].0;
        for n in 0..cycles {
            let status = statuses.at(v, n);
            let Status::Value(value) = &status else { continue };
            let len = value.shape().len();
            if value.shape().is_scalar() || len > ELEMENTS.min(left) {
                continue;
            }
            left -= len;
            found.push((row, n, json(value, names.of_var(v))));
        }
    }
    found
}

/// The ends of windows, each condition once. Conditions that hold in the same cycles count as one.
fn windows(flat: &Flat, statuses: &Statuses<'_>, cycles: usize) -> Vec<WindowEnds> {
    let names = StreamNames::new(flat);
    let mut found: Vec<WindowEnds> = Vec::new();
    for data in flat.windows.iter() {
        let holds =
            |n: &usize| matches!(&statuses.at(data.end, *n), Status::Value(v) if v.as_bool() == Some(true));
        let ends: Vec<usize> = (0..cycles).filter(holds).collect();
        if ends.is_empty() || found.iter().any(|other| other.cycles == ends) {
            continue;
        }
        let around = |window| flat.windows.get(window).and_then(|w| w.parent);
        let depth = std::iter::successors(data.parent, |window| around(*window)).count();
        let expression = || {
            let eq = names.definition(data.end)?;
            Some(rml_ir::surface::expression(flat, eq, &|v| names.short(v)))
        };
        let name = names.short(data.end).or_else(expression).unwrap_or_default();
        found.push(WindowEnds { name, depth, cycles: ends });
    }
    found
}

/// The cost of each line of the page's texts: the bytes of the values that it computes, and the measured time.
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
fn json(value: &Value, names: Named<'_>) -> serde_json::Value {
    let text = text::written(|out| text::write_json(out, value, names));
    serde_json::from_str(&text).unwrap_or_default()
}
