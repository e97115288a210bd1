//! The elementary functions in C, with the bits of `rml_kernels`.
//!
//! Each text is a formula of `rml_kernels::functions::formulas`, operation by operation. `{NAME}` is a constant of the
//! kernels, `{-NAME}` its negation, `{#NAME}` its bits, and a line `poly p x NAME` sets p to a polynomial in x.

use std::fmt::Debug;

use rml_ir::Precision;

/// The name of a function, the functions that it calls, and its text.
pub(crate) type Entry = (&'static str, &'static [&'static str], &'static str);

/// A text for a precision.
pub(crate) fn in_precision(text: &str, precision: Precision) -> String {
    match precision {
        Precision::F32 => {
            filled(text, &rml_kernels::constants::<f32>(), "f", &|x| format!("{:#010x}", x.to_bits()))
        }
        Precision::F64 => filled(text, &rml_kernels::constants::<f64>(), "", &|x| {
            format!("UINT64_C({:#018x})", x.to_bits())
        }),
    }
}

fn filled<T: Copy + Debug>(
    text: &str,
    constants: &[(&str, Vec<T>)],
    suffix: &str,
    bits: &dyn Fn(T) -> String,
) -> String {
    let literal = |x: &T| format!("{x:?}{suffix}");
    let mut out = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["poly", p, x, name] = words[..] {
            let found = constants.iter().find(|(known, _)| *known == name);
            let mut terms = found.map_or(&[][..], |(_, values)| values).iter().rev();
            let first = terms.next().map(literal).unwrap_or_default();
            out += &format!("    {p} = {first};\n");
            for term in terms {
                out += &format!("    {p} = rml_fma({p}, {x}, {});\n", literal(term));
            }
            continue;
        }
        let mut line = line.to_owned();
        for (name, values) in constants {
            for (i, x) in values.iter().enumerate() {
                let name = if values.len() == 1 { (*name).to_owned() } else { format!("{name}{i}") };
                line = line
                    .replace(&format!("{{{name}}}"), &literal(x))
                    .replace(&format!("{{-{name}}}"), &negated(&literal(x)))
                    .replace(&format!("{{#{name}}}"), &bits(*x));
            }
        }
        out += &line;
        out.push('\n');
    }
    let (word, fraction, bias) = if suffix == "f" { ("uint32_t", 23, 127) } else { ("uint64_t", 52, 1023) };
    let hex = |x: u64| if suffix == "f" { format!("{x:#010x}") } else { format!("UINT64_C({x:#018x})") };
    let all = [
        ("{WORD}", word.to_owned()),
        ("{FRACTION}", fraction.to_string()),
        ("{BIAS}", bias.to_string()),
        ("{SIGN}", hex(1 << if suffix == "f" { 31 } else { 63 })),
        ("{MASK}", hex((1 << fraction) - 1)),
        ("{BASE}", hex((bias + fraction) << fraction)),
        ("{WHOLE}", format!("{}.0{suffix}", 1_u64 << fraction)),
        ("{OFFSET}", format!("{}.0{suffix}", (1_u64 << fraction) + bias)),
        ("{BELOW_ONE}", (if suffix == "f" { "0.99999994f" } else { "0.9999999999999999" }).to_owned()),
        ("{GUESS}", (if suffix == "f" { "0x5f3759df" } else { "UINT64_C(0x5fe6eb50c7b537a9)" }).to_owned()),
        ("{STEPS}", if suffix == "f" { "3" } else { "4" }.to_owned()),
        ("{EVEN_UP}", format!("{}.0{suffix}", if suffix == "f" { 1_u64 << 24 } else { 1 << 54 })),
        ("{HALF_DOWN}", format!("(1 / {}.0{suffix})", if suffix == "f" { 1_u64 << 12 } else { 1 << 27 })),
        ("{BITS}", if suffix == "f" { "32" } else { "64" }.to_owned()),
        ("@", suffix.to_owned()),
    ];
    all.iter().fold(out, |out, (name, value)| out.replace(name, value))
}

fn negated(literal: &str) -> String {
    literal.strip_prefix('-').map_or_else(|| format!("-{literal}"), str::to_owned)
}

/// `rml_fma` in double precision.
pub(crate) const FMA_DOUBLE: &str = "/* a * b + c, rounded once. */
static inline double rml_fma(double a, double b, double c) {
#if defined(__GNUC__) && (defined(__FP_FAST_FMA) || defined(__FMA__) || defined(__aarch64__))
    return __builtin_fma(a, b, c);
#else
    return fma(a, b, c);
#endif
}
";

