//! `rml export`.

use rml::{CExport, Checkpoint};

use crate::args::{Export, Target};
use crate::output::{Output, Stop};

/// Writes a program for elsewhere. Both files are checked before the first is written.
pub(crate) fn export(args: &Export, output: &mut Output) -> Result<(), Stop> {
    let Target::C = args.format;
    let (source, options) = super::program(&args.program)?;
    let options = rml::Options { node: args.node.clone(), seed: args.seed.unwrap_or_default(), ..options };
    let checkpoint = args.params.as_deref().map(Checkpoint::read).transpose()?;
    let export = CExport { name: args.name.clone(), cycles: args.cycles };
    let program = rml::export_c(&source, &options, checkpoint.as_ref(), &export)?;
    output.report(&program.warnings, &program.sources);
    let files = [("h", &program.files.header), ("c", &program.files.source)];
    let files = files.map(|(ending, text)| (args.out.join(format!("{}.{ending}", program.name)), text));
    for (file, _) in &files {
        super::check_output(file, &source, [args.params.as_ref()])?;
    }
    for (file, text) in &files {
        super::write(file, text)?;
    }
    let memory = program.files.memory;
    let [header, source] = files.map(|(file, _)| file.display().to_string());
    output.print(&format!(
        "{header}\n{source}\n{} bytes of state, {} of work, {} of constants\n",
        memory.state, memory.work, memory.constants
    ))
}
