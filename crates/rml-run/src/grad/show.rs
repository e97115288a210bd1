//! Gradients, and their checks, as text.

use std::fmt::{self, Write as _};

use indexmap::IndexMap;
use rml_data::text;
use rml_ir::Value;
use serde_json::json;

use super::check::{Checked, GradCheck};
use super::{Gradients, numbers};

impl Gradients {
    /// `{"loss": total, "params": {"path": [..]}, "inputs": {"name": [per cycle]}}`; `null` = the input is absent.
    /// Tensors are nested arrays; numbers that are not finite are `"NaN"`, `"Infinity"` or `"-Infinity"`.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write_json(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        out.write_str("{\"loss\": ")?;
        text::write_json(out, &self.loss, None)?;
        out.write_str(",\n \"params\": {")?;
        for (i, (key, value)) in self.params.iter().enumerate() {
            entry(out, i, key)?;
            text::write_json(out, value, None)?;
        }
        out.write_str("},\n \"inputs\": {")?;
        for (i, (name, cells)) in self.inputs.iter().enumerate() {
            entry(out, i, name)?;
            out.write_str("[")?;
            for (j, cell) in cells.iter().enumerate() {
                out.write_str(if j > 0 { ", " } else { "" })?;
                match cell {
                    Some(value) => text::write_json(out, value, None)?,
                    None => out.write_str("null")?,
                }
            }
            out.write_str("]")?;
        }
        out.write_str("}}")
    }

    /// As [`write_json`](Self::write_json), as a string.
    pub fn to_json(&self) -> String {
        text::written(|out| self.write_json(out))
    }

    /// A table for people: the sum, one line per parameter, one row per input with a column per cycle; `□` = absent,
    /// large tensors are shortened.
    pub fn to_table(&self) -> String {
        let loss = text::brief(&self.loss, None);
        let mut out = format!("sum of {} over {} cycles: {loss}\n", self.output, self.cycles);
        if !self.params.is_empty() {
            let mut rows = vec![["parameter", "type", "norm", "gradient"].map(str::to_owned).to_vec()];
            rows.extend(self.params.iter().map(|(key, value)| {
                vec![
                    key.clone(),
                    value.ty().to_string(),
                    text::brief(&norm(value), None),
                    text::brief(value, None),
                ]
            }));
            out.push('\n');
            out.push_str(&rml_base::table(&rows, &[0, 1, 3]));
        }
        if !self.inputs.is_empty() {
            let mut rows = vec![vec!["input".to_owned()]];
            rows[0].extend((0..self.cycles).map(|n| n.to_string()));
            rows.extend(self.inputs.iter().map(|(name, cells)| {
                let cell =
                    |c: &Option<Value>| c.as_ref().map_or_else(|| "□".to_owned(), |v| text::brief(v, None));
                std::iter::once(name.clone()).chain(cells.iter().map(cell)).collect()
            }));
            out.push('\n');
            out.push_str(&rml_base::table(&rows, &[0]));
        }
        out
    }
}

fn entry(out: &mut dyn fmt::Write, i: usize, key: &str) -> fmt::Result {
    let comma = if i > 0 { "," } else { "" };
    write!(out, "{comma}\n  {}: ", serde_json::Value::from(key))
}

impl GradCheck {
    /// `{"ok": true, "loss": .., "tolerance": .., "params": {"path": {"error": .., "ok": true, "elements": n,
    /// "compared": n, "kinks": n, "worst": {"cycle": n, "element": n, "gradient": .., "difference": ..}}}, "inputs":
    /// {..}}`; `"error"` is the largest relative error.
    pub fn to_json(&self) -> String {
        let one = |c: &Checked| {
            let (gradient, difference) = (finite(c.gradient), finite(c.difference));
            json!({
                "error": finite(c.error), "ok": self.passes(c),
                "elements": c.elements, "compared": c.compared, "kinks": c.kinks,
                "worst": {"cycle": c.cycle, "element": c.index, "gradient": gradient, "difference": difference},
            })
        };
        let all = |of: &IndexMap<String, Checked>| -> serde_json::Value {
            of.iter().map(|(name, c)| (name.clone(), one(c))).collect::<serde_json::Map<_, _>>().into()
        };
        let object = json!({
            "ok": self.ok(), "loss": finite(self.loss), "tolerance": self.tolerance,
            "params": all(&self.params), "inputs": all(&self.inputs), "stop_gradient": self.cuts,
        });
        format!("{object:#}")
    }

    /// A table for people: one line for each parameter and input with its largest relative error and the place of this
    /// error.
    pub fn to_table(&self) -> String {
        let head = ["", "type", "compared", "error", "", "at", "gradient", "difference"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for (what, of) in [("parameter", &self.params), ("input", &self.inputs)] {
            rows.extend(of.iter().map(|(name, c)| self.row(what, name, c)));
        }
        let mut out = rml_base::table(&rows, &[0, 1, 4, 5]);
        let kinks: usize = self.params.values().chain(self.inputs.values()).map(|c| c.kinks).sum();
        if kinks > 0 {
            let are = if kinks == 1 { "1 element is" } else { &format!("{kinks} elements are") };
            let _ = writeln!(
                out,
                "\n{are} at a kink, where the slopes to the left and to the right differ: relu or abs at 0, max, min or clip at a\n\
                 tie, a condition that changes. There the gradient may be anything between the two slopes."
            );
        }
        if !self.cuts.is_empty() {
            let _ = writeln!(
                out,
                "\n`stop_gradient` in {} cuts the gradient: what passes there is missing in the gradient, and the differences\n\
                 contain it. If that is the reason, the gradient is what the program asks for, and not the derivative.",
                self.cuts.join(", ")
            );
        }
        out
    }

    fn row(&self, what: &str, name: &str, c: &Checked) -> Vec<String> {
        let mut place: Vec<String> = c.cycle.iter().map(|n| format!("cycle {n}")).collect();
        place.extend(c.index.iter().map(|i| format!("element {i}")));
        vec![
            format!("{what} {name}"),
            c.ty.to_string(),
            format!("{} of {}", c.compared, c.elements),
            format!("{:.1e}", c.error),
            if self.passes(c) { "ok" } else { "WRONG" }.to_owned(),
            place.join(", "),
            format!("{:.6e}", c.gradient),
            format!("{:.6e}", c.difference),
        ]
    }
}

fn finite(x: f64) -> serde_json::Value {
    if x.is_finite() { x.into() } else { text::number(x, x).into() }
}

fn norm(value: &Value) -> Value {
    Value::F64(numbers(value).iter().map(|x| x * x).sum::<f64>().sqrt())
}
