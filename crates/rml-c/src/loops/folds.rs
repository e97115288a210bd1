//! Folds in C, for many adjacent rows.

use rml_ir::DType;
use rml_nest::{Dim, Fold};

use super::CDialect;

/// The number of partial results of a point.
pub(super) fn parts(by: Fold, n: usize) -> usize {
    if by == Fold::Lanes { n.clamp(1, 16) } else { 1 }
}

/// Declares partial results with their start values.
pub(super) fn begin(by: Fold, dtype: DType, name: &str, points: usize, n: usize) -> Vec<String> {
    let int = dtype == DType::Int;
    let first = match by {
        // Each lane is set by its only term.
        Fold::Lanes if (1..=16).contains(&n) => return Vec::new(),
        Fold::Lanes | Fold::Serial | Fold::Any => "0",
        Fold::Product | Fold::All => "1",
        Fold::Largest | Fold::LargestAt if int => "INT64_MIN",
        Fold::Smallest | Fold::SmallestAt if int => "INT64_MAX",
        Fold::Largest | Fold::LargestAt => "-RML_INFINITY",
        Fold::Smallest | Fold::SmallestAt => "RML_INFINITY",
    };
    let set = |name: &str, to: &str| format!("for (long i = 0; i < {points}; i++) {{ {name}[i] = {to}; }}");
    match by {
        Fold::LargestAt | Fold::SmallestAt => vec![set(name, "0"), set(&format!("{name}_best"), first)],
        Fold::Lanes | Fold::Serial | Fold::Product | Fold::Any | Fold::All => vec![set(name, first)],
        Fold::Largest | Fold::Smallest => vec![set(name, first)],
    }
}

/// Adds a term of one point.
#[allow(clippy::too_many_arguments, reason = "all of them are text or sizes of one line")]
pub(super) fn term(
    by: Fold,
    dtype: DType,
    name: &str,
    at: &str,
    points: usize,
    (dim, n): (Dim, usize),
    x: &str,
    dialect: &dyn CDialect,
) -> Vec<String> {
    let than = if matches!(by, Fold::Largest | Fold::LargestAt) { ">" } else { "<" };
    let beats = |best: &str| match dtype {
        DType::Int => format!("x {than} {best}"),
        DType::Num | DType::Bool => format!("(x {than} {best}) | ((x != x) & ({best} == {best}))"),
    };
    let ty = dialect.variable(dtype);
    match by {
        // A lane begins with 0, so a negative zero becomes positive.
        Fold::Lanes if n <= 16 => vec![format!("{name}[{dim} * {points} + {at}] = {x} + 0;")],
        Fold::Lanes => vec![format!("{name}[({dim} & 15) * {points} + {at}] += {x};")],
        Fold::Serial => {
            vec![format!(
                "{name}[{at}] = {}({name}[{at}], {x}, &bad);",
                dialect.scalars().function("rml_add")
            )]
        }
        Fold::Product => vec![format!("{name}[{at}] *= {x};")],
        Fold::Any => vec![format!("{name}[{at}] |= {x};")],
        Fold::All => vec![format!("{name}[{at}] &= {x};")],
        Fold::Largest | Fold::Smallest => {
            let best = format!("{name}[{at}]");
            vec![format!("{{ const {ty} x = {x}, y = {best}; {best} = {} ? x : y; }}", beats("y"))]
        }
        Fold::LargestAt | Fold::SmallestAt => {
            let best = format!("{name}_best[{at}]");
            vec![format!(
                "{{ const {ty} x = {x}; if ({}) {{ {best} = x; {name}[{at}] = {dim}; }} }}",
                beats(&best)
            )]
        }
    }
}

/// Adds lanes pair by pair.
pub(super) fn end(by: Fold, name: &str, points: usize, n: usize) -> Vec<String> {
    let parts = parts(by, n);
    let mut lines = Vec::new();
    for half in [8, 4, 2, 1] {
        let pairs = parts.saturating_sub(half).min(half);
        if by == Fold::Lanes && pairs > 0 {
            lines.push(format!(
                "for (long i = 0; i < {}; i++) {{ {name}[i] += {name}[{} + i]; }}",
                pairs * points,
                half * points
            ));
        }
    }
    lines
}
