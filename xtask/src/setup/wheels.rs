//! The wheels that are fetched: each pinned to one file by its hash.

/// A file of the Python package index.
pub(crate) struct Wheel {
    /// The project's name there.
    pub(super) project: &'static str,
    /// The file's name.
    pub(super) file: &'static str,
    /// Its SHA-256 in hexadecimal.
    pub(super) sha256: &'static str,
}

/// XLA's headers and libraries (Apache-2.0).
pub(super) const TENSORFLOW: Wheel = Wheel {
    project: "tensorflow-cpu",
    file: "tensorflow_cpu-2.21.0-cp311-cp311-manylinux_2_27_x86_64.whl",
    sha256: "2b847d217b02ee7731ed91431daf3250daa0196c3c94614d23be27232e6e5b6c",
};

/// libtorch's headers and libraries (BSD-3-Clause).
pub(super) const TORCH: Wheel = Wheel {
    project: "torch",
    file: "torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl",
    sha256: "60fcdcb2f3876e21146cb4524ef06397d727ca9ad5f020818547e25075fe3cb7",
};

/// A library that `libtorch_cpu.so` needs even where there is no CUDA (NVIDIA's licence).
pub(super) const CUDA_RUNTIME: Wheel = Wheel {
    project: "nvidia-cuda-runtime",
    file: "nvidia_cuda_runtime-13.0.96-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
    sha256: "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548",
};

/// The other one (NVIDIA's licence).
pub(super) const CUDA_CUPTI: Wheel = Wheel {
    project: "nvidia-cuda-cupti",
    file: "nvidia_cuda_cupti-13.0.85-py3-none-manylinux_2_25_x86_64.whl",
    sha256: "4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8",
};
