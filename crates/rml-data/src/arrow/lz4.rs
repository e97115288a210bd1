//! LZ4 frames, in which Arrow compresses buffers.

/// The content of a frame that has `length` bytes; `None` if the frame is damaged.
pub(super) fn unpack(bytes: &[u8], length: usize) -> Option<Vec<u8>> {
    const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
    let rest = bytes.strip_prefix(&MAGIC)?;
    let flags = *rest.first()?;
    let (has_checksums, has_size, has_dictionary) = (flags & 0x10 != 0, flags & 0x08 != 0, flags & 0x01 != 0);
    // Flags, the largest block, the size of the content, a dictionary, a checksum of the header.
    let header = 3 + if has_size { 8 } else { 0 } + if has_dictionary { 4 } else { 0 };
    let mut rest = rest.get(header..)?;
    let mut out = Vec::new();
    loop {
        let (size, after) = rest.split_first_chunk::<4>()?;
        let size = u32::from_le_bytes(*size);
        if size == 0 {
            return (out.len() == length).then_some(out);
        }
        let (block, after) = after.split_at_checked((size & 0x7fff_ffff) as usize)?;
        rest = after.get(if has_checksums { 4 } else { 0 }..)?;
        match size >> 31 {
            1 if out.len() + block.len() <= length => out.extend_from_slice(block),
            1 => return None,
            _ => self::block(block, &mut out, length)?,
        }
    }
}

/// Appends the content of a block.
fn block(mut bytes: &[u8], out: &mut Vec<u8>, length: usize) -> Option<()> {
    loop {
        let (token, after) = bytes.split_first()?;
        bytes = after;
        let literals = count(usize::from(token >> 4), &mut bytes)?;
        let (copied, after) = bytes.split_at_checked(literals)?;
        if out.len() + literals > length {
            return None;
        }
        out.extend_from_slice(copied);
        bytes = after;
        if bytes.is_empty() {
            return Some(());
        }
        let (distance, after) = bytes.split_first_chunk::<2>()?;
        bytes = after;
        let distance = usize::from(u16::from_le_bytes(*distance));
        let repeated = count(usize::from(token & 15), &mut bytes)? + 4;
        let from = out.len().checked_sub(distance).filter(|_| distance > 0)?;
        if out.len() + repeated > length {
            return None;
        }
        // The copied bytes may overlap those that are written.
        for i in 0..repeated {
            out.push(out[from + i]);
        }
    }
}

/// A number that begins with four bits; 15 means that bytes follow, up to one that is not 255.
fn count(begin: usize, bytes: &mut &[u8]) -> Option<usize> {
    let mut n = begin;
    let mut more = if begin == 15 { u8::MAX } else { 0 };
    while more == u8::MAX {
        let (next, after) = bytes.split_first()?;
        (more, *bytes) = (*next, after);
        n = n.checked_add(usize::from(more))?;
    }
    Some(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_repeat_earlier_bytes() {
        // A literal `ab`, then eight bytes from two bytes before, then a literal `c`.
        let block = [0x24, b'a', b'b', 2, 0, 0x10, b'c'];
        let frame = |block: &[u8]| {
            let size = u32::try_from(block.len()).unwrap().to_le_bytes();
            [&[0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82][..], &size, block, &[0; 4]].concat()
        };
        assert_eq!(unpack(&frame(&block), 11).as_deref(), Some(&b"abababababc"[..]));
        assert_eq!(unpack(&frame(&block), 10), None);
        for end in 0..frame(&block).len() {
            assert_eq!(unpack(&frame(&block)[..end], 11), None, "{end}");
        }
        // A distance before the beginning.
        assert_eq!(unpack(&frame(&[0x14, b'a', 2, 0, 0x10, b'c']), 10), None);
    }
}
