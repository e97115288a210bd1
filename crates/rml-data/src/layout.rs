//! The windows of a long table, with the rows of each. Windows refer to rows, so a row in several windows is stored
//! once.

mod divide;

use std::ops::Range;

use rml_base::Diagnostic;
use rml_base::codes::run as codes;
use rml_base::memory::{Reservation, bytes_of};

use crate::columns::Columns;
use crate::cut::{Rest, Windowing};

/// The windows of a long table. A *place* is the number of a row in the order of groups; within a group, rows are in
/// the order of the table.
#[derive(Debug)]
pub struct Layout {
    /// The number of rows of the table.
    rows: usize,
    /// The row at each place, unless all rows of each group follow each other in the table.
    order: Option<Vec<usize>>,
    /// The place of the first row of each window.
    starts: Vec<usize>,
    /// The number of rows of each window, if they differ.
    lengths: Option<Vec<usize>>,
    /// The rows of the longest window.
    most: usize,
    /// The first window of each group, and the number of windows.
    groups: Vec<usize>,
    /// The places at which groups begin.
    pub(crate) group_starts: Vec<usize>,
    /// The names of the groups, if a column says them.
    pub(crate) names: Vec<String>,
    /// The places at which series begin.
    series: Vec<usize>,
    /// The rows of the shortest and of the longest series.
    spans: (usize, usize),
    /// The number of rows that are in no window, since they follow the last whole window of a series.
    dropped: usize,
    /// The number of series that end where the next row is of another file.
    pub(crate) file_ends: usize,
    /// A sentence about steps in time that are larger than the usual one.
    pub(crate) jumps: Option<String>,
    /// The number of windows that consist of the rest of a series.
    shorter: usize,
    cut: Windowing,
    #[allow(dead_code, reason = "held, not read")]
    memory: Reservation,
}

impl Layout {
    /// No windows yet, for a table with this many rows, in the order of groups if this is not the order of the table.
    pub(crate) fn new(cut: &Windowing, rows: usize, order: Option<Vec<usize>>, memory: Reservation) -> Self {
        Self {
            rows,
            order,
            starts: Vec::new(),
            lengths: None,
            most: 0,
            groups: Vec::new(),
            group_starts: Vec::new(),
            names: Vec::new(),
            series: Vec::new(),
            spans: (usize::MAX, 0),
            dropped: 0,
            file_ends: 0,
            jumps: None,
            shorter: 0,
            cut: cut.clone(),
            memory,
        }
    }

    /// Begins a group; after the last group, ends it.
    pub(crate) fn begin_group(&mut self) {
        self.groups.push(self.starts.len());
    }

    /// Adds the windows of a series. `whole` says whether the series ends at a row that the column of ends marks. It is
    /// true if there is no such column.
    pub(crate) fn add(
        &mut self,
        series: Range<usize>,
        whole: bool,
        lengths: &mut Vec<usize>,
    ) -> Result<(), Diagnostic> {
        self.series.push(series.start);
        let (length, keeps) = (series.len(), self.cut.rest() == Rest::Keep);
        self.spans = (self.spans.0.min(length), self.spans.1.max(length));
        let (size, stride) = match self.cut.window {
            Some(size) => (size, self.cut.stride.unwrap_or(size)),
            None if whole => (length, length),
            // This is longer than the series, so all of the series is a rest.
            None => (length + 1, length + 1),
        };
        let count = if length >= size { (length - size) / stride + 1 } else { 0 };
        let covered = if count > 0 { (count - 1) * stride + size } else { 0 };
        let next = count * stride;
        let has_rest = covered < length && next < length;
        let rest = (has_rest && keeps).then(|| (series.start + next, length - next));
        self.shorter += usize::from(rest.is_some());
        self.dropped += if has_rest && !keeps { length - covered.max(next) } else { 0 };
        let added = count + usize::from(rest.is_some());
        self.memory
            .grow(bytes_of(2 * added + 1, size_of::<usize>()))
            .map_err(|short| short.diagnostic("the places of the windows in the table"))?;
        self.starts.extend((0..count).map(|k| series.start + k * stride));
        lengths.extend(std::iter::repeat_n(size, count));
        if let Some((start, length)) = rest {
            self.starts.push(start);
            lengths.push(length);
        }
        Ok(())
    }

    /// Checks that there are windows, and whether all have the same length.
    pub(crate) fn finish(mut self, lengths: Vec<usize>, table: &Columns) -> Result<Self, Diagnostic> {
        let whole = self.starts.len() - self.shorter;
        let keeps = self.cut.rest == Some(Rest::Keep);
        if let (Some(window), 0, false) = (self.cut.window, whole, keeps) {
            return Err(self.too_long(window, table));
        }
        if self.starts.is_empty() {
            let end = self.cut.end.as_deref().unwrap_or_default();
            let what = format!("no row of {} is the last one of a window", table.called());
            return Err(Diagnostic::error(codes::EMPTY_DATA, what)
                .note(format!("column `{end}` is nowhere true, and `--rest drop` drops rows without an end"))
                .help("leave `--rest drop` out, or name another column by `--end`"));
        }
        self.most = lengths.iter().copied().max().unwrap_or_default();
        self.lengths = lengths.iter().any(|n| *n != self.most).then_some(lengths);
        Ok(self)
    }

