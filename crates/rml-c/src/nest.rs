//! Loops over the axes of tensors.

use rml_ir::DType;

use crate::function::Function;

/// `to += value;`
pub(crate) fn plus(f: &Function<'_>, dtype: DType, to: &str, value: &str) -> String {
    match dtype {
        DType::Int => format!("{to} = {}({value}, {to}, &bad);", f.scope.prelude.helper("rml_add")),
        _ => format!("{to} += {value};"),
    }
}

pub(crate) fn indices(n: usize) -> Vec<String> {
    (0..n).map(|i| format!("i{i}")).collect()
}

/// Loops over some axes, and what runs in them.
pub(crate) fn nest(f: &mut Function<'_>, dims: &[usize], lines: &[String]) {
    let sizes: Vec<(String, usize)> = indices(dims.len()).into_iter().zip(dims.iter().copied()).collect();
    let depth = f.lines.nest(&sizes);
    lines.iter().for_each(|line| f.lines.line(line));
    f.lines.close_all(depth);
    f.check(&lines.concat());
}
