//! Applies a mapping file to the parameters of a program, to convert to and from the tensors of another library.

use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::{Diagnostics, Error, Sources};
use rml_data::tree::bad;
use rml_files::contents;
use rml_ir::{Precision, Value};

use crate::expand::{self, Expanded, WantedParameter};
use crate::tensors::{Stored, TensorFile};
use crate::{layouts, mapping};

/// The text of a mapping file.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let source = rml::Source::text("net.rml", "import std.layers;  node net(x: num [2]) -> (y)  y = dense(1, x);");
/// # let options = rml::Options::default();
/// # let arrays = br#"{"fc.weight": [[3.0, 4.0]], "fc.bias": [0.5]}"#;
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let path = folder.path().join("weights.json");
/// # std::fs::write(&path, arrays).expect("a file");
/// # let weights = rml::TensorFile::read(&path)?;
/// let mapping = rml::Mapping::text("map.toml", "[[use]]\nlayout = \"torch.linear\"\nat = \"dense_0\"\nfrom = \"fc\"\n");
/// let imported = rml::import_params(&source, &options, &weights, &mapping)?;
/// assert_eq!(imported.checkpoint.states.len(), 2);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Mapping {
    name: String,
    text: String,
}

impl Mapping {
    /// A text, shown as `name` in diagnostics.
    pub fn text(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read or is not text.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let text = contents::text(path).map_err(|why| why.diagnostic(&name))?;
        Ok(Self { name, text })
    }

    /// The names that the mapping gives ports: to each of `ports`, the inputs, outputs and states of a graph, its name
    /// in another model; by default its own. The text of the mapping is added to `sources`.
    ///
    /// # Errors
    /// A mapping that is malformed, or names what is no port; two ports with one name.
    ///
    /// ```
    /// # fn main() -> Result<(), rml::Diagnostics> {
    /// let mapping = rml::Mapping::text("map.toml", "[ports]\nx = \"input.1\"\n");
    /// let mut sources = rml::Sources::new();
    /// assert_eq!(mapping.ports(&["x", "y"], &mut sources)?, ["input.1", "y"]);
    /// assert!(mapping.ports(&["y"], &mut sources).is_err());
    /// # Ok(()) }
    /// ```
    pub fn ports(&self, ports: &[&str], sources: &mut Sources) -> Result<Vec<String>, Diagnostics> {
        let file = sources.add(self.name.clone(), self.text.clone());
        let given = mapping::parse(&self.text, file)?.ports;
        let mut names: Vec<String> = ports.iter().map(|port| (*port).to_owned()).collect();
        let mut findings = Diagnostics::new();
        for (port, name) in &given {
            let Some(at) = ports.iter().position(|own| *own == port.text) else {
                let what = format!("there is no input, output or state `{}`", port.text);
                let known = ports.iter().map(|port| format!("`{port}`")).collect::<Vec<_>>().join(", ");
                findings.push(bad(port.span, what, "no port").help(format!("there are {known}")));
                continue;
            };
            names[at].clone_from(&name.text);
        }
        for (port, name) in &given {
            if names.iter().filter(|own| **own == name.text).count() > 1 {
                let what = format!("two ports would be called {:?}", name.text);
                findings.push(bad(name.span, what, format!("the name of `{}`", port.text)));
            }
        }
        if findings.is_empty() { Ok(names) } else { Err(findings) }
    }
}

/// Computes the values of the parameters `wanted` from the tensors of another library; also returns how many numbers
/// were rounded. The texts of the mapping and of the layouts are added to `sources`, so that findings can point into
/// them.
///
/// # Errors
/// A mapping that is malformed, omits a parameter or a tensor, or has shapes that do not fit.
pub fn import(
    mapping: &Mapping,
    wanted: &IndexMap<Arc<str>, WantedParameter>,
    weights: &TensorFile,
    precision: Precision,
    sources: &mut Sources,
) -> Result<(IndexMap<Arc<str>, Value>, usize), Diagnostics> {
    let mut expanded = expanded(mapping, wanted, sources)?;
    expanded.made.retain(|made| made.wanted.needed || made.expr.is_in(weights));
    crate::import::import(&expanded, weights, precision)
}

/// The options of an export.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let source = rml::Source::text("net.rml", "import std.layers;  node net(x: num [2]) -> (y)  y = dense(1, x);");
/// # let options = rml::Options::default();
/// # let arrays = br#"{"fc.weight": [[3.0, 4.0]], "fc.bias": [0.5]}"#;
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let path = folder.path().join("weights.json");
/// # std::fs::write(&path, arrays).expect("a file");
/// # let weights = rml::TensorFile::read(&path)?;
/// # let mapping = rml::Mapping::text("map.toml", "[[use]]\nlayout = \"torch.linear\"\nat = \"dense_0\"\nfrom = \"fc\"\n");
/// # let imported = rml::import_params(&source, &options, &weights, &mapping)?;
/// use rml::{ExportOptions, Stored};
///
/// let export = ExportOptions { stored: Some(Stored::F16), ..ExportOptions::default() };
/// let back = rml::export_params(&source, &options, &imported.checkpoint, &mapping, &export)?;
/// assert_eq!(back.tensors["fc.bias"].stored, Stored::F16);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct ExportOptions {
    /// Tensors of the same net from the other library: shapes, types of elements, and tensors that are no parameters
    /// are taken from them.
    pub like: Option<TensorFile>,
    /// The type of numbers; `None` = as in `like`, or else unchanged.
    pub stored: Option<Stored>,
}

/// Writes the values of the parameters `wanted` as the tensors of another library: the inverse of [`import`]. If an
/// import adds tensors, the sum is written to the first tensor, and zeros to the others.
///
/// # Errors
/// As for an import; parameters that the other layout cannot express.
pub fn export(
    mapping: &Mapping,
    wanted: &IndexMap<Arc<str>, WantedParameter>,
    values: &IndexMap<Arc<str>, Value>,
    options: &ExportOptions,
    sources: &mut Sources,
) -> Result<TensorFile, Diagnostics> {
    let mut expanded = expanded(mapping, wanted, sources)?;
    expanded.made.retain(|made| made.wanted.needed || values.contains_key(&made.wanted.key));
    crate::export::export(&expanded, values, options.like.as_ref(), options.stored)
}

/// The mapping applied to the parameters; its text and the texts of the layouts are added to `sources`.
fn expanded<'w>(
    mapping: &Mapping,
    wanted: &'w IndexMap<Arc<str>, WantedParameter>,
    sources: &mut Sources,
) -> Result<Expanded<'w>, Diagnostics> {
    let file = sources.add(mapping.name.clone(), mapping.text.clone());
    let builtin = layouts::builtin(sources)?;
    expand::expand(&mapping::parse(&mapping.text, file)?, &builtin, wanted)
}
