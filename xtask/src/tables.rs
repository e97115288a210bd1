//! Figures, their tables as described by `xtask/data/measured.toml`, and the pages with these tables.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use fs_err as fs;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::chart::{Chart, svg};
use crate::workspace::{read, root};

/// Quantities by name, such as `median_ms`, with one value for each turn.
pub(crate) type Sample = BTreeMap<String, Vec<f64>>;

/// Samples by job, threads and side.
#[derive(Default)]
pub(crate) struct Figures(BTreeMap<(String, usize, String), Sample>);

impl Figures {
    pub(crate) fn add(
        &mut self,
        job: &str,
        threads: usize,
        side: &str,
        turn: impl IntoIterator<Item = (String, f64)>,
    ) {
        let sample = self.0.entry((job.to_owned(), threads, side.to_owned())).or_default();
        turn.into_iter().for_each(|(name, value)| sample.entry(name).or_default().push(value));
    }

    fn get(&self, job: &str, threads: usize, side: &str, of: &str) -> Option<&Vec<f64>> {
        self.0.get(&(job.to_owned(), threads, side.to_owned()))?.get(of)
    }

    /// The median of a side, in milliseconds.
    pub(crate) fn median(&self, job: &str, threads: usize, side: &str) -> Option<f64> {
        self.get(job, threads, side, "median_ms").map(|values| median(values))
    }

    /// Writes figures by job, threads and side: medians in milliseconds, or all quantities, the minimum of minimal
    /// times.
    pub(crate) fn write(&self, path: &str, whole: bool) -> Result<()> {
        let of = |(name, values): (&String, &Vec<f64>)| {
            let (least, middle, _) = spread(values);
            (name.clone(), json!(if name.starts_with("least") { least } else { middle }))
        };
        let entry = |((job, threads, side), sample): (&(String, usize, String), &Sample)| {
            let mut all: Map<String, Value> = sample.iter().map(of).collect();
            let value = if whole { json!(all) } else { all.remove("median_ms").unwrap_or_default() };
            (format!("{job} {threads}t {side}"), value)
        };
        let all: Map<String, Value> = self.0.iter().map(entry).collect();
        Ok(fs::write(root().join(path), serde_json::to_string_pretty(&all)?)?)
    }
}

/// The median.
pub(crate) fn median(values: &[f64]) -> f64 {
    spread(values).1
}

/// The least value, the median, and the greatest value.
fn spread(values: &[f64]) -> (f64, f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |i: usize| sorted.get(i).copied().unwrap_or(f64::NAN);
    (at(0), at(sorted.len() / 2), at(sorted.len().saturating_sub(1)))
}

/// The measurements and tables.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measured {
    pub(crate) side: BTreeMap<String, String>,
    pub(crate) product: Product,
    pub(crate) group: Vec<Group>,
    pub(crate) page: Vec<Table>,
    pub(crate) backends: Table,
    pub(crate) case: Vec<Case>,
}

/// The product whose speed is the reference for others.
#[derive(Deserialize)]
pub(crate) struct Product {
    pub(crate) job: String,
    pub(crate) sides: Vec<String>,
    operations: f64,
}

/// Tables with a common name; they are placed between marks in the page.
#[derive(Deserialize, Default, Clone)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) same: Option<f64>,
    pub(crate) at_least: Option<f64>,
    /// Whether whole processes are timed.
    #[serde(default)]
    pub(crate) processes: bool,
    pub(crate) table: Vec<Table>,
}

/// A case for comparing two commits.
#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) title: String,
    pub(crate) job: String,
    pub(crate) engine: String,
}

#[derive(Deserialize, Default, Clone)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Table {
    pub(crate) page: String,
    pub(crate) text: String,
    pub(crate) first: String,
    pub(crate) sides: Vec<String>,
    /// Columns, each with its sides, of which the fastest counts; by default, each side has its own column.
    pub(crate) columns: Vec<Vec<String>>,
    pub(crate) threads: Option<usize>,
    pub(crate) compared: Option<String>,
    pub(crate) peak: bool,
    /// Whether cells contain only medians.
    pub(crate) brief: bool,
    pub(crate) picture: Option<String>,
    pub(crate) picture_title: String,
    pub(crate) picture_unit: String,
    pub(crate) row: Vec<Row>,
}

