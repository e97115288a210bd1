//! Numbers as bits and bytes.

use crate::functions::Entry;

/// The table.
pub(super) const TABLE: &[Entry] = &[
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
        "/* Writes the n low bytes, the lowest first. Returns the place after them. */
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
        "/* Reads n bytes, the lowest first, and moves past them. */
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
