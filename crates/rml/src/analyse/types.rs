//! Types, shapes and clocks as a table for people.

use rml_analysis::ClockReport;
use rml_ir::flat::{Flat, Var};

use super::Analysis;

impl Analysis {
    /// One line for each named variable of the run node, `loss: num [] when end`; with `instances`, for those of its instances too.
    /// What is present in every cycle has no `when`.
    pub fn types(&self, instances: bool) -> String {
        let names = self.flat.vars.iter_enumerated().filter_map(|(v, data)| Some((v, data.name.as_deref()?)));
        let shown = names.filter(|(_, name)| instances || !name.contains('.'));
        let row = |(v, name): (Var, &str)| {
            let clock = declared(&self.flat, &self.clocks, v);
            vec![format!("  {name}:"), self.flat.vars[v].ty.to_string(), clock.trim_start().to_owned()]
        };
        rml_base::spaced(&shown.map(row).collect::<Vec<_>>(), &[0, 1, 2], " ")
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