#[derive(Deserialize, Default, Clone)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Row {
    pub(crate) job: String,
    pub(crate) title: String,
    pub(crate) threads: Option<usize>,
    pub(crate) unit: String,
    pub(crate) of: Option<String>,
    pub(crate) times: Option<f64>,
    pub(crate) over: Option<f64>,
    pub(crate) without: Vec<String>,
    pub(crate) operations: Option<f64>,
    pub(crate) at: Option<f64>,
}

pub(crate) fn measured() -> Result<Measured> {
    toml::from_str(&read("xtask/data/measured.toml")?).context("xtask/data/measured.toml")
}

impl Row {
    /// The displayed quantity for a value.
    fn shown(&self, value: f64) -> f64 {
        self.over.map_or(value * self.times.unwrap_or(1.0), |over| over / value)
    }

    /// Whether a side does the job.
    pub(crate) fn has(&self, side: &str) -> bool {
        !self.without.iter().any(|other| other == side)
    }
}

impl Table {
    pub(crate) fn threads(&self, row: &Row) -> usize {
        row.threads.or(self.threads).unwrap_or(1)
    }

    /// The values of the fastest side of a column.
    fn values<'a>(&self, row: &Row, column: &[String], figures: &'a Figures) -> Option<&'a Vec<f64>> {
        let of = row.of.as_deref().unwrap_or("median_ms");
        let all = column.iter().skip(1).filter_map(|side| figures.get(&row.job, self.threads(row), side, of));
        all.min_by(|a, b| median(a).total_cmp(&median(b)))
    }

    /// The time of the fastest of the other tools, divided by that of this project.
    pub(crate) fn ratio(&self, row: &Row, figures: &Figures) -> Option<f64> {
        let columns = self.columns();
        let is_other = |column: &&Vec<String>| !column[0].starts_with("rml");
        let others = columns.iter().filter(is_other).filter_map(|c| self.values(row, c, figures));
        let best = others.map(|values| median(values)).reduce(f64::min)?;
        Some(best / median(self.values(row, columns.first()?, figures)?))
    }

    /// Names of columns and their sides.
    fn columns(&self) -> Vec<Vec<String>> {
        let single = self.sides.iter().map(|side| vec![side.clone(), side.clone()]);
        if self.columns.is_empty() { single.collect() } else { self.columns.clone() }
    }

    /// Whether this project has done all jobs.
    pub(crate) fn is_whole(&self, figures: &Figures) -> bool {
        let own = self.columns();
        self.row.iter().all(|row| self.values(row, &own[0], figures).is_some())
    }

    /// The table in Markdown, with the figures that exist.
    pub(crate) fn markdown(&self, figures: &Figures, product: &Product) -> String {
        let has_any = |c: &Vec<String>| self.row.iter().any(|row| self.values(row, c, figures).is_some());
        let columns: Vec<_> = self.columns().into_iter().filter(has_any).collect();
        let peak = self.peak(figures, product);
        let names = columns.iter().map(|column| column[0].clone());
        let mut names: Vec<String> = names.chain(self.compared.clone()).collect();
        names.extend(peak.map(|_| "rml, % of peak".to_owned()));
        let mut out = self.text.replace("{peak}", &format!("{:.0}", peak.unwrap_or(f64::NAN) / 1e6));
        out += if out.is_empty() { "" } else { "\n\n" };
        out += &format!("| {} | {} |\n|---|{}\n", self.first, names.join(" | "), "---:|".repeat(names.len()));
        let shown = |cell: Option<String>| cell.unwrap_or_else(|| "–".to_owned());
        for row in &self.row {
            let cell =
                |c: &Vec<String>| shown(self.values(row, c, figures).map(|values| self.cell(row, values)));
            let mut cells: Vec<String> = columns.iter().map(cell).collect();
            let ratio = || shown(self.ratio(row, figures).map(relative));
            cells.extend(self.compared.as_ref().map(|_| ratio()));
            let own = row.operations.zip(figures.median(&row.job, self.threads(row), "rml"));
            let part = |peak| own.map(|(operations, ms)| format!("{:.0}", 100.0 * operations / ms / peak));
            cells.extend(peak.map(|peak| shown(part(peak))));
            out += &format!("| {} | {} |\n", row.title, cells.join(" | "));
        }
        out
    }

    /// The median and, unless cells are brief, the least and the greatest value.
    fn cell(&self, row: &Row, values: &[f64]) -> String {
        let values: Vec<f64> = values.iter().map(|value| row.shown(*value)).collect();
        let (low, middle, high) = spread(&values);
        let [low, middle, high] = [low, middle, high].map(digits);
        let brief = format!("{middle} {}", row.unit).trim_end().to_owned();
        if self.brief { brief } else { format!("{middle} ({low}–{high})") }
    }

    /// The best speed of the product, in operations per millisecond.
    fn peak(&self, figures: &Figures, product: &Product) -> Option<f64> {
        let of = |side: &String| figures.get(&product.job, self.threads.unwrap_or(1), side, "median_ms");
        let least = product.sides.iter().filter_map(of).map(|values| spread(values).0).reduce(f64::min)?;
        self.peak.then_some(product.operations / least)
    }

    /// The picture of a table and its file, if the table has one.
    pub(crate) fn drawn(&self, figures: &Figures) -> Result<Option<(&str, String)>> {
        let mut lines: Vec<(&str, Vec<(f64, f64)>)> = Vec::new();
        for side in &self.sides {
            let time = |row: &Row| Some(row.shown(figures.median(&row.job, self.threads(row), side)?));
            lines.push((side, self.row.iter().filter_map(|row| Some((row.at?, time(row)?))).collect()));
        }
        let (title, unit) = (&self.picture_title, &self.picture_unit);
        let chart = svg(&Chart { title, by_factors: true, unit, lines })?;
        Ok(self.picture.as_deref().zip(chart))
    }
}

