//! The C functions over XLA (`cpp/xla_c.cc`), as types that free their resources, and functions of the loader.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

/// The target of the pointers of the interface.
#[repr(C)]
struct Opaque([u8; 0]);

type Message = *mut c_char;

unsafe extern "C" {
    fn rml_xla_quiet();
    fn rml_xla_cpu(out: *mut *mut Opaque) -> Message;
    fn rml_xla_plugin(file: *const c_char, number: i64, out: *mut *mut Opaque) -> Message;
    fn rml_xla_devices(client: *mut Opaque) -> usize;
    fn rml_xla_close(client: *mut Opaque);
    fn rml_xla_compile(client: *mut Opaque, text: *const u8, len: usize, out: *mut *mut Opaque) -> Message;
    fn rml_xla_serialize(program: *mut Opaque, out: *mut *mut u8, len: *mut usize) -> Message;
    fn rml_xla_load(client: *mut Opaque, bytes: *const u8, len: usize, out: *mut *mut Opaque) -> Message;
    fn rml_xla_platform(client: *mut Opaque, out: *mut *mut u8, len: *mut usize) -> Message;
    fn rml_xla_needs(program: *mut Opaque) -> u64;
    fn rml_xla_memory(client: *mut Opaque) -> u64;
    fn rml_xla_drop_program(program: *mut Opaque);
    fn rml_xla_run(
        program: *mut Opaque,
        args: *const *mut Opaque,
        count: usize,
        out: *mut *mut *mut Opaque,
        results: *mut usize,
    ) -> Message;
    fn rml_xla_upload(
        client: *mut Opaque,
        data: *const c_void,
        element: c_int,
        dims: *const i64,
        rank: usize,
        out: *mut *mut Opaque,
    ) -> Message;
    fn rml_xla_download(buffer: *mut Opaque, is_host: bool, to: *mut c_void, bytes: usize) -> Message;
    fn rml_xla_drop_buffer(buffer: *mut Opaque);
    fn free(data: *mut c_void);
    fn dladdr(address: *const c_void, info: *mut Symbol) -> c_int;
}

/// The loader's information about an address.
#[repr(C)]
struct Symbol {
    file: *const c_char,
    base: *mut c_void,
    name: *const c_char,
    address: *mut c_void,
}

/// The error in a message, if there is one.
fn checked(message: Message) -> Result<(), String> {
    if message.is_null() {
        return Ok(());
    }
    // SAFETY: a message ends with 0, was allocated with `malloc`, and is owned by the caller.
    let text = unsafe {
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        free(message.cast());
        text
    };
    Err(text)
}

/// The object that a function made, unless it returned a message.
fn made(message: Message, out: *mut Opaque) -> Result<NonNull<Opaque>, String> {
    checked(message)?;
    NonNull::new(out).ok_or_else(|| "nothing was made".to_owned())
}

/// The bytes that a function wrote, unless it returned a message.
fn bytes(write: impl FnOnce(*mut *mut u8, *mut usize) -> Message) -> Result<Vec<u8>, String> {
    let (mut data, mut len) = (null_mut(), 0);
    checked(write(&raw mut data, &raw mut len))?;
    let data: NonNull<u8> = NonNull::new(data).ok_or_else(|| "nothing was made".to_owned())?;
    // SAFETY: there are `len` bytes, which were allocated with `malloc`, and are owned by the caller.
    unsafe {
        let copy = std::slice::from_raw_parts(data.as_ptr(), len).to_vec();
        free(data.as_ptr().cast());
        Ok(copy)
    }
}

/// The open devices, of which the first is used.
#[derive(Debug)]
pub(crate) struct Client {
    raw: NonNull<Opaque>,
    /// Whether its tensors are in the memory of this process.
    is_host: bool,
}

// SAFETY: clients, programs and buffers of PJRT may be used by several threads at once.
unsafe impl Send for Client {}
// SAFETY: as above.
unsafe impl Sync for Client {}

impl Client {
    /// The cpu.
    pub(crate) fn cpu() -> Result<Self, String> {
        let mut out = null_mut();
        // SAFETY: the result is only written to.
        let message = unsafe { rml_xla_cpu(&raw mut out) };
        Ok(Self { raw: made(message, out)?, is_host: true })
    }

