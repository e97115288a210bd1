//! Devices by their names, and the threads of libtorch.

use std::error::Error as _;
use std::ffi::OsString;
use std::sync::{Once, OnceLock};
use std::thread::available_parallelism;

use rml_backend::Failure;
use rml_base::codes::backend as codes;
use tch::{Cuda, Device};

use crate::ffi::open_global;

/// The library that adds CUDA to libtorch; only full installations contain it.
const CUDA_LIBRARY: &str = "libtorch_cuda.so";

/// The environment variable with the folder of this library.
const CUDA_FOLDER: &str = "RML_TORCH_CUDA";

/// The device with this name.
///
/// # Errors
/// There is no such device; the failure lists the existing ones, and says why CUDA is not available.
pub(crate) fn find(name: &str) -> Result<Device, Failure> {
    let number = match name.split_once(':') {
        None if name == "cpu" => return Ok(Device::Cpu),
        None if name == "cuda" => Some(0),
        Some(("cuda", number)) => number.parse::<usize>().ok(),
        _ => None,
    };
    let found = all();
    let missing = || {
        let message = format!("torch finds no device `{name}`; it finds {}", found.join(", "));
        Failure::new(codes::NO_DEVICE, message)
    };
    let Some(number) = number else {
        return Err(missing().help("a device is `cpu`, or `cuda:` and a number"));
    };
    match cuda() {
        Ok(count) if number < count => Ok(Device::Cuda(number)),
        Ok(_) => Err(missing().help("choose one of these")),
        Err(reason) => Err(missing().help(format!(
            "CUDA did not load ({reason}): set {CUDA_FOLDER} to the folder `torch/lib` of an installation of PyTorch {} with CUDA",
            version()
        ))),
    }
}

/// The names of all devices.
pub(crate) fn all() -> Vec<String> {
    let count = cuda().unwrap_or(0);
    std::iter::once("cpu".to_owned()).chain((0..count).map(|i| format!("cuda:{i}"))).collect()
}

/// The release of libtorch that this library is built against.
pub(crate) fn version() -> &'static str {
    "2.13.0"
}

/// The number of CUDA devices, or why CUDA does not load. The library is opened once.
fn cuda() -> Result<usize, String> {
    static LOADED: OnceLock<Result<(), String>> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| {
        let file = match std::env::var_os(CUDA_FOLDER) {
            Some(folder) => std::path::Path::new(&folder).join(CUDA_LIBRARY).into_os_string(),
            None => OsString::from(CUDA_LIBRARY),
        };
        open_global(&file).map_err(|e| e.source().map_or_else(|| e.to_string(), ToString::to_string))
    });
    loaded.clone().map(|()| usize::try_from(Cuda::device_count()).unwrap_or(0))
}

/// The number of threads that an operator may use.
pub(crate) fn threads(wanted: Option<usize>) -> i32 {
    let cores = || available_parallelism().map_or(1, std::num::NonZero::get);
    i32::try_from(wanted.unwrap_or_else(cores).max(1)).unwrap_or(i32::MAX)
}

/// Sets the number of threads for the operators of the current thread. Operators never run beside each other; libtorch
/// is configured for this unless it has been configured before, since it accepts the setting only once per process.
pub(crate) fn use_threads(count: i32) {
    static ONE_AT_A_TIME: Once = Once::new();
    ONE_AT_A_TIME.call_once(|| {
        if tch::get_num_interop_threads() != 1 {
            tch::set_num_interop_threads(1);
        }
    });
    if tch::get_num_threads() != count {
        tch::set_num_threads(count);
    }
}
