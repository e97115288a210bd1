//! Confusion matrices as a table and as JSON.

use std::fmt::Write as _;

use rml_base::table;

use super::Confusion;

/// The columns after the counts of a class.
const RATES: [&str; 3] = ["recall", "precision", "F1"];

impl Confusion {
    /// For each class, its recall, its precision, and the harmonic mean of both (F1). A class that is never correct has
    /// no recall, a class that is never predicted has no precision, and a class that is neither has no F1.
    pub fn rates(&self) -> Vec<[Option<f64>; 3]> {
        let rate = |part: u64, all: u64| (all > 0).then(|| part as f64 / all as f64);
        let classes = 0..self.counts.len();
        let rates = classes.map(|class| {
            let hits = self.counts[class][class];
            let right: u64 = self.counts[class].iter().sum();
            let found: u64 = self.counts.iter().map(|row| row[class]).sum();
            [rate(hits, right), rate(hits, found), rate(2 * hits, right + found)]
        });
        rates.collect()
    }

    /// The mean F1 of the classes that have one.
    pub fn macro_f1(&self) -> f64 {
        let all: Vec<f64> = self.rates().into_iter().filter_map(|[.., f1]| f1).collect();
        all.iter().sum::<f64>() / all.len().max(1) as f64
    }

    /// A table for people: a row for each correct class, a column for each predicted class.
    pub fn text(&self) -> String {
        let name = |class: usize| self.names.get(class).cloned().unwrap_or_else(|| class.to_string());
        let names: Vec<String> = (0..self.counts.len()).map(name).collect();
        let mut rows = vec![std::iter::once(String::new()).chain(names.clone()).collect::<Vec<_>>()];
        rows[0].extend(RATES.map(str::to_owned));
        for ((name, counts), rates) in names.into_iter().zip(&self.counts).zip(self.rates()) {
            let counts = counts.iter().map(u64::to_string);
            let rates = rates.map(|rate| rate.map_or_else(|| "–".to_owned(), |rate| format!("{rate:.4}")));
            rows.push(std::iter::once(name).chain(counts).chain(rates).collect());
        }
        let (right, all) = self.right();
        let mut text = format!("`{}` in rows, what `{}` says in columns\n", self.label, self.found);
        text += &table(&rows, &[0]);
        let _ = write!(text, "{right} of {all} are right, macro F1 {:.4}", self.macro_f1());
        if self.others > 0 {
            let _ = write!(text, "; {} were no class", self.others);
        }
        text + "\n"
    }

    /// The same as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "label": self.label,
            "found": self.found,
            "names": self.names,
            "counts": self.counts,
            "others": self.others,
            "macro_f1": self.macro_f1(),
        })
    }
}
