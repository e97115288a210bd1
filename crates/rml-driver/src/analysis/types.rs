//! Types, shapes and clocks as a table for people.

use rml_ir::flat::Var;

use super::Analysis;
use super::declared::clock;

impl Analysis {
    /// One line for each named variable of the run node, `loss: num [] when end`; with `instances`, also for the
    /// variables of its instances. Variables that are present in every cycle have no `when`.
    pub fn types(&self, instances: bool) -> String {
        let names = self.flat.vars.iter_enumerated().filter_map(|(v, data)| Some((v, data.name.as_deref()?)));
        let shown = names.filter(|(_, name)| instances || !name.contains('.'));
        let row = |(v, name): (Var, &str)| {
            let clock = clock(&self.flat, &self.clocks, v);
            vec![format!("  {name}:"), self.flat.vars[v].ty.to_string(), clock.trim_start().to_owned()]
        };
        rml_base::spaced(&shown.map(row).collect::<Vec<_>>(), &[0, 1, 2], " ")
    }
}
