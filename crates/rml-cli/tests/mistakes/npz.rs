//! Archives of NumPy arrays, as `np.savez` writes them.

/// The name of an array, the type of its elements and its shape in NumPy's notation, and its bytes.
pub(crate) type Array<'a> = (&'a str, &'a str, &'a str, &'a [u8]);

/// A ZIP file of these arrays, not compressed.
pub(crate) fn npz(arrays: &[Array<'_>]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, descr, shape, elements) in arrays {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let length = u16::try_from(header.len()).expect("a short header");
        let content = [b"\x93NUMPY\x01\x00", &length.to_le_bytes()[..], header.as_bytes(), elements].concat();
        let (start, name) = (word(file.len()), format!("{name}.npy"));
        let size = word(content.len());
        let about = [&[20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0][..], &checksum(&content), &size, &size].concat();
        let name_length = u16::try_from(name.len()).expect("a short name").to_le_bytes();
        let parts = [&b"PK\x03\x04"[..], &about, &name_length, &[0, 0], name.as_bytes(), &content];
        file.extend(parts.concat());
        let parts = [&b"PK\x01\x02\x14\x00"[..], &about, &name_length, &[0; 12], &start, name.as_bytes()];
        directory.extend(parts.concat());
    }
    let count = u16::try_from(arrays.len()).expect("few arrays").to_le_bytes();
    let (start, size) = (word(file.len()), word(directory.len()));
    let end = [&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &size, &start, &[0, 0]].concat();
    [file, directory, end].concat()
}

fn word(n: usize) -> [u8; 4] {
    u32::try_from(n).expect("a small file").to_le_bytes()
}

/// The checksum of archives.
fn checksum(bytes: &[u8]) -> [u8; 4] {
    let step = |crc: u32, _: usize| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg());
    let crc = bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step));
    (!crc).to_le_bytes()
}
