//! Pseudo-random numbers.

use crate::functions::Entry;

/// The table.
pub(super) const TABLE: &[Entry] = &[
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
