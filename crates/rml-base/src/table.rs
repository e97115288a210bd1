//! Tables as text.

use crate::{visible, visible_name};

/// A table for people, with one line per row. Each column is as wide as its widest cell; the columns in `left` are
/// aligned on the left, the others on the right. Cells are shown as by [`visible_name`], so a very long name does not
/// make the others unreadable. Only a left-aligned text at the end of a row is never cut.
pub fn table(rows: &[Vec<String>], left: &[usize]) -> String {
    spaced(rows, left, "  ")
}

/// The same as [`table`], with `gap` between two columns.
pub fn spaced(rows: &[Vec<String>], left: &[usize], gap: &str) -> String {
    let length = |text: &str| text.chars().count();
    let seen = |row: &Vec<String>| -> Vec<String> { row.iter().map(|c| visible_name(c).into()).collect() };
    let seen: Vec<Vec<String>> = rows.iter().map(seen).collect();
    let is_text = |row: usize, c: usize| c + 1 == seen[row].len() && left.contains(&c);
    let columns = seen.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| {
        let padded = (0..seen.len()).filter(|&row| !is_text(row, c));
        padded.filter_map(|row| seen[row].get(c)).map(|cell| length(cell)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for (row, cells) in seen.iter().enumerate() {
        let mut line = String::new();
        for (c, cell) in cells.iter().enumerate() {
            line.push_str(if c > 0 { gap } else { "" });
            let blanks = " ".repeat(widths[c].saturating_sub(length(cell)));
            match left.contains(&c) {
                true if is_text(row, c) => line.push_str(&visible(&rows[row][c])),
                true => line.extend([cell.as_str(), &blanks]),
                false => line.extend([blanks.as_str(), cell]),
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned_whatever_stands_in_them() {
        let rows = |name: &str| {
            vec![
                vec!["name".to_owned(), "n".to_owned()],
                vec![name.to_owned(), "12".to_owned(), "x".to_owned()],
            ]
        };
        assert_eq!(table(&rows("abcde"), &[0]), "name    n\nabcde  12  x\n");
        assert_eq!(table(&rows("a\u{1b}\nb"), &[0]), "name   n\na␛␊b  12  x\n");
        let long = table(&rows(&"x".repeat(70_000)), &[]);
        assert!(long.contains("x…x") && long.lines().all(|l| l.chars().count() < 200), "{long}");
        let text = "t ".repeat(1000);
        let rows = [vec!["a".to_owned(), text.clone()], vec!["bc".to_owned(), "u".to_owned()]];
        assert_eq!(table(&rows, &[0, 1]), format!("a   {}\nbc  u\n", text.trim_end()));
        assert_eq!(table(&[], &[]), "");
    }
}
