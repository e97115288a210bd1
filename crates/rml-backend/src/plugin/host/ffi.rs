//! Opens a library and calls its functions.
#![allow(unsafe_code)]

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::Arc;

use rml_base::codes::backend as codes;
use rml_base::memory::Reservation;
use rml_ir::{DType, Data, Precision, Type, Value};

use crate::contract::{About, Backend, Buffer, Compiled, Executable, Held, Options, Outcome};
use crate::device::Device;
use crate::error::Failure;
use crate::function::Function;
use crate::plugin::abi::{
    Api, Arg, Bytes, DONE, ENTRY, Entry, FINGERPRINT, INTERFACE, Owned, SUSPECT, View, element, options_text,
    parse_about, parse_compiled,
};
use crate::routine::Routine;

/// The opened library of a backend. It stays loaded until the program ends, because unloading is not safe for such
/// libraries.
pub struct Library {
    api: &'static Api,
    _keep: ManuallyDrop<libloading::Library>,
}

// SAFETY: the table is never written, and its functions may be called by any thread: each takes the library's lock.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").finish_non_exhaustive()
    }
}

/// Environment variables that libraries read while they load, with values that suppress the libraries' own output.
const QUIET: [(&str, &str); 2] = [("TF_ENABLE_ONEDNN_OPTS", "0"), ("TF_CPP_MIN_LOG_LEVEL", "3")];

/// Sets the variables that the user has not set.
fn keep_quiet() {
    for (name, value) in QUIET {
        if std::env::var_os(name).is_none() {
            // SAFETY: a program opens libraries while it starts, before it has threads that read or write the
            // environment.
            unsafe { std::env::set_var(name, value) };
        }
    }
}

impl Library {
    /// Opens the library at `path`.
    ///
    /// # Errors
    /// There is no library at `path`; the library or a dependency does not load; or it was built for another program.
    pub fn open(path: &Path) -> Result<Arc<Self>, Failure> {
        let missing = |why: String| Failure::new(codes::BACKEND_NOT_INSTALLED, why);
        if !path.exists() {
            return Err(missing(format!("there is no library {}", path.display())));
        }
        keep_quiet();
        // SAFETY: loading runs the initialisers of a library that this project's set-up built and installed.
        let library = unsafe { libloading::Library::new(path) }.map_err(|e| {
            missing(format!("the library {} does not load: {}", path.display(), first_line(&e)))
        })?;
        // SAFETY: the set-up's libraries export that name with that type, in every version of the interface.
        let api = unsafe {
            let entry = library.get::<Entry>(ENTRY.as_bytes());
            let entry = entry
                .map_err(|e| missing(format!("{} is no backend: {}", path.display(), first_line(&e))))?;
            &*entry()
        };
        let found = (api.interface == INTERFACE).then(|| read_bytes(api.fingerprint));
        if found.as_deref() != Some(FINGERPRINT) {
            return Err(missing(format!(
                "the library {} was built for another version of rml",
                path.display()
            )));
        }
        Ok(Arc::new(Self { api, _keep: ManuallyDrop::new(library) }))
    }

    /// Opens the library's backend.
    ///
    /// # Errors
    /// There is no such device, or the library fails.
    pub fn backend(self: &Arc<Self>, options: &Options) -> Result<Arc<dyn Backend>, Failure> {
        let (text, mut handle) = (options_text(options), std::ptr::null_mut());
        // SAFETY: the text is valid during the call; the call writes `handle` and the error.
        self.call(|error| unsafe { (self.api.open)(bytes(&text), &raw mut handle, error) })?;
        Ok(Arc::new(Client {
            handle: Handle { raw: handle, free: self.api.free_backend },
            library: Arc::clone(self),
            on_host: Device::read(&options.device).is_some_and(Device::is_host),
        }))
    }

