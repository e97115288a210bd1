//! Counts the elements of the longest row of a Parquet file before the reader builds them: a few bytes can encode any
//! number of equal elements. The repetition levels of a column tell where its rows begin.

use ::parquet::basic::Encoding;
use ::parquet::column::page::Page;
use ::parquet::file::reader::FileReader;

use crate::malformed::Malformed;

/// The requirements of the lists of the longest rows.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Longest {
    /// The most elements of one column in a row, including nulls and empty lists.
    pub(super) elements: u64,
    /// The sum over all columns of the elements in the longest row, each counted once for every list that contains it.
    pub(super) fields: u64,
}

/// Examines the columns that `is_read` accepts; columns without lists have one element per row and do not count.
pub(super) fn longest(reader: &dyn FileReader, is_read: &dyn Fn(&str) -> bool) -> Result<Longest, Malformed> {
    let columns = reader.metadata().file_metadata().schema_descr();
    let mut all = Longest::default();
    for (i, column) in columns.columns().iter().enumerate() {
        let depth = u64::try_from(column.max_rep_level()).unwrap_or(0);
        let root = column.path().parts().first();
        if depth == 0 || !root.is_some_and(|name| is_read(name)) {
            continue;
        }
        let mut most = 0;
        for group in 0..reader.num_row_groups() {
            let mut rows = Rows { width: depth.ilog2() as usize + 1, open: 0, longest: 0 };
            let mut pages = super::guarded(|| reader.get_row_group(group)?.get_column_page_reader(i))?;
            while let Some(page) = super::guarded(|| pages.get_next_page())? {
                rows.page(&page);
            }
            most = most.max(rows.longest);
        }
        all.elements = all.elements.max(most);
        all.fields = all.fields.saturating_add(most.saturating_mul(depth));
    }
    Ok(all)
}

/// The rows of a column while its levels are counted.
struct Rows {
    /// The number of bits of a level.
    width: usize,
    /// The number of elements of the current row so far.
    open: u64,
    longest: u64,
}

impl Rows {
    fn page(&mut self, page: &Page) {
        match page {
            Page::DataPage { buf, num_values, rep_level_encoding: Encoding::RLE, .. } => {
                // Four bytes give the length of the levels.
                let length = buf.first_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize);
                let end = length.saturating_add(4).min(buf.len());
                self.levels(buf.get(4..end).unwrap_or_default(), (*num_values).into());
            }
            // Levels in a form that is no longer written: assume that all of them are in one row.
            Page::DataPage { num_values, .. } => self.add(1, (*num_values).into()),
            Page::DataPageV2 { buf, num_values, rep_levels_byte_len, .. } => {
                let end = (*rep_levels_byte_len as usize).min(buf.len());
                self.levels(&buf[..end], (*num_values).into());
            }
            Page::DictionaryPage { .. } => {}
        }
    }

    /// Counts this many levels, in runs of equal ones and groups of eight. Levels that the bytes do not contain count
    /// for the current row.
    fn levels(&mut self, mut bytes: &[u8], mut left: u64) {
        while left > 0 {
            let Some(header) = number(&mut bytes) else { break };
            let count = header >> 1;
            if header & 1 == 0 {
                let Some((value, rest)) = bytes.split_at_checked(self.width.div_ceil(8)) else { break };
                bytes = rest;
                let is_first = value.iter().all(|byte| *byte == 0);
                self.add(u64::from(!is_first), count.min(left));
                left -= count.min(left);
                continue;
            }
            let wanted = usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(self.width);
            let (packed, rest) = bytes.split_at(wanted.min(bytes.len()));
            bytes = rest;
            let there = (packed.len() * 8 / self.width).min(usize::try_from(left).unwrap_or(usize::MAX));
            for i in 0..there {
                let mut bits = i * self.width..(i + 1) * self.width;
                let is_first = bits.all(|bit| packed[bit / 8] >> (bit % 8) & 1 == 0);
                self.add(u64::from(!is_first), 1);
            }
            left -= there as u64;
            if packed.len() < wanted {
                break;
            }
        }
        self.add(1, left);
    }

    /// Adds `count` equal levels: each level 0 begins a row.
    fn add(&mut self, level: u64, count: u64) {
        if count > 0 {
            self.open = if level == 0 { 1 } else { self.open.saturating_add(count) };
            self.longest = self.longest.max(self.open);
        }
    }
}

/// Reads an integer, seven bits per byte.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut n = 0;
    for shift in (0..63).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        n |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(n);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest row of these levels, of `width` bits each.
    fn longest_of(bytes: &[u8], count: u64, width: usize) -> u64 {
        let mut rows = Rows { width, open: 0, longest: 0 };
        rows.levels(bytes, count);
        rows.longest
    }

    #[test]
    fn levels_are_counted_row_by_row() {
        // One level 0 in a run, then 2^26 levels 1 in another.
        let run = [2, 0, 0x80, 0x80, 0x80, 0x40, 1];
        assert_eq!(longest_of(&run, (1 << 26) + 1, 1), (1 << 26) + 1);
        assert_eq!(longest_of(&run, 100, 1), 100);
        // 0 1 1 0 1 1 1 0 in bits, the lowest bit first.
        assert_eq!(longest_of(&[3, 0b0111_0110], 8, 1), 4);
        // 0 1 2 2 0 1 0 0 in pairs of bits.
        assert_eq!(longest_of(&[3, 0b1010_0100, 0b0000_0100], 8, 2), 4);
        assert_eq!(longest_of(&[4, 0], 2, 1), 1);
        // Missing levels belong to one row.
        assert_eq!(longest_of(&[2, 0], 50, 1), 50);
        assert_eq!(longest_of(&[], 50, 1), 50);
    }
}
