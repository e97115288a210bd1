//! Folds in C: of a row, and of many rows side by side.

use rml_c::Scalars;
use rml_ir::DType;
use rml_nest::{Dim, Fold};

/// Functions that fold a row of `n` terms, which are `apart` elements apart.
pub(super) const ROWS: &str = "
/* The largest (smallest) number of a row: NaN beats all numbers, and the first among equals stays. */
#define ROW_BEST(name, than, worst) \\
static inline num name(const num *x, const long n, const long apart) { \\
    num best[16]; \\
    int odd[16]; \\
    for (long l = 0; l < 16; l++) { best[l] = worst; odd[l] = 0; } \\
    long i = 0; \\
    for (; i + 16 <= n; i += 16) { \\
        for (long l = 0; l < 16; l++) { \\
            const num y = x[(i + l) * apart]; \\
            best[l] = y than best[l] ? y : best[l]; \\
            odd[l] |= y != y; \\
        } \\
    } \\
    for (long l = 0; i + l < n; l++) { \\
        const num y = x[(i + l) * apart]; \\
        best[l] = y than best[l] ? y : best[l]; \\
        odd[l] |= y != y; \\
    } \\
    for (long half = 8; half > 0; half /= 2) { \\
        for (long l = 0; l < half; l++) { \\
            best[l] = best[l + half] than best[l] ? best[l + half] : best[l]; \\
            odd[l] |= odd[l + half]; \\
        } \\
    } \\
    if (odd[0]) { \\
        for (i = 0; x[i * apart] == x[i * apart]; i++) { } \\
        return x[i * apart]; \\
    } \\
    if (best[0] == 0) { \\
        for (i = 0; x[i * apart] != 0; i++) { } \\
        return x[i * apart]; \\
    } \\
    return best[0]; \\
}
#define ROW_BEST_AT(name, best) \\
static inline int64_t name(const num *x, const long n, const long apart) { \\
    const num y = best(x, n, apart); \\
    for (long i = 0; i < n; i++) { \\
        const num z = x[i * apart]; \\
        if (z == y || (z != z && y != y)) { return i; } \\
    } \\
    return 0; \\
}
ROW_BEST(row_largest, >, -RML_INFINITY)
ROW_BEST(row_smallest, <, RML_INFINITY)
ROW_BEST_AT(row_largest_at, row_largest)
ROW_BEST_AT(row_smallest_at, row_smallest)
#define ROW_BEST_INT(name, than, worst, result) \\
static inline int64_t name(const int64_t *x, const long n, const long apart) { \\
    int64_t best = worst, at = 0; \\
    for (long i = 0; i < n; i++) { \\
        if (x[i * apart] than best) { best = x[i * apart]; at = i; } \\
    } \\
    (void)at; \\
    return result; \\
}
ROW_BEST_INT(row_largest_int, >, INT64_MIN, best)
ROW_BEST_INT(row_smallest_int, <, INT64_MAX, best)
ROW_BEST_INT(row_largest_at_int, >, INT64_MIN, at)
ROW_BEST_INT(row_smallest_at_int, <, INT64_MAX, at)
static inline num row_product(const num *x, const long n, const long apart) {
    num y = 1;
    for (long i = 0; i < n; i++) { y *= x[i * apart]; }
    return y;
}
static inline uint8_t row_any(const uint8_t *x, const long n, const long apart) {
    uint8_t y = 0;
    for (long i = 0; i < n; i++) { y |= x[i * apart]; }
    return y;
}
static inline uint8_t row_all(const uint8_t *x, const long n, const long apart) {
    uint8_t y = 1;
    for (long i = 0; i < n; i++) { y &= x[i * apart]; }
    return y;
}
static inline int64_t row_serial(const int64_t *x, const long n, const long apart, bool *bad) {
    int64_t y = 0;
    for (long i = 0; i < n; i++) { *bad |= __builtin_add_overflow(y, x[i * apart], &y); }
    return y;
}
";

/// The fold of a row of `n` terms, `apart` elements apart.
pub(super) fn row(by: Fold, dtype: DType, x: &str, n: usize, apart: isize, scalars: &Scalars) -> String {
    let int = if dtype == DType::Int { "_int" } else { "" };
    match by {
        Fold::Lanes => format!("{}({x}, {n}, {apart})", scalars.function("rml_sum")),
        Fold::Serial => format!("row_serial({x}, {n}, {apart}, &bad)"),
        _ => format!("row_{}{int}({x}, {n}, {apart})", by.name()),
    }
}

/// How many partial results a point has.
pub(super) fn parts(by: Fold, n: usize) -> usize {
    if by == Fold::Lanes { n.clamp(1, 16) } else { 1 }
}

/// What partial results begin with.
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
        _ => vec![set(name, first)],
    }
}

/// One more term of one point.
#[allow(clippy::too_many_arguments, reason = "all of them are text or sizes of one line")]
pub(super) fn term(
    by: Fold,
    dtype: DType,
    name: &str,
    at: &str,
    points: usize,
    (dim, n): (Dim, usize),
    x: &str,
    scalars: &Scalars,
) -> Vec<String> {
    let than = if matches!(by, Fold::Largest | Fold::LargestAt) { ">" } else { "<" };
    let beats = |best: &str| match dtype {
        DType::Int => format!("x {than} {best}"),
        DType::Num | DType::Bool => format!("(x {than} {best}) | ((x != x) & ({best} == {best}))"),
    };
    let ty = super::var_type(dtype);
    match by {
        // A lane begins with 0, which makes a negative zero positive.
        Fold::Lanes if n <= 16 => vec![format!("{name}[{dim} * {points} + {at}] = {x} + 0;")],
        Fold::Lanes => vec![format!("{name}[({dim} & 15) * {points} + {at}] += {x};")],
        Fold::Serial => {
            vec![format!("{name}[{at}] = {}({name}[{at}], {x}, &bad);", scalars.function("rml_add"))]
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
