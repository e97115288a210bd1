//! Converts libtorch's exceptions to failures of the contract.

use rml_backend::Failure;
use rml_base::codes::backend as codes;
use tch::TchError;

/// The prefix of the messages of libtorch and `tch`.
const PREFIX: &str = "Internal torch error: ";

/// The text before the reason if the memory of the host is exhausted.
const ALLOCATOR: &str = "DefaultCPUAllocator: ";

/// Fragments of libtorch's messages that memory is exhausted, on the host and on CUDA.
const MEMORY: [&str; 3] = ["can't allocate memory", "not enough memory", "out of memory"];

/// The failure for an exception. Only the first line of the message is kept, since messages have kilobytes.
pub(crate) fn failure(error: &TchError) -> Failure {
    let text = error.to_string();
    let text = text.strip_prefix(PREFIX).unwrap_or(&text);
    let line =
        text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("an error without a message");
    let line = line.trim_end_matches('.');
    if MEMORY.iter().any(|fragment| line.contains(fragment)) {
        let line = line.split_once(ALLOCATOR).map_or(line, |(_, rest)| rest);
        return Failure::new(codes::BACKEND_MEMORY, format!("libtorch has no memory left: {line}"))
            .help("use smaller shapes or shorter windows, or a device with more memory");
    }
    Failure::call(format!("libtorch: {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_becomes_its_first_line() {
        let text = "\nThe size of tensor a (3) must match.\nException raised from f at g.cpp:1\nframe #0: h";
        let found = failure(&TchError::Torch(text.to_owned()));
        assert_eq!(found.code, codes::BACKEND_FAILED);
        assert_eq!(found.message, "libtorch: The size of tensor a (3) must match");
    }

    #[test]
    fn running_out_of_memory_has_a_code_of_its_own() {
        let host = "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes.";
        for (text, reason) in [
            (host, "can't allocate memory: you tried to allocate 8 bytes"),
            (
                "CUDA out of memory. Tried to allocate 20.00 GiB.",
                "CUDA out of memory. Tried to allocate 20.00 GiB",
            ),
        ] {
            let found = failure(&TchError::Torch(text.to_owned()));
            assert_eq!(found.code, codes::BACKEND_MEMORY);
            assert_eq!(found.message, format!("libtorch has no memory left: {reason}"));
        }
    }
}
