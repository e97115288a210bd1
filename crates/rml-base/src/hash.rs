//! A hash that is the same on every machine and in every version.

/// A running 64-bit FNV-1a hash, to detect that texts or data changed. It does not protect against forgery.
#[derive(Clone, Copy, Debug)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Hashes more bytes.
    pub fn bytes(&mut self, bytes: impl IntoIterator<Item = u8>) {
        for b in bytes {
            self.0 = (self.0 ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Hashes a text and its length; the length separates it from the text that follows.
    pub fn text(&mut self, text: &str) {
        self.bytes((text.len() as u64).to_le_bytes());
        self.bytes(text.bytes());
    }

    /// The hash of everything so far, in 16 hexadecimal digits.
    pub fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}
