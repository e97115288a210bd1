//! What commands write into pages: text between two marks, and what machine it is of.

use crate::workspace::root;

/// The page that compares with other tools in one table.
pub(crate) const PERFORMANCE: &str = "docs/performance.md";
/// The page that has all measured tables.
pub(crate) const MEASUREMENTS: &str = "docs/performance-method.md";

/// Cores and model of the processor, as the system tells them, and how much else it does: the load is that of the
/// minute before.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find(|l| l.starts_with("model name")).and_then(|l| l.split_once(':'));
    let model = model.map_or("an unknown processor", |(_, model)| model.trim());
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().filter(|l| !l.is_empty()).unwrap_or("unknown");
    format!("{cores} core{} of {model}, load {load} before the run", if cores == 1 { "" } else { "s" })
}

/// Writes a text between the marks of that name in a page: `<!-- NAME -->` and `<!-- end of NAME -->`, each alone on a
/// line.
pub(crate) fn write(page: &str, name: &str, text: &str) -> Result<(), String> {
    let path = root().join(page);
    let old = std::fs::read_to_string(&path).map_err(|e| format!("cannot read {page}: {e}"))?;
    std::fs::write(path, replaced(&old, page, name, text)?).map_err(|e| format!("cannot write {page}: {e}"))
}

/// The page with another text between those marks.
pub(crate) fn replaced(old: &str, page: &str, name: &str, text: &str) -> Result<String, String> {
    let [begin, end] = [format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->\n")];
    let at = |mark: &str| old.find(mark).ok_or_else(|| format!("{page} has no mark {}", mark.trim()));
    let (from, to) = (at(&begin)? + begin.len(), at(&end)?);
    Ok(format!("{}\n{}\n\n{}", &old[..from], text.trim_end(), &old[to..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_the_marks_is_replaced() {
        let page = "a\n<!-- t -->\nold\n<!-- end of t -->\nb\n";
        let new = replaced(page, "p", "t", "new\n").unwrap();
        assert_eq!(new, "a\n<!-- t -->\n\nnew\n\n<!-- end of t -->\nb\n");
        assert_eq!(replaced(&new, "p", "t", "new"), Ok(new));
        assert!(replaced("a", "p", "t", "").unwrap_err().contains("<!-- t -->"));
    }
}
