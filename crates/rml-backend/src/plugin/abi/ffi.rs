//! Types that cross the boundary. All are plain data with C layout.

use std::ffi::c_void;
use std::path::PathBuf;

use rml_ir::{DType, Precision};

use crate::contract::{About, Compiled, Options};

/// The version of this interface; it changes with every change to this file.
pub const INTERFACE: u32 = 4;

/// A hash of the sources of the contract and of the operator table.
pub const FINGERPRINT: &str = env!("RML_BACKEND_FINGERPRINT");

/// The name of the exported function, of type `Entry`.
pub const ENTRY: &str = "rml_backend_api";

/// The type of the function that a library exports.
#[cfg(feature = "load")]
pub(in crate::plugin) type Entry = unsafe extern "C" fn() -> *const Api;

/// The status of a successful call.
pub(in crate::plugin) const DONE: i32 = 0;
/// The status of a failed call; the error text states the reason.
pub(in crate::plugin) const FAILED: i32 = 1;
/// The status of a suspect call, which the reference has to compute.
pub(in crate::plugin) const SUSPECT: i32 = 2;

/// Bytes that the receiver borrows.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Bytes {
    pub(in crate::plugin) data: *const u8,
    pub(in crate::plugin) len: usize,
}

/// Bytes that the receiver must return with `free_text`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Owned {
    pub(in crate::plugin) data: *mut u8,
    pub(in crate::plugin) len: usize,
}

impl Owned {
    pub(in crate::plugin) const EMPTY: Self = Self { data: std::ptr::null_mut(), len: 0 };
}

/// A borrowed tensor: its elements are row-major, truth values are bytes 0 and 1.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct View {
    pub(in crate::plugin) element: u32,
    pub(in crate::plugin) rank: u32,
    pub(in crate::plugin) dims: *const usize,
    pub(in crate::plugin) data: *const u8,
    /// The length of `data` in bytes.
    pub(in crate::plugin) len: usize,
}

impl View {
    #[cfg(feature = "load")]
    pub(in crate::plugin) const EMPTY: Self =
        Self { element: 0, rank: 0, dims: std::ptr::null(), data: std::ptr::null(), len: 0 };
}

/// An argument: a handle, or a tensor of the host if the handle is null.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Arg {
    pub(in crate::plugin) handle: *mut c_void,
    pub(in crate::plugin) view: View,
}

/// The functions of a library. Handles are opaque; a call with status 0 never returns a null handle.
#[repr(C)]
pub struct Api {
    pub(in crate::plugin) interface: u32,
    pub(in crate::plugin) fingerprint: Bytes,
    pub(in crate::plugin) open:
        unsafe extern "C" fn(options: Bytes, out: *mut *mut c_void, error: *mut Owned) -> i32,
    pub(in crate::plugin) about: unsafe extern "C" fn(backend: *mut c_void, text: *mut Owned) -> i32,
    pub(in crate::plugin) compiled: unsafe extern "C" fn(backend: *mut c_void, text: *mut Owned) -> i32,
    pub(in crate::plugin) prepare: unsafe extern "C" fn(
        backend: *mut c_void,
        function: Bytes,
        out: *mut *mut c_void,
        error: *mut Owned,
    ) -> i32,
    pub(in crate::plugin) prepare_routine: unsafe extern "C" fn(
        backend: *mut c_void,
        routine: Bytes,
        out: *mut *mut c_void,
        error: *mut Owned,
    ) -> i32,
    pub(in crate::plugin) upload: unsafe extern "C" fn(
        backend: *mut c_void,
        view: View,
        out: *mut *mut c_void,
        error: *mut Owned,
    ) -> i32,
    pub(in crate::plugin) run: unsafe extern "C" fn(
        executable: *mut c_void,
        args: *const Arg,
        count: usize,
        results: *mut *mut c_void,
        result_count: usize,
        error: *mut Owned,
    ) -> i32,
    pub(in crate::plugin) download:
        unsafe extern "C" fn(buffer: *mut c_void, data: *mut u8, len: usize, error: *mut Owned) -> i32,
    pub(in crate::plugin) free_backend: unsafe extern "C" fn(*mut c_void),
    pub(in crate::plugin) free_executable: unsafe extern "C" fn(*mut c_void),
    pub(in crate::plugin) free_buffer: unsafe extern "C" fn(*mut c_void),
    pub(in crate::plugin) free_text: unsafe extern "C" fn(Owned),
}

