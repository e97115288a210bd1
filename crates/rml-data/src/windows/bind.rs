//! Binds the columns of a data set to the inputs of a node.

use std::sync::Arc;

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics};
use rml_ir::{DType, InputInfo, Precision, Type};

use super::agreed::Agreed;
use super::reading::Reading;
use super::{Bound, Clock, Role, Windows, expected_shapes};
use crate::arranged;
use crate::bind::{find, may_lack, named};
use crate::classes::classes;
use crate::columns::{Column, Columns};
use crate::cut::Windowing;
use crate::malformed::Unusable;
use crate::on_disk::{Dataset, OnDisk};
use crate::prepare::Steps;
use crate::presence::{self, present};
use crate::recipe::Recipe;
use crate::sequences;

impl Windows {
    /// Binds columns to the inputs of a node.
    ///
    /// # Errors
    /// All columns that are missing or do not fit their inputs; data without a window.
    pub fn bind(
        data: &dyn Dataset,
        inputs: &[InputInfo],
        precision: Precision,
        allow_nan: bool,
    ) -> Result<Windows, Diagnostics> {
        Self::bind_by(data, inputs, (precision, allow_nan), &Recipe::default())
    }

    /// The same for data that is read by a recipe. NaN is accepted where it will be filled.
    ///
    /// # Errors
    /// As [`bind`](Self::bind); a text that is not a known class.
    pub fn bind_by(
        data: &dyn Dataset,
        inputs: &[InputInfo],
        (precision, allow_nan): (Precision, bool),
        recipe: &Recipe,
    ) -> Result<Windows, Diagnostics> {
        let (columns, disk) = (data.table(), data.on_disk());
        has_rows(columns, inputs)?;
        let layout = match data.layout() {
            Some(layout) => Some(Arc::clone(layout)),
            None => arranged::layout(data, &recipe.cut)?.map(Arc::new),
        };
        if let Some(layout) = layout {
            return Self::bind_rows(data, layout, inputs, (precision, allow_nan), recipe);
        }
        let declared = sequences::declared(columns, inputs)?;
        let mut agreed = Agreed::new(&declared);
        let mut findings = Diagnostics::new();
        let mut found: Vec<Option<(&Column, Reading)>> = Vec::new();
        for info in inputs {
            match reading(info, inputs, columns, disk, &mut agreed) {
                Ok(f) => found.push(f),
                Err(d) => {
                    findings.push(d);
                    found.push(None);
                }
            }
        }
        if let Err(d) = agreed.check() {
            findings.push(d);
            return Err(findings);
        }
        let (count, cycles) = (agreed.windows(), agreed.most());
        let lengths = agreed.lengths.map(|(lengths, _)| lengths.to_vec());
        let mut bound = Vec::new();
        for (info, found) in inputs.iter().zip(found) {
            let own = || driven(info, inputs, columns, &recipe.cut).unwrap_or(Role::End);
            let role = found.map_or_else(
                || Ok(own()),
                |(column, reading)| {
                    let lengths = lengths.as_deref().unwrap_or_default();
                    let filled = columns.lengths(&info.name);
                    let allow_nan = may_lack(info, allow_nan, recipe.fills.contains_key(&*info.name));
                    let read = recipe.precision_of(&info.name, precision);
                    reading
                        .role(info, column, (cycles, lengths, filled), data, (read, allow_nan))
                        .map_err(|d| columns.explained(&info.name, d))
                },
            );
            let known = recipe.classes.get(&*info.name).map(Vec::as_slice);
            let role = role.and_then(|role| Ok((role, classes(data, info, known)?)));
            match role {
                Ok((role, classes)) => {
                    let (clock, steps) = (clock(info, inputs), Steps::default());
                    bound.push(Bound { info: info.clone(), precision, role, clock, classes, steps });
                }
                Err(d) => findings.push(d),
            }
        }
        if findings.is_empty() && (count == 0 || cycles == 0) {
            findings.push(no_windows(inputs));
        }
        if findings.is_empty() {
            let misnamed = sequences::misnamed(columns, inputs);
            Ok(Windows {
                count,
                cycles,
                lengths,
                inputs: bound,
                layout: None,
                misnamed,
                origin: columns.called().to_owned(),
            })
        } else {
            Err(findings)
        }
    }
}

