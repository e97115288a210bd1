//! Compares programs in C with the plans that they are made from.

#![allow(dead_code, reason = "each test uses a part of this")]

pub(crate) mod windows;

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rml_c::{Exported, Math, Options, export};
use rml_ir::op::EvalError;
use rml_ir::{DType, Data, Precision, Value};
use rml_plan::reference::{Cells, Fault, Machine};
use rml_plan::{Ends, Plan};

/// The flags of all builds.
pub(crate) const STRICT: &[&str] = &[
    "-std=c99",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wconversion",
    "-Wshadow",
    "-Werror",
    "-ffp-contract=off",
];

/// A compiler, its flags, and the command that runs the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Build {
    compiler: &'static str,
    flags: &'static [&'static str],
    under: &'static [&'static str],
}

/// The build that detects the most errors.
const SANITIZED: Build =
    Build { compiler: "cc", flags: &["-fsanitize=undefined,address", "-fno-sanitize-recover"], under: &[] };

/// Builds that differ in whether the processor fuses operations; with `RML_TEST_C` also builds with other compilers and
/// tools.
pub(crate) fn builds() -> Vec<Build> {
    let build = |compiler, flags| Build { compiler, flags, under: &[] };
    let mut all = vec![SANITIZED, build("cc", &["-O3", "-march=native"])];
    if std::env::var_os("RML_TEST_C").is_some() {
        all.push(build("gcc", &["-Os"]));
        all.push(build("clang", &["-O2"]));
        all.push(build("clang", &["-O3", "-march=native"]));
        let under =
            &["valgrind", "--quiet", "--error-exitcode=9", "--exit-on-first-error=yes", "--leak-check=full"];
        all.push(Build { compiler: "gcc", flags: &["-O1", "-g"], under });
    }
    all
}

/// The required precision of numbers.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Close {
    /// The same bits, up to the signs of zeros.
    Bits,
    /// Up to the order of sums and the last bits of functions.
    Nearly,
}

/// The code of the first assertion if it is violated; the codes of the others are lower.
const FIRST_ASSERTION: i32 = -4;

/// As [`compare_in`], in the build that detects the most errors.
pub(crate) fn compare(
    plan: &Plan,
    columns: &[Cells],
    (cycles, most): (usize, usize),
    close: Close,
) -> Result<usize, String> {
    compare_in(&[SANITIZED], plan, columns, (cycles, most), close)
}

/// Runs a plan and its C over these cycles; a call of the C runs at most `most`. Both must stop at the first window in
/// which an operator fails. Returns the number of compared cycles.
pub(crate) fn compare_in(
    builds: &[Build],
    plan: &Plan,
    columns: &[Cells],
    (cycles, most): (usize, usize),
    close: Close,
) -> Result<usize, String> {
    // A call without the end of a window is an error, so the buffer of a call has room for one more cycle.
    let most = most + usize::from(plan.ends != Ends::Nothing);
    let options = Options { name: "p".to_owned(), cycles: most, math: Math::Own, note: "A test.".to_owned() };
    let exported = export(plan, &|_| None, &options).map_err(|why| format!("{why:?}"))?;
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let write =
        |name: &str, text: &str| std::fs::write(folder.path().join(name), text).map_err(|e| e.to_string());
    write("p.h", &exported.header)?;
    write("p.c", &exported.source)?;
    write("main.c", &main(plan, &exported, columns, (cycles, most)))?;
    let (wanted, error) = wanted(plan, columns, cycles, most)?;
    in_cpp(folder.path())?;
    let mut compared = 0;
    for build in builds {
        let got = run(folder.path(), *build)?;
        compared = lines_are(plan, &exported, (&wanted, error), &got, close)
            .map_err(|why| format!("{build:?}: {why}"))?;
    }
    Ok(compared)
}

/// Compares the printed lines with the expected outputs.
fn lines_are(
    plan: &Plan,
    exported: &Exported,
    (wanted, error): (&[Vec<Option<Value>>], Option<&str>),
    got: &str,
    close: Close,
) -> Result<usize, String> {
    let (mut got, mut lines) = (got.lines(), 0);
    for (t, cells) in wanted.iter().enumerate() {
        for (output, cell) in plan.outputs.iter().zip(cells) {
            let line = got.next().ok_or_else(|| format!("cycle {t} is missing\n{}", exported.source))?;
            if !same(line, cell.as_ref(), plan.precision, close) {
                return Err(format!(
                    "{} is {line:?} in cycle {t}, not {cell:?}\n{}",
                    output.name, exported.source
                ));
            }
            lines += 1;
        }
    }
    match got.next() {
        more if more == error => Ok(wanted.len().min(lines)),
        more => Err(format!("{more:?} stands at the end, not {error:?}\n{}", exported.source)),
    }
}

