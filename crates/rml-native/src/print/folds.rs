//! Folds of rows in C, in vectors.

use rml_ir::DType;
use rml_nest::Fold;

/// Functions that fold a row of `n` terms with stride `apart`.
pub(super) const ROWS: &str = "
#define INLINE static inline __attribute__((always_inline))
typedef num lanes16 __attribute__((vector_size(16 * sizeof(num))));
typedef num lanes8 __attribute__((vector_size(8 * sizeof(num))));
typedef num lanes4 __attribute__((vector_size(4 * sizeof(num))));
typedef word mask16 __attribute__((vector_size(16 * sizeof(num))));
typedef word mask8 __attribute__((vector_size(8 * sizeof(num))));
typedef word mask4 __attribute__((vector_size(4 * sizeof(num))));

/* Terms i to i + 15 of a row; those after its end are `fill`. */
INLINE lanes16 row_load(const num *x, const long i, const long n, const long apart, const num fill) {
    lanes16 y;
    if (apart == 1 && i + 16 <= n) {
        __builtin_memcpy(&y, x + i, sizeof y);
    } else {
        num all[16];
        for (long l = 0; l < 16; l++) { all[l] = i + l < n ? x[(i + l) * apart] : fill; }
        __builtin_memcpy(&y, all, sizeof y);
    }
    return y;
}

/* The sum of a row, dealt to sixteen lanes, which are added pair by pair. */
INLINE num row_lanes(const num *x, const long n, const long apart) {
    const lanes16 zero = {0};
    lanes16 sum = zero;
    for (long i = 0; i < n; i += 16) { sum += row_load(x, i, n, apart, 0); }
    lanes8 a, b;
    __builtin_memcpy(&a, &sum, sizeof a);
    __builtin_memcpy(&b, (const char *)&sum + sizeof a, sizeof b);
    a += b;
    lanes4 c, d;
    __builtin_memcpy(&c, &a, sizeof c);
    __builtin_memcpy(&d, (const char *)&a + sizeof c, sizeof d);
    c += d;
    return (c[0] + c[2]) + (c[1] + c[3]);
}

/* The largest (smallest) number of a row: NaN beats all numbers, and the first among equals stays. */
#define ROW_BEST(name, than, worst) \
INLINE num name(const num *x, const long n, const long apart) { \
    lanes16 best = row_load(x, 0, 0, 1, worst); \
    mask16 odd = best != best; \
    for (long i = 0; i < n; i += 16) { \
        const lanes16 y = row_load(x, i, n, apart, worst); \
        const mask16 beats = y than best; \
        best = (lanes16)(((mask16)y & beats) | ((mask16)best & ~beats)); \
        odd |= y != y; \
    } \
    lanes8 a, b; \
    mask8 p, q; \
    __builtin_memcpy(&a, &best, sizeof a); \
    __builtin_memcpy(&b, (const char *)&best + sizeof a, sizeof b); \
    __builtin_memcpy(&p, &odd, sizeof p); \
    __builtin_memcpy(&q, (const char *)&odd + sizeof p, sizeof q); \
    const mask8 right = b than a; \
    a = (lanes8)(((mask8)b & right) | ((mask8)a & ~right)); \
    p |= q; \
    num y = a[0]; \
    word any = p[0]; \
    for (long l = 1; l < 8; l++) { \
        y = a[l] than y ? a[l] : y; \
        any |= p[l]; \
    } \
    if (any) { \
        long i = 0; \
        while (x[i * apart] == x[i * apart]) { i++; } \
        return x[i * apart]; \
    } \
    if (y == 0) { \
        long i = 0; \
        while (x[i * apart] != 0) { i++; } \
        return x[i * apart]; \
    } \
    return y; \
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

/// The fold of a row of `n` terms with stride `apart`.
pub(super) fn row(by: Fold, dtype: DType, x: &str, n: usize, apart: isize) -> String {
    let int = if dtype == DType::Int { "_int" } else { "" };
    match by {
        Fold::Serial => format!("row_serial({x}, {n}, {apart}, &bad)"),
        Fold::Lanes => format!("row_lanes({x}, {n}, {apart})"),
        Fold::Largest | Fold::Smallest | Fold::LargestAt | Fold::SmallestAt => {
            format!("row_{}{int}({x}, {n}, {apart})", by.name())
        }
        Fold::Product | Fold::Any | Fold::All => format!("row_{}({x}, {n}, {apart})", by.name()),
    }
}
