//! The page of a chronogram and of its program: for `rml trace --html` and `rml view`.

use std::collections::{BTreeMap, BTreeSet};

use rml::chronogram::{
    self, Cell, Chronogram, LineOrigin, Page, PlanPart, PlanPicture, PlanRegion, PlanWay, Side, WindowEnds,
};
use rml::plan::{Atom, Part, Plan, Region, Tape};
use rml::{Adjoint, Analysis, Error, Options, RunOptions, Source, Span, Stage};
use rml_render::verdict;

use super::execute::{over, prepare};
use super::profile::Measuring;
use crate::args::{Execution, Rows};
use crate::output::{Output, Stop};

/// A page, and the error that the run ended with.
pub(super) struct Made {
    pub(super) html: String,
    pub(super) error: Option<Error>,
}

/// Runs a program, and makes its page; `live` for a page that a server sends.
pub(super) fn make(
    args: &Execution,
    rows: chronogram::Rows,
    live: bool,
    output: &mut Output,
) -> Result<Made, Stop> {
    let measuring = Measuring::default().for_page();
    let (program, inputs, options) = prepare(args, true, &measuring, output)?;
    let options = RunOptions { engine: measuring.engine(options.engine.clone()), ..options };
    let (drawn, page) = chronogram::draw_page(&program, &inputs, &options, rows)?;
    output.report(&drawn.warnings, program.sources());
    let (source, options) = over(&args.over)?;
    let checkpoint = args.over.params.as_ref().map(|file| file.display().to_string());
    let mut page = Page { live, checkpoint, ..page };
    about(&mut page, &drawn.chronogram, &source, &options);
    page.findings = drawn.error.as_ref().map(text).unwrap_or_default();
    Ok(Made { html: drawn.chronogram.to_html(&page), error: drawn.error })
}

/// The ends of the windows that a program waits for without `every`: the cycles in which their condition holds.
fn waited(analysis: &Analysis, drawn: &Chronogram) -> Option<WindowEnds> {
    let name = analysis.run.as_ref()?.bounds.program.window.clone()?;
    let row = drawn.rows.iter().find(|row| row.name == name)?;
    let holds = |cell: &Cell| matches!(cell, Cell::Value(text) if text == "T");
    let ends = row.cells.iter().enumerate().filter(|(_, cell)| holds(cell)).map(|(n, _)| n);
    Some(WindowEnds { name, depth: 0, cycles: ends.collect() })
}

/// The rows that a flag names.
pub(super) fn shown(rows: Rows) -> chronogram::Rows {
    match rows {
        Rows::All => chronogram::Rows::All,
        Rows::Node => chronogram::Rows::Node,
        Rows::Outputs => chronogram::Rows::Outputs,
        Rows::Expressions => chronogram::Rows::Expressions,
    }
}

/// The page of a program that does not run.
pub(super) fn of_error(error: &Error, live: bool) -> String {
    let sources = error.sources();
    let own = sources.ids().filter(|id| !sources.name(*id).starts_with("std/"));
    let texts = own.map(|id| (sources.name(id).to_owned(), sources.text(id).to_owned()));
    let page = Page {
        title: "rml".to_owned(),
        sources: texts.collect(),
        findings: text(error),
        live,
        ..Page::default()
    };
    Chronogram::default().to_html(&page)
}

fn text(error: &Error) -> String {
    rml_render::human(error.diagnostics(), error.sources(), false)
}

/// Adds the facts about the program: the verdict, the clocks of its rows, its normal form, its plan, and the adjoints
/// of the nodes that it differentiates.
fn about(page: &mut Page, drawn: &Chronogram, source: &Source, options: &Options) {
    let analysis = rml::analyse(source, options).ok();
    if let Some(analysis) = &analysis {
        page.verdict = vec![verdict::line(analysis)];
        page.verdict.extend(verdict::engine_line(analysis));
        let is_new = |ends: &WindowEnds| page.windows.iter().all(|other| other.cycles != ends.cycles);
        let waited = waited(analysis, drawn).filter(is_new);
        page.windows.extend(waited);
        for (row, shown) in page.rows.iter_mut().zip(&drawn.rows) {
            row.ty += &clock(analysis, &shown.name);
        }
    }
    let normal = rml::dump(source, options, Stage::Normalize);
    page.forms.extend(normal.ok().map(|text| ("Normal form".to_owned(), text)));
    let plan = rml::dump(source, options, Stage::Plan).ok().and_then(|text| rml::plan::parse(&text).ok());
    page.plan = plan.as_ref().map(picture).unwrap_or_default();
    for node in differentiated(source) {
        let adjoint = rml::adjoint(source, options, &node).ok();
        let side = adjoint.map(|adjoint| side(format!("diff_{node}"), &adjoint, &page.sources));
        page.sides.extend(side);
    }
}