/// Compiles the header as C++, with each installed compiler.
fn in_cpp(folder: &Path) -> Result<(), String> {
    for compiler in ["g++", "clang++"] {
        let flags =
            ["-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-x", "c++", "p.h"];
        let Ok(built) = Command::new(compiler).args(flags).current_dir(folder).output() else { continue };
        if !built.status.success() {
            return Err(format!("{compiler}: {}", String::from_utf8_lossy(&built.stderr)));
        }
    }
    Ok(())
}

fn run(folder: &Path, Build { compiler, flags, under }: Build) -> Result<String, String> {
    let built = Command::new(compiler)
        .args(STRICT)
        .args(flags)
        .args(["p.c", "main.c", "-o", "p", "-lm"])
        .current_dir(folder)
        .output();
    let built = built.map_err(|e| format!("there is no C compiler: {e}"))?;
    let source = || std::fs::read_to_string(folder.join("p.c")).unwrap_or_default();
    if !built.status.success() {
        return Err(format!("{}\n{}", String::from_utf8_lossy(&built.stderr), source()));
    }
    let program = folder.join("p");
    let mut ran = match under {
        [] => Command::new(&program),
        [tool, args @ ..] => {
            let mut command = Command::new(tool);
            command.args(args).arg(&program);
            command
        }
    };
    let ran = ran.output().map_err(|e| format!("{under:?}: {e}"))?;
    if !ran.status.success() {
        return Err(format!("{}\n{}", String::from_utf8_lossy(&ran.stderr), source()));
    }
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}

