//! `rml import`.

use std::fmt::Write as _;

use rml::codes::run::BAD_OPTION;
use rml::{Diagnostic, Fixed, ImportedModel, ModelOptions, StateOption};

use crate::args::Import;
use crate::output::{Output, Stop};
use crate::values::Pair;

/// Writes a program, its parameters, and the mapping between them and the model.
pub(crate) fn import(args: &Import, output: &mut Output) -> Result<(), Stop> {
    let options = options(args)?;
    let model = rml::import_model(&args.model, &options)?;
    let files = model.write(&args.model, &args.out, args.name.as_deref())?;
    let files = files.map(|file| file.display().to_string());
    output.print(&format!("{}\n{}", files.join("\n"), summary(&model)))
}

fn options(args: &Import) -> Result<ModelOptions, Stop> {
    let none = args.state.contains(&Pair::None);
    let pairs = args.state.iter().filter_map(|pair| match pair {
        Pair::Of(input, output) => Some((input.clone(), output.clone())),
        Pair::None => None,
    });
    let pairs: Vec<(String, String)> = pairs.collect();
    if none && !pairs.is_empty() {
        let what = "`--state none` says that there are no states, and another `--state` names one";
        return Err(Diagnostic::error(BAD_OPTION, what).help("leave one of them out").into());
    }
    let states = match (none, pairs.is_empty()) {
        (true, _) => StateOption::None,
        (false, true) => StateOption::Found,
        (false, false) => StateOption::Given(pairs),
    };
    Ok(ModelOptions {
        node: args.node.clone(),
        dims: args.dim.iter().cloned().collect(),
        fixed: args.set.iter().map(|(name, values)| (name.clone(), Fixed(values.clone()))).collect(),
        states,
        f64: args.f64,
    })
}

/// The inputs and outputs of the model, and what the import created.
fn summary(model: &ImportedModel) -> String {
    let named = |list: &[(String, String)]| {
        let one = |(word, name): &(String, String)| match word == name {
            true => word.clone(),
            false => format!("{word} ({name})"),
        };
        list.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    let mut text = format!("in: {}\nout: {}\n", named(&model.inputs), named(&model.outputs));
    if !model.states.is_empty() {
        let pairs: Vec<String> =
            model.states.iter().map(|(input, output)| format!("{input} keeps {output}")).collect();
        let _ = writeln!(text, "states: {}", pairs.join(", "));
    }
    let elements: usize = model.checkpoint.states.values().map(|v| v.shape().len()).sum();
    let _ = writeln!(text, "{} parameters, {elements} elements", model.checkpoint.states.len());
    if model.rounded > 0 {
        let _ = writeln!(text, "{} numbers rounded to single precision", model.rounded);
    }
    text
}