    /// Makes a call that may write a failure; `Ok` contains the status.
    fn call(&self, call: impl FnOnce(*mut Owned) -> i32) -> Result<i32, Failure> {
        let mut text = Owned::EMPTY;
        match call(&raw mut text) {
            status @ (DONE | SUSPECT) => Ok(status),
            _ => Err(Failure::from_text(&self.take(text))),
        }
    }

    fn take(&self, text: Owned) -> String {
        let copy = read_bytes(Bytes { data: text.data, len: text.len });
        // SAFETY: the text came from this library and is not used again.
        unsafe { (self.api.free_text)(text) };
        copy
    }
}

fn first_line(e: &libloading::Error) -> String {
    let mut text = e.to_string();
    let mut source = std::error::Error::source(e);
    while let Some(inner) = source {
        text = inner.to_string();
        source = inner.source();
    }
    text.lines().next().unwrap_or_default().to_owned()
}

fn bytes(text: &str) -> Bytes {
    Bytes { data: text.as_ptr(), len: text.len() }
}

fn read_bytes(bytes: Bytes) -> String {
    if bytes.data.is_null() {
        return String::new();
    }
    // SAFETY: bytes of a library are valid until they are returned.
    let slice = unsafe { std::slice::from_raw_parts(bytes.data, bytes.len) };
    String::from_utf8_lossy(slice).into_owned()
}

/// An object that the library keeps for this program.
struct Handle {
    raw: *mut c_void,
    free: unsafe extern "C" fn(*mut c_void),
}

// SAFETY: only the library's functions use handles, and each of them takes the library's lock.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: this is the only owner of the handle.
            unsafe { (self.free)(self.raw) };
        }
    }
}

/// An open backend.
struct Client {
    handle: Handle,
    library: Arc<Library>,
    /// Whether the backend's tensors are in the host's memory.
    on_host: bool,
}

/// A prepared function.
struct Ready {
    handle: Handle,
    library: Arc<Library>,
    inputs: Vec<Type>,
    results: Vec<Type>,
    precision: Precision,
    on_host: bool,
}

/// A tensor of the library.
struct Remote {
    handle: Handle,
    library: Arc<Library>,
    ty: Type,
    precision: Precision,
    #[allow(dead_code, reason = "held, not read")]
    reserved: Reservation,
}

/// The memory reserved for a tensor of the library, if the tensor is in the host's memory.
fn reserved(on_host: bool, ty: &Type, precision: Precision) -> Reservation {
    if on_host { Reservation::of(ty.bytes(precision)) } else { Reservation::default() }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Client").field(&self.about()).finish()
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready").field("results", &self.results).finish_non_exhaustive()
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("ty", &self.ty).finish_non_exhaustive()
    }
}

impl Backend for Client {
    fn about(&self) -> About {
        let mut text = Owned::EMPTY;
        // SAFETY: the handle is an open backend of this library; the call writes the text.
        unsafe { (self.library.api.about)(self.handle.raw, &raw mut text) };
        parse_about(&self.library.take(text))
    }

    fn prepare(&self, function: &Function) -> Result<Box<dyn Executable>, Failure> {
        let (text, mut handle) = (crate::print(function), std::ptr::null_mut());
        let prepare = self.library.api.prepare;
        // SAFETY: the handle is an open backend of this library; the text is valid during the call, which writes the
        // other arguments.
        self.library
            .call(|error| unsafe { prepare(self.handle.raw, bytes(&text), &raw mut handle, error) })?;
        Ok(Box::new(Ready {
            handle: Handle { raw: handle, free: self.library.api.free_executable },
            library: Arc::clone(&self.library),
            inputs: function.inputs().map(|(_, def)| def.ty.clone()).collect(),
            results: function.results.iter().map(|&r| function.values[r].ty.clone()).collect(),
            precision: function.precision,
            on_host: self.on_host,
        }))
    }

