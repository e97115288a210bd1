//! Types, shapes and clocks as a table for people.

use rml_analysis::ClockReport;
use rml_ir::flat::{Flat, Var};

use super::Analysis;

impl Analysis {
    /// One line for each named variable of the run node, `loss: num [] when end`; with `instances`, for those of its instances too.
    /// What is present in every cycle has no `when`.
    pub fn types(&self, instances: bool) -> String {
        let names = self.flat.vars.iter_enumerated().filter_map(|(v, data)| Some((v, data.name.as_deref()?)));
        let shown: Vec<(Var, &str)> = names.filter(|(_, name)| instances || !name.contains('.')).collect();
        let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
        let name_width = width(&mut shown.iter().map(|(_, name)| name.chars().count() + 1));
        let type_width =
            width(&mut shown.iter().map(|(v, _)| self.flat.vars[*v].ty.to_string().chars().count()));
        let mut text = String::new();
        for (v, name) in shown {
            let ty = self.flat.vars[v].ty.to_string();
            let line = format!(
                "  {:name_width$} {ty:type_width$}{}",
                format!("{name}:"),
                declared(&self.flat, &self.clocks, v)
            );
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// The clock of a variable as it is declared: ` when end`.
pub(super) fn declared(flat: &Flat, clocks: &ClockReport, v: Var) -> String {
    let clock = clocks.clocks.text(flat, clocks.clocks.of[v]);
    match clock.strip_prefix("base") {
        Some(path) => path.replace(" on ", " when "),
        None => format!(" (clock: {clock})"),
    }
}
