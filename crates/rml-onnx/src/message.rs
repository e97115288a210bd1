//! Messages of protocol buffers, written field by field.

/// A message that is being written.
#[derive(Clone, Default, Debug)]
pub struct Message(Vec<u8>);

impl Message {
    /// A whole number.
    pub fn int(mut self, field: u64, x: i64) -> Self {
        self.varint(field << 3);
        self.varint(x.cast_unsigned());
        self
    }

    /// A number of double precision.
    #[must_use]
    pub fn double(mut self, field: u64, x: f64) -> Self {
        self.varint(field << 3 | 1);
        self.0.extend_from_slice(&x.to_le_bytes());
        self
    }

    /// A number of single precision.
    #[must_use]
    pub fn float(mut self, field: u64, x: f32) -> Self {
        self.varint(field << 3 | 5);
        self.0.extend_from_slice(&x.to_le_bytes());
        self
    }

    /// A text.
    pub fn text(self, field: u64, x: &str) -> Self {
        self.bytes(field, x.as_bytes())
    }

    /// A nested message.
    pub fn message(self, field: u64, x: &Message) -> Self {
        self.bytes(field, &x.0)
    }

    /// Several fields with one number.
    pub fn messages<'a>(self, field: u64, all: impl IntoIterator<Item = &'a Message>) -> Self {
        all.into_iter().fold(self, |message, x| message.message(field, x))
    }

    /// Bytes.
    pub fn bytes(mut self, field: u64, x: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(x.len() as u64);
        self.0.extend_from_slice(x);
        self
    }

    /// The written bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// The number of written bytes.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// A variable-length integer: seven bits per byte, lowest first.
    fn varint(&mut self, mut x: u64) {
        while x >= 0x80 {
            self.0.push((x & 0x7f) as u8 | 0x80);
            x >>= 7;
        }
        self.0.push(x as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_the_format() {
        let inner = Message::default().int(1, 300).text(2, "ab");
        assert_eq!(inner.clone().into_bytes(), [0x08, 0xac, 0x02, 0x12, 2, b'a', b'b']);
        let outer = Message::default().message(20, &inner).int(3, -1).into_bytes();
        assert_eq!(outer[..3], [0xa2, 0x01, 7]);
        assert_eq!(outer[10..], [0x18, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
    }
}
