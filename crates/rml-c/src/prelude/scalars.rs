//! Functions of numbers and positions.

use crate::functions::Entry;

/// The table.
pub(super) const TABLE: &[Entry] = &[
    ("rml_sign", &[], "static inline num rml_sign(num x) {
    return x > 0 ? 1 : x < 0 ? -1 : x != x ? x : 0;
}
"),
    ("rml_relu", &[], "static inline num rml_relu(num x) {
    return x > 0 ? x : 0;
}
"),
    ("rml_flush", &[], "/* x, and 0 where a recurrence would make a subnormal number of it. */
static inline num rml_flush(num x) {
    return x < {NEGLIGIBLE} && x > -{NEGLIGIBLE} ? 0 : x;
}
"),
    ("rml_min", &[], "/* The smaller one; NaN wins. */
static inline num rml_min(num a, num b) {
    return a <= b || a != a ? a : b;
}
"),
    ("rml_max", &[], "/* The larger one; NaN wins. */
static inline num rml_max(num a, num b) {
    return a >= b || a != a ? a : b;
}
"),
    ("rml_min_int", &[], "static int64_t rml_min_int(int64_t a, int64_t b) {
    return a < b ? a : b;
}
"),
    ("rml_max_int", &[], "static int64_t rml_max_int(int64_t a, int64_t b) {
    return a > b ? a : b;
}
"),
    ("rml_sign_int", &[], "static int64_t rml_sign_int(int64_t x) {
    return (x > 0) - (x < 0);
}
"),
    ("rml_neg", &[], "static int64_t rml_neg(int64_t x, bool *bad) {
    if (x == INT64_MIN) {
        *bad = true;
        return 0;
    }
    return -x;
}
"),
    ("rml_abs", &["rml_neg"], "static int64_t rml_abs(int64_t x, bool *bad) {
    return x < 0 ? rml_neg(x, bad) : x;
}
"),
    ("rml_to_int", &[], "/* Truncated toward zero, if that fits. */
static int64_t rml_to_int(num x, bool *bad) {
    if (!(x >= -(num)9223372036854775808.0 && x < (num)9223372036854775808.0)) {
        *bad = true;
        return 0;
    }
    return (int64_t)x;
}
"),
    ("rml_add", &[], "static int64_t rml_add(int64_t a, int64_t b, bool *bad) {
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) {
        *bad = true;
        return 0;
    }
    return a + b;
}
"),
    ("rml_sub", &[], "static int64_t rml_sub(int64_t a, int64_t b, bool *bad) {
    if (b < 0 ? a > INT64_MAX + b : a < INT64_MIN + b) {
        *bad = true;
        return 0;
    }
    return a - b;
}
"),
    ("rml_mul", &[], "static int64_t rml_mul(int64_t a, int64_t b, bool *bad) {
    if (a == 0 || b == 0) {
        return 0;
    }
    if ((a == -1 && b == INT64_MIN) || (b == -1 && a == INT64_MIN)
        || (b != -1 && (b > 0 ? a > INT64_MAX / b || a < INT64_MIN / b : a < INT64_MAX / b || a > INT64_MIN / b))) {
        *bad = true;
        return 0;
    }
    return a * b;
}
"),
    ("rml_div", &[], "/* Truncated toward zero; 0 for a zero divisor. */
static int64_t rml_div(int64_t a, int64_t b, bool *bad) {
    if (b == 0) {
        return 0;
    }
    if (b == -1 && a == INT64_MIN) {
        *bad = true;
        return 0;
    }
    return a / b;
}
"),
    ("rml_mod", &[], "/* The remainder with the sign of the divisor; the dividend for a zero divisor. */
static int64_t rml_mod(int64_t a, int64_t b) {
    int64_t rest;
    if (b == 0) {
        return a;
    }
    rest = b == -1 ? 0 : a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
"),
    ("rml_mod_num", &["fmod", "copysign"], "/* The remainder with the sign of the divisor, also where it is 0; NaN for a zero divisor. */
static num rml_mod_num(num a, num b) {
    num rest = fmod@(a, b);
    if (rest == 0) {
        return copysign@(0, b);
    }
    return (rest < 0) != (b < 0) ? rest + b : rest;
}
"),
    ("rml_around", &[], "/* A position in an array of n elements that wraps around. */
static inline long rml_around(long i, long n) {
    return i < n ? i : i - n;
}
"),
    ("rml_position", &[], "/* A position within 0 .. n - 1. */
static long rml_position(int64_t i, long n, bool *outside) {
    if (i < 0 || i >= n) {
        *outside = true;
        return 0;
    }
    return (long)i;
}
"),
];