    fn too_long(&self, window: usize, table: &Columns) -> Diagnostic {
        let (series, longest) = (self.series.len(), self.spans.1);
        let what = format!("no series of {} has the {window} rows of a window", table.called());
        let note = match series {
            1 => format!("the table has {longest} row{}", plural(longest)),
            _ => format!("the longest of {series} series has {longest} row{}", plural(longest)),
        };
        let d = Diagnostic::error(codes::WINDOW_TOO_LONG, what).note(note);
        let d = d.help(format!(
            "make windows shorter: `--window {longest}` at most; or let each series be a shorter window: `--rest keep`"
        ));
        match (series, &self.cut.gap) {
            (2.., Some(gap)) => d.help(format!(
                "or allow larger gaps than {gap} seconds (or units of the column of times) within a series"
            )),
            (2.., None) if self.file_ends > 0 => {
                d.help(format!("or, if a file continues the one before: {JOINS}"))
            }
            _ => d,
        }
    }

    /// The number of windows.
    pub(crate) fn windows(&self) -> usize {
        self.starts.len()
    }

    /// The number of rows of the table.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The number of rows of the longest window.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// The number of rows of each window, if they differ.
    pub(crate) fn lengths(&self) -> Option<&[usize]> {
        self.lengths.as_deref()
    }

    /// The number of rows of a window.
    fn length(&self, window: usize) -> usize {
        self.lengths.as_ref().map_or(self.most, |lengths| lengths[window])
    }

    /// The places of a window's rows.
    pub(crate) fn places(&self, window: usize) -> Range<usize> {
        self.starts[window]..self.starts[window] + self.length(window)
    }

    /// The row in a cycle of a window.
    pub(crate) fn row(&self, window: usize, cycle: usize) -> usize {
        self.row_at(self.starts[window] + cycle)
    }

    /// The number of series.
    pub(crate) fn series(&self) -> usize {
        self.series.len()
    }

    /// Whether a window is the first one of its series.
    pub(crate) fn begins_series(&self, window: usize) -> bool {
        self.series.binary_search(&self.starts[window]).is_ok()
    }

    /// The name of a window's group, if a column says it.
    pub(crate) fn group(&self, window: usize) -> Option<&str> {
        let group = self.groups.partition_point(|first| *first <= window).checked_sub(1)?;
        self.names.get(group).map(String::as_str)
    }

    /// The rows that follow each other in a group, two and two.
    pub(crate) fn neighbours(&self) -> impl Iterator<Item = (usize, usize)> {
        let first = |place: &usize| self.group_starts.binary_search(place).is_ok();
        (1..self.rows)
            .filter(move |place| !first(place))
            .map(|place| (self.row_at(place - 1), self.row_at(place)))
    }

    /// The row at a place.
    pub(crate) fn row_at(&self, place: usize) -> usize {
        self.order.as_ref().map_or(place, |order| order[place])
    }

    /// The cut that made it.
    pub(crate) fn cut(&self) -> &Windowing {
        &self.cut
    }

    /// Notes about the windows.
    pub(crate) fn notes(&self) -> Vec<String> {
        let count = self.series.len();
        let span = match self.spans {
            (least, most) if least == most => format!("{most} row{}", plural(most)),
            (least, most) => format!("{least} to {most} rows"),
        };
        let of = if count == 1 { format!("1 series of {span}") } else { format!("{count} series of {span}") };
        let windows = match (self.cut.window, self.cut.stride) {
            (Some(window), Some(stride)) if stride != window => {
                format!("windows of {window} rows, one every {stride} row{}", plural(stride))
            }
            (Some(window), _) => format!("windows of {window} row{}", plural(window)),
            (None, _) => "each one window".to_owned(),
        };
        let mut notes = vec![format!("{of}, {windows}")];
        if self.file_ends > 0 {
            notes.push(format!(
                "no window has rows of two files (if a file continues the one before: {JOINS})"
            ));
        }
        notes.extend(self.jumps.clone());
        if self.shorter > 0 {
            let is_one = self.shorter == 1;
            let (verb, rest) = if is_one { (" is", "the rest") } else { ("s are", "the rests") };
            notes.push(format!(
                "{} window{verb} shorter: {rest} of series (`--rest drop` drops them)",
                self.shorter
            ));
        }
        if self.dropped > 0 {
            let verb = if self.dropped == 1 { " is" } else { "s are" };
            let keep = "`--rest keep` makes the rest of a series a shorter window";
            notes.push(format!("{} row{verb} in no window: {keep}", self.dropped));
        }
        notes
    }
}

/// How windows may have rows of several files.
const JOINS: &str = "`--time COLUMN --gap DURATION`";

pub(crate) fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
