//! Advice for wrong command lines: flags and commands of other tools, values without a flag.

use std::path::Path;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use rml::suggest;

/// Names that other tools use for commands.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["evaluate", "eval", "test", "predict", "score"], "`rml infer FILE --params CHECKPOINT --data DATA`"),
    (
        &["build", "compile", "lint", "typecheck"],
        "`rml check FILE` checks a program; `rml export FILE` writes C, ONNX or StableHLO",
    ),
    (&["fit", "learn"], "`rml train FILE --data DATA`"),
    (&["exec", "execute", "start", "simulate", "sim"], "`rml run FILE --inputs DATA`"),
    (&["init", "create"], "`rml new NAME`"),
    (&["format"], "`rml fmt FILE`"),
    (&["docs", "man-page", "library"], "`rml doc NAME`"),
    (
        &["plot", "draw", "show"],
        "`rml trace FILE --inputs DATA --svg FILE.svg`, or `rml view FILE --inputs DATA`",
    ),
    (&["version"], "`rml --version`"),
];

/// Names that other tools use for flags: the commands to which the advice applies (all if the list is empty), and the
/// advice.
const FLAGS: &[(&[&str], &[&str], &str)] = &[
    (
        &["optimizer", "optimiser", "opt"],
        &[],
        "the program says how parameters are updated: define `diff_param` (`rml doc adam` has an example)",
    ),
    (
        &["loss", "criterion"],
        &["train"],
        "the program says what the loss is: an output of the node that is trained",
    ),
    (
        &["momentum", "weight-decay", "beta1"],
        &["train"],
        "the program says how parameters are updated: define `diff_param`",
    ),
    (
        &["gpu", "cuda", "gpus"],
        &[],
        "for a GPU, write `--backend torch --device cuda:0`; `rml backends` lists what loads here",
    ),
    (
        &["target", "type", "to", "backend", "lang", "language", "stablehlo"],
        &["export"],
        "the format is given with `--format c`, `--format onnx` or `--format stablehlo`",
    ),
    (
        &["check", "gradcheck", "numeric"],
        &["grad"],
        "`rml gradcheck FILE` compares the gradient with finite differences",
    ),
    (&["cpu"], &[], "`--backend cpu` is the default"),
    (
        &["params", "weights", "checkpoint", "model", "load", "ckpt", "resume"],
        &["run", "trace", "view", "check", "grad"],
        "a node runs with parameters of a checkpoint in `rml run FILE --params CHECKPOINT`",
    ),
    (
        &["params", "weights", "checkpoint", "model", "load", "ckpt"],
        &["train"],
        "a checkpoint is written with `--save FILE.safetensors`; training continues from one with `--resume CHECKPOINT`, on the same data",
    ),
    (
        &["weights", "checkpoint", "model", "load", "ckpt", "resume"],
        &["infer"],
        "a checkpoint is given with `--params CHECKPOINT`",
    ),
    (
        &["output", "out", "o", "save-to", "checkpoint-dir"],
        &["train"],
        "a checkpoint is written with `--save FILE.safetensors`",
    ),
    (&["output", "o", "save"], &["infer"], "the outputs are written to a file with `--out FILE`"),
    (
        &["output", "output-file", "o", "onnx", "c"],
        &["export"],
        "the folder is given with `--out FOLDER`, the name of the files with `--name NAME`, their format with `--format c`, `--format onnx` or `--format stablehlo`",
    ),
    (
        &["output", "out", "o", "save"],
        &[],
        "the result goes to standard output: add `> FILE` after the command",
    ),
    (
        &["inputs", "input", "dataset", "train", "train-data", "i", "d"],
        &["train", "infer"],
        "data is given with `--data FILE`",
    ),
    (
        &["data", "input", "dataset", "i", "d"],
        &["run", "trace", "view", "grad", "gradcheck"],
        "inputs are given with `--inputs FILE`",
    ),
    (
        &["verbose", "quiet", "v", "q", "debug"],
        &[],
        "`RML_LOG=debug` before the command logs each pass; `2> /dev/null` after it hides progress",
    ),
    (
        &["workers", "num-workers", "j", "cores", "num-threads"],
        &[],
        "`--threads N` says how many threads to use",
    ),
    (
        &["val", "validation", "validation-split", "val-split"],
        &["train"],
        "windows to compare epochs by are kept with `--validate 0.2`",
    ),
    (&["test-split", "test-size", "split"], &["train"], "windows for testing are kept with `--test 0.2`"),
    (
        &["early-stopping", "early-stop"],
        &["train"],
        "`--patience N` ends the training after N epochs without a better one",
    ),
    (
        &["steps", "iterations", "iters", "max-steps", "n-epochs", "num-epochs"],
        &["train"],
        "`--epochs N` says how often the data is gone through; without data, `--windows N` or `--cycles N`",
    ),
    (&["no-test"], &["train"], "`--test 0` keeps no windows for testing"),
    (&["tensorboard", "logdir", "log-dir"], &["train"], "`--log DIR` writes events for TensorBoard"),
    (
        &["fp16", "half", "amp", "float16", "bf16", "bfloat16", "mixed-precision", "fp32", "float32"],
        &[],
        "numbers have 32 bits, or 64 with `--f64`; there are no others",
    ),
    (
        &["plot", "image", "picture", "png", "figure"],
        &["trace"],
        "a picture is written with `--svg FILE.svg`",
    ),
    (&["dtype", "precision", "double", "float64", "fp64"], &[], "`--f64` computes in double precision"),
    (
        &["seq-len", "sequence-length", "time-steps"],
        &["train"],
        "the data says how many cycles a window has: an array [windows, cycles, ..]",
    ),
    (&["delimiter", "delim"], &[], "the character between cells is given with `--separator ';'`"),
    (
        &["skip", "skiprows", "skip-rows"],
        &[],
        "lines above the names that begin alike are comments: `--comment '#'`; others are left out by `tail -n +4 FILE`, whose output `-` reads as data",
    ),
    (&["encoding"], &[], "tables are UTF-8: `iconv -f latin1 -t utf-8 FILE > OTHER` converts one"),
    (
        &["input-file", "file", "program", "f"],
        &[],
        "the program is given without a flag: `rml COMMAND FILE.rml`",
    ),
];

