//! Codes of backends: loading their libraries, opening devices, and failed calls.

codes! {
    BACKEND_NOT_BUILT = "backend-not-built", "This build of `rml` does not have the chosen backend.";
    BACKEND_NOT_INSTALLED = "backend-not-installed", "The library of a backend is missing, incomplete or has another version.";
    NO_DEVICE = "no-device", "The backend does not find the requested device.";
    BACKEND_REFUSES = "backend-refuses", "A backend cannot prepare a function.";
    BACKEND_MEMORY = "backend-memory", "A backend has no memory left on its device.";
    ENGINE_DECLINES = "engine-declines", "The chosen engine does not run the program.";
    BACKEND_FAILED = "backend-failed", "A call of a backend's library failed.";
}
