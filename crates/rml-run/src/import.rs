//! Models of other tools as programs: reads the file, makes the program, compiles it and fills its parameters.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error};
use rml_driver::{Options, Source};
use rml_files::{check_output, contents, create_folder, write_outputs};
use rml_ir::Precision;

pub use rml_import::{Fixed, Options as ModelOptions, StateOption};

use crate::checkpoint::Checkpoint;
use crate::params::import_params;

/// A model as a program.
///
/// ```no_run
/// # fn main() -> Result<(), rml::Error> {
/// let model = rml::import_model("net.onnx".as_ref(), &rml::ModelOptions::default())?;
/// let program = rml::compile(&rml::Source::text("net.rml", &model.program), &rml::Options::default())?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct ImportedModel {
    /// The text of the program.
    pub program: String,
    /// The text of the mapping between its parameters and the tensors of the model.
    pub mapping: String,
    /// The parameters of the program.
    pub checkpoint: Checkpoint,
    /// Inputs of the program, each with its name in the model.
    pub inputs: Vec<(String, String)>,
    /// Outputs, each with its name in the model.
    pub outputs: Vec<(String, String)>,
    /// States: inputs of the model, each with the output that has its next value.
    pub states: Vec<(String, String)>,
    /// How many numbers were rounded, because the file has them in double precision.
    pub rounded: usize,
}

/// Imports an ONNX model: its program, the parameters, and the mapping back to its names.
///
/// # Errors
/// A file that cannot be read, is not a model, or contains an operation that cannot be imported; the message names the
/// operator and its place.
pub fn import_model(path: &Path, options: &ModelOptions) -> Result<ImportedModel, Error> {
    let origin =
        path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned());
    let bytes = contents::data(path)?.bytes;
    let model = rml_import::import(
        bytes,
        &origin,
        &|name, offset, length| external(path, name, offset, length),
        options,
    )?;
    let source = Source::text("model.rml", model.program.as_str());
    let precision = if options.f64 { Precision::F64 } else { Precision::F32 };
    let compiled = Options { node: Some(options.node.clone()), precision, ..Options::default() };
    let imported = import_params(&source, &compiled, &model.tensors, &model.mapping)?;
    Ok(ImportedModel {
        program: model.program,
        mapping: model.mapping_text,
        checkpoint: imported.checkpoint,
        inputs: model.inputs,
        outputs: model.outputs,
        states: model.states,
        rounded: imported.rounded,
    })
}

/// A part of a data file beside a model. Only files in the model's folder and its subfolders are read.
fn external(model: &Path, name: &str, offset: u64, length: Option<u64>) -> Result<Bytes, Diagnostic> {
    let Some(path) = contents::beside(model, name) else {
        let what = format!("the model names a file outside of its folder, `{name}`");
        return Err(Diagnostic::error(codes::MALFORMED_MODEL, what));
    };
    let bytes = contents::data(&path)?.bytes;
    let (start, all) = (usize::try_from(offset).unwrap_or(usize::MAX), bytes.len());
    let end = length.map_or(Some(all), |n| usize::try_from(n).ok()?.checked_add(start));
    let part = end.and_then(|end| bytes.get(start..end));
    let part = part.map(<[u8]>::to_vec).ok_or_else(|| {
        let what = format!("the model asks for bytes beyond the end of `{name}`, which has {all}");
        Diagnostic::error(codes::MALFORMED_MODEL, what)
    })?;
    Ok(Bytes::from(part))
}

impl ImportedModel {
    /// Writes the program, its parameters and the mapping to a folder, as `NAME.rml`, `NAME.safetensors` and
    /// `NAME.toml`, and returns their paths. By default the name is that of the model.
    ///
    /// # Errors
    /// The folder or a file cannot be written, or would replace the model.
    pub fn write(&self, model: &Path, folder: &Path, name: Option<&str>) -> Result<[PathBuf; 3], Error> {
        let stem =
            model.file_stem().map_or_else(|| "model".into(), |stem| stem.to_string_lossy().into_owned());
        let name = name.unwrap_or(&stem);
        let files = ["rml", "safetensors", "toml"].map(|ending| folder.join(format!("{name}.{ending}")));
        create_folder(folder)?;
        for file in &files {
            check_output(file, &[model.to_owned()])?;
        }
        let [program, params, mapping] = &files;
        self.checkpoint.write(params)?;
        write_outputs(&[(program, self.program.as_bytes()), (mapping, self.mapping.as_bytes())])?;
        Ok(files)
    }

    /// The program as a source with this name.
    pub fn source(&self, name: &str) -> Source {
        Source::text(name, self.program.as_str())
    }

    /// The operators of ONNX's default domain that can be imported.
    pub fn operators() -> Vec<Arc<str>> {
        rml_import::operators().into_iter().map(Arc::from).collect()
    }
}