/// Refuses data without columns, or with a column of an input that has no rows.
fn has_rows(columns: &Columns, inputs: &[InputInfo]) -> Result<(), Diagnostic> {
    let empty =
        |i: &InputInfo| columns.columns.get(&*i.name).is_some_and(|c| c.rows() == 0 && c.shape.rank() > 0);
    let is_void = columns.columns.is_empty() && columns.unusable.is_empty();
    if is_void || inputs.iter().any(empty) {
        return Err(Diagnostic::error(codes::EMPTY_DATA, format!("{} has no row", columns.called())));
    }
    Ok(())
}

/// The column of an input and how it is read; `None` if the input needs no column.
fn reading<'a>(
    info: &'a InputInfo,
    inputs: &[InputInfo],
    columns: &'a Columns,
    disk: Option<&OnDisk>,
    agreed: &mut Agreed<'a>,
) -> Result<Option<(&'a Column, Reading)>, Diagnostic> {
    presence::check(info, inputs, columns)?;
    if driven(info, inputs, columns, &Windowing::default()).is_some() {
        return Ok(None);
    }
    let [a, b] = expected_shapes(info);
    // Shapes and elements of data on disk were compared when it was read.
    let find = if disk.is_some_and(|disk| disk.has(&info.name)) { named } else { find };
    let column = find(columns, (info, inputs), &[&a, &b])?;
    Ok(Some((column, agreed.reading(info, column, columns)?)))
}

/// The error that no column determines the number of windows.
fn no_windows(inputs: &[InputInfo]) -> Diagnostic {
    let d = Diagnostic::error(codes::EMPTY_DATA, "no column of the data says how many windows there are");
    match inputs.is_empty() {
        true => d.note("the node has no inputs that the data could feed").help(
            "train without data, for a number of windows or cycles: `--windows 100` in place of `--data`",
        ),
        false => d.help("give at least one input a column in the data"),
    }
}

/// The inputs for which the data has no values. A column whose rows do not fit together is wrong, not missing.
pub fn missing(inputs: &[InputInfo], columns: &Columns) -> Vec<String> {
    let has = |name: &str| {
        columns.columns.contains_key(name) || columns.unusable.get(name).is_some_and(Unusable::is_misshapen)
    };
    let missing = |i: &&InputInfo| match driven(i, inputs, columns, &Windowing::default()) {
        Some(Role::Present(of)) => !has(&inputs[of].name),
        Some(_) => false,
        None => !has(&i.name),
    };
    inputs.iter().filter(missing).map(|i| i.name.to_string()).collect()
}

/// The role of an input without a column, usable or not: it is true in the last cycle of each window, in the last cycle
/// of an epoch, in the first cycle of each series, or where another input has a value. A column `end` does not count if
/// rows of a table become windows by a fixed number of rows, or by this column itself.
pub(super) fn driven(
    info: &InputInfo,
    inputs: &[InputInfo],
    columns: &Columns,
    cut: &Windowing,
) -> Option<Role> {
    if let Some(of) = present(info, inputs, columns) {
        return Some(Role::Present(of));
    }
    let is_clock = || inputs.iter().any(|i| i.clock.as_ref().is_some_and(|(c, _)| *c == info.name));
    let is_cut = &*info.name == "end" && (cut.window.is_some() || cut.end.as_deref() == Some("end"));
    if info.ty != Type::scalar(DType::Bool) || (columns.mentions(&info.name) && !is_cut) {
        return None;
    }
    match &*info.name {
        "begin" if !is_clock() => Some(Role::Begin),
        "epoch_end" if !is_clock() => Some(Role::EpochEnd),
        name => (name == "end" || is_clock()).then_some(Role::End),
    }
}

pub(super) fn clock(info: &InputInfo, inputs: &[InputInfo]) -> Option<Clock> {
    let (name, flag) = info.clock.as_ref()?;
    Some(inputs.iter().position(|i| i.name == *name).map_or(Clock::Program, |i| Clock::Input(i, *flag)))
}
