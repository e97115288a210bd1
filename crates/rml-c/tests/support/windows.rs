//! Runs windows of a plan on the embedded backend, and the same windows in C: all bits of outputs and states are
//! compared.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rml_backend_cpu::plan::Machine;
use rml_c::{Exported, Math, Options, export};
use rml_ir::{Data, Precision, Value};
use rml_plan::reference::Cells;
use rml_plan::{Ends, Lifetime, Plan, Register};

/// The results of a run: for each window its number of cycles, how many of them were finished, and the outputs of
/// these; and the final states.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) windows: Vec<(usize, usize)>,
    pub(crate) outputs: Vec<Vec<Option<Value>>>,
    pub(crate) states: Vec<(Arc<str>, Value)>,
}

/// Runs the first windows of a plan on the embedded backend: at most `most` windows, with the given number of cycles if
/// there are no inputs.
pub(crate) fn ran(plan: &Arc<Plan>, inputs: &[Cells], (most, cycles): (usize, usize)) -> Ran {
    let mut machine = Machine::<f32>::new(Arc::clone(plan)).expect("there is memory");
    let (mut ran, mut from) = (Ran::default(), 0);
    let cycles = inputs.first().map_or(cycles, Vec::len);
    while ran.windows.len() < most
        && let Some((ticks, done)) = window(&mut machine, plan, inputs, (from, cycles - from))
    {
        let cells = |t: usize| (0..plan.outputs.len()).map(|i| machine.output(i, t)).collect();
        ran.outputs.extend((0..done).map(cells));
        ran.windows.push((ticks, done));
        from += done;
    }
    let of_register = |(i, register): (usize, &Register)| match &register.kind {
        Lifetime::State { key, .. } => Some((Arc::clone(key), machine.register(i)?)),
        Lifetime::Local | Lifetime::Hidden => None,
    };
    ran.states = plan.registers.iter().enumerate().filter_map(of_register).collect();
    ran
}

/// The next window of the embedded backend: its number of cycles, and how many of them are finished.
fn window(
    machine: &mut Machine<f32>,
    plan: &Plan,
    inputs: &[Cells],
    (from, left): (usize, usize),
) -> Option<(usize, usize)> {
    let set = |machine: &mut Machine<f32>, ticks: usize| {
        for (i, column) in inputs.iter().enumerate() {
            for (t, value) in column[from..from + ticks].iter().enumerate() {
                value.iter().for_each(|value| machine.set_input(i, ticks, t, value));
            }
        }
    };
    let ticks = match &plan.ends {
        Ends::Nothing => Some(plan.ahead() as usize + 1).filter(|ticks| *ticks <= left),
        Ends::Given(ends) => (1..=left).find(|ticks| {
            let at = |input: u32| inputs[input as usize][from + ticks - 1].as_ref().and_then(Value::as_bool);
            ends.iter().any(|(input, value)| at(*input) == Some(*value))
        }),
        Ends::Found { .. } => {
            set(machine, left);
            let found = machine.find(left).expect("operators have results");
            machine.abandon();
            found
        }
    }?;
    set(machine, ticks);
    if let Ends::Found { .. } = plan.ends {
        machine.find(ticks).expect("operators have results");
    }
    Some((ticks, machine.window(ticks).expect("operators have results")))
}

/// Runs the same windows in C.
pub(crate) fn same_in_c(plan: &Plan, inputs: &[Cells], ran: &Ran) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.path().join(name), bytes).map_err(|e| format!("{name}: {e}"))
    };
    let cycles = ran.windows.iter().map(|(ticks, _)| *ticks).max().unwrap_or(1);
    let of = |name: &str, states: &[(Arc<str>, Value)]| {
        let options = Options { name: name.to_owned(), cycles, math: Math::Own, note: "A test.".to_owned() };
        let start = |key: &str| states.iter().find(|(k, _)| **k == *key).map(|(_, value)| value.clone());
        let exported = export(plan, &start, &options).map_err(|why| format!("{why:?}"))?;
        write(&format!("{name}.h"), exported.header.as_bytes())?;
        write(&format!("{name}.c"), exported.source.as_bytes())?;
        Ok::<Exported, String>(exported)
    };
    let exported = of("p", &[])?;
    of("q", &ran.states)?;
    let all = ran.windows.iter().map(|(_, done)| *done).sum::<usize>() + plan.ahead() as usize;
    let mut bytes = Vec::new();
    for t in 0..all {
        for ((_, ty), column) in plan.inputs.iter().zip(inputs) {
            let zeros = || vec![0; ty.bytes(plan.precision) as usize];
            bytes.extend(column[t].as_ref().map_or_else(zeros, |value| elements(value, plan.precision)));
        }
    }
    write("in", &bytes)?;
    write("main.c", main(plan, &exported, ran, all).as_bytes())?;
    // The test `programs` searches for errors with sanitizers in fewer cycles of the same nodes.
    build(folder.path(), &["-O1", "-march=native"], &["p.c", "main.c"])?;
    build(folder.path(), &["-O0"], &["q.c"])?;
    shell(folder.path(), "cc", &["p.o", "main.o", "q.o", "-o", "p", "-lm"])?;
    shell(folder.path(), "./p", &[])?;
    let got = std::fs::read(folder.path().join("out")).map_err(|e| e.to_string())?;
    outputs(plan, ran, &got)
}