/// The number with three significant digits, or all digits before the decimal point.
fn digits(value: f64) -> String {
    let digits = [0.9995, 9.995, 99.95].iter().filter(|limit| value < **limit).count();
    format!("{value:.digits$}")
}

/// A relative speed, with a remark if it is lower.
fn relative(ratio: f64) -> String {
    let shown = if ratio < 9.995 { format!("{ratio:.2}") } else { format!("{ratio:.0}") };
    if ratio < 1.0 { format!("**{shown}: slower**") } else { format!("**{shown}**") }
}

/// The page with all tables of measurements.
pub(crate) const MEASUREMENTS: &str = "docs/performance-method.md";

/// The number of cores and the model of the processor, as reported by the system, and the load average of the last
/// minute.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find(|l| l.starts_with("model name")).and_then(|l| l.split_once(':'));
    let model = model.map_or("an unknown processor", |(_, model)| model.trim());
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_else(|_| "unknown".to_owned());
    let load = load.split(' ').next().unwrap_or_default();
    format!("{cores} core{} of {model}, load {load} before the run", if cores == 1 { "" } else { "s" })
}

/// Replaces the text between the marks of a name in a page: `<!-- NAME -->` and `<!-- end of NAME -->`, each on its own
/// line.
pub(crate) fn write_page(page: &str, name: &str, text: &str) -> Result<()> {
    Ok(fs::write(root().join(page), replaced(&read(page)?, page, name, text)?)?)
}

