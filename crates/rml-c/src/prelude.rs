//! Functions that C lacks, of which a program gets those that it uses.

use std::cell::RefCell;
use std::collections::BTreeSet;

use rml_ir::Precision;

use crate::Math;
use crate::functions::{self, Entry};

/// What a program uses of them.
#[derive(Debug)]
pub(crate) struct Prelude {
    precision: Precision,
    math: Math,
    used: RefCell<BTreeSet<&'static str>>,
}

impl Prelude {
    pub(crate) fn new(precision: Precision, math: Math) -> Self {
        Self { precision, math, used: RefCell::default() }
    }

    /// An elementary function.
    pub(crate) fn math(&self, name: &str) -> String {
        let own = format!("rml_{name}");
        if self.math == Math::Own && self.find(&own).is_some() {
            return self.helper(&own).to_owned();
        }
        self.used.borrow_mut().insert(LIBRARY);
        match self.precision {
            Precision::F32 => format!("{name}f"),
            Precision::F64 => name.to_owned(),
        }
    }

    fn tables(&self) -> impl Iterator<Item = &'static Entry> {
        let own = match self.math {
            Math::Own => functions::TABLE,
            Math::Library => functions::FROM_LIBRARY,
        };
        BITS.iter().chain(own).chain(TABLE)
    }

    fn find(&self, name: &str) -> Option<&'static Entry> {
        self.tables().find(|(known, ..)| *known == name)
    }

    /// A function of the table, and all that it calls.
    pub(crate) fn helper(&self, name: &str) -> &'static str {
        let Some((name, needs, _)) = self.find(name) else {
            unreachable!("no helper is called {name}");
        };
        for need in *needs {
            match *need {
                LIBRARY => drop(self.used.borrow_mut().insert(LIBRARY)),
                own if own.starts_with("rml_") => drop(self.helper(own)),
                function => drop(self.math(function)),
            }
        }
        if (self.math, self.precision, *name) == (Math::Own, Precision::F64, "rml_fma") {
            self.used.borrow_mut().insert(LIBRARY);
        }
        self.used.borrow_mut().insert(name);
        name
    }

    /// The text of all that are used, behind the type of numbers.
    pub(crate) fn text(&self) -> String {
        let used = self.used.borrow();
        let mut texts = String::new();
        for (name, _, text) in self.tables().filter(|(name, ..)| used.contains(name)) {
            let text = match (*name, self.math, self.precision) {
                ("rml_fma", Math::Own, Precision::F64) => functions::FMA_DOUBLE,
                _ => text,
            };
            let text = ["exp", "log", "sqrt", "sin", "cos"].iter().fold((*text).to_owned(), |text, name| {
                let own = if self.math == Math::Own { format!("rml_{name}") } else { format!("{name}@") };
                text.replace(&format!("{{{name}}}"), &own)
            });
            texts += &functions::in_precision(&text, self.precision);
            texts.push('\n');
        }
        texts
    }

    /// Whether `math.h` is needed.
    pub(crate) fn needs_library(&self) -> bool {
        self.used.borrow().contains(LIBRARY)
    }
}

/// Stands among what is used for `math.h`.
const LIBRARY: &str = "math.h";

/// Numbers as bits and bytes.
const BITS: &[Entry] = &[
    (
        "rml_bits",
        &[],
        "/* A number and its bits. */
typedef union {
    num x;
    {WORD} u;
} rml_number;

static inline {WORD} rml_bits(num x) {
    rml_number n;
    n.x = x;
    return n.u;
}

static inline num rml_of_bits({WORD} u) {
    rml_number n;
    n.u = u;
    return n.x;
}
",
    ),
    (
        "rml_put",
        &[],
        "/* Writes the n lowest bytes, the last one first. Gives what is behind them. */
static uint8_t *rml_put(uint8_t *to, uint64_t bits, int n) {
    for (int i = 0; i < n; i++) {
        *to++ = (uint8_t)(bits >> 8 * i);
    }
    return to;
}
",
    ),
    (
        "rml_get",
        &[],
        "/* Reads n bytes, the last one first, and goes past them. */
static uint64_t rml_get(const uint8_t **from, int n) {
    uint64_t bits = 0;
    for (int i = 0; i < n; i++) {
        bits |= (uint64_t)*(*from)++ << 8 * i;
    }
    return bits;
}
",
    ),
];