    fn prepare_routine(&self, routine: &Routine) -> Result<Box<dyn Executable>, Failure> {
        let (text, mut handle) = (crate::routine::print(routine), std::ptr::null_mut());
        let prepare = self.library.api.prepare_routine;
        // SAFETY: the handle is an open backend of this library; the text is valid during the call, which writes the
        // other arguments.
        self.library
            .call(|error| unsafe { prepare(self.handle.raw, bytes(&text), &raw mut handle, error) })?;
        Ok(Box::new(Ready {
            handle: Handle { raw: handle, free: self.library.api.free_executable },
            library: Arc::clone(&self.library),
            inputs: routine.input_types().to_vec(),
            results: routine.results.iter().map(|&r| routine.slots[r].clone()).collect(),
            precision: routine.precision,
            on_host: self.on_host,
        }))
    }

    fn compiled(&self) -> Option<Compiled> {
        let mut text = Owned::EMPTY;
        // SAFETY: the handle is an open backend of this library; the call writes the text.
        unsafe { (self.library.api.compiled)(self.handle.raw, &raw mut text) };
        parse_compiled(&self.library.take(text))
    }

    fn upload(&self, value: &Value) -> Result<Arc<dyn Buffer>, Failure> {
        let mut handle = std::ptr::null_mut();
        let upload = self.library.api.upload;
        with_view(value, |view| {
            // SAFETY: the handle is an open backend of this library; the view is valid during the call.
            self.library.call(|error| unsafe { upload(self.handle.raw, view, &raw mut handle, error) })
        })?;
        Ok(Arc::new(Remote {
            handle: Handle { raw: handle, free: self.library.api.free_buffer },
            library: Arc::clone(&self.library),
            reserved: reserved(self.on_host, &value.ty(), value.precision()),
            ty: value.ty(),
            precision: value.precision(),
        }))
    }
}

impl Ready {
    /// Checks the arguments, because the library trusts the values that cross the boundary.
    fn check(&self, args: &[Held]) -> Result<(), Failure> {
        let (given, taken) = (args.len(), self.inputs.len());
        if given != taken {
            return Err(Failure::call(format!("{given} arguments for a function of {taken}")));
        }
        for (i, (arg, ty)) in args.iter().zip(&self.inputs).enumerate() {
            let (fits, precision) = match arg {
                Held::Host(value) => {
                    (value.dtype() == ty.dtype && value.shape() == ty.shape, value.precision())
                }
                Held::Device(buffer) => (buffer.ty() == ty, buffer.precision()),
            };
            if !fits || (ty.dtype == DType::Num && precision != self.precision) {
                let (found, wanted) = (arg.ty(), self.precision);
                let what = format!(
                    "argument {i} is a {found} in {precision}, the function takes a {ty} in {wanted}"
                );
                return Err(Failure::call(what));
            }
        }
        Ok(())
    }
}

impl Executable for Ready {
    fn run(&self, args: Vec<Held>) -> Result<Outcome, Failure> {
        self.check(&args)?;
        let values: Vec<Option<&Value>> =
            args.iter().map(|a| if let Held::Host(v) = a { Some(v) } else { None }).collect();
        let mut handles = vec![std::ptr::null_mut(); self.results.len()];
        let status = with_views(&values, |views| {
            let arg = |(held, view): (&Held, &View)| match held {
                Held::Host(_) => Ok(Arg { handle: std::ptr::null_mut(), view: *view }),
                Held::Device(buffer) => match buffer.as_any().downcast_ref::<Remote>() {
                    Some(r) => Ok(Arg { handle: r.handle.raw, view: *view }),
                    None => Err(Failure::call("an argument is a buffer of another backend")),
                },
            };
            let list = args.iter().zip(views).map(arg).collect::<Result<Vec<Arg>, _>>()?;
            let (count, out) = (list.len(), handles.as_mut_ptr());
            // SAFETY: the handle, the arguments and the views are valid during the call, and `results` has room for all
            // results.
            self.library.call(|error| unsafe {
                (self.library.api.run)(self.handle.raw, list.as_ptr(), count, out, self.results.len(), error)
            })
        })?;
        if status == SUSPECT {
            return Ok(Outcome::Suspect);
        }
        let results = handles.into_iter().zip(&self.results).map(|(raw, ty)| {
            Held::Device(Arc::new(Remote {
                handle: Handle { raw, free: self.library.api.free_buffer },
                library: Arc::clone(&self.library),
                reserved: reserved(self.on_host, ty, self.precision),
                ty: ty.clone(),
                precision: self.precision,
            }))
        });
        Ok(Outcome::Done(results.collect()))
    }
}

