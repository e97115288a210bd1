//! `rml backends`.

use std::fmt::Write as _;

use rml::backend::{self, BackendInfo};
use serde_json::{Value, json};

use crate::args::{Backends, ListFormat};
use crate::output::{Output, Stop};

/// Lists the backends, one a line.
pub(crate) fn backends(args: &Backends, output: &mut Output) -> Result<(), Stop> {
    let list = backend::list();
    output.print(&match args.format {
        ListFormat::Json => format!("{:#}\n", list.iter().map(object).collect::<Value>()),
        ListFormat::Table => table(&list),
    })
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

/// Aligned but for the last column; where a backend does not load, it says why.
fn table(list: &[BackendInfo]) -> String {
    let version = |info: &BackendInfo| info.about.as_ref().map(|a| a.version.clone()).unwrap_or_default();
    let width = list.iter().map(|info| version(info).chars().count()).max().unwrap_or(0).max(7);
    let mut out = format!("backend  built in  loads  {:width$}  devices\n", "version");
    for info in list {
        let built = if info.built_in { "yes" } else { "no" };
        let _ = match &info.about {
            Ok(about) => writeln!(
                out,
                "{:7}  {built:8}  yes    {:width$}  {}",
                info.name,
                about.version,
                about.devices.join(", ")
            ),
            Err(error) => {
                let (code, why) = reason(error);
                writeln!(out, "{:7}  {built:8}  no     {why} (`rml explain {code}`)", info.name)
            }
        };
    }
    out
}
