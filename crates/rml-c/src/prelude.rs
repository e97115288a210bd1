//! Functions that C lacks, of which a program gets those that it uses.

use std::cell::RefCell;
use std::collections::BTreeSet;

use rml_ir::Precision;

/// What a program uses of them.
#[derive(Debug)]
pub(crate) struct Prelude {
    precision: Precision,
    used: RefCell<BTreeSet<&'static str>>,
}

impl Prelude {
    pub(crate) fn new(precision: Precision) -> Self {
        Self { precision, used: RefCell::default() }
    }

    /// A function of `math.h`.
    pub(crate) fn math(&self, name: &str) -> String {
        match self.precision {
            Precision::F32 => format!("{name}f"),
            Precision::F64 => name.to_owned(),
        }
    }

    /// A function of the table, and all that it calls.
    pub(crate) fn helper(&self, name: &str) -> &'static str {
        let Some((name, needs, _)) = TABLE.iter().find(|(known, ..)| *known == name) else {
            unreachable!("no helper is called {name}");
        };
        for need in *needs {
            self.helper(need);
        }
        self.used.borrow_mut().insert(name);
        name
    }

    /// The text of all that are used.
    pub(crate) fn text(&self) -> String {
        let used = self.used.borrow();
        let texts = TABLE.iter().filter(|(name, ..)| used.contains(name)).map(|(.., text)| *text);
        let suffix = if self.precision == Precision::F32 { "f" } else { "" };
        texts.map(|text| text.replace('@', suffix) + "\n").collect()
    }
}

/// The name of each, what it calls, and its text, in which `@` ends the name of a function of `math.h`.
const TABLE: &[(&str, &[&str], &str)] = &[
    ("rml_sign", &[], "static num rml_sign(num x) {
    return x > 0 ? 1 : x < 0 ? -1 : x != x ? x : 0;
}
"),
    ("rml_sigmoid", &[], "static num rml_sigmoid(num x) {
    return 1 / (1 + exp@(-x));
}
"),
    ("rml_relu", &[], "static num rml_relu(num x) {
    return x > 0 ? x : 0;
}
"),
    ("rml_gelu", &[], "static num rml_gelu(num x) {
    return (num)0.5 * x * (1 + erf@(x * (num)0.70710678118654752440));
}
"),
    ("rml_softplus", &[], "static num rml_softplus(num x) {
    return (x > 0 ? x : x != x ? x : 0) + log1p@(exp@(-fabs@(x)));
}
"),
    ("rml_min", &[], "/* The smaller one; NaN wins. */
static num rml_min(num a, num b) {
    return a < b || a != a ? a : b;
}
"),
    ("rml_max", &[], "/* The larger one; NaN wins. */
static num rml_max(num a, num b) {
    return a > b || a != a ? a : b;
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
    ("rml_position", &[], "/* A position within 0 .. n - 1. */
static long rml_position(int64_t i, long n, bool *outside) {
    if (i < 0 || i >= n) {
        *outside = true;
        return 0;
    }
    return (long)i;
}
"),
    ("rml_softmax", &[], "/* Softmax of n numbers; the largest one is subtracted first. */
static void rml_softmax(const num *x, num *out, long n) {
    num most = x[0], all = 0;
    for (long i = 1; i < n; i++) {
        most = x[i] > most || x[i] != x[i] ? x[i] : most;
    }
    for (long i = 0; i < n; i++) {
        out[i] = exp@(x[i] - most);
        all += out[i];
    }
    for (long i = 0; i < n; i++) {
        out[i] /= all;
    }
}
"),
    ("rml_log_softmax", &[], "/* The logarithm of softmax of n numbers. */
static void rml_log_softmax(const num *x, num *out, long n) {
    num most = x[0], all = 0;
    for (long i = 1; i < n; i++) {
        most = x[i] > most || x[i] != x[i] ? x[i] : most;
    }
    for (long i = 0; i < n; i++) {
        all += exp@(x[i] - most);
    }
    all = log@(all);
    for (long i = 0; i < n; i++) {
        out[i] = x[i] - most - all;
    }
}
"),
    ("rml_pair", &[], "/* Two numbers of 53 bits in 0 .. 1: Philox4x32-10 of a key and a counter, which is the tick and the number of the pair. */
static void rml_pair(int64_t key, int64_t tick, uint64_t pair, double *u) {
    uint32_t k0 = (uint32_t)(uint64_t)key, k1 = (uint32_t)((uint64_t)key >> 32);
    uint32_t c0 = (uint32_t)pair, c1 = (uint32_t)(pair >> 32);
    uint32_t c2 = (uint32_t)(uint64_t)tick, c3 = (uint32_t)((uint64_t)tick >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t a = (uint64_t)0xd2511f53 * c0, b = (uint64_t)0xcd9e8d57 * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)b;
        c3 = (uint32_t)a;
        k0 += 0x9e3779b9;
        k1 += 0xbb67ae85;
    }
    u[0] = (double)((((uint64_t)c1 << 32) | c0) >> 11) * (1.0 / 9007199254740992.0);
    u[1] = (double)((((uint64_t)c3 << 32) | c2) >> 11) * (1.0 / 9007199254740992.0);
}
"),
    ("rml_uniform", &["rml_pair"], "/* Uniform numbers in 0 .. 1. */
static void rml_uniform(int64_t key, int64_t tick, num *out, long n) {
    for (long i = 0; i < n; i++) {
        double u[2];
        rml_pair(key, tick, (uint64_t)(i / 2), u);
        out[i] = (num)u[i % 2];
        if (out[i] >= 1) {
            out[i] = nextafter@(1, 0);
        }
    }
}
"),
    ("rml_normal", &["rml_pair"], "/* Standard normal numbers, by Box and Muller's transformation. */
static void rml_normal(int64_t key, int64_t tick, num *out, long n) {
    for (long i = 0; i < n; i++) {
        double u[2], radius, angle;
        rml_pair(key, tick, (uint64_t)(i / 2), u);
        radius = sqrt(-2.0 * log(1.0 - u[0]));
        angle = 6.28318530717958647692 * u[1];
        out[i] = (num)(radius * (i % 2 == 0 ? cos(angle) : sin(angle)));
    }
}
"),
];
