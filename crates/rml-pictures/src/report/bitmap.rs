//! Pictures of numbers as bitmaps in an address, which a page holds without another file.

/// The most pixels along a side; of larger ones, some rows and columns are left out.
const MOST: usize = 128;

/// A picture of `[rows, columns]` pixels as an address: a bitmap with 24 bits a pixel.
pub(super) fn address([rows, columns]: [usize; 2], pixel: impl Fn(usize, usize) -> [u8; 3]) -> String {
    let skip = rows.max(columns).div_ceil(MOST).max(1);
    let (rows, columns) = (rows.div_ceil(skip), columns.div_ceil(skip));
    let line = (3 * columns).next_multiple_of(4);
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
    let mut bytes = b"BM".to_vec();
    for n in [54 + line * rows, 0, 54, 40, columns, rows] {
        bytes.extend(number(n));
    }
    bytes.extend([1, 0, 24, 0]);
    for n in [0, line * rows, 0, 0, 0, 0] {
        bytes.extend(number(n));
    }
    // Rows stand from the lowest one up, colours from blue to red.
    for row in (0..rows).rev() {
        let begin = bytes.len();
        for column in 0..columns {
            let [red, green, blue] = pixel(row * skip, column * skip);
            bytes.extend([blue, green, red]);
        }
        bytes.resize(begin + line, 0);
    }
    format!("data:image/bmp;base64,{}", base64(&bytes))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for part in bytes.chunks(3) {
        let of = |i: usize| u32::from(part.get(i).copied().unwrap_or(0));
        let all = of(0) << 16 | of(1) << 8 | of(2);
        for i in 0..4 {
            let digit = char::from(DIGITS[(all >> (18 - 6 * i) & 63) as usize]);
            out.push(if i <= part.len() { digit } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_digits_of_base_64() {
        let texts = ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
    }

    #[test]
    fn a_bitmap_says_its_size_and_is_no_larger_than_a_page_needs() {
        let address = |dims| address(dims, |row, column| [row as u8, column as u8, 7]);
        let small = address([2, 3]);
        // 54 bytes, and two rows of 9 bytes and 3 more.
        assert_eq!(small.len(), "data:image/bmp;base64,".len() + (54 + 24) / 3 * 4);
        assert!(small.starts_with("data:image/bmp;base64,Qk1OAAAA"), "{small}");
        assert!(address([1000, 10]).len() < 54 * 2 + 128 * 4 * 8);
    }
}
