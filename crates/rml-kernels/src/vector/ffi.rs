//! Vectors of numbers, as the micro-kernels of products use them.
//!
//! SAFETY, for all methods: the machine must have the instruction set of the vector, and a pointer must be valid for
//! the numbers that a method is said to read or write. They are inlined into kernels that are compiled for that
//! instruction set.
#![allow(unsafe_code, clippy::missing_safety_doc, unsafe_op_in_unsafe_fn)]

/// Some numbers in a register.
pub trait Vector<T>: Copy {
    const LANES: usize;
    /// Rows that a kernel takes, at most.
    const ROWS: usize;
    /// How many of them accumulate at the same time, at most.
    const ACCUMULATORS: usize;
    /// Whether loading some lanes costs no more than loading all.
    const MASKS: bool;
    type Mask: Copy;
    unsafe fn splat(x: T) -> Self;
    /// The first `n <= LANES` lanes.
    unsafe fn mask(n: usize) -> Self::Mask;
    /// `LANES` numbers from `p` on.
    unsafe fn load(p: *const T) -> Self;
    /// The numbers of the mask; the others are zeros, and not touched.
    unsafe fn load_some(p: *const T, mask: Self::Mask) -> Self;
    unsafe fn store(self, p: *mut T);
    unsafe fn store_some(self, p: *mut T, mask: Self::Mask);
    unsafe fn add(self, b: Self) -> Self;
    /// `self b + c`, rounded once.
    unsafe fn mul_add(self, b: Self, c: Self) -> Self;
}

/// A vector that turns rows into columns quickly.
#[cfg(target_arch = "x86_64")]
pub trait Square<T>: Vector<T> {
    /// As many vectors as one has lanes.
    type Vectors: AsRef<[Self]>;
    /// The first `n` columns of `rows` rows that begin at `p` and are `stride` apart, a vector for each; there are at
    /// most as many of both as lanes. What is after them is not touched.
    unsafe fn columns(p: *const T, stride: usize, rows: usize, n: usize) -> Self::Vectors;
}

/// A vector of any machine.
#[derive(Clone, Copy)]
pub struct Plain<T>([T; 4]);