/// A stable merge sort of keys of one type.
macro_rules! order {
    ($name:literal, $of:literal, $nan:literal) => {
        concat!(
            "/* The positions of n keys, which are so far apart, in order; equal ones stay in turn, and NaN comes last. */
static void ",
            $name,
            "(const ",
            $of,
            " *x, long n, long apart, bool down, long *order, long *spare) {
    for (long i = 0; i < n; i++) {
        order[i] = i;
    }
    for (long half = 1; half < n; half *= 2) {
        for (long from = 0; from < n; from += 2 * half) {
            const long middle = from + half < n ? from + half : n;
            const long end = middle + half < n ? middle + half : n;
            long left = from, right = middle;
            for (long i = from; i < end; i++) {
                bool first = left == middle;
                if (left < middle && right < end) {
                    const ",
            $of,
            " a = x[order[left] * apart], b = x[order[right] * apart];
                    first = (down ? b > a : b < a)",
            $nan,
            ";
                }
                spare[i] = first ? order[right++] : order[left++];
            }
        }
        for (long i = 0; i < n; i++) {
            order[i] = spare[i];
        }
    }
}
"
        )
    };
}

/// The name of each, what it calls, and its text: `@` ends the name of a function of `math.h`, and `{exp}` is the
/// function that the program has.
const TABLE: &[Entry] = &[
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
    ("rml_position", &[], "/* A position within 0 .. n - 1. */
static long rml_position(int64_t i, long n, bool *outside) {
    if (i < 0 || i >= n) {
        *outside = true;
        return 0;
    }
    return (long)i;
}
"),
    ("rml_sum", &[], "/* The sum of n numbers, which are so far apart: dealt to sixteen lanes, which are added pair by pair. */
static num rml_sum(const num *x, long n, long apart) {
    num lanes[16] = {0};
    long i = 0;
    for (; i + 16 <= n; i += 16) {
        for (long lane = 0; lane < 16; lane++) {
            lanes[lane] += x[(i + lane) * apart];
        }
    }
    for (long lane = 0; i + lane < n; lane++) {
        lanes[lane] += x[(i + lane) * apart];
    }
    for (long half = 8; half > 0; half /= 2) {
        for (long lane = 0; lane < half; lane++) {
            lanes[lane] += lanes[lane + half];
        }
    }
    return lanes[0];
}
"),
    ("rml_logsumexp", &["exp", "log"], "/* The logarithm of the sum of the exponentials of n numbers, which are so far apart. */
static num rml_logsumexp(const num *x, long n, long apart) {
    num most = -RML_INFINITY, all = 0;
    for (long i = 0; i < n; i++) {
        const num one = x[i * apart];
        most = one > most || one != one ? one : most;
    }
    most = most == RML_INFINITY || most == -RML_INFINITY ? 0 : most;
    for (long i = 0; i < n; i++) {
        all += {exp}(x[i * apart] - most);
    }
    return {log}(all) + most;
}
"),
    ("rml_cholesky", &["sqrt"], "/* The lower triangular factor of a matrix; NaN if it is not positive definite. */
static void rml_cholesky(const num *a, num *l, long n) {
    for (long i = 0; i < n; i++) {
        for (long j = 0; j < n; j++) {
            num rest = j > i ? 0 : a[i * n + j];
            for (long k = 0; k < j && j <= i; k++) {
                rest = rest - l[i * n + k] * l[j * n + k];
            }
            if (j == i && !(rest > 0)) {
                for (long k = 0; k < n * n; k++) {
                    l[k] = RML_NAN;
                }
                return;
            }
            l[i * n + j] = j > i ? 0 : j == i ? {sqrt}(rest) : rest / l[j * n + j];
        }
    }
}
"),
    ("rml_solve", &[], "/* Makes m columns x the solutions of a x = x, by elimination with the first of the largest pivots. The matrix is used up. */
static void rml_solve(num *a, num *x, long n, long m) {
    for (long k = 0; k < n; k++) {
        long pivot = k;
        for (long i = k + 1; i < n; i++) {
            const num new = a[i * n + k], old = a[pivot * n + k];
            pivot = (new < 0 ? -new : new) > (old < 0 ? -old : old) ? i : pivot;
        }
        for (long j = 0; j < n && pivot != k; j++) {
            const num swapped = a[k * n + j];
            a[k * n + j] = a[pivot * n + j];
            a[pivot * n + j] = swapped;
        }
        for (long j = 0; j < m && pivot != k; j++) {
            const num swapped = x[k * m + j];
            x[k * m + j] = x[pivot * m + j];
            x[pivot * m + j] = swapped;
        }
        for (long i = k + 1; i < n; i++) {
            const num factor = a[i * n + k] / a[k * n + k];
            for (long j = k + 1; j < n; j++) {
                a[i * n + j] = a[i * n + j] - factor * a[k * n + j];
            }
            for (long j = 0; j < m; j++) {
                x[i * m + j] = x[i * m + j] - factor * x[k * m + j];
            }
        }
    }
    for (long i = n - 1; i >= 0; i--) {
        for (long c = 0; c < m; c++) {
            num rest = x[i * m + c];
            for (long j = i + 1; j < n; j++) {
                rest = rest - a[i * n + j] * x[j * m + c];
            }
            x[i * m + c] = rest / a[i * n + i];
        }
    }
}
"),
    ("rml_dft", &["sin", "cos"], "/* The discrete Fourier transform of n complex numbers; the room has six times as many: their parts, factors, and sums. */
static void rml_dft(num *room, long n, bool forward) {
    num *part[2] = {room, room + n};
    num *cosine = room + 2 * n, *sine = room + 3 * n;
    const num turn = (num)6.283185307179586;
    for (long k = 0; k < n; k++) {
        const num angle = turn * (num)k / (num)n;
        cosine[k] = {cos}(angle);
        sine[k] = forward ? -{sin}(angle) : {sin}(angle);
    }
    if ((n & (n - 1)) != 0) {
        for (long k = 0; k < n; k++) {
            num re = 0, im = 0;
            for (long j = 0; j < n; j++) {
                const long at = j * k % n;
                re = re + (part[0][j] * cosine[at] - part[1][j] * sine[at]);
                im = im + (part[0][j] * sine[at] + part[1][j] * cosine[at]);
            }
            room[4 * n + k] = re;
            room[5 * n + k] = im;
        }
        for (long i = 0; i < 2 * n; i++) {
            room[i] = room[4 * n + i];
        }
        return;
    }
    for (long i = 1, j = 0; i < n; i++) {
        long bit = n / 2;
        for (; (j & bit) != 0; bit /= 2) {
            j ^= bit;
        }
        j |= bit;
        for (long p = 0; p < 2 && i < j; p++) {
            const num swapped = part[p][i];
            part[p][i] = part[p][j];
            part[p][j] = swapped;
        }
    }
    for (long half = 1; half < n; half *= 2) {
        for (long start = 0; start < n; start += 2 * half) {
            for (long k = 0; k < half; k++) {
                const long a = start + k, b = a + half, at = k * (n / (2 * half));
                const num re = part[0][b] * cosine[at] - part[1][b] * sine[at];
                const num im = part[0][b] * sine[at] + part[1][b] * cosine[at];
                part[0][b] = part[0][a] - re;
                part[0][a] = part[0][a] + re;
                part[1][b] = part[1][a] - im;
                part[1][a] = part[1][a] + im;
            }
        }
    }
}
"),
    ("rml_rfft", &["rml_dft"], "/* The frequencies 0 to n / 2 of n numbers. */
static void rml_rfft(const num *x, num *y, num *room, long n) {
    for (long i = 0; i < n; i++) {
        room[i] = x[i];
        room[n + i] = 0;
    }
    rml_dft(room, n, true);
    for (long k = 0; k <= n / 2; k++) {
        y[2 * k] = room[k];
        y[2 * k + 1] = k == 0 || 2 * k == n ? 0 : room[n + k];
    }
}
"),
    ("rml_irfft", &["rml_dft"], "/* The n numbers of their frequencies 0 to n / 2. */
static void rml_irfft(const num *y, num *x, num *room, long n) {
    for (long k = 0; k < n; k++) {
        const long at = 2 * k <= n ? k : n - k;
        room[k] = y[2 * at];
        room[n + k] = k == 0 || 2 * k == n ? 0 : k == at ? y[2 * at + 1] : -y[2 * at + 1];
    }
    rml_dft(room, n, false);
    for (long i = 0; i < n; i++) {
        x[i] = room[i] / (num)n;
    }
}
"),
    ("rml_order", &[], order!("rml_order", "num", " || (b == b && a != a)")),
    ("rml_order_int", &[], order!("rml_order_int", "int64_t", "")),
    ("rml_softmax", &["rml_sum", "exp"], "/* Softmax of n numbers; the largest one is subtracted first. */
static void rml_softmax(const num *x, num *out, long n) {
    num most = x[0], all;
    for (long i = 1; i < n; i++) {
        most = x[i] > most || x[i] != x[i] ? x[i] : most;
    }
    for (long i = 0; i < n; i++) {
        out[i] = {exp}(x[i] - most);
    }
    all = rml_sum(out, n, 1);
    for (long i = 0; i < n; i++) {
        out[i] /= all;
    }
}
"),
    ("rml_log_softmax", &["rml_sum", "exp", "log"], "/* The logarithm of softmax of n numbers. */
static void rml_log_softmax(const num *x, num *out, long n) {
    num most = x[0], all;
    for (long i = 1; i < n; i++) {
        most = x[i] > most || x[i] != x[i] ? x[i] : most;
    }
    for (long i = 0; i < n; i++) {
        out[i] = {exp}(x[i] - most);
    }
    all = {log}(rml_sum(out, n, 1));
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
            out[i] = {BELOW_ONE};
        }
    }
}
"),
    ("rml_normal", &["rml_pair", "math.h"], "/* Standard normal numbers, by Box and Muller's transformation. */
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