impl Buffer for Remote {
    fn ty(&self) -> &Type {
        &self.ty
    }

    fn precision(&self) -> Precision {
        self.precision
    }

    fn download(&self) -> Result<Value, Failure> {
        let n = self.ty.shape.len();
        let data = match element(self.ty.dtype, self.precision) {
            0 => Data::Bool(self.fetch(vec![0_u8; n])?.into_iter().map(|b| b != 0).collect()),
            1 => Data::Int(self.fetch(vec![0; n])?),
            2 => Data::F32(self.fetch(vec![0.0; n])?),
            _ => Data::F64(self.fetch(vec![0.0; n])?),
        };
        Ok(Value::new(self.ty.shape.clone(), data))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Remote {
    /// Fills `items` with the elements of the tensor.
    fn fetch<T: Copy>(&self, mut items: Vec<T>) -> Result<Vec<T>, Failure> {
        let (data, len) = (items.as_mut_ptr().cast::<u8>(), std::mem::size_of_val(items.as_slice()));
        // SAFETY: the handle is a tensor of this library, and there is room for `len` bytes.
        self.library.call(|e| unsafe { (self.library.api.download)(self.handle.raw, data, len, e) })?;
        Ok(items)
    }
}

/// Lends a value to `body`.
fn with_view<R>(value: &Value, body: impl FnOnce(View) -> R) -> R {
    with_views(&[Some(value)], |views| body(views[0]))
}

/// Lends values to `body`; an empty view represents `None`.
fn with_views<R>(values: &[Option<&Value>], body: impl FnOnce(&[View]) -> R) -> R {
    // Scalars and shapes need their own storage while they are lent.
    let shapes: Vec<Vec<usize>> =
        values.iter().map(|v| v.map(|v| v.shape().dims().to_vec()).unwrap_or_default()).collect();
    let scalars: Vec<Option<Data>> = values
        .iter()
        .map(|v| v.and_then(|v| if matches!(v, Value::Tensor(_)) { None } else { Some(v.to_data()) }))
        .collect();
    let view = |i: usize| {
        let Some(value) = values[i] else { return View::EMPTY };
        let data = match (value, &scalars[i]) {
            (Value::Tensor(t), _) => t.data(),
            (_, Some(data)) => data,
            _ => return View::EMPTY,
        };
        let (data, len) = match data {
            Data::Bool(v) => (v.as_ptr().cast::<u8>(), std::mem::size_of_val(v.as_slice())),
            Data::Int(v) => (v.as_ptr().cast(), std::mem::size_of_val(v.as_slice())),
            Data::F32(v) => (v.as_ptr().cast(), std::mem::size_of_val(v.as_slice())),
            Data::F64(v) => (v.as_ptr().cast(), std::mem::size_of_val(v.as_slice())),
        };
        let rank = u32::try_from(shapes[i].len()).unwrap_or(u32::MAX);
        let element = if value.dtype() == DType::Num {
            element(DType::Num, value.precision())
        } else {
            element(value.dtype(), Precision::F32)
        };
        View { element, rank, dims: shapes[i].as_ptr(), data, len }
    };
    let views: Vec<View> = (0..values.len()).map(view).collect();
    body(&views)
}
