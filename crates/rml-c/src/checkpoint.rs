//! Checkpoints as bytes: the functions that write states into an array, and read them from one.

use rml_ir::{DType, Precision, Type};
use rml_plan::Reg;

use crate::function::{Function, Places};
use crate::loops::Base;
use crate::scope::{DONE, Scope};

/// The size of a checkpoint in bytes: its header and the states.
pub(crate) fn bytes(scope: &Scope<'_>) -> u64 {
    let one = |(id, flagged): (Reg, bool)| {
        scope.plan.registers[id].ty.bytes(scope.plan.precision) + u64::from(flagged)
    };
    8 + kept(scope).into_iter().map(one).sum::<u64>()
}

/// A hash (FNV-1a) of the names, types and shapes of the states in a checkpoint.
pub(crate) fn fingerprint(scope: &Scope<'_>) -> u64 {
    let mut text = String::new();
    for (id, flagged) in kept(scope) {
        let register = &scope.plan.registers[id];
        text += &format!("{:?} {} {:?} {flagged}\n", register.kind, register.ty, scope.plan.precision);
    }
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The registers that outlive windows and change, and whether each may be unset.
fn kept(scope: &Scope<'_>) -> Vec<(Reg, bool)> {
    let registers = scope.registers.iter_enumerated().filter(|(_, r)| !r.fixed && !r.local);
    registers.map(|(id, r)| (id, r.flagged)).collect()
}

/// The functions `save` and `load`.
pub(crate) fn functions(scope: &Scope<'_>) -> String {
    let (name, upper) = (&scope.name, scope.name.to_uppercase());
    let mut save = Function::new(scope, DONE);
    let mut load = Function::new(scope, DONE);
    let (put, get) = (scope.scalars.function("rml_put"), scope.scalars.function("rml_get"));
    save.lines.line(format!("bytes = {put}(bytes, {upper}_FINGERPRINT, 8);"));
    load.lines.open(format!("if ({get}(&bytes, 8) != {upper}_FINGERPRINT)"));
    load.lines.line("return false;");
    load.lines.close();
    for (id, flagged) in kept(scope) {
        let ty = &scope.plan.registers[id].ty;
        let (bits, value, size) = coded(scope, ty);
        each(&mut save, (&scope.kept(id), ty), &|x| format!("bytes = {put}(bytes, {}, {size});", bits(x)));
        if scope.rings[id].is_some() {
            load.lines.line(format!("state->{}_at = 0;", scope.registers[id].name));
        }
        each(&mut load, (&scope.state(id), ty), &|x| {
            format!("{x} = {};", value(&format!("{get}(&bytes, {size})")))
        });
        if flagged {
            let flag = format!("state->{}_set", scope.registers[id].name);
            save.lines.line(format!("bytes = {put}(bytes, {flag}, 1);"));
            load.lines.line(format!("{flag} = {get}(&bytes, 1) != 0;"));
        }
    }
    load.lines.line("return true;");
    let save = save
        .written(&format!("void {name}_save(const {name}_state *state, uint8_t *bytes)"), &["(void)state;"]);
    let load = load
        .written(&format!("bool {name}_load({name}_state *state, const uint8_t *bytes)"), &["(void)state;"]);
    save.text(scope, &Places::nowhere()).0 + "\n" + &load.text(scope, &Places::nowhere()).0
}

/// One line for each element.
fn each(f: &mut Function<'_>, (place, ty): (&Base, &Type), line: &dyn Fn(&str) -> String) {
    let n = ty.shape.len();
    if n == 0 {
        return;
    }
    let looped = f.lines.over("i", n);
    f.lines.line(line(&place.at(if looped { "i" } else { "0" })));
    f.lines.close_all(usize::from(looped));
}

type Text = Box<dyn Fn(&str) -> String>;

/// C text that converts an element to bits and back, and the number of bytes of an element.
fn coded(scope: &Scope<'_>, ty: &Type) -> (Text, Text, usize) {
    let size = ty.dtype.size(scope.plan.precision);
    match ty.dtype {
        DType::Bool => (Box::new(str::to_owned), Box::new(|bits| format!("{bits} != 0")), size),
        DType::Int => {
            (Box::new(|x| format!("(uint64_t){x}")), Box::new(|bits| format!("(int64_t){bits}")), size)
        }
        DType::Num => {
            if !ty.shape.is_empty() {
                scope.scalars.function("rml_bits");
            }
            let narrow = if scope.plan.precision == Precision::F32 { "(uint32_t)" } else { "" };
            (
                Box::new(|x| format!("rml_bits({x})")),
                Box::new(move |bits| format!("rml_of_bits({narrow}{bits})")),
                size,
            )
        }
    }
}
