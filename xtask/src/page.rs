//! What commands write into pages: text between two marks, and what machine it is of.

use anyhow::{Context as _, Result};
use fs_err as fs;

use crate::workspace::{read, root};

/// The page that has all measured tables.
pub(crate) const MEASUREMENTS: &str = "docs/performance-method.md";

/// Cores and model of the processor, as the system tells them, and how much else it does: the load is that of the
/// minute before.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find(|l| l.starts_with("model name")).and_then(|l| l.split_once(':'));
    let model = model.map_or("an unknown processor", |(_, model)| model.trim());
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_else(|_| "unknown".to_owned());
    let load = load.split(' ').next().unwrap_or_default();
    format!("{cores} core{} of {model}, load {load} before the run", if cores == 1 { "" } else { "s" })
}

/// Writes a text between the marks of that name in a page: `<!-- NAME -->` and `<!-- end of NAME -->`, each alone on a
/// line.
pub(crate) fn write(page: &str, name: &str, text: &str) -> Result<()> {
    Ok(fs::write(root().join(page), replaced(&read(page)?, page, name, text)?)?)
}

/// The page with another text between those marks.
fn replaced(old: &str, page: &str, name: &str, text: &str) -> Result<String> {
    let [begin, end] = [format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->\n")];
    let at = |mark: &str| old.find(mark).with_context(|| format!("{page} has no mark {}", mark.trim()));
    let (from, to) = (at(&begin)? + begin.len(), at(&end)?);
    Ok(format!("{}\n{}\n\n{}", &old[..from], text.trim_end(), &old[to..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::measured;

    #[test]
    fn what_stands_between_the_marks_is_replaced() {
        let page = "a\n<!-- t -->\nold\n<!-- end of t -->\nb\n";
        let new = replaced(page, "p", "t", "new\n").unwrap();
        assert_eq!(new, "a\n<!-- t -->\n\nnew\n\n<!-- end of t -->\nb\n");
        assert_eq!(replaced(&new, "p", "t", "new").unwrap(), new);
        assert!(replaced("a", "p", "t", "").unwrap_err().to_string().contains("<!-- t -->"));
    }

    #[test]
    fn the_pages_have_the_marks() {
        let (measured, own) = (measured().unwrap(), |name: &str| (MEASUREMENTS.to_owned(), name.to_owned()));
        let groups = measured.group.iter().map(|group| own(&format!("peers: {}", group.name)));
        let pages = measured.page.iter().map(|table| (table.page.clone(), "peers".to_owned()));
        for (page, mark) in groups.chain(pages).chain([own("peers: breadth"), own("backends")]) {
            assert!(replaced(&read(&page).unwrap(), &page, &mark, "").is_ok(), "{page}: {mark}");
        }
    }
}
