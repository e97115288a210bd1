//! Cells behind a pointer, since different threads may not hold mutable slices of the same elements, even if they write
//! different parts.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};
use std::ptr::NonNull;

/// The bytes of a line of the cache. Vectors that cross from one line to the next take twice as long to load.
const LINE: usize = 64;

/// Elements, after each other, from the beginning of a line on.
#[derive(Debug)]
pub(crate) struct Cells<T> {
    at: NonNull<T>,
    len: usize,
    /// The memory that is freed with this value; none for a [`share`](Self::share).
    owned: Option<NonNull<[T]>>,
    kind: PhantomData<T>,
}

// SAFETY: an owner holds elements as a vector does; for a share, whoever makes it promises that no thread writes what
// another one touches.
unsafe impl<T: Send + Sync> Send for Cells<T> {}
// SAFETY: as above; through a shared reference elements are only read.
unsafe impl<T: Send + Sync> Sync for Cells<T> {}

impl<T: Copy + Default> Cells<T> {
    pub(crate) fn new() -> Self {
        Self::of(0)
    }

    fn of(len: usize) -> Self {
        let spare = if len == 0 { 0 } else { LINE / size_of::<T>().max(1) };
        let all = Box::leak(vec![T::default(); len + spare].into_boxed_slice());
        let skipped = all.as_ptr().align_offset(LINE).min(spare);
        let owned = NonNull::from(all);
        // SAFETY: there are `spare` elements more than `len`, and no more are skipped.
        let at = unsafe { owned.cast::<T>().add(skipped) };
        Self { at, len, owned: Some(owned), kind: PhantomData }
    }

    /// Takes at least that many elements; those that are new have the default value. A share has as many as it has.
    pub(crate) fn reserve(&mut self, len: usize) {
        if self.owned.is_some() && self.len < len {
            let mut more = Self::of(len);
            more.row_mut(0, self.len).copy_from_slice(self.all());
            *self = more;
        }
    }

    /// The same elements for another thread.
    ///
    /// # Safety
    /// The owner stays as it is as long as there is a share; while a thread writes an element, no other thread reads or
    /// writes it.
    pub(crate) unsafe fn share(&self) -> Self {
        Self { owned: None, ..*self }
    }
}

impl<T> Cells<T> {
    /// All elements. None of a share, which others may write to.
    #[inline]
    pub(crate) fn all(&self) -> &[T] {
        // SAFETY: there are `len` elements; an owner that is borrowed has no share that is written to.
        unsafe {
            std::slice::from_raw_parts(self.at.as_ptr(), if self.owned.is_some() { self.len } else { 0 })
        }
    }

    /// The same, to be written.
    #[inline]
    pub(crate) fn all_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `all`; an owner that is borrowed mutably has no share that is used.
        unsafe {
            std::slice::from_raw_parts_mut(self.at.as_ptr(), if self.owned.is_some() { self.len } else { 0 })
        }
    }

    /// Elements from a place on.
    ///
    /// # Panics
    /// If there are not as many.
    #[inline(always)]
    pub(crate) fn row(&self, at: usize, len: usize) -> &[T] {
        self.check(at, len);
        // SAFETY: the elements exist; none of them is written as long as the cells are borrowed: not through them, and
        // not through a share by its promise.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr().add(at), len) }
    }

    /// The same, to be written.
    #[inline(always)]
    pub(crate) fn row_mut(&mut self, at: usize, len: usize) -> &mut [T] {
        self.check(at, len);
        // SAFETY: the elements exist; nobody else has them, as for `row`.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr().add(at), len) }
    }

    #[inline(always)]
    fn check(&self, at: usize, len: usize) {
        assert!(at <= self.len && len <= self.len - at, "{len} elements from {at} on, of {}", self.len);
    }
}

impl<T: Copy> Cells<T> {
    /// Copies `len` elements.
    #[inline]
    pub(crate) fn copy_within(&mut self, from: usize, len: usize, to: usize) {
        self.check(from, len);
        self.check(to, len);
        // SAFETY: both rows exist, and nobody else writes to them, as for `row`; they may overlap.
        unsafe { std::ptr::copy(self.at.as_ptr().add(from), self.at.as_ptr().add(to), len) };
    }
}

impl<T> Index<usize> for Cells<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, at: usize) -> &T {
        &self.row(at, 1)[0]
    }
}

impl<T> IndexMut<usize> for Cells<T> {
    #[inline(always)]
    fn index_mut(&mut self, at: usize) -> &mut T {
        &mut self.row_mut(at, 1)[0]
    }
}

impl<T> Drop for Cells<T> {
    fn drop(&mut self) {
        if let Some(owned) = self.owned {
            // SAFETY: the pointer is that of a box, which this owner drops once.
            drop(unsafe { Box::from_raw(owned.as_ptr()) });
        }
    }
}

/// A row of elements to write, and all others to read.
pub(crate) struct Split<'a, T> {
    pub(crate) out: &'a mut [T],
    all: NonNull<T>,
    len: usize,
    /// Where `out` begins and ends.
    start: usize,
    end: usize,
}

impl<'a, T> Split<'a, T> {
    #[inline(always)]
    pub(crate) fn new(cells: &'a mut Cells<T>, at: usize, len: usize) -> Self {
        let (all, count) = (cells.at, cells.len);
        Self { out: cells.row_mut(at, len), all, len: count, start: at, end: at + len }
    }

    /// Elements to read.
    ///
    /// # Panics
    /// If one of them is among those to write.
    #[inline(always)]
    pub(crate) fn row(&self, at: usize, len: usize) -> &'a [T] {
        let is_there = at <= self.len && len <= self.len - at;
        assert!(
            is_there && (at >= self.end || at + len <= self.start),
            "elements that are available to read"
        );
        // SAFETY: the elements exist, and are none of `out`; the cells are borrowed for as long, so nobody else writes
        // to them.
        unsafe { std::slice::from_raw_parts(self.all.as_ptr().add(at), len) }
    }
}