/// The page with the text between these marks replaced.
fn replaced(old: &str, page: &str, name: &str, text: &str) -> Result<String> {
    let [begin, end] = [format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->\n")];
    let at = |mark: &str| old.find(mark).with_context(|| format!("{page} has no mark {}", mark.trim()));
    let (from, to) = (at(&begin)? + begin.len(), at(&end)?);
    Ok(format!("{}\n{}\n\n{}", &old[..from], text.trim_end(), &old[to..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Entry<'a> = (&'a str, usize, &'a str, &'a str, f64);

    fn figures(entries: &[Entry<'_>]) -> Figures {
        let mut figures = Figures::default();
        for (job, threads, side, of, value) in entries {
            figures.add(job, *threads, side, [((*of).to_owned(), *value)]);
        }
        figures
    }

    fn times(entries: &[(&str, usize, &str, f64)]) -> Figures {
        let entry = |(job, n, side, ms): &(_, _, _, _)| (*job, *n, *side, "median_ms", *ms);
        figures(&entries.iter().map(entry).collect::<Vec<Entry<'_>>>())
    }

    /// Checks that the tables of a group contain these parts.
    fn has(name: &str, figures: &Figures, parts: &[&str]) {
        let measured = measured().unwrap();
        let group = measured.group.iter().find(|g| g.name == name).unwrap();
        let text: String =
            group.table.iter().map(|table| table.markdown(figures, &measured.product)).collect();
        parts.iter().for_each(|part| assert!(text.contains(part), "{part}: {text}"));
    }

    #[test]
    fn a_row_compares_with_the_best_peer_and_with_the_peak() {
        let job = "lstm:32,28,28,128";
        let all = [("rml", 2.0), ("rml xla", 1.5), ("jax", 5.0), ("torch", 4.0)]
            .map(|(side, ms)| (job, 1, side, ms));
        let all = [&all[..], &[("product:1024,1024,1024", 1, "jax", 25.0)]].concat();
        let lstm = 32.0 * 28.0 * 8.0 * 128.0 * (2.0 * (28.0 + 128.0) + 128.0) + 6.0 * 32.0 * 128.0 * 10.0;
        let part = 100.0 * lstm / 2.0 / (2.0 * 1024_f64.powi(3) / 25.0);
        let end = format!(" | 4.00 (4.00–4.00) | **2.00** | {part:.0} |");
        let columns = "| rml | rml xla | jax | torch | best peer / rml |";
        has(
            "lstm",
            &times(&all),
            &["is 86 GFLOP/s", columns, "| 2.00 (2.00–2.00) | 1.50 (1.50–1.50) | 5.00", &end],
        );
    }

    #[test]
    fn rows_have_their_quantities_and_units() {
        let job = "lstm:32,128,64,256";
        let all = figures(&[
            (job, 1, "rml", "memory", 5e6),
            (job, 1, "rml", "own_memory", 4e6),
            ("stream:16,64", 1, "rml", "median_ms", 0.002),
            ("stream:16,64", 1, "C, by hand", "median_ms", 0.001),
            ("stream:16,64", 1, "C, by hand", "p99_ms", 0.004),
            ("cartpole:16", 1, "rml", "median_ms", 51.2),
            ("digits", 1, "rml", "median_ms", 250.0),
            ("digits", 1, "rml", "epochs", 9.0),
            ("lstm:1,1000,4,8", 1, "rml", "median_ms", 0.5),
            ("lstm:1,100,4,8", 1, "rml", "median_ms", 0.1),
        ]);
        has("lstm", &all, &["| in all | 5.00 (", "before the job | 4.00 ("]);
        let late = "| 99th percentile | – | 4.00 (4.00–4.00) | – |";
        has("stream", &all, &["| rml | C, by hand |", "| **0.50: slower** |", late]);
        has("cartpole", &all, &["| 1.00 (1.00–1.00) |"]);
        has("digits", &all, &["| seconds | 0.250 (", "| epochs | 9.00 ("]);
        has("length", &all, &["| 1,000 | 500 (500–500) |"]);
        let table = &measured().unwrap().group.into_iter().find(|g| g.name == "length").unwrap().table[0];
        let (file, picture) = table.drawn(&all).unwrap().unwrap();
        assert!(file == "docs/windows.svg" && picture.matches("<circle").count() == 2, "{picture}");
    }

    #[test]
    fn summaries_need_all_of_their_jobs_and_compare_with_the_fastest_other_tool() {
        let measured = measured().unwrap();
        for table in &measured.page {
            let mut all: Vec<_> =
                table.row.iter().map(|r| (r.job.as_str(), table.threads(r), "rml", 1.0)).collect();
            all.extend([
                ("peephole:32,28,28,128", 1, "jax", 6.0),
                ("peephole:32,28,28,128", 1, "torch cells", 4.0),
                ("stream:16,64", 1, "C, by hand", 0.5),
                ("digits", 1, "torch", 46.33),
                ("cartpole:16", 1, "jax", 2.0),
            ]);
            let figures = times(&all);
            assert!(table.is_whole(&figures) && !table.is_whole(&times(&all[1..])));
            let text = table.markdown(&figures, &measured.product);
            let rows = match table.page.as_str() {
                "README.md" => &["| 1000 µs | – | 500 µs |"][..],
                _ => &[
                    "| 1.00 ms | 6.00 ms | 4.00 ms | – | **4.00** |",
                    "| 1000 µs | – | – | 500 µs | **0.50: slower** |",
                    "| – | 0.046 s | – | **46** |",
                    "| 51.2 | 25.6 | – | – | **2.00** |",
                ],
            };
            rows.iter().for_each(|row| assert!(text.contains(row), "{row}: {text}"));
        }
    }

    #[test]
    fn times_have_three_digits() {
        let shown = [0.5, 9.994, 99.6, 999.4, 1234.0].map(digits);
        assert_eq!(shown, ["0.500", "9.99", "99.6", "999", "1234"]);
    }

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
