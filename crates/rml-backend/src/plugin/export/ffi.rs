//! The C functions of a library. Each takes the library's lock and catches panics. It trusts the calling program:
//! handles were returned and not freed, and pointers are valid for the stated lengths.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rml_ir::{DType, Data, Precision, Shape, Value};

use super::Open;
use crate::contract::{Backend, Executable, Held, Outcome};
use crate::error::Failure;
use crate::plugin::abi::{
    Api, Arg, Bytes, DONE, FAILED, FINGERPRINT, INTERFACE, Owned, SUSPECT, View, about_text, compiled_text,
    element, parse_options,
};

static LOCK: Mutex<()> = Mutex::new(());
static OPEN: OnceLock<Open> = OnceLock::new();
static API: Api = Api {
    interface: INTERFACE,
    fingerprint: Bytes { data: FINGERPRINT.as_ptr(), len: FINGERPRINT.len() },
    open,
    about,
    compiled,
    prepare,
    prepare_routine,
    upload,
    run,
    download,
    free_backend,
    free_executable,
    free_buffer,
    free_text,
};

// SAFETY: the table is never written, and the bytes that it points to are static.
unsafe impl Sync for Api {}

type OpenBackend = Arc<dyn Backend>;
type Ready = Box<dyn Executable>;

/// The table of functions for a library that opens its backend by `open`.
pub fn api(open: Open) -> *const Api {
    OPEN.get_or_init(|| open);
    &raw const API
}

/// Runs `body` under the lock; writes the reason if it fails or panics.
fn guarded(error: *mut Owned, body: impl FnOnce() -> Result<i32, Failure>) -> i32 {
    let _lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status)) => return status,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
            Failure::call(format!("the backend's library panicked: {text}"))
        }
    };
    write_text(error, &failure.to_text());
    FAILED
}

fn write_text(out: *mut Owned, text: &str) {
    let bytes: Box<[u8]> = text.as_bytes().into();
    let len = bytes.len();
    // SAFETY: `out` is valid for a write by this file's contract; `free_text` returns the allocation.
    unsafe { out.write(Owned { data: Box::into_raw(bytes).cast(), len }) };
}

/// Writes a handle to `out`, whose reader becomes the owner of `item`.
fn hand_out<T>(out: *mut *mut c_void, item: T) -> i32 {
    // SAFETY: `out` is valid for a write by this file's contract.
    unsafe { out.write(Box::into_raw(Box::new(item)).cast()) };
    DONE
}

/// The value behind a handle.
///
/// # Safety
/// The handle was made for a `T` and was not taken back; this remains true while the result is alive.
unsafe fn borrow<'a, T>(handle: *mut c_void) -> &'a T {
    // SAFETY: guaranteed by the caller.
    unsafe { &*handle.cast::<T>() }
}

/// Takes the value back from a handle.
///
/// # Safety
/// The same as for [`borrow`]; in addition, the handle is not used again.
unsafe fn take_back<T>(handle: *mut c_void) -> T {
    // SAFETY: guaranteed by the caller.
    unsafe { *Box::from_raw(handle.cast::<T>()) }
}

fn text<'a>(bytes: Bytes) -> Result<&'a str, Failure> {
    // SAFETY: the bytes are valid by this file's contract, and `&[]` needs no valid pointer only where the length is 0.
    let bytes =
        if bytes.len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(bytes.data, bytes.len) } };
    std::str::from_utf8(bytes).map_err(|_| Failure::call("a text from the program is not UTF-8"))
}

unsafe extern "C" fn open(options: Bytes, out: *mut *mut c_void, error: *mut Owned) -> i32 {
    guarded(error, || {
        let open = OPEN.get().ok_or_else(|| Failure::call("the library was not entered"))?;
        let backend: OpenBackend = open(&parse_options(text(options)?))?;
        Ok(hand_out(out, backend))
    })
}

