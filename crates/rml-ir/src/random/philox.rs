//! Philox4x32-10: ten rounds of multiplication and exclusive-or that turn a counter and a key into four
//! random words.

const MULTIPLIERS: [u64; 2] = [0xd251_1f53, 0xcd9e_8d57];
const KEY_STEPS: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];

/// The four words of one counter under one key.
pub(super) fn philox4x32_10(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    side_by_side::<1>(counter.map(|word| [word]), key).map(|[word]| word)
}

/// The words of several counters at once, each word of all of them beside each other. Words stand in 64 bits, so that
/// products need no more.
#[inline(always)]
pub(super) fn side_by_side<const N: usize>(counters: [[u32; N]; 4], key: [u32; 2]) -> [[u32; N]; 4] {
    const LOW: u64 = u32::MAX as u64;
    let ([mut c0, mut c1, mut c2, mut c3], mut k) = (counters.map(|words| words.map(u64::from)), key);
    for _ in 0..10 {
        let (k0, k1) = (u64::from(k[0]), u64::from(k[1]));
        let (p0, p1) = (c0.map(|c| (c & LOW) * MULTIPLIERS[0]), c2.map(|c| (c & LOW) * MULTIPLIERS[1]));
        for i in 0..N {
            c0[i] = (p1[i] >> 32) ^ c1[i] ^ k0;
        }
        for i in 0..N {
            c2[i] = (p0[i] >> 32) ^ c3[i] ^ k1;
        }
        (c1, c3) = (p1.map(|p| p & LOW), p0.map(|p| p & LOW));
        k = [k[0].wrapping_add(KEY_STEPS[0]), k[1].wrapping_add(KEY_STEPS[1])];
    }
    #[allow(clippy::cast_possible_truncation, reason = "words have 32 bits")]
    [c0, c1, c2, c3].map(|words| words.map(|word| word as u32))
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

    #[test]
    fn counters_side_by_side_give_what_each_gives() {
        let counters = [[0, 1, 77, 1 << 31, u32::MAX], [3, 0, 9, 0, 1], [0; 5], [u32::MAX, 2, 0, 5, 7]];
        let key = [0xa409_3822, 0x299f_31d0];
        let all = side_by_side(counters, key);
        for i in 0..5 {
            assert_eq!(all.map(|words| words[i]), philox4x32_10(counters.map(|words| words[i]), key));
        }
    }
}
