//! Which instructions the machine has.

mod ffi;

use std::sync::atomic::{AtomicU8, Ordering};

/// An instruction set that code is compiled for. Values other than `Portable` exist on machines that have it only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Isa {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// What every machine of the architecture has; NEON, on ARM.
    Portable,
}

/// A piece of code that [`run`] compiles for several instruction sets.
///
/// Whatever it calls should be `#[inline(always)]`: only what is inlined into it is compiled with it. The results are
/// the same, bit for bit: nothing is reordered, and a multiplication and an addition are fused where [`f32::mul_add`]
/// says so, nowhere else.
pub trait Task {
    /// What it gives.
    type Output;
    /// Does it; to be marked `#[inline(always)]`.
    fn run(self) -> Self::Output;
}

/// Runs a task compiled for the best instruction set of this machine.
///
/// ```
/// struct Scale<'a>(f32, &'a mut [f32]);
/// impl rml_kernels::Task for Scale<'_> {
///     type Output = ();
///     #[inline(always)]
///     fn run(self) {
///         for x in self.1 {
///             *x *= self.0;
///         }
///     }
/// }
/// let mut x = [1.0, 2.0];
/// rml_kernels::run(Scale(2.0, &mut x));
/// assert_eq!(x, [2.0, 4.0]);
/// ```
#[inline]
pub fn run<T: Task>(task: T) -> T::Output {
    ffi::run(Isa::best(), task)
}

/// The index into [`Isa::available`] plus one; 0 = not asked yet.
static BEST: AtomicU8 = AtomicU8::new(0);

impl Isa {
    /// Runs a task compiled for this instruction set.
    #[inline]
    pub(crate) fn run<T: Task>(self, task: T) -> T::Output {
        ffi::run(self, task)
    }

    /// The same without the widest vectors.
    #[inline]
    pub(crate) fn narrow(self) -> Isa {
        match self {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => Isa::Avx2,
            other => other,
        }
    }

    /// Everything that this machine has, worst first.
    pub(crate) fn available() -> Vec<Isa> {
        #[allow(unused_mut, reason = "other architectures have one only")]
        let mut found = vec![Isa::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("avx2") && has!("fma") && has!("bmi2") {
                found.push(Isa::Avx2);
                if has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl") {
                    found.push(Isa::Avx512);
                }
            }
        }
        found
    }

    /// The best one that this machine has.
    #[inline]
    pub(crate) fn best() -> Isa {
        match BEST.load(Ordering::Relaxed) {
            #[cfg(target_arch = "x86_64")]
            3 => Isa::Avx512,
            #[cfg(target_arch = "x86_64")]
            2 => Isa::Avx2,
            1 => Isa::Portable,
            _ => Isa::ask(),
        }
    }

    #[cold]
    fn ask() -> Isa {
        let found = Isa::available();
        BEST.store(u8::try_from(found.len()).unwrap_or(1), Ordering::Relaxed);
        found[found.len() - 1]
    }
}