/// A plan as a picture.
fn picture(plan: &Plan) -> PlanPicture {
    let names = rml::plan::names(plan);
    let mut filled: BTreeMap<Tape, Vec<usize>> = BTreeMap::new();
    for (r, region) in plan.regions.iter().enumerate() {
        for part in region.parts() {
            filled.entry(part.tape).or_default().push(r);
        }
    }
    let mut reads = vec![BTreeSet::new(); plan.regions.len()];
    for read in plan.reads() {
        let (Atom::Tape(from, _), Some(to)) = (read.atom, read.by.tape()) else { continue };
        for reader in filled.get(&to).into_iter().flatten() {
            let earlier = filled.get(&from).into_iter().flatten().filter(|region| *region < reader);
            reads[*reader].extend(earlier.copied());
        }
    }
    let part = |part: &Part| {
        let tape = &plan.tapes[part.tape];
        PlanPart {
            name: names[part.tape.0 as usize].clone(),
            ty: tape.ty.to_string(),
            rules: rml::plan::rules(plan, &names, part),
            is_sum: tape.is_sum(),
        }
    };
    let region = |(region, reads): (&Region, BTreeSet<usize>)| {
        let (way, by) = match region {
            Region::Over(_) => (PlanWay::Over, Vec::new()),
            Region::Loop { backward: false, by, .. } => (PlanWay::Forward, by.clone()),
            Region::Loop { backward: true, by, .. } => (PlanWay::Backward, by.clone()),
        };
        PlanRegion {
            way,
            by: by.iter().map(|tape| names[tape.0 as usize].clone()).collect(),
            parts: region.parts().iter().map(part).collect(),
            writes: region.writes().iter().map(|write| rml::plan::written(plan, &names, write)).collect(),
            reads: reads.into_iter().collect(),
        }
    };
    PlanPicture {
        regions: plan.regions.iter().zip(reads).map(region).collect(),
        commits: plan.commits.iter().map(|write| rml::plan::written(plan, &names, write)).collect(),
    }
}

/// An adjoint beside the lines that its equations come from.
fn side(name: String, adjoint: &Adjoint, own: &[(String, String)]) -> Side {
    let sources = &adjoint.sources;
    let origin = |span: &Span| {
        let (file, (line, _)) = (sources.name(span.file), sources.line_column(span.file, span.start));
        LineOrigin {
            place: format!("{file}:{line}"),
            text: sources.text(span.file).lines().nth(line - 1).unwrap_or_default().trim().to_owned(),
            line: own.iter().position(|(name, _)| name == file).map(|text| (text, line)),
        }
    };
    let origins = |spans: &[Span]| {
        let mut origins: Vec<LineOrigin> = spans.iter().map(origin).collect();
        origins.dedup_by(|a, b| a.place == b.place);
        origins
    };
    let mut rows = Vec::new();
    // The requested node is the last one; the nodes that it calls come before it.
    for node in adjoint.nodes.iter().rev() {
        rows.extend(node.head.lines().map(|line| (line.to_owned(), Vec::new())));
        // The page shows each equation beside the line that it transposes, so the comments that name this line are left
        // out.
        let equations = node.lines.iter().filter(|line| !line.spans.is_empty());
        rows.extend(equations.map(|line| (format!("  {}", line.text), origins(&line.spans))));
    }
    Side { name, rows }
}

fn clock(analysis: &Analysis, name: &str) -> String {
    let mut vars = analysis.flat.vars.iter_enumerated();
    let found = vars.find(|(_, data)| data.name.as_deref() == Some(name));
    found.map(|(v, _)| analysis.clock(v)).unwrap_or_default()
}

/// The nodes in the program's own text whose adjoints it calls.
fn differentiated(source: &Source) -> Vec<String> {
    let Ok(survey) = rml::survey(source) else { return Vec::new() };
    let called = |span| {
        let is_it = |name: &rml::NamePlace| matches!(name.meaning, rml::Meaning::Node(at, 1..) if at == span);
        survey.index.names.iter().any(is_it)
    };
    let own = survey.index.nodes.iter().filter(|node| node.span.file == survey.main);
    own.filter(|node| called(node.name_span)).map(|node| node.name.clone()).collect()
}