unsafe extern "C" fn about(backend: *mut c_void, out: *mut Owned) -> i32 {
    guarded(out, || {
        // SAFETY: `backend` comes from `open`.
        let backend = unsafe { borrow::<OpenBackend>(backend) };
        write_text(out, &about_text(&backend.about()));
        Ok(DONE)
    })
}

unsafe extern "C" fn compiled(backend: *mut c_void, out: *mut Owned) -> i32 {
    guarded(out, || {
        // SAFETY: `backend` comes from `open`.
        let backend = unsafe { borrow::<OpenBackend>(backend) };
        write_text(out, &compiled_text(backend.compiled().as_ref()));
        Ok(DONE)
    })
}

unsafe extern "C" fn prepare(
    backend: *mut c_void,
    function: Bytes,
    out: *mut *mut c_void,
    error: *mut Owned,
) -> i32 {
    guarded(error, || {
        // SAFETY: `backend` comes from `open`.
        let backend = unsafe { borrow::<OpenBackend>(backend) };
        let function = crate::parse(text(function)?).map_err(Failure::call)?;
        crate::verify(&function).map_err(|found| Failure::call(found.join("; ")))?;
        let executable: Ready = backend.prepare(&function)?;
        Ok(hand_out(out, executable))
    })
}

unsafe extern "C" fn prepare_routine(
    backend: *mut c_void,
    routine: Bytes,
    out: *mut *mut c_void,
    error: *mut Owned,
) -> i32 {
    guarded(error, || {
        // SAFETY: `backend` comes from `open`.
        let backend = unsafe { borrow::<OpenBackend>(backend) };
        let routine = crate::routine::parse(text(routine)?).map_err(Failure::call)?;
        crate::routine::verify(&routine).map_err(|found| Failure::call(found.join("; ")))?;
        let executable: Ready = backend.prepare_routine(&routine)?;
        Ok(hand_out(out, executable))
    })
}

unsafe extern "C" fn upload(
    backend: *mut c_void,
    view: View,
    out: *mut *mut c_void,
    error: *mut Owned,
) -> i32 {
    guarded(error, || {
        // SAFETY: `backend` comes from `open`, and the view is valid by this file's contract.
        let (backend, value) = unsafe { (borrow::<OpenBackend>(backend), read(&view)) };
        Ok(hand_out(out, Held::Device(backend.upload(&value)?)))
    })
}

unsafe extern "C" fn run(
    executable: *mut c_void,
    args: *const Arg,
    count: usize,
    results: *mut *mut c_void,
    result_count: usize,
    error: *mut Owned,
) -> i32 {
    guarded(error, || {
        let arg = |i: usize| {
            // SAFETY: there are `count` arguments; handles come from `upload` and `run`, and views are valid.
            unsafe {
                let arg = &*args.add(i);
                if arg.handle.is_null() {
                    Held::Host(read(&arg.view))
                } else {
                    borrow::<Held>(arg.handle).clone()
                }
            }
        };
        let args: Vec<Held> = (0..count).map(arg).collect();
        // SAFETY: `executable` comes from `prepare`.
        let executable = unsafe { borrow::<Ready>(executable) };
        match executable.run(args)? {
            Outcome::Suspect => Ok(SUSPECT),
            Outcome::Done(values) if values.len() != result_count => {
                Err(Failure::call(format!("{} results instead of {result_count}", values.len())))
            }
            Outcome::Done(values) => {
                for (i, value) in values.into_iter().enumerate() {
                    // SAFETY: there is room for `result_count` handles.
                    hand_out(unsafe { results.add(i) }, value);
                }
                Ok(DONE)
            }
        }
    })
}

unsafe extern "C" fn download(buffer: *mut c_void, data: *mut u8, len: usize, error: *mut Owned) -> i32 {
    guarded(error, || {
        // SAFETY: `buffer` comes from `upload` or `run`.
        let value = unsafe { borrow::<Held>(buffer) }.to_host()?;
        write(&value, data, len)
            .ok_or_else(|| Failure::call("a result has another size than its type says"))?;
        Ok(DONE)
    })
}

