//! Data whose rows were cut into windows.

mod read;

use std::sync::Arc;

use rml_base::Diagnostic;
use rml_base::memory::Reservation;

use crate::columns::Columns;
use crate::cut::Windowing;
use crate::dates;
use crate::layout::Layout;
use crate::on_disk::{Dataset, OnDisk};

/// Data that was cut into windows; both forms give the same bits.
///
/// ```
/// # fn main() -> Result<(), rml_base::Error> {
/// # use rml_data as rml;
/// let table = rml::Columns::parse(b"id,x\n7,1\n7,2\n8,3\n", rml::Format::Csv, "table.csv")?;
/// let cut = rml::Windowing { group: Some("id".into()), ..rml::Windowing::default() };
/// assert_eq!(rml::Arranged::new(&table, &cut)?.windows(), Some(2));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Arranged<'d> {
    data: &'d dyn Dataset,
    layout: Option<Arc<Layout>>,
}

impl<'d> Arranged<'d> {
    /// Cuts data, unless the cut is empty.
    ///
    /// # Errors
    /// A cut that contradicts itself; a column that does not exist or cannot be used; no window.
    pub fn new(data: &'d dyn Dataset, cut: &Windowing) -> Result<Self, Diagnostic> {
        Ok(Self { data, layout: layout(data, cut)?.map(Arc::new) })
    }

    /// How many windows the cut makes; `None` if it is empty.
    pub fn windows(&self) -> Option<usize> {
        self.layout.as_ref().map(|layout| layout.windows())
    }

    /// Notes about the windows: sentences without a full stop.
    pub fn notes(&self) -> Vec<String> {
        self.layout.as_ref().map(|layout| layout.notes()).unwrap_or_default()
    }
}

impl Dataset for Arranged<'_> {
    fn table(&self) -> &Columns {
        self.data.table()
    }

    fn on_disk(&self) -> Option<&OnDisk> {
        self.data.on_disk()
    }

    fn layout(&self) -> Option<&Arc<Layout>> {
        self.layout.as_ref()
    }
}

/// The name by which rows are grouped by file, if no column has it.
const FILE: &str = "file";

impl Windowing {
    /// The same settings for this data, completed by those of a training. If the data lacks the column of the
    /// training's groups, each file is a group, and the name of the column is returned.
    pub fn as_trained(self, trained: Self, data: &dyn Dataset) -> (Self, Option<String>) {
        let is_given = self.group.is_some();
        let mut cut = self.or(trained);
        let lacks = |name: &mut String| !is_given && !has_groups(data.table(), name);
        let lacking = cut.group.take_if(lacks);
        if lacking.is_some() {
            cut.group = Some(FILE.to_owned());
        }
        (cut, lacking)
    }
}

/// Whether a table has groups of this name.
fn has_groups(table: &Columns, name: &str) -> bool {
    table.mentions(name) || name == FILE
}

/// Cuts a table, unless the cut is empty.
///
/// # Errors
/// A cut that contradicts itself; a column that does not exist or cannot be used; no window.
pub(crate) fn layout(data: &dyn Dataset, cut: &Windowing) -> Result<Option<Layout>, Diagnostic> {
    if cut.is_nothing() {
        return Ok(None);
    }
    cut.check()?;
    let mut memory = Reservation::default();
    let read::Rows { count, order, groups, names, time, ends } = read::Rows::of(data, cut, &mut memory)?;
    let mut layout = Layout::new(cut, count, order, memory);
    layout.names = names;
    if count == 0 {
        return Ok(Some(layout));
    }
    let (files, parts) = (&data.table().files, cut.ends_with_files() && data.table().files.count() > 1);
    let mut lengths = Vec::new();
    for group in groups {
        layout.begin_group();
        layout.group_starts.push(group.start);
        let mut start = group.start;
        for place in group.clone() {
            let row = layout.row_at(place);
            let ended = ends.as_ref().is_some_and(|ends| ends[row]);
            let is_last = place + 1 == group.end;
            let parted = |gap: f64, time: &[f64]| time[layout.row_at(place + 1)] - time[row] > gap;
            let is_parted =
                !is_last && cut.gap.zip(time.as_deref()).is_some_and(|(gap, time)| parted(gap, time));
            let ends_file = !is_last && parts && files.of(row) != files.of(layout.row_at(place + 1));
            if is_last || ended || is_parted || ends_file {
                let whole = ends.is_none() || ended;
                layout.file_ends += usize::from(ends_file);
                layout.add(start..place + 1, whole, &mut lengths)?;
                start = place + 1;
            }
        }
    }
    layout.begin_group();
    if let Some(time) = time.as_deref().filter(|_| cut.gap.is_none()) {
        layout.jumps = jumps(&layout, data.table(), time);
    }
    layout.finish(lengths, data.table()).map(Some)
}

/// The note about rows that are missing in a table whose rows are otherwise equally far apart in time.
fn jumps(layout: &Layout, table: &Columns, time: &[f64]) -> Option<String> {
    let name = layout.cut().time.as_deref()?;
    let mut steps: Vec<f64> = layout
        .neighbours()
        .filter(|(a, b)| !layout.cut().ends_with_files() || table.files.of(*a) == table.files.of(*b))
        .map(|(a, b)| time[b] - time[a])
        .collect();
    steps.sort_by(f64::total_cmp);
    let usual = *steps.get(steps.len() / 2)?;
    let regular = steps.iter().filter(|step| (**step - usual).abs() <= 0.01 * usual).count();
    let larger = steps.iter().filter(|step| **step > 1.5 * usual).count();
    let most = *steps.last()?;
    // Where steps differ anyway, none is a gap.
    if usual <= 0.0 || larger == 0 || regular * 10 < steps.len() * 9 {
        return None;
    }
    let shown = |x: f64| if table.dated.contains(name) { dates::span(x) } else { x.to_string() };
    let (usual, most, places) = (shown(usual), shown(most), if larger == 1 { "place" } else { "places" });
    Some(format!(
        "rows are {usual} apart by `{name}`, and further in {larger} {places}, at most {most}: `--gap DURATION` ends a series there"
    ))
}
