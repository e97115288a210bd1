//! FlatBuffers, the encoding of the metadata of Arrow: tables whose slots are at offsets that a second table lists.
//! Every offset is compared with the bytes there are.

/// A text that is not what its format says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Damaged;

pub(super) type Read<T> = Result<T, Damaged>;

/// The bytes from a place on.
pub(super) fn array<const N: usize>(bytes: &[u8], at: usize) -> Read<[u8; N]> {
    let found = at.checked_add(N).and_then(|end| bytes.get(at..end));
    found.and_then(|found| found.try_into().ok()).ok_or(Damaged)
}

/// A number that counts or locates something.
pub(super) fn size(n: i64) -> Read<usize> {
    usize::try_from(n).map_err(|_| Damaged)
}

/// A table.
#[derive(Clone, Copy)]
pub(super) struct Table<'b> {
    bytes: &'b [u8],
    at: usize,
    /// Two bytes for each slot: its offset from `at`, or 0 if it is absent.
    slots: &'b [u8],
}

impl<'b> Table<'b> {
    /// The table that a buffer contains.
    pub(super) fn root(bytes: &'b [u8]) -> Read<Self> {
        Self::at(bytes, u32::from_le_bytes(array(bytes, 0)?) as usize)
    }

    fn at(bytes: &'b [u8], at: usize) -> Read<Self> {
        let back = i64::from(i32::from_le_bytes(array(bytes, at)?));
        let list = size(i64::try_from(at).map_err(|_| Damaged)? - back)?;
        let end = list + usize::from(u16::from_le_bytes(array(bytes, list)?));
        let slots = bytes.get(list + 4..end).ok_or(Damaged)?;
        Ok(Self { bytes, at, slots })
    }

    fn place(&self, slot: usize) -> Option<usize> {
        let offset = u16::from_le_bytes(array(self.slots, 2 * slot).ok()?);
        (offset != 0).then(|| self.at + usize::from(offset))
    }

    fn scalar<const N: usize>(&self, slot: usize) -> Read<Option<[u8; N]>> {
        self.place(slot).map(|at| array(self.bytes, at)).transpose()
    }

    pub(super) fn byte(&self, slot: usize) -> Read<u8> {
        Ok(self.scalar(slot)?.map_or(0, |[byte]| byte))
    }

    pub(super) fn bool(&self, slot: usize) -> Read<bool> {
        Ok(self.byte(slot)? != 0)
    }

    pub(super) fn i16(&self, slot: usize, default: i16) -> Read<i16> {
        Ok(self.scalar(slot)?.map_or(default, i16::from_le_bytes))
    }

    pub(super) fn i32(&self, slot: usize) -> Read<i32> {
        Ok(self.scalar(slot)?.map_or(0, i32::from_le_bytes))
    }

    pub(super) fn i64(&self, slot: usize) -> Read<i64> {
        Ok(self.scalar(slot)?.map_or(0, i64::from_le_bytes))
    }

    /// The place that a slot refers to.
    fn target(&self, slot: usize) -> Read<Option<usize>> {
        let Some(at) = self.place(slot) else { return Ok(None) };
        Ok(Some(at + u32::from_le_bytes(array(self.bytes, at)?) as usize))
    }

    pub(super) fn table(&self, slot: usize) -> Read<Option<Self>> {
        self.target(slot)?.map(|at| Self::at(self.bytes, at)).transpose()
    }

    pub(super) fn text(&self, slot: usize) -> Read<Option<&'b str>> {
        let Some(at) = self.target(slot)? else { return Ok(None) };
        let length = u32::from_le_bytes(array(self.bytes, at)?) as usize;
        let text = self.bytes.get(at + 4..at + 4 + length).ok_or(Damaged)?;
        std::str::from_utf8(text).map(Some).map_err(|_| Damaged)
    }

    /// The place and the number of the elements of a list, which is empty if it is absent.
    fn list(&self, slot: usize, element: usize) -> Read<(usize, usize)> {
        let Some(at) = self.target(slot)? else { return Ok((0, 0)) };
        let count = u32::from_le_bytes(array(self.bytes, at)?) as usize;
        let end = count.checked_mul(element).and_then(|bytes| bytes.checked_add(at + 4));
        match end.is_some_and(|end| end <= self.bytes.len()) {
            true => Ok((at + 4, count)),
            false => Err(Damaged),
        }
    }

    /// The tables of a list.
    pub(super) fn tables(&self, slot: usize) -> Read<Vec<Self>> {
        let (at, count) = self.list(slot, 4)?;
        let one = |i: usize| {
            let at = at + 4 * i;
            Self::at(self.bytes, at + u32::from_le_bytes(array(self.bytes, at)?) as usize)
        };
        (0..count).map(one).collect()
    }

    /// A list of structures of `N` 64-bit numbers.
    pub(super) fn structs<const N: usize>(&self, slot: usize) -> Read<Vec<[i64; N]>> {
        let (at, count) = self.list(slot, 8 * N)?;
        let number = |i: usize, n: usize| Ok(i64::from_le_bytes(array(self.bytes, at + 8 * (i * N + n))?));
        let one = |i: usize| {
            let mut all = [0; N];
            for (n, place) in all.iter_mut().enumerate() {
                *place = number(i, n)?;
            }
            Ok(all)
        };
        (0..count).map(one).collect()
    }
}