/// Extensions of parameter files.
const CHECKPOINTS: &[&str] = &["safetensors"];

/// Names of the learning rate.
const RATES: &[&str] = &["lr", "learning-rate", "rate", "step-size", "alpha", "eta"];

/// Values of `--backend` by names of other tools.
const BACKENDS: &[(&[&str], &str)] = &[
    (
        &["gpu", "cuda", "mps", "metal", "rocm", "tpu"],
        "a GPU is a device of a backend: `--backend torch --device cuda:0`",
    ),
    (
        &["tensorflow", "tf", "jax", "keras", "flax", "openxla"],
        "XLA is the compiler of TensorFlow and JAX: `--backend xla`",
    ),
    (&["pytorch", "libtorch", "aten"], "PyTorch's library is `--backend torch`"),
    (
        &["numpy", "native", "embedded", "eager", "default", "rust", "c"],
        "the embedded backend is `--backend cpu`",
    ),
];

/// The error of a command line, with advice if the mistake is a known one.
pub(super) fn advised(mut error: clap::Error) -> clap::Error {
    let args: Vec<String> =
        std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    let tips = match error.kind() {
        ErrorKind::UnknownArgument => unknown_argument(&error, &args),
        ErrorKind::InvalidSubcommand => {
            text(&error, ContextKind::InvalidSubcommand).map(|name| unknown_command(&name, &args))
        }
        ErrorKind::InvalidValue => bad_value(&error),
        ErrorKind::TooManyValues => value_of_switch(&error, &args),
        ErrorKind::ValueValidation => {
            no_number(&error).or_else(|| no_program(&error)).or_else(|| test_file(&error, &args))
        }
        ErrorKind::MissingRequiredArgument => missing(&error, &args),
        ErrorKind::ArgumentConflict => conflict(&args),
        _ => None,
    };
    let Some(tips) = tips.filter(|tips| !tips.is_empty()) else { return error };
    for kind in [ContextKind::SuggestedArg, ContextKind::SuggestedValue, ContextKind::SuggestedSubcommand] {
        error.remove(kind);
    }
    let tips = tips.into_iter().map(StyledStr::from).collect();
    error.remove(ContextKind::Suggested);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    error
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    }
}

fn unknown_command(name: &str, args: &[String]) -> Vec<String> {
    if args.first().is_some_and(|first| first == "params") {
        return vec![
            "say what to do with the parameters: `rml params list`, `import`, `export` or `layouts`"
                .to_owned(),
        ];
    }
    if has_extension(name, &["rml"]) {
        return vec![format!(
            "a command stands before the program: `rml check {name}`, `rml run {name}`, `rml train {name}`"
        )];
    }
    let known = COMMANDS.iter().find(|(names, _)| names.contains(&name));
    known.map(|(_, advice)| vec![(*advice).to_owned()]).unwrap_or_default()
}