fn build(folder: &Path, level: &[&str], files: &[&str]) -> Result<(), String> {
    shell(folder, "cc", &[super::STRICT, &["-c"], level, files].concat())
}

fn shell(folder: &Path, program: &str, args: &[&str]) -> Result<(), String> {
    let program = if program.starts_with('.') { folder.join(program) } else { program.into() };
    let ran = Command::new(program).args(args).current_dir(folder).output().map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&ran.stderr).into_owned() + &String::from_utf8_lossy(&ran.stdout);
    if ran.status.success() { Ok(()) } else { Err(format!("{args:?}: {} {text}", ran.status)) }
}

/// The bytes of the elements, in the byte order of the machine.
fn elements(value: &Value, precision: Precision) -> Vec<u8> {
    match value.to_precision(precision).to_data() {
        Data::Bool(v) => v.iter().map(|x| u8::from(*x)).collect(),
        Data::Int(v) => v.iter().flat_map(|x| x.to_ne_bytes()).collect(),
        Data::F32(v) => v.iter().flat_map(|x| x.to_ne_bytes()).collect(),
        Data::F64(v) => v.iter().flat_map(|x| x.to_ne_bytes()).collect(),
    }
}

/// Compares the written bytes with the outputs.
fn outputs(plan: &Plan, ran: &Ran, got: &[u8]) -> Result<(), String> {
    let mut rest = got;
    for (t, row) in ran.outputs.iter().enumerate() {
        for (output, cell) in plan.outputs.iter().zip(row) {
            let wanted = match cell {
                None => vec![0],
                Some(value) => [vec![1], elements(value, plan.precision)].concat(),
            };
            let (own, behind) = rest.split_at_checked(wanted.len()).ok_or("outputs are missing")?;
            if own != wanted {
                return Err(format!("`{}` in cycle {t} is {own:?}, not {wanted:?}", output.name));
            }
            rest = behind;
        }
    }
    if rest.is_empty() { Ok(()) } else { Err(format!("{} bytes too many", rest.len())) }
}

/// Runs the windows, each after a call with too few of its cycles, and compares the final states.
fn main(plan: &Plan, exported: &Exported, ran: &Ran, cycles: usize) -> String {
    let (mut read, mut write) = (String::new(), String::new());
    for ((_, ty), name) in
        plan.inputs.iter().zip(&exported.inputs).filter(|((_, ty), _)| !ty.shape.is_empty())
    {
        let _ =
            writeln!(read, "if (fread(&in[t].{name}, {}, 1, from) != 1) return 2;", ty.bytes(plan.precision));
    }
    for (output, name) in plan.outputs.iter().zip(&exported.outputs) {
        let flag =
            if super::text_has_flag(output) { format!("out[t].{name}_present") } else { "true".to_owned() };
        let n = output.ty.bytes(plan.precision);
        let _ = writeln!(
            write,
            "fputc({flag}, to);\nif ({flag} && fwrite(&out[t].{name}, 1, {n}, to) != {n}) return 3;"
        );
    }
    let n = ran.windows.len();
    let lengths: Vec<String> =
        ran.windows.iter().map(|(ticks, done)| format!("{{{ticks}, {done}}}")).collect();
    let short = if plan.ends == Ends::Nothing { "false" } else { "true" };
    format!(
        "#include \"p.h\"
#include \"q.h\"
#include <stdio.h>
#include <string.h>
static p_state state, before;
static p_work work;
static q_state wanted;
static p_in in[{cycles}];
static p_out out[P_CYCLES];
static uint8_t bytes[P_CHECKPOINT_BYTES], others[Q_CHECKPOINT_BYTES];
static const int windows[{n}][2] = {{{}}};
int main(void) {{
    FILE *from = fopen(\"in\", \"rb\"), *to = fopen(\"out\", \"wb\");
    const p_in *next = in;
    long differ = 0;
    if (!from || !to) return 1;
    for (int t = 0; t < {cycles}; t++) {{
        (void)t;
{read}    }}
    memset(&state, 0, sizeof state);
    p_start(&state);
    for (int i = 0; i < {n}; i++) {{
        before = state;
        if ({short} && p_run(&state, &work, next, windows[i][0] - 1, out) != 0) return 4;
        if (memcmp(&before, &state, sizeof state) != 0) return 5;
        if (p_run(&state, &work, next, windows[i][0], out) != windows[i][1]) return 6;
        for (int t = 0; t < windows[i][1]; t++) {{
{write}        }}
        next += windows[i][1];
    }}
    p_save(&state, bytes);
    memset(&wanted, 0, sizeof wanted);
    q_start(&wanted);
    q_save(&wanted, others);
    if (P_FINGERPRINT != Q_FINGERPRINT) return 7;
    for (long i = 0; i < P_CHECKPOINT_BYTES; i++) differ += bytes[i] != others[i];
    printf(\"%ld of %ld bytes of the states differ\\n\", differ, (long)P_CHECKPOINT_BYTES);
    fclose(from);
    return fclose(to) != 0 || differ > 0 ? 8 : 0;
}}
",
        lengths.join(", ")
    )
}
