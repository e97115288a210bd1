//! `rml export`.

use clap::ValueEnum as _;
use rml::codes::run::BAD_OPTION;
use rml::{CExport, CMath, Checkpoint, Diagnostic, Mapping, ModelExport, ModelFormat, Options, Source};

use crate::args::{Export, Math, Target};
use crate::output::{Output, Stop};

/// Exports a program.
pub(crate) fn export(args: &Export, output: &mut Output) -> Result<(), Stop> {
    check_folder(args)?;
    let (source, options) = super::program(&args.program)?;
    let options = Options { node: args.node.clone(), seed: args.seed.unwrap_or_default(), ..options };
    let checkpoint = args.params.as_deref().map(Checkpoint::read).transpose()?;
    match args.format {
        Target::C => c(args, &source, &options, checkpoint.as_ref(), output),
        Target::Onnx => model(args, &source, &options, checkpoint.as_ref(), ModelFormat::Onnx, output),
        Target::StableHlo => {
            model(args, &source, &options, checkpoint.as_ref(), ModelFormat::StableHlo, output)
        }
    }
}

/// Refuses a new folder whose name looks like a file of an export format.
fn check_folder(args: &Export) -> Result<(), Stop> {
    let ending = args.out.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let format = match ending.to_ascii_lowercase().as_str() {
        "c" | "h" => Target::C,
        "onnx" => Target::Onnx,
        "mlir" => Target::StableHlo,
        _ => return Ok(()),
    };
    if args.out.is_dir() {
        return Ok(());
    }
    let out = args.out.display();
    let what = format!("`--out {out}` names a folder, but ends like the name of a file");
    let stem = args.out.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let folder = args.out.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.map_or(String::new(), |folder| format!(" --out {}", folder.display()));
    let other = match format.to_possible_value() {
        Some(value) if format != args.format => format!("--format {} ", value.get_name()),
        _ => String::new(),
    };
    Err(Diagnostic::error(BAD_OPTION, what)
        .help(format!("the file has its name from another flag: `{other}--name {stem}{folder}`"))
        .into())
}

/// Prints the notes about an exported program.
fn noted(notes: &[String], output: &mut Output) {
    notes.iter().for_each(|note| output.note(&format!("{note}\n")));
}

/// Writes two files; neither is written without the other.
fn c(
    args: &Export,
    source: &Source,
    options: &Options,
    checkpoint: Option<&Checkpoint>,
    output: &mut Output,
) -> Result<(), Stop> {
    if args.map.is_some() {
        let what = "`--map` names the inputs and outputs of a graph, but the output is C";
        return Err(Diagnostic::error(BAD_OPTION, what)
            .help("leave it out, or write `--format onnx`")
            .into());
    }
    let math = match args.math {
        None | Some(Math::Own) => CMath::Own,
        Some(Math::Library) => CMath::Library,
    };
    let export = CExport { name: args.name.clone(), cycles: args.cycles, math };
    let program = rml::export_c(source, options, checkpoint, &export)?;
    output.report(&program.warnings, &program.sources);
    noted(&program.notes, output);
    let files = [("h", &program.files.header), ("c", &program.files.source)];
    let files = files.map(|(ending, text)| (args.out.join(format!("{}.{ending}", program.name)), text));
    rml::create_folder(&args.out)?;
    for (file, _) in &files {
        super::check_output(file, source, [args.params.as_ref()])?;
    }
    let contents = files.each_ref().map(|(file, text)| (file.as_path(), text.as_bytes()));
    rml::write_outputs(&contents)?;
    let memory = program.files.memory;
    let [header, source] = files.map(|(file, _)| file.display().to_string());
    let renamed = program.files.renamed.iter().map(|(name, field)| format!("{name} is {field} in C\n"));
    output.print(&format!(
        "{header}\n{source}\n{} bytes of state, {} of work, {} of constants\n{}",
        memory.state,
        memory.work,
        memory.constants,
        renamed.collect::<String>()
    ))
}

/// Writes one file.
fn model(
    args: &Export,
    source: &Source,
    options: &Options,
    checkpoint: Option<&Checkpoint>,
    format: ModelFormat,
    output: &mut Output,
) -> Result<(), Stop> {
    if args.math.is_some() {
        let what = "`--math` says where functions of C come from, but the output is not C";
        return Err(Diagnostic::error(BAD_OPTION, what).help("leave it out, or write `--format c`").into());
    }
    let mapping = args.map.as_deref().map(Mapping::read).transpose()?;
    let export = ModelExport { format, cycles: args.cycles, mapping: mapping.as_ref() };
    let model = rml::export_model(source, options, checkpoint, &export)?;
    output.report(&model.warnings, &model.sources);
    noted(&model.notes, output);
    let name = args.name.as_ref().unwrap_or(&model.node);
    let file = args.out.join(format!("{name}.{}", format.ending()));
    rml::create_folder(&args.out)?;
    super::check_output(&file, source, [args.params.as_ref(), args.map.as_ref()])?;
    super::write(&file, &model.bytes)?;
    let (inputs, outputs) = (model.inputs.join(", "), model.outputs.join(", "));
    output.print(&format!("{}\nin: {inputs}\nout: {outputs}\n", file.display()))
}
