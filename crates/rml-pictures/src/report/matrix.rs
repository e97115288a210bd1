//! The confusion matrix, and how well each class is found.

use std::fmt::Write as _;

use super::html::{prose, scrolled, text};

/// How often one class was taken for another.
#[derive(Clone, Debug, Default)]
pub struct ConfusionMatrix {
    /// What it is of.
    pub caption: String,
    /// For each class that is right, how often each class was found.
    pub counts: Vec<Vec<u64>>,
    /// The names of the classes; those that have none are numbers.
    pub names: Vec<String>,
}

/// The least share of its colour that a count above 0 has, in percent.
const LEAST: f64 = 30.0;

impl ConfusionMatrix {
    /// Two tables.
    pub(super) fn to_html(&self) -> String {
        let ConfusionMatrix { caption, counts, names } = self;
        let name =
            |class: usize| names.get(class).map_or_else(|| class.to_string(), |name| text(name).to_string());
        let heads: String =
            (0..counts.len()).map(|class| format!("<th scope=\"col\">{}</th>", name(class))).collect();
        let mut rows = String::new();
        for (class, row) in counts.iter().enumerate() {
            let all: u64 = row.iter().sum();
            let _ = write!(rows, "<tr><th scope=\"row\">{}</th>", name(class));
            for (found, n) in row.iter().enumerate() {
                if *n == 0 {
                    rows += "<td class=\"none\">0</td>";
                    continue;
                }
                let class = if found == class { "right" } else { "wrong" };
                // What is rarely found must be seen, too.
                let share = (100.0 * *n as f64 / all.max(1) as f64).max(LEAST);
                let _ = write!(rows, "<td class=\"{class}\" style=\"--share:{share:.0}%\">{n}</td>");
            }
            rows += "</tr>\n";
        }
        let matrix = scrolled(
            "Confusion matrix",
            &format!(
                "<table class=\"confusion\"><caption>{}</caption><thead><tr><th scope=\"col\">right \\ found</th>{heads}</tr></thead><tbody>\n{rows}</tbody></table>",
                prose(caption)
            ),
        );
        matrix + &scores(counts, &name)
    }
}

/// How well each class is found: precision, recall, and F1, the harmonic mean of both.
fn scores(counts: &[Vec<u64>], name: &dyn Fn(usize) -> String) -> String {
    let share = |part: u64, all: u64| (all > 0).then(|| part as f64 / all as f64);
    let cell = |share: Option<f64>| {
        let percent = 100.0 * share.unwrap_or(0.0);
        let text = share.map_or_else(|| "–".to_owned(), |_| format!("{percent:.1} %"));
        format!("<td class=\"share\" style=\"--share:{percent:.1}%\">{text}</td>")
    };
    let mut rows = String::new();
    let mut all: [Vec<f64>; 3] = Default::default();
    for (class, row) in counts.iter().enumerate() {
        let right = row.get(class).copied().unwrap_or(0);
        let found: u64 = counts.iter().filter_map(|row| row.get(class)).sum();
        let there: u64 = row.iter().sum();
        let (precision, recall) = (share(right, found), share(right, there));
        let f1 = share(2 * right, found + there);
        let _ = write!(rows, "<tr><th scope=\"row\">{}</th><td>{there}</td>", name(class));
        for (value, all) in [precision, recall, f1].into_iter().zip(&mut all) {
            rows += &cell(value);
            all.extend(value);
        }
        rows += "</tr>\n";
    }
    let mean =
        |values: &Vec<f64>| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
    let means: String = all.iter().map(|values| cell(mean(values))).collect();
    let total: u64 = counts.iter().flatten().sum();
    scrolled(
        "Precision and recall",
        &format!(
            "<table class=\"scores\"><caption>Precision: of what was found as a class, how much is right. Recall: of a class, how much was found. F1: their harmonic mean</caption><thead><tr><th scope=\"col\">class</th><th scope=\"col\">count</th><th scope=\"col\">precision</th><th scope=\"col\">recall</th><th scope=\"col\">F1</th></tr></thead><tbody>\n{rows}</tbody><tfoot><tr><th scope=\"row\">mean</th><td>{total}</td>{means}</tr></tfoot></table>"
        ),
    )
}
