//! Running one piece of code compiled for several instruction sets.
#![allow(unsafe_code)]

use super::{Isa, Task};

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi2")]
fn avx512<T: Task>(task: T) -> T::Output {
    task.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2")]
fn avx2<T: Task>(task: T) -> T::Output {
    task.run()
}

/// Runs `task` compiled for `isa`.
#[inline]
pub(crate) fn run<T: Task>(isa: Isa, task: T) -> T::Output {
    match isa {
        // SAFETY: an `Isa` other than the portable one comes from `Isa::available`, which has asked the machine for
        // these features.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { avx512(task) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { avx2(task) },
        Isa::Portable => task.run(),
    }
}