fn unknown_argument(error: &clap::Error, args: &[String]) -> Option<Vec<String>> {
    let given = text(error, ContextKind::InvalidArg)?;
    let command = args.iter().find(|arg| !arg.starts_with('-')).map(String::as_str).unwrap_or_default();
    let value = after(&given, args);
    let Some(flag) = given.strip_prefix('-').map(|rest| rest.trim_start_matches('-')) else {
        return stray_value(&given, command, args);
    };
    let name = flag.split('=').next().unwrap_or_default().replace('_', "-").to_ascii_lowercase();
    if flag.parse::<f64>().is_ok() {
        return Some(vec![format!("a count is not negative: `{given}` is read as a flag")]);
    }
    let holds = |commands: &[&str]| commands.is_empty() || commands.contains(&command);
    let sets = |value: &Option<String>| value.as_deref().unwrap_or("..").to_owned();
    if RATES.contains(&&*name) && command == "train" {
        return Some(vec![
            format!(
                "the program says how fast it learns: an optimiser by its first number, as in `o = adam({}, ..)` in `diff_param`; without one, the gradient of the loss is minus the rate, as in `diff_mse(o, y, true, -0.1)`",
                sets(&value)
            ),
            format!(
                "to set it here, write a constant beside the nodes, `const rate = 0.01;`, `rate` or `-rate` there, and `--set rate={}`",
                sets(&value)
            ),
        ]);
    }
    let known = FLAGS.iter().find(|(names, commands, _)| names.contains(&&*name) && holds(commands));
    if let Some((_, _, advice)) = known {
        return Some(vec![(*advice).to_owned()]);
    }
    let flags = flags_of(command);
    if given.starts_with("--") && name != flag && flags.contains(&name) {
        return Some(vec![format!("the flag is written `--{name}`")]);
    }
    if !given.starts_with("--") {
        let longer: Vec<String> =
            flags.iter().filter(|f| f.starts_with(&name)).map(|f| format!("`--{f}`")).take(4).collect();
        return Some(match longer.is_empty() {
            true => vec![format!("flags have long names: `rml {command} --help` lists them")],
            false => vec![format!("flags have long names, such as {}", longer.join(", "))],
        });
    }
    let settable = flags.iter().any(|f| f == "set");
    let others = commands_with(&name);
    if !others.is_empty() {
        let tip = format!("`--{name}` is a flag of {}", others.join(", "));
        let set = || {
            format!(
                "if the program has a static parameter or dimension `{name}`: `--set {name}={}`",
                sets(&value)
            )
        };
        return Some(std::iter::once(tip).chain(settable.then(set)).collect());
    }
    let near = flags
        .iter()
        .find(|f| f.starts_with(&name) && name.len() > 2 || name.starts_with(&**f) && f.len() > 2);
    let near = near.map(String::as_str).or_else(|| suggest(&name, flags.iter().map(String::as_str)));
    if let Some(near) = near {
        return Some(vec![format!("a similar flag exists: `--{near}`")]);
    }
    Some(match settable {
        true => vec![format!(
            "a static parameter or dimension `{name}` of the program is set with `--set {name}={}`",
            sets(&value)
        )],
        false => vec![format!("`rml {command} --help` lists the flags")],
    })
}

/// The long names of the flags of a command.
fn flags_of(command: &str) -> Vec<String> {
    let cli = <super::Cli as clap::CommandFactory>::command();
    let Some(command) = cli.find_subcommand(command) else { return Vec::new() };
    command.get_arguments().filter_map(|arg| arg.get_long().map(str::to_owned)).collect()
}

/// The commands that have a flag of this name, formatted for a message.
fn commands_with(flag: &str) -> Vec<String> {
    let cli = <super::Cli as clap::CommandFactory>::command();
    let has = |command: &clap::Command| command.get_arguments().any(|arg| arg.get_long() == Some(flag));
    let mut found = Vec::new();
    for command in cli.get_subcommands() {
        let name = command.get_name();
        found.extend(has(command).then(|| format!("`rml {name}`")));
        let own = command.get_subcommands().filter(|own| has(own));
        found.extend(own.map(|own| format!("`rml {name} {}`", own.get_name())));
    }
    found
}

