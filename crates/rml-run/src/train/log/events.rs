//! Files of events for TensorBoard: records with checksums, each with a message in protocol buffers.

use rml_onnx::Message;

/// The beginning of a file: the version of its format.
pub(super) fn beginning(time: f64) -> Vec<u8> {
    record(&Message::default().double(1, time).text(3, "brain.Event:2").into_bytes())
}

/// Numbers by tag, at a step.
#[allow(clippy::cast_possible_truncation, reason = "events have single precision")]
pub(super) fn scalars(time: f64, step: u64, numbers: impl IntoIterator<Item = (String, f64)>) -> Vec<u8> {
    let values = numbers
        .into_iter()
        .map(|(tag, x)| Message::default().text(1, &tag).float(2, x as f32))
        .collect::<Vec<_>>();
    let summary = Message::default().messages(1, &values);
    let event = Message::default().double(1, time).int(2, step.cast_signed()).message(5, &summary);
    record(&event.into_bytes())
}

/// A record: the length, its checksum, the message, its checksum.
fn record(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u64).to_le_bytes();
    let parts = [&length[..], &masked(&length).to_le_bytes(), message, &masked(message).to_le_bytes()];
    parts.concat()
}

/// The masked checksum of records, which avoids that a checksum over bytes with checksums is a checksum itself.
fn masked(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// The cyclic redundancy check with Castagnoli's polynomial, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    let shift = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| shift(crc)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vectors of RFC 3720, B.4, and the common one.
    #[test]
    fn check_sums_are_those_of_the_standard() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        let ascending: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&ascending), 0x46dd_794e);
    }

    /// The first 24 bytes of a file that TensorFlow wrote at time 0, and a scalar.
    #[test]
    fn records_are_those_of_the_format() {
        let beginning = beginning(0.0);
        assert_eq!(beginning[..8], 24_u64.to_le_bytes());
        assert_eq!(beginning[8..12], [0xa3, 0x7f, 0x4b, 0x22], "as in each such file");
        assert_eq!(beginning[12..36], *b"\x09\0\0\0\0\0\0\0\0\x1a\x0dbrain.Event:2");
        let scalar = scalars(0.0, 300, [("a".to_owned(), 1.0)]);
        let message = &scalar[12..scalar.len() - 4];
        assert_eq!(message[9..], *b"\x10\xac\x02\x2a\x0a\x0a\x08\x0a\x01a\x15\0\0\x80\x3f");
    }
}
