//! The code that needs `unsafe`: the exported function, the libraries for CUDA, tensors that several threads may hold,
//! the maker of the processor, and the system's allocator.
#![allow(unsafe_code)]

use std::ffi::OsStr;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use rml_backend::plugin::export::{Api, api};
use tch::{Kind, TchError, Tensor};

/// The table of this library; see `rml_backend::plugin`.
#[unsafe(no_mangle)]
#[allow(unreachable_pub, reason = "the program that opens the library reaches it")]
pub extern "C" fn rml_backend_api() -> *const Api {
    api(crate::open)
}

/// A tensor that is never written once it is in here.
#[derive(Debug)]
pub(crate) struct Shared(Tensor);

// SAFETY: `tch` leaves `Sync` out because methods that take `&Tensor` may write in place through a shallow clone.
// Nothing in this crate writes to a tensor of `Shared`; reading one, and cloning a handle (libtorch counts them
// atomically), is safe from several threads. Besides, every call of the exported table takes one lock.
unsafe impl Sync for Shared {}

impl Shared {
    /// Takes a tensor over; nobody writes to it from here on.
    pub(crate) fn new(tensor: Tensor) -> Self {
        Self(tensor)
    }

    /// The tensor, to read.
    pub(crate) fn get(&self) -> &Tensor {
        &self.0
    }
}

/// Opens a library with all its symbols global, as libtorch's own libraries expect of each other; it stays open.
pub(crate) fn open_global(file: &OsStr) -> Result<(), libloading::Error> {
    // SAFETY: the initialisers of libtorch's libraries register their kernels and may run at any time.
    let library = unsafe { Library::open(Some(file), RTLD_NOW | RTLD_GLOBAL) }?;
    std::mem::forget(library);
    Ok(())
}

/// A tensor on the host with those elements.
pub(crate) fn tensor_of<T: Copy>(items: &[T], size: &[i64], kind: Kind) -> Result<Tensor, TchError> {
    let wanted: i64 = size.iter().product();
    assert_eq!(i64::try_from(items.len()), Ok(wanted), "elements fill the size");
    assert_eq!(size_of::<T>(), kind.elt_size_in_bytes(), "elements are of the kind");
    // SAFETY: the bytes of a slice of plain numbers or truth values; all of them are initialised.
    let bytes = unsafe { std::slice::from_raw_parts(items.as_ptr().cast::<u8>(), size_of_val(items)) };
    Tensor::f_from_data_size(bytes, size, kind)
}

/// Whether this is an x86-64 processor that Intel did not make.
pub(crate) fn is_x86_of_others() -> bool {
    #[cfg(target_arch = "x86_64")]
    #[allow(unused_unsafe, reason = "newer compilers have the instruction as a safe function")]
    {
        // SAFETY: every x86-64 processor has this instruction and its first leaf.
        let said = unsafe { std::arch::x86_64::__cpuid(0) };
        [said.ebx, said.edx, said.ecx].map(u32::to_le_bytes).concat() != *b"GenuineIntel"
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Has the system's allocator keep up to 256 MB that were freed, and take blocks of up to 32 MB, the most that it
/// allows, from there: else the tensors of each window are given back, and fetched page by page in the next one. Does
/// nothing where the environment sets either.
pub(crate) fn keep_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let settings = [
            ("MALLOC_TRIM_THRESHOLD_", libc::M_TRIM_THRESHOLD, 256 << 20),
            ("MALLOC_MMAP_THRESHOLD_", libc::M_MMAP_THRESHOLD, 32 << 20),
        ];
        if settings.iter().any(|(variable, ..)| std::env::var_os(variable).is_some()) {
            return;
        }
        for (_, setting, bytes) in settings {
            // SAFETY: `mallopt` takes any numbers, and locks the allocator.
            unsafe { libc::mallopt(setting, bytes) };
        }
    }
}