/// Advice for a flag of a command that takes no value but was given one.
fn without_value(flag: &str, command: &str, value: &str) -> Option<String> {
    let cli = <super::Cli as clap::CommandFactory>::command();
    let arguments: Vec<_> = cli.find_subcommand(command)?.get_arguments().collect();
    let find = |name: &str| arguments.iter().find(|arg| arg.get_long() == Some(name));
    let name = flag.trim_start_matches('-');
    if find(name)?.get_action().takes_values() {
        return None;
    }
    let opposite = name.strip_prefix("no-").map_or_else(|| format!("no-{name}"), str::to_owned);
    let write = match &*value.to_ascii_lowercase() {
        "true" | "yes" | "on" | "1" => format!("write it alone, `--{name}`"),
        "false" | "no" | "off" | "0" if find(&opposite).is_some() => format!("write `--{opposite}`"),
        "false" | "no" | "off" | "0" => "leave it out".to_owned(),
        _ => format!("`{value}` belongs to no flag"),
    };
    Some(format!("`--{name}` takes no value: {write}"))
}

/// Advice for a value joined to a flag that takes none, as in `--flag=value`.
fn value_of_switch(error: &clap::Error, args: &[String]) -> Option<Vec<String>> {
    let (flag, value) = (text(error, ContextKind::InvalidArg)?, text(error, ContextKind::InvalidValue)?);
    let command = args.iter().find(|arg| !arg.starts_with('-')).map(String::as_str).unwrap_or_default();
    let flag = flag.split([' ', '=']).next().unwrap_or_default();
    without_value(flag, command, &value).map(|tip| vec![tip])
}

/// The value after a flag.
fn after(flag: &str, args: &[String]) -> Option<String> {
    if let Some((_, value)) = flag.split_once('=') {
        return Some(value.to_owned());
    }
    if let Some(value) = args.iter().find_map(|arg| arg.strip_prefix(flag)?.strip_prefix('=')) {
        return Some(value.to_owned());
    }
    let at = args.iter().position(|arg| arg == flag)?;
    args.get(at + 1).filter(|value| !value.starts_with("--")).cloned()
}

/// Advice for a value that belongs to no flag.
fn stray_value(given: &str, command: &str, args: &[String]) -> Option<Vec<String>> {
    let flags = flags_of(command);
    let has = |flag: &str| flags.iter().any(|f| f == flag);
    if given == "=" || given.starts_with('=') {
        return Some(vec!["a setting is written without blanks: `--set NAME=VALUE`".to_owned()]);
    }
    if has_extension(given, &["csv", "npz", "json", "jsonl", "ndjson", "parquet"]) {
        let flag = ["data", "inputs"].into_iter().find(|flag| has(flag))?;
        return Some(vec![format!("data is given with a flag: `--{flag} {given}`")]);
    }
    if has_extension(given, CHECKPOINTS) {
        let flag = ["params", "resume"].into_iter().find(|flag| has(flag))?;
        return Some(vec![format!("a checkpoint is given with a flag: `--{flag} {given}`")]);
    }
    let set = args.iter().position(|arg| arg == given).and_then(|at| args.get(at.checked_sub(2)?));
    if set.is_some_and(|flag| flag == "--set") && given.parse::<f64>().is_ok() {
        return Some(vec!["a setting is one word: `--set NAME=VALUE`".to_owned()]);
    }
    if given.contains('=') && has("set") {
        return Some(vec![format!("a static parameter is set with a flag: `--set {given}`")]);
    }
    if has_extension(given, &["rml"]) {
        return Some(vec![format!("`rml {command}` takes one program")]);
    }
    let at = args.iter().position(|arg| arg == given)?;
    let before = args.get(at.checked_sub(1)?)?;
    if let Some(tip) = without_value(before, command, given) {
        return Some(vec![tip]);
    }
    let takes_one = before.starts_with("--") && !before.contains('=');
    takes_one.then(|| vec![format!("`{before}` takes one value at most: `{given}` belongs to no flag")])
}

fn has_extension(name: &str, extensions: &[&str]) -> bool {
    let extension = Path::new(name).extension().and_then(|e| e.to_str()).unwrap_or_default();
    extensions.iter().any(|e| extension.eq_ignore_ascii_case(e))
}