/// Reads a tensor.
///
/// # Safety
/// The dimensions and the data are valid for their lengths.
unsafe fn read(view: &View) -> Value {
    // SAFETY: guaranteed by the caller; empty parts need no valid pointer.
    let dims: &[usize] = if view.rank == 0 {
        &[]
    } else {
        unsafe { std::slice::from_raw_parts(view.dims, view.rank as usize) }
    };
    let shape = Shape::new(dims);
    let n = shape.len();
    /// Copies elements.
    ///
    /// # Safety
    /// There are `n` elements at `data`, which need not be aligned.
    unsafe fn elements<T: Copy>(data: *const u8, n: usize) -> Vec<T> {
        let mut out: Vec<T> = Vec::with_capacity(n);
        // SAFETY: guaranteed by the caller; the copy fills the `n` elements of the stated length.
        unsafe {
            std::ptr::copy_nonoverlapping(data, out.as_mut_ptr().cast::<u8>(), n * size_of::<T>());
            out.set_len(n);
        }
        out
    }
    if n == 0 {
        return Value::new(shape, empty(view.element));
    }
    // SAFETY: the caller guarantees that the view contains `n` elements of its type.
    let data = unsafe {
        match view.element {
            0 => Data::Bool(elements::<u8>(view.data, n).into_iter().map(|b| b != 0).collect()),
            1 => Data::Int(elements(view.data, n)),
            2 => Data::F32(elements(view.data, n)),
            _ => Data::F64(elements(view.data, n)),
        }
    };
    Value::new(shape, data)
}

fn empty(kind: u32) -> Data {
    match kind {
        _ if kind == element(DType::Bool, Precision::F32) => Data::Bool(Vec::new()),
        _ if kind == element(DType::Int, Precision::F32) => Data::Int(Vec::new()),
        _ if kind == element(DType::Num, Precision::F32) => Data::F32(Vec::new()),
        _ => Data::F64(Vec::new()),
    }
}

/// Writes the elements of a value to `data`; returns `None` if they do not have exactly `len` bytes.
fn write(value: &Value, data: *mut u8, len: usize) -> Option<()> {
    fn elements<T: Copy>(items: &[T], data: *mut u8, len: usize) -> Option<()> {
        (std::mem::size_of_val(items) == len).then(|| {
            // SAFETY: `data` is valid for `len` bytes by this file's contract, and that is the size of the items.
            unsafe { std::ptr::copy_nonoverlapping(items.as_ptr().cast::<u8>(), data, len) };
        })
    }
    match value.to_data() {
        Data::Bool(v) => elements(&v, data, len),
        Data::Int(v) => elements(&v, data, len),
        Data::F32(v) => elements(&v, data, len),
        Data::F64(v) => elements(&v, data, len),
    }
}

/// Drops the value behind a handle, under the lock.
///
/// # Safety
/// The same as for [`take_back`].
unsafe fn free<T>(handle: *mut c_void) {
    let mut ignored = Owned::EMPTY;
    guarded(&raw mut ignored, || {
        // SAFETY: guaranteed by the caller.
        drop(unsafe { take_back::<T>(handle) });
        Ok(DONE)
    });
    // SAFETY: this file owns a text that a failed drop has written.
    unsafe { free_text(ignored) };
}

unsafe extern "C" fn free_backend(handle: *mut c_void) {
    // SAFETY: `handle` comes from `open` and is not used again.
    unsafe { free::<OpenBackend>(handle) };
}

unsafe extern "C" fn free_executable(handle: *mut c_void) {
    // SAFETY: `handle` comes from `prepare` and is not used again.
    unsafe { free::<Ready>(handle) };
}

unsafe extern "C" fn free_buffer(handle: *mut c_void) {
    // SAFETY: `handle` comes from `upload` or `run` and is not used again.
    unsafe { free::<Held>(handle) };
}

unsafe extern "C" fn free_text(text: Owned) {
    if !text.data.is_null() {
        // SAFETY: `write_text` made a text that is not empty, as a boxed slice of that length.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(text.data, text.len)) });
    }
}
