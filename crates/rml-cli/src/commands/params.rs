//! `rml params`.

use std::fmt::Write as _;

use rml::{
    Checkpoint, Diagnostic, ExportOptions, Mapping, Options, Source, Stored, TensorFile, codes,
    is_tensor_file, suggest,
};

use crate::args::{self, ExportParams, ImportParams, ListParams, NumberType, Params, ParamsFormat};
use crate::output::{Output, Stop};

/// Lists, imports or exports parameters.
pub(crate) fn params(args: &Params, output: &mut Output) -> Result<(), Stop> {
    match args {
        Params::List(args) => list(args, output),
        Params::Import(args) => import(args, output),
        Params::Export(args) => export(args, output),
        Params::Layouts { name } => output.print(&layouts(name.as_deref())?),
    }
}

fn list(args: &ListParams, output: &mut Output) -> Result<(), Stop> {
    if is_tensor_file(&args.program.file) {
        let [set, batch, f64] = super::given(&args.program);
        let flags = [("node", args.node.is_some()), ("params", args.params.is_some()), set, batch, f64];
        super::refuse_unused("all tensors of the file are listed; it is not a program", &flags)?;
        let file = TensorFile::read(&args.program.file)?;
        return match args.format {
            ParamsFormat::Json => output.print_json(&file.to_json()),
            ParamsFormat::Table => output.print(&file.to_table()),
        };
    }
    let (source, options) = program(&args.program, args.node.as_ref())?;
    let checkpoint = args.params.as_deref().map(Checkpoint::read).transpose()?;
    let list = rml::params(&source, &options, checkpoint.as_ref())?;
    output.report(&list.warnings, &list.sources);
    match args.format {
        ParamsFormat::Json => output.print_json(&list.to_json()),
        ParamsFormat::Table => output.print(&list.to_table()),
    }
}

fn import(args: &ImportParams, output: &mut Output) -> Result<(), Stop> {
    let (source, options) = program(&args.program, args.node.as_ref())?;
    super::check_output(&args.save, &source, [&args.from, &args.map].map(Some))?;
    let (weights, mapping) = (TensorFile::read(&args.from)?, Mapping::read(&args.map)?);
    let imported = rml::import_params(&source, &options, &weights, &mapping)?;
    output.report(&imported.warnings, &imported.sources);
    imported.checkpoint.write(&args.save)?;
    let mut text = counted(imported.checkpoint.states.len(), "parameter");
    let elements = imported.checkpoint.states.values().map(|v| v.shape().len()).sum();
    let _ = write!(text, ", {}", counted(elements, "element"));
    if imported.rounded > 0 {
        let _ = write!(text, ", {} rounded to single precision", imported.rounded);
    }
    output.print(&format!("{text}\n"))
}

fn export(args: &ExportParams, output: &mut Output) -> Result<(), Stop> {
    let (source, options) = program(&args.program, args.node.as_ref())?;
    super::check_output(&args.out, &source, [Some(&args.params), Some(&args.map), args.like.as_ref()])?;
    TensorFile::check_format(&args.out)?;
    let (checkpoint, mapping) = (Checkpoint::read(&args.params)?, Mapping::read(&args.map)?);
    let export = ExportOptions {
        like: args.like.as_deref().map(TensorFile::read).transpose()?,
        stored: args.numbers.map(|n| match n {
            NumberType::F32 => Stored::F32,
            NumberType::F64 => Stored::F64,
            NumberType::F16 => Stored::F16,
            NumberType::Bf16 => Stored::Bf16,
        }),
    };
    let tensors = rml::export_params(&source, &options, &checkpoint, &mapping, &export)?;
    tensors.write(&args.out)?;
    let elements = tensors.tensors.values().map(|t| t.shape.len()).sum();
    output.print(&format!("{}, {}\n", counted(tensors.tensors.len(), "tensor"), counted(elements, "element")))
}

fn program(program: &args::Program, node: Option<&String>) -> Result<(Source, Options), Stop> {
    let (source, options) = super::program(program)?;
    Ok((source, Options { node: node.cloned(), ..options }))
}

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The list of layouts, or the text of one layout.
fn layouts(name: Option<&str>) -> Result<String, Stop> {
    let all = rml::layouts();
    let Some(name) = name else {
        let row = |l: &rml::LayoutInfo| vec![l.name.clone(), l.about.clone()];
        return Ok(rml::table(&all.iter().map(row).collect::<Vec<_>>(), &[0, 1]));
    };
    if let Some(layout) = all.iter().find(|l| l.name == name) {
        return Ok(layout.text.clone());
    }
    let mut d = Diagnostic::error(codes::run::BAD_OPTION, format!("there is no layout `{name}`"));
    if let Some(near) = suggest(name, all.iter().map(|l| l.name.as_str())) {
        d = d.help(format!("is `{near}` meant?"));
    }
    Err(d.help("`rml params layouts` lists all").into())
}