    /// The devices of a plugin, or one of them.
    pub(crate) fn plugin(file: &Path, number: Option<i64>) -> Result<Self, String> {
        let file = CString::new(file.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
        let mut out = null_mut();
        // SAFETY: the name ends with 0 and outlives the call; the result is only written to.
        let message = unsafe { rml_xla_plugin(file.as_ptr(), number.unwrap_or(-1), &raw mut out) };
        Ok(Self { raw: made(message, out)?, is_host: false })
    }

    /// The number of devices.
    pub(crate) fn devices(&self) -> usize {
        // SAFETY: the client is open.
        unsafe { rml_xla_devices(self.raw.as_ptr()) }
    }

    /// Compiles a module in StableHLO text.
    pub(crate) fn compile(self: &Arc<Self>, text: &str) -> Result<Program, String> {
        let mut out = null_mut();
        // SAFETY: the client is open, the text is valid for its length, and the result is only written to.
        let message = unsafe { rml_xla_compile(self.raw.as_ptr(), text.as_ptr(), text.len(), &raw mut out) };
        Ok(Program { raw: made(message, out)?, client: Arc::clone(self) })
    }

    /// Loads a program from the bytes of [`Program::serialize`], for the same version of the library and the same kind
    /// of device.
    pub(crate) fn load(self: &Arc<Self>, bytes: &[u8]) -> Result<Program, String> {
        let mut out = null_mut();
        // SAFETY: the client is open, the bytes are valid for their length, and the result is only written to.
        let message = unsafe { rml_xla_load(self.raw.as_ptr(), bytes.as_ptr(), bytes.len(), &raw mut out) };
        Ok(Program { raw: made(message, out)?, client: Arc::clone(self) })
    }

    /// The dependencies of programs besides their text: the platform, its version, and the capabilities of the devices.
    pub(crate) fn platform(&self) -> Result<Vec<u8>, String> {
        // SAFETY: the client is open, and the results are only written to.
        bytes(|data, len| unsafe { rml_xla_platform(self.raw.as_ptr(), data, len) })
    }

    /// The bytes of memory that the device provides, if it reports them.
    pub(crate) fn memory(&self) -> Option<u64> {
        // SAFETY: the client is open.
        Some(unsafe { rml_xla_memory(self.raw.as_ptr()) }).filter(|bytes| *bytes > 0)
    }

    /// Copies the elements of a tensor to the device.
    pub(crate) fn upload<T: Element>(
        self: &Arc<Self>,
        items: &[T],
        dims: &[usize],
    ) -> Result<Tensor, String> {
        assert_eq!(items.len(), dims.iter().product::<usize>(), "elements fill the dimensions");
        let dims: Vec<i64> = dims.iter().map(|d| i64::try_from(*d).unwrap_or(i64::MAX)).collect();
        let (data, mut out) = (items.as_ptr().cast(), null_mut());
        // SAFETY: the client is open; the number of elements is that of the dimensions, and they are read only during
        // the call.
        let message = unsafe {
            rml_xla_upload(self.raw.as_ptr(), data, T::CODE, dims.as_ptr(), dims.len(), &raw mut out)
        };
        Ok(Tensor { raw: made(message, out)?, client: Arc::clone(self) })
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // SAFETY: programs and tensors own a reference to the client, so none exist any more.
        unsafe { rml_xla_close(self.raw.as_ptr()) }
    }
}

/// A type of elements of tensors, without padding or invalid bit patterns.
pub(crate) trait Element: Copy + Default {
    /// The number of the type in XLA (`xla.PrimitiveType`).
    const CODE: c_int;
}

/// A truth value.
impl Element for u8 {
    const CODE: c_int = 1;
}

impl Element for i64 {
    const CODE: c_int = 5;
}

impl Element for f32 {
    const CODE: c_int = 11;
}

impl Element for f64 {
    const CODE: c_int = 12;
}

/// A program for the devices of a client.
#[derive(Debug)]
pub(crate) struct Program {
    raw: NonNull<Opaque>,
    client: Arc<Client>,
}

// SAFETY: as for `Client`.
unsafe impl Send for Program {}
// SAFETY: as for `Client`.
unsafe impl Sync for Program {}

impl Program {
    /// The bytes of device memory that it uses while it runs, if known.
    pub(crate) fn needs(&self) -> Option<u64> {
        // SAFETY: the program is alive.
        Some(unsafe { rml_xla_needs(self.raw.as_ptr()) }).filter(|bytes| *bytes > 0)
    }