/// The number of an element type.
pub(in crate::plugin) fn element(dtype: DType, precision: Precision) -> u32 {
    match (dtype, precision) {
        (DType::Bool, _) => 0,
        (DType::Int, _) => 1,
        (DType::Num, Precision::F32) => 2,
        (DType::Num, Precision::F64) => 3,
    }
}

/// The separator between the fields of a text.
const FIELD: char = '\u{1f}';

#[cfg(any(test, feature = "load"))]
pub(in crate::plugin) fn options_text(options: &Options) -> String {
    let threads = options.threads.map(|n| n.to_string()).unwrap_or_default();
    let programs = options.programs.as_ref().and_then(|folder| folder.to_str()).unwrap_or_default();
    format!("{}{FIELD}{threads}{FIELD}{programs}", options.device)
}

pub(in crate::plugin) fn parse_options(text: &str) -> Options {
    let mut fields = text.splitn(3, FIELD);
    let mut next = || fields.next().unwrap_or_default();
    let (device, threads, programs) = (next(), next(), next());
    let programs = (!programs.is_empty()).then(|| PathBuf::from(programs));
    Options { device: device.to_owned(), threads: threads.parse().ok(), programs }
}

pub(in crate::plugin) fn about_text(about: &About) -> String {
    let separator = FIELD.to_string();
    let head = [about.name.as_str(), &about.version, &about.device];
    head.into_iter().chain(about.devices.iter().map(String::as_str)).collect::<Vec<_>>().join(&separator)
}

#[cfg(any(test, feature = "load"))]
pub(in crate::plugin) fn parse_about(text: &str) -> About {
    let mut fields = text.split(FIELD).map(str::to_owned);
    let mut next = || fields.next().unwrap_or_default();
    About { name: next(), version: next(), device: next(), devices: fields.collect() }
}

pub(in crate::plugin) fn compiled_text(compiled: Option<&Compiled>) -> String {
    let Some(compiled) = compiled else { return String::new() };
    let Compiled { programs, time, loaded, load_time, unkept } = compiled;
    let (time, load_time) = (time.as_nanos(), load_time.as_nanos());
    let unkept = unkept.as_deref().unwrap_or_default();
    format!("{programs}{FIELD}{time}{FIELD}{loaded}{FIELD}{load_time}{FIELD}{unkept}")
}

#[cfg(any(test, feature = "load"))]
pub(in crate::plugin) fn parse_compiled(text: &str) -> Option<Compiled> {
    if text.is_empty() {
        return None;
    }
    let mut fields = text.splitn(5, FIELD);
    let mut number = || fields.next().and_then(|field| field.parse().ok()).unwrap_or_default();
    let (programs, time) = (number(), std::time::Duration::from_nanos(number()));
    let (loaded, load_time) = (number(), std::time::Duration::from_nanos(number()));
    let unkept = fields.next().filter(|why| !why.is_empty()).map(str::to_owned);
    Some(Compiled { programs, time, loaded, load_time, unkept })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_descriptions_cross_whole() {
        for (threads, programs) in [(None, None), (Some(3), None), (None, Some(PathBuf::from("/a b/c")))] {
            let options = Options { device: "cuda:0".to_owned(), threads, programs };
            assert_eq!(parse_options(&options_text(&options)), options);
        }
        for unkept in [None, Some("a: full".to_owned())] {
            let time = std::time::Duration::from_nanos(1_234_567_890_123);
            let compiled = Compiled { programs: 3, time, loaded: 2, load_time: time / 2, unkept };
            assert_eq!(parse_compiled(&compiled_text(Some(&compiled))), Some(compiled));
        }
        assert_eq!(parse_compiled(&compiled_text(None)), None);
        let about = About {
            name: "xla".to_owned(),
            version: "1 of 2".to_owned(),
            device: "cpu".to_owned(),
            devices: vec!["cpu".to_owned(), "cuda:0".to_owned()],
        };
        assert_eq!(parse_about(&about_text(&about)), about);
    }
}
