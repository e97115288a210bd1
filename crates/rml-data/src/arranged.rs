//! Data whose rows were cut into windows.

mod read;

use std::sync::Arc;

use rml_base::Diagnostic;
use rml_base::memory::Reservation;

use crate::columns::Columns;
use crate::cut::Windowing;
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
    let read::Rows { count, order, groups, time, ends } = read::Rows::of(data, cut, &mut memory)?;
    let mut layout = Layout::new(cut, count, order, memory);
    let mut lengths = Vec::new();
    for group in groups {
        layout.begin_group();
        let mut start = group.start;
        for place in group.clone() {
            let row = layout.row_at(place);
            let ended = ends.as_ref().is_some_and(|ends| ends[row]);
            let is_last = place + 1 == group.end;
            let parted = |gap: f64, time: &[f64]| time[layout.row_at(place + 1)] - time[row] > gap;
            let is_parted =
                !is_last && cut.gap.zip(time.as_deref()).is_some_and(|(gap, time)| parted(gap, time));
            if is_last || ended || is_parted {
                let whole = ends.is_none() || ended;
                layout.add(start..place + 1, whole, &mut lengths)?;
                start = place + 1;
            }
        }
    }
    layout.begin_group();
    layout.finish(lengths, data.table()).map(Some)
}
