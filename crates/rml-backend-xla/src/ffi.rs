//! The functions of XLA's libraries that the crate `xla` does not offer, and the loader's.
#![allow(unsafe_code)]

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

unsafe extern "C" {
    fn xla_gap_stablehlo_to_hlo_proto(
        text: *const u8,
        len: usize,
        return_tuple: c_int,
        out: *mut *mut u8,
        out_len: *mut usize,
    ) -> c_int;
    fn free(data: *mut c_void);
    fn dladdr(address: *const c_void, info: *mut Symbol) -> c_int;
}

/// What the loader knows about an address.
#[repr(C)]
struct Symbol {
    file: *const c_char,
    base: *mut c_void,
    name: *const c_char,
    address: *mut c_void,
}

/// A module in StableHLO text as a serialised `HloModuleProto`.
///
/// # Errors
/// If the text is no module; the library's message.
pub(crate) fn stablehlo_to_proto(text: &str) -> Result<Vec<u8>, String> {
    let (mut data, mut len) = (std::ptr::null_mut(), 0_usize);
    // SAFETY: the text is valid for its length, and both results are written.
    let status =
        unsafe { xla_gap_stablehlo_to_hlo_proto(text.as_ptr(), text.len(), 0, &raw mut data, &raw mut len) };
    if data.is_null() {
        return Err("no memory is left for a module".to_owned());
    }
    // SAFETY: the call allocated `len` bytes at `data` with `malloc`, and they are ours.
    let bytes = unsafe {
        let bytes = std::slice::from_raw_parts(data, len).to_vec();
        free(data.cast());
        bytes
    };
    if status == 0 { Ok(bytes) } else { Err(String::from_utf8_lossy(&bytes).into_owned()) }
}

/// Sets a variable of the environment.
pub(crate) fn set(name: &str, value: &str) {
    // SAFETY: a backend is opened under the library's lock, before the program computes; nobody else writes the environment then.
    unsafe { std::env::set_var(name, value) };
}

/// The file that this library was loaded from.
pub(crate) fn own_file() -> Option<PathBuf> {
    let mut symbol = Symbol {
        file: std::ptr::null(),
        base: std::ptr::null_mut(),
        name: std::ptr::null(),
        address: std::ptr::null_mut(),
    };
    let address = own_file as *const c_void;
    // SAFETY: the address is that of a function, and `symbol` is written only.
    let found = unsafe { dladdr(address, &raw mut symbol) } != 0 && !symbol.file.is_null();
    // SAFETY: the loader's name of a loaded file ends with 0 and stays while the file is loaded.
    found.then(|| PathBuf::from(OsStr::from_bytes(unsafe { CStr::from_ptr(symbol.file) }.to_bytes())))
}