/// Replacements for functions of `math.h`.
pub(crate) const TABLE: &[Entry] = &[
    ("rml_fma", &[], "/* a * b + c, rounded once. */
static inline float rml_fma(float a, float b, float c) {
#if defined(__GNUC__) && (defined(__FP_FAST_FMAF) || defined(__FMA__) || defined(__ARM_FEATURE_FMA))
    return __builtin_fmaf(a, b, c);
#else
    /* The product is exact in double precision. The sum is rounded to odd there, so that rounding it again rounds it right. */
    const double product = (double)a * (double)b, sum = product + (double)c, back = sum - product;
    const double error = (product - (sum - back)) + ((double)c - back);
    union {
        double x;
        uint64_t u;
    } odd;
    odd.x = sum;
    if ((error < 0 || error > 0) && (odd.u & 1) == 0) {
        odd.u += (error > 0) == (sum > 0) ? 1 : UINT64_MAX;
    }
    return (float)odd.x;
#endif
}
"),
    ("rml_fabs", &["rml_bits"], "static inline num rml_fabs(num x) {
    return rml_of_bits(rml_bits(x) & ~{SIGN});
}
"),
    ("rml_signed", &["rml_bits"], "/* The magnitude of x with the sign of s. */
static inline num rml_signed(num x, num s) {
    return rml_of_bits((rml_bits(x) & ~{SIGN}) | (rml_bits(s) & {SIGN}));
}
"),
    ("rml_rint", &["rml_fabs", "rml_signed"], "/* The nearest integer; halves go to the even one. */
static inline num rml_rint(num x) {
    const num y = (rml_fabs(x) + {WHOLE}) - {WHOLE};
    return rml_fabs(x) < {WHOLE} ? rml_signed(y, x) : x;
}
"),
    ("rml_floor", &["rml_rint"], "static inline num rml_floor(num x) {
    const num y = rml_rint(x);
    return y > x ? rml_signed(y - 1, x) : y;
}
"),
    ("rml_ceil", &["rml_rint"], "static inline num rml_ceil(num x) {
    const num y = rml_rint(x);
    return y < x ? rml_signed(y + 1, x) : y;
}
"),
    ("rml_sqrt", &["rml_fma", "rml_bits"], "/* The square root, rounded to nearest: Newton's steps from a guess by halving the exponent, and the rest by its exact square. */
static inline num rml_sqrt(num x) {
    const bool small = x < {SMALLEST_NORMAL};
    const num a = small ? x * {EVEN_UP} : x;
    num y = rml_of_bits({GUESS} - (rml_bits(a) >> 1)), g, h, r;
    for (int i = 0; i < {STEPS}; i++) {
        y = y * (1.5@ - 0.5@ * a * y * y);
    }
    g = a * y;
    h = 0.5@ * y;
    r = rml_fma(-h, g, 0.5@);
    g = rml_fma(g, r, g);
    h = rml_fma(h, r, h);
    g = rml_fma(rml_fma(-g, g, a), h, g);
    g = small ? g * {HALF_DOWN} : g;
    g = x > 0 && x < RML_INFINITY ? g : x;
    return x < 0 ? RML_NAN : g;
}
"),
    ("rml_reduced", &["rml_fma"], "/* e^x is 2^n (1 + p): gives p, and n in the low bits of t. */
static inline num rml_reduced(num x, num *t) {
    num n, r, p;
    *t = rml_fma(x, {LOG2_E}, {MAGIC});
    n = *t - {MAGIC};
    r = rml_fma(n, {-LN2_HI}, x);
    r = rml_fma(n, {-LN2_LO}, r);
    poly p r EXP_REST
    return rml_fma(r * r, p, r);
}
"),
    ("rml_power", &["rml_bits"], "/* 2^n for n in the low bits of t. */
static inline num rml_power(num t) {
    return rml_of_bits((rml_bits(t) << {FRACTION}) + (({WORD}){BIAS} << {FRACTION}));
}
"),
    ("rml_exp", &["rml_reduced", "rml_bits"], "static inline num rml_exp(num x) {
    const num y = x > {EXP_MAX} ? {EXP_MAX} : x;
    num t;
    const num p = rml_reduced(y < {EXP_MIN} ? {EXP_MIN} : y, &t);
    /* 2^n as a product of two numbers, neither of which is too large or too small. */
    const {WORD} n = rml_bits(t) - {#MAGIC} + 2 * {BIAS}, half = n >> 1;
    return (p + 1) * rml_of_bits(half << {FRACTION}) * rml_of_bits((n - half) << {FRACTION});
}
"),
    ("rml_expm1", &["rml_reduced", "rml_power", "rml_fabs"], "/* e^x - 1 */
static inline num rml_expm1(num x) {
    const num y = x > {EXP_MAX} ? {EXP_MAX} : x;
    num t;
    const num p = rml_reduced(y < {EXPM1_MIN} ? {EXPM1_MIN} : y, &t);
    const num s = rml_power(t - 1), half = rml_fma(s, p, s - 0.5@);
    return rml_fabs(x) < {TINY} ? x : half + half;
}
"),
    ("rml_tanh", &["rml_reduced", "rml_power", "rml_fabs", "rml_signed"], "static inline num rml_tanh(num x) {
    const num a = rml_fabs(x), y = a > {TANH_ONE} ? {TANH_ONE} : a;
    num t;
    const num p = rml_reduced(y + y, &t), s = rml_power(t), e = rml_fma(s, p, s - 1);
    return rml_signed(e / (e + 2), x);
}
"),
    ("rml_sigmoid", &["rml_exp", "rml_fabs"], "/* 1 / (1 + e^-x) */
static inline num rml_sigmoid(num x) {
    const num e = rml_exp(-rml_fabs(x));
    return (x < 0 ? e : 1) / (e + 1);
}
"),
    ("rml_split", &["rml_bits"], "/* x is m 2^k, with m between the square roots of 1/2 and 2: gives m. */
static inline num rml_split(num x, num *k) {
    const {WORD} shifted = rml_bits(x) + (rml_bits(1) - {#SQRT_HALF});
    *k = rml_of_bits((shifted >> {FRACTION}) | {BASE}) - {OFFSET};
    return rml_of_bits((shifted & {MASK}) + {#SQRT_HALF});
}
"),
    ("rml_log_of", &["rml_fma"], "/* log(1 + f) + k log 2 */
static inline num rml_log_of(num f, num k) {
    const num s = f / (f + 2), z = s * s, half = 0.5@ * f * f;
    num p;
    poly p z LOG_REST
    p = rml_fma(s, half + z * p, k * {LN2_SHORT_LO});
    return rml_fma(k, {LN2_SHORT}, f - (half - p));
}
"),
    ("rml_log", &["rml_split", "rml_log_of"], "static inline num rml_log(num x) {
    const bool small = x < {SMALLEST_NORMAL};
    num k, y;
    const num m = rml_split(small ? x * {RAISE} : x, &k);
    y = rml_log_of(m - 1, small ? k - {RAISED} : k);
    y = x < RML_INFINITY ? y : x;
    y = x == 0 ? -RML_INFINITY : y;
    return x < 0 ? RML_NAN : y;
}
"),
    ("rml_log1p", &["rml_split", "rml_log_of", "rml_power", "rml_fabs"], "/* log(1 + x) */
static inline num rml_log1p(num x) {
    num k, y;
    const num m = rml_split(x + 1, &k), s = rml_power({MAGIC} - k);
    y = rml_log_of(x > {BIG} ? m - 1 : rml_fma(x, s, s - 1), k);
    y = x < RML_INFINITY ? y : x;
    y = rml_fabs(x) < {TINY} ? x : y;
    y = x == -1 ? -RML_INFINITY : y;
    return x < -1 ? RML_NAN : y;
}
"),
    ("rml_softplus", &["rml_log1p", "rml_exp", "rml_fabs"], "/* log(1 + e^x) */
static inline num rml_softplus(num x) {
    return (x < 0 ? 0 : x) + rml_log1p(rml_exp(-rml_fabs(x)));
}
"),
    ("rml_logaddexp", &["rml_log1p", "rml_exp", "rml_fabs"], "/* log(e^a + e^b) */
static inline num rml_logaddexp(num a, num b) {
    const num apart = a == b ? 0 : rml_fabs(a - b);
    return (a >= b || a != a ? a : b) + rml_log1p(rml_exp(-apart));
}
"),
    ("rml_exp_of_square", &["rml_exp"], "/* exp(scale a^2) for a scale of -1/2 or -1; the square is exact. */
static inline num rml_exp_of_square(num a, num scale) {
    const num hi = a * a, lo = rml_fma(a, a, -hi), e = rml_exp(hi * scale);
    return rml_fma(e, lo * scale, e);
}
"),
    ("rml_erfcx", &["rml_fma"], "/* erfc(z) exp(z^2) for z of 0 or above. */
static inline num rml_erfcx(num z) {
    const num t = (z - {ERFC_CENTRE}) / (z + {ERFC_CENTRE});
    num p;
    poly p t ERFC_SCALED
    return p / rml_fma(z, 2, 1);
}
"),
    ("rml_erf", &["rml_exp_of_square", "rml_erfcx", "rml_fabs", "rml_signed"], "static inline num rml_erf(num x) {
    const num a = rml_fabs(x), z = a > {ERFC_MAX} ? {ERFC_MAX} : a, square = z * z;
    const num far = 1 - rml_exp_of_square(z, -1) * rml_erfcx(z);
    num p;
    poly p square ERF_REST
    p = rml_fma(z, p, z);
    return rml_signed(z < {ERF_NEAR} ? p : far, x);
}
"),
    ("rml_gelu", &["rml_exp_of_square", "rml_erfcx", "rml_fabs"], "/* x / 2 (1 + erf(x / sqrt 2)) */
static inline num rml_gelu(num x) {
    const num y = rml_fabs(x), a = y > {GELU_MAX} ? {GELU_MAX} : y;
    const num tail = rml_exp_of_square(a, -0.5@) * rml_erfcx(a * {SQRT_HALF}), below = 0.5@ * a * tail;
    const num all = x < 0 ? -below : x - below;
    return x != x ? x : x == -RML_INFINITY ? 0 : all;
}
"),
    ("rml_sine_at", &["rml_fma", "rml_bits"], "/* The sine of r + n pi/2, for n in the low bits of t. */
static inline num rml_sine_at(num r, num t) {
    const num z = r * r, half = 0.5@ * z, w = 1 - half;
    num p, q;
    poly p z SIN_REST
    poly q z COS_REST
    p = rml_fma(r * z, p, r);
    q = w + rml_fma(z * z, q, (1 - w) - half);
    return rml_of_bits(rml_bits((rml_bits(t) & 1) != 0 ? q : p) ^ ((rml_bits(t) & 2) << ({BITS} - 2)));
}
"),
    ("rml_quadrant", &["rml_fma"], "/* x is r + n pi/2: gives r, and n in the low bits of t. */
static inline num rml_quadrant(num x, num *t) {
    num n, r;
    *t = rml_fma(x, {TWO_OVER_PI}, {MAGIC});
    n = *t - {MAGIC};
    r = rml_fma(n, {-HALF_PI0}, x);
    r = rml_fma(n, {-HALF_PI1}, r);
    return rml_fma(n, {-HALF_PI2}, r);
}
"),
    ("rml_sin", &["math.h", "rml_sine_at", "rml_quadrant", "rml_fabs"], "static inline num rml_sin(num x) {
    num t;
    const num r = rml_quadrant(x, &t), y = rml_sine_at(r, t);
    if (!(rml_fabs(x) <= {FAR})) {
        return sin@(x);
    }
    return x == 0 ? x : y;
}
"),
    ("rml_cos", &["math.h", "rml_sine_at", "rml_quadrant", "rml_fabs"], "static inline num rml_cos(num x) {
    num t;
    const num r = rml_quadrant(x, &t);
    if (!(rml_fabs(x) <= {FAR})) {
        return cos@(x);
    }
    return rml_sine_at(r, t + 1);
}
"),
];

/// The same, computed with functions of `math.h`.
pub(crate) const FROM_LIBRARY: &[Entry] = &[
    (
        "rml_fma",
        &[],
        "/* a * b + c, which a compiler may round once or twice. */
static inline num rml_fma(num a, num b, num c) {
    return a * b + c;
}
",
    ),
    (
        "rml_sigmoid",
        &["math.h"],
        "static inline num rml_sigmoid(num x) {
    return 1 / (1 + exp@(-x));
}
",
    ),
    (
        "rml_gelu",
        &["math.h"],
        "static inline num rml_gelu(num x) {
    return (num)0.5 * x * (1 + erf@(x * (num)0.70710678118654752440));
}
",
    ),
    (
        "rml_softplus",
        &["math.h"],
        "static inline num rml_softplus(num x) {
    return (x > 0 ? x : x != x ? x : 0) + log1p@(exp@(-fabs@(x)));
}
",
    ),
    (
        "rml_logaddexp",
        &["math.h"],
        "static inline num rml_logaddexp(num a, num b) {
    return (a >= b || a != a ? a : b) + log1p@(exp@(a == b ? 0 : -fabs@(a - b)));
}
",
    ),
];