/// Rows of outputs, and the line of the error that ends them.
type Wanted = (Vec<Vec<Option<Value>>>, Option<&'static str>);

/// The outputs of a plan at the finished cycles, in the same calls.
fn wanted(plan: &Plan, columns: &[Cells], cycles: usize, most: usize) -> Result<Wanted, String> {
    let mut machine = Machine::new(Arc::new(plan.clone()));
    let (mut from, mut rows) = (0, Vec::new());
    while from < cycles {
        let rest = match plan.ends {
            Ends::Nothing => (cycles - from).min(most),
            _ => cycles - from,
        };
        let columns: Vec<Cells> = columns.iter().map(|c| c[from..from + rest].to_vec()).collect();
        let found = match machine.length(rest, &columns) {
            Ok(None) => break,
            Ok(Some(ticks)) => {
                let columns: Vec<Cells> = columns.iter().map(|c| c[..ticks].to_vec()).collect();
                machine.window(ticks, &columns)
            }
            Err(fault) => Err(fault),
        };
        let (outputs, done) = match found {
            Ok(found) => found,
            Err(Fault::Operator { error: EvalError::IntegerOverflow, .. }) => {
                return Ok((rows, Some("error")));
            }
            Err(Fault::Operator { error: EvalError::PositionOutside { .. }, .. }) => {
                return Ok((rows, Some("error")));
            }
            Err(fault) => return Err(format!("{fault:?}")),
        };
        rows.extend((0..done).map(|t| outputs.iter().map(|column| column[t].clone()).collect()));
        from += done;
    }
    Ok((rows, None))
}

fn main(plan: &Plan, exported: &Exported, columns: &[Cells], (cycles, most): (usize, usize)) -> String {
    let mut text = String::from(
        "#include \"p.h\"\n#include <inttypes.h>\n#include <math.h>\n#include <stdio.h>\n#include <string.h>\n",
    );
    for warning in ["-Wmissing-braces", "-Wmissing-field-initializers"] {
        let _ = writeln!(text, "#pragma GCC diagnostic ignored \"{warning}\"");
    }
    text += "static p_state state, other; static p_work work; static uint8_t bytes[P_CHECKPOINT_BYTES], same[P_CHECKPOINT_BYTES];\n";
    let _ = writeln!(text, "static const p_in in[{cycles}] = {{");
    for t in 0..cycles {
        let given = exported
            .inputs
            .iter()
            .zip(columns)
            .filter_map(|(name, column)| Some((name, column[t].as_ref()?)));
        let fields = given.filter(|(_, value)| !value.shape().is_empty());
        let fields: Vec<String> =
            fields.map(|(name, value)| format!(".{name} = {}", initialiser(value))).collect();
        let _ = writeln!(text, "{{{}}},", if fields.is_empty() { "0".to_owned() } else { fields.join(", ") });
    }
    let _ = writeln!(
        text,
        "}};\nstatic p_out out[{cycles}];\nint main(void) {{\nlong from = 0, ran = 1;\np_start(&state);"
    );
    let _ = writeln!(text, "while (from < {cycles} && ran > 0) {{");
    // Each call continues from a checkpoint; a checkpoint of another program is refused.
    text += "p_save(&state, bytes);\nif (!p_load(&other, bytes)) return 2;\n";
    text += "bytes[0] ^= 1;\nif (p_load(&state, bytes)) return 3;\nstate = other;\n";
    let _ = writeln!(text, "ran = p_run(&state, &work, in + from, {cycles} - from, out);");
    // A call that runs nothing changes nothing.
    text += "bytes[0] ^= 1;\np_save(&state, same);\nif (ran <= 0 && memcmp(bytes, same, sizeof bytes)) return 4;\n";
    let _ = writeln!(
        text,
        "if (ran == P_OVERFLOW || ran == P_OUTSIDE || ran <= {FIRST_ASSERTION}) {{ puts(\"error\"); return 0; }}\n\
         if (ran < 0) {{ fprintf(stderr, \"error %ld, of {most} at most\\n\", ran); return 1; }}"
    );
    text += "for (long t = 0; t < ran; t++) {\n";
    for (output, name) in plan.outputs.iter().zip(&exported.outputs) {
        let flagged = text_has_flag(output);
        if flagged {
            let _ = writeln!(text, "if (!out[t].{name}_present) puts(\"-\"); else {{");
        }
        let n = output.ty.shape.len();
        let element =
            if output.ty.shape.is_scalar() { format!("out[t].{name}") } else { format!("out[t].{name}[i]") };
        let print = match output.ty.dtype {
            DType::Bool => format!("printf(\"%d \", {element});"),
            DType::Int => format!("printf(\"%\" PRId64 \" \", {element});"),
            DType::Num => format!("printf(\"%.17g \", (double){element});"),
        };
        let _ = writeln!(
            text,
            "for (int i = 0; i < {n}; i++) {{ {print} }} puts(\"\");{}",
            if flagged { "}" } else { "" }
        );
    }
    text + "}\nfrom += ran;\n}\nreturn 0;\n}\n"
}

fn text_has_flag(output: &rml_plan::Output) -> bool {
    let always = output.cases.iter().filter(|(_, when, _)| when.is_empty());
    always.fold(rml_plan::Positions::NONE, |at, (own, ..)| at.or(*own)) != rml_plan::Positions::ALL
}

fn initialiser(value: &Value) -> String {
    let float = |x: f64, finite: String| match x {
        _ if x.is_nan() => "NAN".to_owned(),
        _ if x.is_infinite() => format!("{}INFINITY", if x < 0.0 { "-" } else { "" }),
        _ => finite,
    };
    let elements: Vec<String> = match value.to_data() {
        Data::Bool(v) => v.iter().map(bool::to_string).collect(),
        Data::Int(v) => v
            .iter()
            .map(|x| if *x == i64::MIN { "INT64_MIN".to_owned() } else { format!("INT64_C({x})") })
            .collect(),
        Data::F32(v) => v.iter().map(|x| float(f64::from(*x), format!("{x:?}f"))).collect(),
        Data::F64(v) => v.iter().map(|x| float(*x, format!("{x:?}"))).collect(),
    };
    if value.shape().is_scalar() { elements[0].clone() } else { format!("{{{}}}", elements.join(", ")) }
}

/// Whether a line equals a cell: integers and conditions exactly.
fn same(line: &str, cell: Option<&Value>, precision: Precision, close: Close) -> bool {
    let Some(value) = cell else { return line == "-" };
    let words: Vec<&str> = line.split_whitespace().collect();
    let tolerance = match (close, precision) {
        (Close::Bits, _) => 0.0,
        (_, Precision::F32) => 2e-4,
        _ => 1e-9,
    };
    let close = |word: &str, x: f64| {
        let y: f64 = word.parse().unwrap_or(f64::NAN);
        x.is_nan() && word.contains("nan") || x == y || (x - y).abs() <= tolerance * x.abs().max(1.0)
    };
    words.len() == value.shape().len()
        && match value.to_data() {
            Data::Bool(v) => words.iter().zip(v).all(|(word, x)| *word == if x { "1" } else { "0" }),
            Data::Int(v) => words.iter().zip(v).all(|(word, x)| *word == x.to_string()),
            Data::F32(v) => words.iter().zip(v).all(|(word, x)| close(word, f64::from(x))),
            Data::F64(v) => words.iter().zip(v).all(|(word, x)| close(word, x)),
        }
}
