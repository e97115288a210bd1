//! Binds the columns of a long table, whose rows are the cycles of windows.

use std::collections::BTreeSet;
use std::sync::Arc;

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics};
use rml_ir::{InputInfo, Precision};

use super::bind::{clock, driven};
use super::{Bound, Role, Windows, cell_type};
use crate::advice::prefixed;
use crate::bind::{convert, find, may_lack, named, wrong_shape};
use crate::cells::Cells;
use crate::classes::classes;
use crate::columns::{Column, Columns};
use crate::layout::Layout;
use crate::on_disk::Dataset;
use crate::prepare::Steps;
use crate::presence;
use crate::recipe::Recipe;
use crate::split::{Ranges, SplitRequest};

impl Windows {
    /// Binds the columns of a table that was cut into windows.
    ///
    /// # Errors
    /// As [`bind`](Self::bind); a column that lacks a value in some row.
    pub(super) fn bind_rows(
        data: &dyn Dataset,
        layout: Arc<Layout>,
        inputs: &[InputInfo],
        (precision, allow_nan): (Precision, bool),
        recipe: &Recipe,
    ) -> Result<Self, Diagnostics> {
        let columns = data.table();
        let mut findings = Diagnostics::new();
        let mut bound = Vec::new();
        for info in inputs {
            let allow_nan = may_lack(info, allow_nan, recipe.fills.contains_key(&*info.name));
            let find = |()| match driven(info, inputs, columns, layout.cut()) {
                Some(role @ Role::Present(_)) => Ok(role),
                Some(role) => ends_twice(info, columns, &layout).map(|()| role),
                None => {
                    let read = recipe.precision_of(&info.name, precision);
                    row(info, inputs, data, &layout, (read, allow_nan))
                }
            };
            let role = presence::check(info, inputs, columns).and_then(find);
            let known = recipe.classes.get(&*info.name).map(Vec::as_slice);
            let role = role.map_err(|d| columns.explained(&info.name, d));
            match role.and_then(|role| Ok((role, classes(data, info, known)?))) {
                Ok((role, classes)) => {
                    let (clock, steps) = (clock(info, inputs), Steps::default());
                    bound.push(Bound { info: info.clone(), precision, role, clock, classes, steps });
                }
                Err(d) => findings.push(d),
            }
        }
        if findings.is_empty() && layout.windows() == 0 {
            let what = format!("{} has no row", columns.called());
            findings.push(Diagnostic::error(codes::EMPTY_DATA, what));
        }
        if !findings.is_empty() {
            return Err(findings);
        }
        Ok(Self {
            count: layout.windows(),
            cycles: layout.most(),
            lengths: layout.lengths().map(<[usize]>::to_vec),
            inputs: bound,
            layout: Some(layout),
            misnamed: None,
            origin: columns.called().to_owned(),
        })
    }
}

/// For an input that is true at the end of each window: refuses a column with its name, which says other ends, unless
/// the cut uses this column.
pub(super) fn ends_twice(info: &InputInfo, columns: &Columns, layout: &Layout) -> Result<(), Diagnostic> {
    let cut = layout.cut();
    if !columns.mentions(&info.name) || cut.end.as_deref() == Some(&*info.name) {
        return Ok(());
    }
    let what = format!("both `--window` and the column `{}` say where windows end", info.name);
    let d = Diagnostic::error(codes::BAD_OPTION, what);
    let d = d.note(format!("input `{}` is true in the last cycle of each window ({cut})", info.name));
    Err(d
        .help(format!(
            "leave `--window` out and give `--end {}`: its windows are those of the column",
            info.name
        ))
        .help(format!("or leave the column out: `--columns '{}=..'` names another one", info.name)))
}

