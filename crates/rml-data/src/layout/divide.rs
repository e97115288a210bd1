//! Divides the windows of a long table so that no row of a window for testing or validation is trained on.

use std::ops::Range;

use rml_base::Diagnostic;
use rml_base::codes::run as codes;

use super::Layout;
use crate::split::{Amount, Ranges, SplitRequest, permutation};

/// The windows of one group, while windows are divided.
struct Group {
    /// The number of its windows.
    all: usize,
    /// The windows that share no row with windows that have a purpose.
    free: Range<usize>,
}

impl Layout {
    /// Whether windows are divided by groups, or may share rows. Otherwise windows are independent, and are divided
    /// like windows of other data.
    pub(crate) fn divides(&self) -> bool {
        self.has_groups() || self.cut.overlaps()
    }

    fn has_groups(&self) -> bool {
        self.groups.len() > 2
    }

    /// The default for windows kept for a purpose: some groups, or without groups the last windows.
    pub(crate) fn usual(&self, share: f64) -> SplitRequest {
        SplitRequest { amount: Amount::Share(share), last: !self.has_groups() }
    }

    /// Divides the windows: some to test on, and some of the others to compare epochs by. Windows that share a row with
    /// these are left out of the training. Groups are drawn by the seed; the last windows are the last ones of each
    /// group.
    ///
    /// # Errors
    /// Windows to be drawn that share rows; too many groups to be drawn, so that none remains.
    pub(crate) fn divide(
        &self,
        test: SplitRequest,
        validation: SplitRequest,
        seed: u64,
    ) -> Result<Ranges, Diagnostic> {
        let group = |of: &[usize]| Group { all: of[1] - of[0], free: of[0]..of[1] };
        let mut groups: Vec<Group> = self.groups.windows(2).map(group).collect();
        let mut order = permutation(groups.len(), seed, "test groups", 0);
        let mut ranges = Ranges::default();
        ranges.test = self.keep(&mut groups, &mut order, test, "testing", &mut ranges.left_out)?;
        ranges.validation =
            self.keep(&mut groups, &mut order, validation, "validation", &mut ranges.left_out)?;
        ranges.left_out.sort_unstable();
        Ok(ranges)
    }

    /// Chooses the windows for a purpose, and adds the windows that share rows with them to `left_out`.
    fn keep(
        &self,
        groups: &mut [Group],
        order: &mut Vec<usize>,
        SplitRequest { amount, last }: SplitRequest,
        purpose: &str,
        left_out: &mut Vec<(usize, usize)>,
    ) -> Result<Vec<(usize, usize)>, Diagnostic> {
        if amount.is_none() {
            return Ok(Vec::new());
        }
        let mut kept = Vec::new();
        if last {
            for group in groups {
                let count = amount.of(group.all).min(group.free.len());
                if count > 0 {
                    let first = group.free.end - count;
                    kept.push((first, group.free.end));
                    let limit = self.places(first).start;
                    // The ends of windows are in the order of the windows.
                    let before = (group.free.start..first).rev();
                    let shared = before.take_while(|window| self.places(*window).end > limit).count();
                    let end = first - shared;
                    if end < first {
                        left_out.push((end, first));
                    }
                    group.free.end = end;
                }
            }
            return Ok(kept);
        }
        if !self.has_groups() {
            let what =
                format!("windows for {purpose} cannot be drawn, since windows share rows: {}", self.cut);
            return Err(Diagnostic::error(codes::BAD_OPTION, what)
                .note("rows of the windows that are drawn would be trained on in others")
                .help("keep the last ones, `--test last:0.2`, or name a column whose groups are drawn, `--group COLUMN`"));
        }
        let all = groups.len();
        let count = match amount {
            // A requested share is at least one group.
            Amount::Share(_) => amount.of(all).max(1),
            Amount::Count(count) => count,
        };
        if count >= order.len() {
            let what =
                format!("{count} of {all} groups are kept for {purpose}, and none is left to train on");
            let d = Diagnostic::error(codes::BAD_OPTION, what);
            return Err(d
                .note("with `--group`, shares and numbers are those of groups")
                .help("keep fewer, or the last windows of each group: `--test last:0.2`"));
        }
        for number in order.drain(..count) {
            let free = &mut groups[number].free;
            if free.start < free.end {
                kept.push((free.start, free.end));
            }
            free.end = free.start;
        }
        kept.sort_unstable();
        Ok(kept)
    }
}
