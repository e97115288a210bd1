//! Philox4x32-10: ten rounds of multiplication and exclusive-or that turn a counter and a key into four
//! random words.

const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
const KEY_STEPS: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];

/// The four words of one counter under one key.
pub(super) fn philox4x32_10(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let (mut c, mut k) = (counter, key);
    for _ in 0..10 {
        let (hi0, lo0) = wide(MULTIPLIERS[0], c[0]);
        let (hi1, lo1) = wide(MULTIPLIERS[1], c[2]);
        c = [hi1 ^ c[1] ^ k[0], lo1, hi0 ^ c[3] ^ k[1], lo0];
        k = [k[0].wrapping_add(KEY_STEPS[0]), k[1].wrapping_add(KEY_STEPS[1])];
    }
    c
}

/// High and low word of a product.
fn wide(a: u32, b: u32) -> (u32, u32) {
    let product = u64::from(a) * u64::from(b);
    #[allow(clippy::cast_possible_truncation, reason = "the two halves are meant")]
    ((product >> 32) as u32, product as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that the authors publish with their library (Random123, `kat_vectors`).
    #[test]
    fn known_answers() {
        assert_eq!(philox4x32_10([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        let ones = u32::MAX;
        assert_eq!(philox4x32_10([ones; 4], [ones; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        assert_eq!(
            philox4x32_10([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }
}