macro_rules! plain {
    ($t:ty) => {
        impl Vector<$t> for Plain<$t> {
            const LANES: usize = 4;
            const ROWS: usize = 4;
            const ACCUMULATORS: usize = 16;
            const MASKS: bool = false;
            type Mask = usize;
            #[inline(always)]
            unsafe fn splat(x: $t) -> Self {
                Plain([x; 4])
            }
            #[inline(always)]
            unsafe fn mask(n: usize) -> usize {
                n
            }
            #[inline(always)]
            unsafe fn load(p: *const $t) -> Self {
                Plain(p.cast::<[$t; 4]>().read_unaligned())
            }
            #[inline(always)]
            unsafe fn load_some(p: *const $t, n: usize) -> Self {
                let mut x = [0.0; 4];
                std::ptr::copy_nonoverlapping(p, x.as_mut_ptr(), n);
                Plain(x)
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $t) {
                p.cast::<[$t; 4]>().write_unaligned(self.0);
            }
            #[inline(always)]
            unsafe fn store_some(self, p: *mut $t, n: usize) {
                std::ptr::copy_nonoverlapping(self.0.as_ptr(), p, n);
            }
            #[inline(always)]
            unsafe fn add(self, b: Self) -> Self {
                let mut out = self.0;
                for (out, b) in out.iter_mut().zip(&b.0) {
                    *out += *b;
                }
                Plain(out)
            }
            #[inline(always)]
            unsafe fn mul_add(self, b: Self, c: Self) -> Self {
                let mut out = c.0;
                for (out, (a, b)) in out.iter_mut().zip(self.0.iter().zip(&b.0)) {
                    *out = a.mul_add(*b, *out);
                }
                Plain(out)
            }
        }
    };
}
plain!(f32);
plain!(f64);

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64 as arch;

    use super::{Square, Vector};

    /// 512 bits.
    #[derive(Clone, Copy)]
    pub struct Avx512<V>(V);

    /// 256 bits.
    #[derive(Clone, Copy)]
    pub struct Avx2<V>(V);

    macro_rules! avx512 {
        ($t:ty, $v:ident, $mask:ty, $lanes:literal, $splat:ident, $load:ident, $some:ident, $store:ident, $put:ident, $add:ident, $fma:ident, $index:ty, $pick:ident) => {
            impl Square<$t> for Avx512<arch::$v> {
                type Vectors = [Self; $lanes];
                #[inline(always)]
                unsafe fn columns(p: *const $t, stride: usize, rows: usize, n: usize) -> [Self; $lanes] {
                    // Lanes of two vectors by turns: from the first halves, and from the second ones.
                    const fn halves(half: $index) -> [$index; $lanes] {
                        let mut lanes = [0; $lanes];
                        let mut i = 0;
                        while i < $lanes {
                            lanes[i] = half * ($lanes / 2) + (i / 2 + i % 2 * $lanes) as $index;
                            i += 1;
                        }
                        lanes
                    }
                    const HALVES: [[$index; $lanes]; 2] = [halves(0), halves(1)];
                    let halves = HALVES.map(|half| arch::_mm512_loadu_si512(half.as_ptr().cast()));
                    let mask = Self::mask(n);
                    let mut all: [Self; $lanes] = std::array::from_fn(|i| {
                        if i < rows { Self::load_some(p.add(i * stride), mask) } else { Self::splat(0.0) }
                    });
                    // Each time, a lane goes to where it stands if the number of its row and its own, bit after bit,
                    // are turned by one.
                    let mut bits = 1;
                    while bits < $lanes {
                        all = std::array::from_fn(|i| {
                            let (a, b) = (all[i / 2], all[i / 2 + $lanes / 2]);
                            Avx512(arch::$pick(a.0, halves[i % 2], b.0))
                        });
                        bits *= 2;
                    }
                    all
                }
            }

            impl Vector<$t> for Avx512<arch::$v> {
                const LANES: usize = $lanes;
                const ROWS: usize = 6;
                const ACCUMULATORS: usize = 24;
                const MASKS: bool = true;
                type Mask = $mask;
                #[inline(always)]
                unsafe fn splat(x: $t) -> Self {
                    Avx512(arch::$splat(x))
                }
                #[inline(always)]
                #[allow(clippy::cast_possible_truncation, reason = "as many bits as lanes")]
                unsafe fn mask(n: usize) -> $mask {
                    ((1_u32 << n) - 1) as $mask
                }
                #[inline(always)]
                unsafe fn load(p: *const $t) -> Self {
                    Avx512(arch::$load(p))
                }
                #[inline(always)]
                unsafe fn load_some(p: *const $t, mask: $mask) -> Self {
                    Avx512(arch::$some(mask, p))
                }
                #[inline(always)]
                unsafe fn store(self, p: *mut $t) {
                    arch::$store(p, self.0);
                }
                #[inline(always)]
                unsafe fn store_some(self, p: *mut $t, mask: $mask) {
                    arch::$put(p, mask, self.0);
                }
                #[inline(always)]
                unsafe fn add(self, b: Self) -> Self {
                    Avx512(arch::$add(self.0, b.0))
                }
                #[inline(always)]
                unsafe fn mul_add(self, b: Self, c: Self) -> Self {
                    Avx512(arch::$fma(self.0, b.0, c.0))
                }
            }
        };
    }
    avx512!(
        f32,
        __m512,
        u16,
        16,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_maskz_loadu_ps,
        _mm512_storeu_ps,
        _mm512_mask_storeu_ps,
        _mm512_add_ps,
        _mm512_fmadd_ps,
        i32,
        _mm512_permutex2var_ps
    );
    avx512!(
        f64,
        __m512d,
        u8,
        8,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_maskz_loadu_pd,
        _mm512_storeu_pd,
        _mm512_mask_storeu_pd,
        _mm512_add_pd,
        _mm512_fmadd_pd,
        i64,
        _mm512_permutex2var_pd
    );

    macro_rules! avx2 {
        ($t:ty, $v:ident, $lanes:literal, $bits:ident, $splat:ident, $load:ident, $some:ident, $store:ident, $put:ident, $add:ident, $fma:ident) => {
            impl Vector<$t> for Avx2<arch::$v> {
                const LANES: usize = $lanes;
                const ROWS: usize = 6;
                const ACCUMULATORS: usize = 12;
                const MASKS: bool = false;
                type Mask = arch::__m256i;
                #[inline(always)]
                unsafe fn splat(x: $t) -> Self {
                    Avx2(arch::$splat(x))
                }
                #[inline(always)]
                unsafe fn mask(n: usize) -> arch::__m256i {
                    let mut bits = [0 as $bits; $lanes];
                    bits[..n].fill(-1);
                    arch::_mm256_loadu_si256(bits.as_ptr().cast())
                }
                #[inline(always)]
                unsafe fn load(p: *const $t) -> Self {
                    Avx2(arch::$load(p))
                }
                #[inline(always)]
                unsafe fn load_some(p: *const $t, mask: arch::__m256i) -> Self {
                    Avx2(arch::$some(p, mask))
                }
                #[inline(always)]
                unsafe fn store(self, p: *mut $t) {
                    arch::$store(p, self.0);
                }
                #[inline(always)]
                unsafe fn store_some(self, p: *mut $t, mask: arch::__m256i) {
                    arch::$put(p, mask, self.0);
                }
                #[inline(always)]
                unsafe fn add(self, b: Self) -> Self {
                    Avx2(arch::$add(self.0, b.0))
                }
                #[inline(always)]
                unsafe fn mul_add(self, b: Self, c: Self) -> Self {
                    Avx2(arch::$fma(self.0, b.0, c.0))
                }
            }
        };
    }
    avx2!(
        f32,
        __m256,
        8,
        i32,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_maskload_ps,
        _mm256_storeu_ps,
        _mm256_maskstore_ps,
        _mm256_add_ps,
        _mm256_fmadd_ps
    );
    avx2!(
        f64,
        __m256d,
        4,
        i64,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_maskload_pd,
        _mm256_storeu_pd,
        _mm256_maskstore_pd,
        _mm256_add_pd,
        _mm256_fmadd_pd
    );
}
