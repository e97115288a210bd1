//! `rml new`: a folder with a program that runs, data for it, and a page with the commands.

use std::fmt::Write as _;
use std::path::Path;

use rml::Diagnostic;
use rml::codes::run::{BAD_OPTION, UNWRITABLE_FILE};

use crate::args::{New, Template};
use crate::output::{Output, Stop};

/// The files of a new folder.
struct Content {
    program: String,
    page: &'static str,
    /// The name and the content of the data file.
    data: Option<(&'static str, String)>,
}

/// Makes a folder.
pub(crate) fn new(args: &New, output: &mut Output) -> Result<(), Stop> {
    let name = name(&args.path)?;
    if args.path.symlink_metadata().is_ok() {
        let what = format!("{} exists already", args.path.display());
        return Err(Diagnostic::error(UNWRITABLE_FILE, what).help("choose a name that is free").into());
    }
    rml::create_folder(&args.path)?;
    let content = content(args.template);
    let named = |text: &str| text.replace("{name}", name);
    let write = |file: &str, text: &str| rml::write_output(&args.path.join(file), text.as_bytes());
    write(&format!("{name}.rml"), &named(&content.program))?;
    write("README.md", &named(content.page))?;
    if let Some((file, text)) = &content.data {
        write(file, text)?;
    }
    let shown = args.path.display();
    output.print(&format!("{shown}: made; {shown}/README.md says what to do next\n"))
}

/// The name of the program.
fn name(path: &Path) -> Result<&str, Stop> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !name.chars().all(is_plain) {
        let d =
            Diagnostic::error(BAD_OPTION, format!("`{}` cannot be the name of a program", path.display()));
        return Err(d
            .help("names are made of letters, digits, `-` and `_`, and begin with a letter or digit")
            .into());
    }
    Ok(name)
}

fn content(template: Template) -> Content {
    match template {
        Template::Lstm => Content {
            program: include_str!("../../templates/lstm/program.rml").to_owned(),
            page: include_str!("../../templates/lstm/README.md"),
            data: Some(("sequences.jsonl", sequences())),
        },
        Template::Forecast => Content {
            program: include_str!("../../templates/forecast/program.rml").to_owned(),
            page: include_str!("../../templates/forecast/README.md"),
            data: Some(("series.jsonl", series())),
        },
        Template::Rl => {
            Content { program: cartpole(), page: include_str!("../../templates/rl/README.md"), data: None }
        }
        Template::Stream => Content {
            program: include_str!("../../templates/stream/program.rml").to_owned(),
            page: include_str!("../../templates/stream/README.md"),
            data: Some(("signal.jsonl", signal())),
        },
    }
}

/// The example, with another comment.
fn cartpole() -> String {
    let example = include_str!("../../../../examples/cartpole.rml");
    let program = example.find("\nimport").map_or(example, |at| &example[at..]);
    format!("(* {{name}}: an actor-critic balances poles on carts. *)\n{program}")
}

/// A deterministic sequence of numbers between -1 and 1 that look random.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / f64::from(1_u32 << 30) - 1.0
    }
}

fn joined(numbers: impl Iterator<Item = f64>) -> String {
    numbers.map(|x| format!("{x:.3}")).collect::<Vec<_>>().join(", ")
}

/// Waves of two lengths, with noise.
fn sequences() -> String {
    let mut noise = Noise(1);
    let mut text = String::new();
    for i in 0..240 {
        let (kind, phase) = (i % 2, 3.0 * noise.next());
        let step = if kind == 0 { 0.5 } else { 0.8 };
        let wave = (0..20).map(|t| (phase + step * f64::from(t)).sin() + 0.3 * noise.next());
        let _ = writeln!(text, "{{\"x\": [{}], \"kind\": {kind}}}", joined(wave));
    }
    text
}

/// A sum of waves, with a little noise.
fn series() -> String {
    let mut noise = Noise(2);
    let mut text = String::new();
    for window in 0..40 {
        let times = (50 * window..50 * window + 50).map(f64::from);
        let x = times.map(|t| (0.31 * t).sin() + 0.5 * (0.83 * t).sin() + 0.02 * noise.next());
        let _ = writeln!(text, "{{\"x\": [{}]}}", joined(x));
    }
    text
}

/// A wave with one value that is wrong.
fn signal() -> String {
    let mut noise = Noise(3);
    let mut text = String::new();
    for t in 1..=1000 {
        let wrong = if t == 800 { 2.0 } else { 0.0 };
        let x = (0.2 * f64::from(t)).sin() + 0.02 * noise.next() + wrong;
        let _ = writeln!(text, "{{\"x\": {x:.4}}}");
    }
    text
}