fn bad_value(error: &clap::Error) -> Option<Vec<String>> {
    let (arg, value) = (text(error, ContextKind::InvalidArg)?, text(error, ContextKind::InvalidValue)?);
    if !arg.starts_with("--backend") {
        return None;
    }
    let value = value.to_ascii_lowercase();
    let known = BACKENDS.iter().find(|(names, _)| names.contains(&&*value));
    known.map(|(_, advice)| vec![(*advice).to_owned()])
}

/// Advice for a text in place of a count.
fn no_number(error: &clap::Error) -> Option<Vec<String>> {
    let source = std::error::Error::source(error)?;
    source.is::<std::num::ParseIntError>().then(|| vec!["a whole number is expected, such as 10".to_owned()])
}

/// Advice for a file of data or parameters in place of the program.
fn no_program(error: &clap::Error) -> Option<Vec<String>> {
    let (arg, value) = (text(error, ContextKind::InvalidArg)?, text(error, ContextKind::InvalidValue)?);
    if !arg.starts_with("<FILE>") {
        return None;
    }
    Some(match has_extension(&value, CHECKPOINTS) {
        true => vec![
            format!("parameters follow a flag: `rml infer FILE.rml --params {value} --data DATA`"),
            format!("`rml params list {value}` shows what is in the file"),
        ],
        false => vec![format!(
            "data follows a flag: `rml train FILE.rml --data {value}`, `rml run FILE.rml --inputs {value}`"
        )],
    })
}

/// Advice for `--test FILE`: the flag takes the number of windows to keep for testing.
fn test_file(error: &clap::Error, args: &[String]) -> Option<Vec<String>> {
    let (arg, value) = (text(error, ContextKind::InvalidArg)?, text(error, ContextKind::InvalidValue)?);
    if !arg.starts_with("--test") || rml::Format::of(Path::new(&value)).is_none() {
        return None;
    }
    let program = args.iter().find(|arg| has_extension(arg, &["rml"])).map_or("FILE.rml", String::as_str);
    Some(vec![
        format!("a file of its own is evaluated after each epoch with `--validate {value}`"),
        format!(
            "or after the training, which then keeps no windows for testing, `--test 0 --save m.safetensors`: `rml infer {program} --params m.safetensors --data {value}`"
        ),
    ])
}

/// Advice for flags of a training with data beside flags of a training without data.
fn conflict(args: &[String]) -> Option<Vec<String>> {
    let has = |flag: &str| args.iter().any(|arg| arg == flag || arg.starts_with(&format!("{flag}=")));
    let without = ["--windows", "--cycles", "--until"].into_iter().find(|flag| has(flag))?;
    has("--data").then(|| match command(args) == "infer" {
        true => vec![format!(
            "`{without}` is for a node without inputs, which makes its own data; with data, leave it out"
        )],
        false => vec![format!(
            "`{without}` is for a training without data; with data, `--epochs N` says how long, and `--patience N` ends it after N epochs without a better one"
        )],
    })
}

/// The name of the node that is trained, if the node has no inputs.
fn without_inputs(args: &[String]) -> Option<String> {
    let program = args.iter().find(|arg| has_extension(arg, &["rml"]))?;
    let node = after("--node", args).unwrap_or_else(|| "train".to_owned());
    let source = rml::Source::file(program);
    let compiled =
        rml::compile(&source, &rml::Options { node: Some(node.clone()), ..rml::Options::default() });
    compiled.is_ok_and(|program| program.inputs().is_empty()).then_some(node)
}

/// The name of the command.
fn command(args: &[String]) -> &str {
    args.iter().find(|arg| !arg.starts_with('-')).map(String::as_str).unwrap_or_default()
}

/// Advice for missing arguments of a command.
fn missing(error: &clap::Error, args: &[String]) -> Option<Vec<String>> {
    let ContextValue::Strings(lacking) = error.get(ContextKind::InvalidArg)? else { return None };
    let lacks_data = command(args) == "train" && lacking.iter().any(|arg| arg.contains("--data"));
    let has_epochs = args.iter().any(|arg| arg == "--epochs" || arg.starts_with("--epochs="));
    if lacks_data
        && has_epochs
        && let Some(node) = without_inputs(args)
    {
        return Some(vec![format!(
            "`--epochs` is for training with data, and node `{node}` has no inputs: write `--windows 100` in its place"
        )]);
    }
    lacks_data.then(|| {
        vec![
            "give data for the inputs of the node: `--data FILE`".to_owned(),
            "a node without inputs is trained for a number of windows: `--windows 100`".to_owned(),
        ]
    })
}
