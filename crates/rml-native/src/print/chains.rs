//! Chains in C: sums of products, many of them side by side, each summed in its own order.

use std::fmt::Write;

/// For each vector size in bytes: the C condition under which compiler and processor have such vectors, with a fused
/// multiply-add.
const VECTORS: [(usize, &str); 2] =
    [(64, "defined(__AVX512F__)"), (32, "defined(__FMA__) && defined(__AVX__)")];

/// Multiplies and adds vectors with a single rounding.
const FMA: &str = "
#if defined(__clang__) && defined(__has_builtin)
#if __has_builtin(__builtin_elementwise_fma)
#define TILE_FMA __builtin_elementwise_fma
#endif
#elif defined(__GNUC__) && TILE_BYTES == 64
#define TILE_FMA(a, b, c) __builtin_ia32_vfmadd@512_mask(a, b, c, -1, 4)
#elif defined(__GNUC__) && TILE_BYTES == 32
#define TILE_FMA(a, b, c) __builtin_ia32_vfmadd@256(a, b, c)
#endif
";

/// The chains of `n` sums: sum `i` adds up the products of `k` elements of `a` and `b`, one after the other.
const CHAINS: &str = "
INLINE void chains_each(num *f, const long n, const long k, const num *a, const long an, const long ak,
                        const num *b, const long bn, const long bk) {
    for (long i = 0; i < n; i++) {
        num sum = f[i];
        for (long j = 0; j < k; j++) { sum = rml_fma(a[i * an + j * ak], b[i * bn + j * bk], sum); }
        f[i] = sum;
    }
}
#ifdef TILE_FMA
/* Terms 0 to TILE - 1 of that many chains: x[j] has term j of each of them. */
INLINE void tile_load(tile *x, const num *from, const long n, const long k) {
    if (n == 0) {
        for (long j = 0; j < TILE; j++) { x[j] = from[j * k] - (tile){0}; }
    } else if (n == 1) {
        for (long j = 0; j < TILE; j++) { __builtin_memcpy(&x[j], from + j * k, sizeof(tile)); }
    } else if (k == 1) {
        for (long i = 0; i < TILE; i++) { __builtin_memcpy(&x[i], from + i * n, sizeof(tile)); }
        tile_turn(x);
    } else {
        for (long j = 0; j < TILE; j++) {
            for (long i = 0; i < TILE; i++) { x[j][i] = from[i * n + j * k]; }
        }
    }
}
/* One term of that many chains. */
INLINE tile tile_term(const num *from, const long n) {
    tile x;
    if (n == 0) {
        x = *from - (tile){0};
    } else if (n == 1) {
        __builtin_memcpy(&x, from, sizeof x);
    } else {
        for (long i = 0; i < TILE; i++) { x[i] = from[i * n]; }
    }
    return x;
}
#define CHAIN_TILES(some) \\
    for (; i + some * TILE <= n; i += some * TILE) { \\
        tile sum[some]; \\
        for (long s = 0; s < some; s++) { __builtin_memcpy(&sum[s], f + i + s * TILE, sizeof(tile)); } \\
        long j = 0; \\
        for (; is_turned && j + TILE <= k; j += TILE) { \\
            for (long s = 0; s < some; s++) { \\
                const long at = i + s * TILE; \\
                tile x[TILE], y[TILE]; \\
                tile_load(x, a + at * an + j * ak, an, ak); \\
                tile_load(y, b + at * bn + j * bk, bn, bk); \\
                for (long l = 0; l < TILE; l++) { sum[s] = TILE_FMA(x[l], y[l], sum[s]); } \\
            } \\
        } \\
        for (; j < k; j++) { \\
            for (long s = 0; s < some; s++) { \\
                const long at = i + s * TILE; \\
                sum[s] = TILE_FMA(tile_term(a + at * an + j * ak, an), tile_term(b + at * bn + j * bk, bn), sum[s]); \\
            } \\
        } \\
        for (long s = 0; s < some; s++) { __builtin_memcpy(f + i + s * TILE, &sum[s], sizeof(tile)); } \\
    }
INLINE void chains(num *f, const long n, const long k, const num *a, const long an, const long ak,
                   const num *b, const long bn, const long bk) {
    const bool is_turned = an > 1 || bn > 1 || an < 0 || bn < 0;
    long i = 0;
    if (!is_turned) { CHAIN_TILES(4) }
    CHAIN_TILES(1)
    chains_each(f + i, n - i, k, a + i * an, an, ak, b + i * bn, bn, bk);
}
#else
#define chains chains_each
#endif
/* The columns of a matrix, one after the other. */
static void turn(num *to, const num *from, const long rows, const long columns, const long stride) {
    long i = 0;
#ifdef TILE_FMA
    for (; i + TILE <= rows; i += TILE) {
        long j = 0;
        for (; j + TILE <= columns; j += TILE) {
            tile x[TILE];
            tile_load(x, from + i * stride + j, stride, 1);
            for (long l = 0; l < TILE; l++) { __builtin_memcpy(to + (j + l) * rows + i, &x[l], sizeof(tile)); }
        }
        for (; j < columns; j++) {
            for (long l = i; l < i + TILE; l++) { to[j * rows + l] = from[l * stride + j]; }
        }
    }
#endif
    for (; i < rows; i++) {
        for (long j = 0; j < columns; j++) { to[j * rows + i] = from[i * stride + j]; }
    }
}
";

/// The functions of chains for nums with this many bytes.
pub(super) fn text(bytes: usize) -> String {
    let mut text = String::new();
    for (i, (vector, has)) in VECTORS.iter().enumerate() {
        let lanes = vector / bytes;
        let _ = writeln!(text, "{} {has}", if i == 0 { "#if" } else { "#elif" });
        let _ = writeln!(text, "#define TILE_BYTES {vector}\n#define TILE {lanes}");
        let _ = writeln!(text, "typedef num tile __attribute__((vector_size({vector})));");
        let _ = writeln!(text, "typedef word tile_places __attribute__((vector_size({vector})));");
        text += &turn(lanes);
    }
    text += "#else\n#define TILE_BYTES 0\n#endif\n";
    text += &FMA.replace('@', if bytes == 4 { "ps" } else { "pd" });
    text + CHAINS
}

/// Transposes a square matrix: exchanges blocks of half its size, then transposes each block.
fn turn(lanes: usize) -> String {
    let mut text = "#if defined(__clang__)
#define TILE_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define TILE_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (tile_places){__VA_ARGS__})
#endif
INLINE void tile_turn(tile *x) {
    tile a, b;
"
    .to_owned();
    let mut half = lanes / 2;
    while half > 0 {
        let list = |of: &dyn Fn(usize) -> usize| {
            (0..lanes).map(|j| of(j).to_string()).collect::<Vec<_>>().join(", ")
        };
        let first = list(&|j| if j & half == 0 { j } else { lanes + j - half });
        let second = list(&|j| if j & half == 0 { j + half } else { lanes + j });
        for i in (0..lanes).filter(|i| i & half == 0) {
            let other = i + half;
            let _ = writeln!(text, "    a = TILE_SHUFFLE(x[{i}], x[{other}], {first});");
            let _ = writeln!(text, "    b = TILE_SHUFFLE(x[{i}], x[{other}], {second});");
            let _ = writeln!(text, "    x[{i}] = a; x[{other}] = b;");
        }
        half /= 2;
    }
    text + "}\n"
}