/// The role of an input in windows of a long table.
fn row(
    info: &InputInfo,
    inputs: &[InputInfo],
    data: &dyn Dataset,
    layout: &Layout,
    (precision, allow_nan): (Precision, bool),
) -> Result<Role, Diagnostic> {
    let (columns, ty) = (data.table(), cell_type(info));
    let disk = data.on_disk().filter(|disk| disk.has(&info.name));
    let expected = prefixed("rows", ty.shape.dims());
    let find = if disk.is_some() { named } else { find };
    let column = find(columns, (info, inputs), &[&expected])?;
    let is_sequence = columns.lengths(&info.name).is_some();
    if is_sequence
        || (!column.is_void() && column.shape_for(ty.shape.dims()).dims().get(1..) != Some(ty.shape.dims()))
    {
        let d = wrong_shape(info, column, &[&expected]);
        let d = if is_sequence { d.note("its rows are sequences of different lengths") } else { d };
        return Err(d.note(format!("a row is one cycle in data that is cut into windows: {}", layout.cut())));
    }
    if column.rows() != layout.rows() {
        return Err(other_rows(info, column, layout));
    }
    let place = |row: usize| columns.place(row);
    let Some(disk) = disk else {
        let converted = convert(&info.name, column, &ty, precision, allow_nan, &place)?;
        return Ok(Role::Row(Cells::Memory(converted)));
    };
    let stored = Cells::on_disk(disk, &info.name, column, &ty, precision);
    let row = |at: usize| column.present.as_ref().map_or(at, |present| present[at]);
    stored.check(0..column.present_rows(), allow_nan, &|at| place(row(at)))?;
    Ok(Role::Row(stored))
}

/// The error that a column has another number of rows than the table.
pub(super) fn other_rows(info: &InputInfo, column: &Column, layout: &Layout) -> Diagnostic {
    let what = format!(
        "column `{}` has {} rows, and the table that is cut into windows has {}",
        info.name,
        column.rows(),
        layout.rows()
    );
    let d = Diagnostic::error(codes::DATA_SHAPE, what);
    d.help("leave out the rows that have no partner, or check that both come from the same data")
}

impl Windows {
    /// Divides the windows, if they are divided by groups or share rows; none if the windows are independent. Without a
    /// wish for testing, `share` of the groups or windows is kept for it.
    ///
    /// # Errors
    /// Windows to be drawn that share rows; too many groups to be drawn, so that none remains.
    pub fn divide(
        &self,
        (test, share): (Option<SplitRequest>, f64),
        validation: SplitRequest,
        seed: u64,
    ) -> Result<Option<(Ranges, SplitRequest)>, Diagnostic> {
        let Some(layout) = self.layout.as_ref().filter(|layout| layout.divides()) else { return Ok(None) };
        let test = test.unwrap_or_else(|| layout.usual(share));
        Ok(Some((layout.divide(test, validation, seed)?, test)))
    }

    /// Whether the windows were cut from a long table.
    pub fn are_cut(&self) -> bool {
        self.layout.is_some()
    }

    /// Whether windows of one series may share rows.
    pub fn overlap(&self) -> bool {
        self.layout.as_ref().is_some_and(|layout| layout.cut().overlaps())
    }

    /// Whether an input marks the beginnings of series.
    pub fn has_begin(&self) -> bool {
        self.inputs.iter().any(|bound| matches!(bound.role, Role::Begin))
    }

    /// The number of series of the windows.
    pub fn series(&self) -> usize {
        self.layout.as_ref().map_or(self.count, |layout| layout.series())
    }

    /// The name of the group of a window, if the windows were cut from a table with groups.
    pub fn group(&self, window: usize) -> Option<&str> {
        self.layout.as_ref()?.group(window)
    }

    /// The column of the groups, if the windows were cut from a table with groups.
    pub fn grouped_by(&self) -> Option<&str> {
        self.layout.as_ref()?.cut().group.as_deref()
    }

    /// The groups of these windows, each once, in the order of the windows.
    pub fn groups(&self, windows: &[usize]) -> Vec<&str> {
        let mut groups: Vec<&str> = windows.iter().filter_map(|window| self.group(*window)).collect();
        groups.dedup();
        let mut seen = BTreeSet::new();
        groups.retain(|group| seen.insert(*group));
        groups
    }

    /// The row of the table in a cycle of a window, if windows were cut from a table.
    pub fn row(&self, window: usize, cycle: usize) -> Option<usize> {
        let layout = self.layout.as_ref()?;
        (cycle < self.length(window)).then(|| layout.row(window, cycle))
    }
}