    /// The program as bytes that can be stored in a file.
    pub(crate) fn serialize(&self) -> Result<Vec<u8>, String> {
        // SAFETY: the program is alive, and the results are only written to.
        bytes(|data, len| unsafe { rml_xla_serialize(self.raw.as_ptr(), data, len) })
    }

    /// Runs the program.
    pub(crate) fn run(&self, args: &[&Tensor]) -> Result<Vec<Tensor>, String> {
        let args: Vec<*mut Opaque> = args.iter().map(|tensor| tensor.raw.as_ptr()).collect();
        let (mut out, mut count) = (null_mut(), 0);
        // SAFETY: the program and the arguments are alive; both results are only written to.
        let message = unsafe {
            rml_xla_run(self.raw.as_ptr(), args.as_ptr(), args.len(), &raw mut out, &raw mut count)
        };
        checked(message)?;
        let results = (0..count).map(|i| {
            // SAFETY: there are `count` results, each of which is owned by the caller.
            let raw = NonNull::new(unsafe { *out.add(i) })?;
            Some(Tensor { raw, client: Arc::clone(&self.client) })
        });
        let results: Option<Vec<Tensor>> = results.collect();
        // SAFETY: the list was allocated with `malloc` and is owned by the caller.
        unsafe { free(out.cast()) };
        results.ok_or_else(|| "a result is missing".to_owned())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the client is open, and nothing else uses the program.
        unsafe { rml_xla_drop_program(self.raw.as_ptr()) }
    }
}

/// A tensor on a device.
#[derive(Debug)]
pub(crate) struct Tensor {
    raw: NonNull<Opaque>,
    client: Arc<Client>,
}

// SAFETY: as for `Client`.
unsafe impl Send for Tensor {}
// SAFETY: as for `Client`.
unsafe impl Sync for Tensor {}

impl Tensor {
    /// The first `n` elements of the tensor, which must have this type.
    pub(crate) fn download<T: Element>(&self, n: usize) -> Result<Vec<T>, String> {
        let mut items = vec![T::default(); n];
        let (to, bytes) = (items.as_mut_ptr().cast(), size_of_val(&items[..]));
        // SAFETY: the vector has room for this many bytes, and all bit patterns are valid elements.
        checked(unsafe { rml_xla_download(self.raw.as_ptr(), self.client.is_host, to, bytes) })?;
        Ok(items)
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        // SAFETY: the client is open, and nothing else uses the tensor.
        unsafe { rml_xla_drop_buffer(self.raw.as_ptr()) }
    }
}

/// Makes XLA print only errors that end the process.
pub(crate) fn quiet() {
    // SAFETY: the function sets one atomic number.
    unsafe { rml_xla_quiet() }
}

/// Sets an environment variable.
pub(crate) fn set(name: &str, value: &str) {
    // SAFETY: a backend is opened under the library's lock, before the program computes; no other code writes the
    // environment at that time.
    unsafe { std::env::set_var(name, value) };
}

/// The file that this library was loaded from.
pub(crate) fn own_file() -> Option<PathBuf> {
    let mut symbol =
        Symbol { file: std::ptr::null(), base: null_mut(), name: std::ptr::null(), address: null_mut() };
    let address = own_file as *const c_void;
    // SAFETY: the address is that of a function, and `symbol` is only written to.
    let found = unsafe { dladdr(address, &raw mut symbol) } != 0 && !symbol.file.is_null();
    // SAFETY: the loader's name of a loaded file ends with 0 and is valid while the file is loaded.
    found.then(|| PathBuf::from(OsStr::from_bytes(unsafe { CStr::from_ptr(symbol.file) }.to_bytes())))
}
