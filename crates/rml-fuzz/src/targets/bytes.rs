//! Damage to bytes, and to texts that are not programs.

use rml_testkit::Lcg;

/// Values that are likely to cause errors in headers and lengths.
const EDGES: [u64; 9] = [0, 1, 2, 0x7f, 0x80, 0xff, 0xffff, 0x7fff_ffff, u64::MAX];

/// Pieces of JSON, CSV and TOML.
const PIECES: &[&str] = &[
    "null",
    "true",
    "false",
    "[]",
    "{}",
    "[[]]",
    "\"\"",
    "\"NaN\"",
    "\"Infinity\"",
    "-0",
    "-0.0",
    "1e400",
    "1e-400",
    "16777217",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "1.",
    ".5",
    "+1",
    "0x10",
    "NaN",
    "inf",
    ",",
    ",,",
    ":",
    "\"",
    "\"\"\"",
    "\n",
    "\r\n",
    "\n\n",
    "[",
    "]",
    "{",
    "}",
    "\u{feff}",
    "\u{1b}[31m",
    "\u{0}",
    "é",
    "\\u0000",
    "\\ud800",
    "1_000",
    " ",
    "\t",
    "=",
    "#",
    "''",
    "_",
    "?",
];

/// The bytes with one to six random changes.
pub(super) fn damaged(bytes: &[u8], r: &mut Lcg) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=r.below(6) {
        let at = r.below(bytes.len());
        match r.below(8) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << r.below(8),
            1 if !bytes.is_empty() => bytes[at] = u8::try_from(r.below(256)).unwrap_or(0),
            2 => drop(bytes.drain(at..(at + 1 + r.below(8)).min(bytes.len()))),
            3 => bytes.truncate(at),
            4 => {
                let copied = bytes[at..(at + 1 + r.below(32)).min(bytes.len())].to_vec();
                let to = r.below(bytes.len());
                bytes.splice(to..to, copied);
            }
            5 => {
                let width = [1, 2, 4, 8][r.below(4)];
                let value = &r.pick(&EDGES).to_le_bytes()[..width];
                bytes.splice(at..(at + width).min(bytes.len()), value.iter().copied());
            }
            6 => bytes.splice(at..at, r.pick(PIECES).bytes()).for_each(drop),
            _ => number(&mut bytes, r),
        }
    }
    bytes
}

/// Replaces a number or word of a text by one of `PIECES`.
fn number(bytes: &mut Vec<u8>, r: &mut Lcg) {
    let is_word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'.' || *b == b'-';
    let starts: Vec<usize> =
        (0..bytes.len()).filter(|&i| is_word(&bytes[i]) && (i == 0 || !is_word(&bytes[i - 1]))).collect();
    if starts.is_empty() {
        return;
    }
    let start = *r.pick(&starts);
    let end = start + bytes[start..].iter().take_while(|b| is_word(b)).count();
    bytes.splice(start..end, r.pick(PIECES).bytes());
}
