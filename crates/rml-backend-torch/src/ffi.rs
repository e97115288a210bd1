//! The code that needs `unsafe`: the exported function, the libraries for CUDA, tensors that several threads may share,
//! the vendor of the processor, and the system's allocator.
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

/// A tensor that is never written to while it is in this type.
#[derive(Debug)]
pub(crate) struct Shared(Tensor);

// SAFETY: `tch` leaves `Sync` out because methods that take `&Tensor` may write in place through a shallow clone.
// Nothing in this crate writes to a tensor of `Shared`; reading one, and cloning a handle (libtorch counts them
// atomically), is safe from several threads. Besides, every call of the exported table takes one lock.
unsafe impl Sync for Shared {}

impl Shared {
    /// Takes ownership of a tensor, which must not be written to any more.
    pub(crate) fn new(tensor: Tensor) -> Self {
        Self(tensor)
    }

    /// The tensor, for reading.
    pub(crate) fn get(&self) -> &Tensor {
        &self.0
    }
}

/// Opens a library with global symbols, as libtorch's own libraries require of each other; it is never closed.
pub(crate) fn open_global(file: &OsStr) -> Result<(), libloading::Error> {
    // SAFETY: the initialisers of libtorch's libraries register their kernels and may run at any time.
    let library = unsafe { Library::open(Some(file), RTLD_NOW | RTLD_GLOBAL) }?;
    std::mem::forget(library);
    Ok(())
}

/// A tensor on the host with these elements.
pub(crate) fn tensor_of<T: Copy>(items: &[T], size: &[i64], kind: Kind) -> Result<Tensor, TchError> {
    let wanted: i64 = size.iter().product();
    assert_eq!(i64::try_from(items.len()), Ok(wanted), "elements fill the size");
    assert_eq!(size_of::<T>(), kind.elt_size_in_bytes(), "elements are of the kind");
    // SAFETY: the bytes of a slice of plain numbers or truth values; all of them are initialised.
    let bytes = unsafe { std::slice::from_raw_parts(items.as_ptr().cast::<u8>(), size_of_val(items)) };
    Tensor::f_from_data_size(bytes, size, kind)
}

/// Whether this is an x86-64 processor of another vendor than Intel.
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

/// Makes the system's allocator keep up to 256 MB of freed memory, and allocate blocks of up to 32 MB, its maximum,
/// from it. Otherwise the tensors of each window are returned to the system, and fetched page by page for the next
/// window. Does nothing if the environment sets one of these values.
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
            // SAFETY: `mallopt` accepts any numbers, and locks the allocator.
            unsafe { libc::mallopt(setting, bytes) };
        }
    }
}
