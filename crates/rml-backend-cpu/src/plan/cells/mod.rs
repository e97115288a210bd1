//! An array of elements of one type, in which threads may write different parts at the same time.

mod ffi;

pub(super) use ffi::{Cells, Split};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_keep_what_they_hold_when_they_grow() {
        let mut cells = Cells::<i64>::new();
        assert_eq!(cells.all(), [0_i64; 0]);
        cells.reserve(3);
        cells.row_mut(1, 2).copy_from_slice(&[5, 6]);
        cells.reserve(2);
        cells.reserve(5);
        cells.copy_within(1, 2, 3);
        assert_eq!(cells.all(), [0, 5, 6, 5, 6]);
        cells[0] = cells[4] + 1;
        assert_eq!(cells.all_mut(), [7, 5, 6, 5, 6]);
    }

    #[test]
    fn a_row_that_is_written_is_not_read() {
        let mut cells = Cells::<i64>::new();
        cells.reserve(6);
        let split = Split::new(&mut cells, 2, 2);
        assert_eq!((split.row(0, 2), split.row(4, 2), split.out.len()), (&[0, 0][..], &[0, 0][..], 2));
        for (at, len) in [(1, 2), (2, 1), (3, 2), (0, 6), (5, 2), (7, 0), (usize::MAX, 2)] {
            let read = std::panic::AssertUnwindSafe(|| split.row(at, len).len());
            assert!(std::panic::catch_unwind(read).is_err(), "{at}, {len}");
        }
    }

    #[test]
    fn cells_end_where_they_end() {
        let mut cells = Cells::<bool>::new();
        cells.reserve(2);
        let mut fails = |f: &mut dyn FnMut(&mut Cells<bool>)| {
            let call = std::panic::AssertUnwindSafe(|| f(&mut cells));
            assert!(std::panic::catch_unwind(call).is_err());
        };
        fails(&mut |cells| cells[2] = true);
        fails(&mut |cells| assert!(cells[2]));
        fails(&mut |cells| cells.row_mut(1, 2).fill(true));
        fails(&mut |cells| cells.copy_within(1, 2, 0));
        fails(&mut |cells| cells.copy_within(0, 2, 1));
    }
}
