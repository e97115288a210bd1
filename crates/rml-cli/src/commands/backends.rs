//! `rml backends`.

use rml::backend::{self, BackendInfo};
use serde_json::{Value, json};

use crate::args::{Backends, ListFormat};
use crate::output::{Output, Stop};

/// Lists the backends, one per line.
pub(crate) fn backends(args: &Backends, output: &mut Output) -> Result<(), Stop> {
    let list = backend::list();
    match args.format {
        ListFormat::Json => output.print_json(&format!("{:#}", list.iter().map(object).collect::<Value>())),
        ListFormat::Table => output.print(&table(&list)),
    }
}

fn object(info: &BackendInfo) -> Value {
    match &info.about {
        Ok(about) => json!({
            "name": info.name, "built_in": info.built_in, "loads": true, "version": about.version, "devices": about.devices,
        }),
        Err(error) => {
            let (code, why) = reason(error);
            json!({ "name": info.name, "built_in": info.built_in, "loads": false, "code": code, "why": why })
        }
    }
}

/// The code and message of the first finding.
fn reason(error: &rml::Error) -> (&str, &str) {
    error.diagnostics().iter().next().map_or(("", ""), |d| (d.code.name, &d.message))
}

/// One line per backend; for a backend that does not load, the reason instead of its version.
fn table(list: &[BackendInfo]) -> String {
    let head = ["backend", "built in", "loads", "version", "devices"].map(str::to_owned);
    let row = |info: &BackendInfo| {
        let built = if info.built_in { "yes" } else { "no" };
        let mut row = vec![info.name.to_string(), built.to_owned()];
        match &info.about {
            Ok(about) => row.extend(["yes".to_owned(), about.version.clone(), about.devices.join(", ")]),
            Err(error) => {
                let (code, why) = reason(error);
                row.extend(["no".to_owned(), format!("{why} (`rml explain {code}`)")]);
            }
        }
        row
    };
    let rows: Vec<Vec<String>> = std::iter::once(head.to_vec()).chain(list.iter().map(row)).collect();
    rml::table(&rows, &[0, 1, 2, 3, 4])
}
