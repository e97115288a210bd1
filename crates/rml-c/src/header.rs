//! The header file.

use rml_ir::{Positions, Type};
use rml_plan::{Ends, Lifetime, Output, Reg};

use crate::lines::Lines;
use crate::operand::c_type;
use crate::rings::Ring;
use crate::scope::Scope;
use crate::store::{Arrays, DTYPES, Memory, array_name};
use crate::{Options, checkpoint};

/// Text as a comment of one or more lines.
pub(crate) fn comment(text: &str) -> String {
    format!("/* {} */", text.replace("*/", "* /"))
}

/// Whether an output has a field that tells at each cycle whether it is present.
pub(crate) fn is_flagged(output: &Output) -> bool {
    let always = output.cases.iter().filter(|(_, when, _)| when.is_empty());
    always.fold(Positions::NONE, |at, (own, ..)| at.or(*own)) != Positions::ALL
}

/// The text of the header.
pub(crate) fn header(scope: &Scope<'_>, (memory, arrays): (&Memory, &Arrays), options: &Options) -> String {
    let (name, upper) = (&scope.name, scope.name.to_uppercase());
    let mut lines = Lines::default();
    lines.line(comment(&options.note));
    lines
        .line(format!("#ifndef {upper}_H\n#define {upper}_H\n\n#include <stdbool.h>\n#include <stdint.h>\n"));
    lines.line("#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    lines.line("/* The most cycles that a call runs, and how many of these it looks ahead. */");
    lines.line(format!("#define {upper}_CYCLES {}", scope.cycles));
    lines.line(format!("#define {upper}_AHEAD {}\n", scope.plan.ahead()));
    lines.line("/* Bytes of what outlives windows, of the values of a window, and of constants (parameters that nothing changes, and all others that are tables), without what a compiler adds between them. */");
    lines.line(format!("#define {upper}_STATE_BYTES {}", memory.state));
    lines.line(format!("#define {upper}_WORK_BYTES {}", memory.work));
    lines.line(format!("#define {upper}_CONSTANT_BYTES {}\n", memory.constants));
    lines.line("/* What a checkpoint is of, and how many bytes one has. */");
    lines.line(format!("#define {upper}_FINGERPRINT UINT64_C({:#018x})", checkpoint::fingerprint(scope)));
    lines.line(format!("#define {upper}_CHECKPOINT_BYTES {}\n", checkpoint::bytes(scope)));
    lines
        .line("/* What a call gives where it does not give a number of cycles. Then nothing has changed. */");
    lines.line(format!("#define {upper}_OVERFLOW (-1) /* an integer does not fit 64 bits */"));
    lines.line(format!("#define {upper}_OUTSIDE (-2)  /* a position is outside of its axis */"));
    lines.line(format!("#define {upper}_LONG (-3)     /* a window has more than {upper}_CYCLES cycles */"));
    for (k, name) in scope.assertions().enumerate() {
        let says = comment(&format!("this does not hold: {}", rml_base::visible(name)));
        lines.line(format!("#define {upper}_ASSERT_{} (-{}) {says}", k + 1, k + 4));
    }
    lines.line("");
    structs(scope, arrays, &mut lines);
    lines.line("/* Gives states the values that they start with. */");
    lines.line(format!("void {name}_start({name}_state *state);\n"));
    lines.line(format!("/* Writes states as {upper}_CHECKPOINT_BYTES bytes, which are the same on every machine; reads such bytes. Those of a program with other\n   states are refused: it gives false, and nothing has changed. */"));
    lines.line(format!("void {name}_save(const {name}_state *state, uint8_t *bytes);"));
    lines.line(format!("bool {name}_load({name}_state *state, const uint8_t *bytes);\n"));
    lines.line(comment(&meaning(scope, &upper)));
    lines.line(format!(
        "long {name}_run({name}_state *state, {name}_work *work, const {name}_in *in, long cycles, {name}_out *out);\n"
    ));
    lines.line("#ifdef __cplusplus\n}\n#endif\n\n#endif");
    lines.into_text()
}

/// The description of the function that runs this program.
fn meaning(scope: &Scope<'_>, upper: &str) -> String {
    let ahead = scope.plan.ahead();
    let what = match &scope.plan.ends {
        Ends::Nothing if ahead == 0 => {
            format!("Runs cycles, {upper}_CYCLES at most. Gives how many.")
        }
        Ends::Nothing => format!(
            "Runs cycles, {upper}_CYCLES at most, the last {ahead} of which are looked at only: they come again at the front of the next call.\n   Gives how many are done."
        ),
        _ => format!(
            "Runs the next window, if it ends within these cycles. Gives how many cycles it has; 0 if it does not end, so that more are needed.\n   A window has {upper}_CYCLES cycles at most."
        ),
    };
    format!(
        "{what} `out` has room for as many, and none of these is part of another one. `work` need not outlive a call."
    )
}

/// The explanation of the comments after fields.
const NAMES: &str =
    "A field is called as in the program, except where a comment gives the name that it has there.";

/// A field, with a comment on the shape in the program and, if it differs, the name in the program.
fn field(scope: &Scope<'_>, name: &str, of: &str, ty: &Type) -> String {
    let shape = if ty.shape.is_scalar() { String::new() } else { ty.shape.to_string() };
    let says = match (name == of, shape.is_empty()) {
        (true, true) => String::new(),
        (true, false) => format!(" /* {shape} */"),
        (false, true) => format!(" /* {of} */"),
        (false, false) => format!(" /* {of}: {shape} */"),
    };
    let len = if ty.shape.is_scalar() { String::new() } else { format!("[{}]", ty.shape.len().max(1)) };
    format!("    {} {name}{len};{says}", c_type(ty.dtype, scope.plan.precision))
}

/// The fields of a register that slides.
fn ring_fields(
    scope: &Scope<'_>,
    (id, ring): (Reg, &Ring),
    (state, work): (&mut Vec<String>, &mut Vec<String>),
) {
    let (name, register) = (&scope.registers[id].name, &scope.plan.registers[id]);
    let of = if let Lifetime::State { key, .. } = &register.kind { key } else { name.as_str() };
    let ty = c_type(register.ty.dtype, scope.plan.precision);
    let shape = &register.ty.shape;
    state.push(format!("    {ty} {name}[{}]; /* {of}: {shape}, from the position below on */", ring.room));
    state.push(format!("    int32_t {name}_at;"));
    if ring.is_guarded() {
        work.push(format!("    int32_t {name}_at[{}];", scope.cycles + 1));
    }
}

fn structs(scope: &Scope<'_>, arrays: &Arrays, lines: &mut Lines) {
    let precision = scope.plan.precision;
    let field = |name: &str, of: &str, ty: &Type| field(scope, name, of, ty);
    let (mut state, mut work) = (Vec::new(), Vec::new());
    for (id, r) in scope.registers.iter_enumerated().filter(|(_, r)| !r.fixed) {
        let register = &scope.plan.registers[id];
        if let Some(ring) = &scope.rings[id] {
            ring_fields(scope, (id, ring), (&mut state, &mut work));
            continue;
        }
        let add = |to: &mut Vec<String>, name: &str| {
            let of = if let Lifetime::State { key, .. } = &register.kind { key } else { name };
            to.push(field(name, of, &register.ty));
            if r.flagged {
                to.push(format!("    bool {name}_set;"));
            }
        };
        if !r.local {
            add(&mut state, &r.name);
        }
        if r.looped {
            add(&mut work, &r.name);
            if scope.plan.ahead() > 0 && !r.local {
                add(&mut work, &format!("{}_done", r.name));
            }
        }
    }
    for (dtype, len) in DTYPES.into_iter().zip(arrays.lens).filter(|(_, len)| *len > 0) {
        work.push(format!("    {} {}[{len}];", c_type(dtype, precision), array_name(dtype)));
    }
    let inputs = scope.plan.inputs.iter().zip(&scope.inputs);
    let inputs = inputs.map(|((of, ty), name)| field(name, of, ty)).collect();
    let mut outputs = Vec::new();
    for (output, name) in scope.plan.outputs.iter().zip(&scope.outputs) {
        outputs.push(field(name, &output.name, &output.ty));
        if is_flagged(output) {
            outputs.push(format!("    bool {name}_present;"));
        }
    }
    let all = [
        ("state", "What outlives windows. It may be copied, kept, and put back between calls.", state),
        ("work", "The values of a window.", work),
        ("in", &format!("The inputs of a cycle; what is absent may be anything. {NAMES}"), inputs),
        ("out", &format!("The outputs of a cycle. {NAMES}"), outputs),
    ];
    for (kind, what, mut fields) in all {
        if fields.is_empty() {
            fields.push("    char none; /* nothing */".to_owned());
        }
        lines.line(comment(what));
        lines.line("typedef struct {");
        fields.iter().for_each(|field| lines.line(field));
        lines.line(format!("}} {}_{kind};\n", scope.name));
    }
}
