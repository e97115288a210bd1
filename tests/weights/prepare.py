"""Makes PyTorch's wheel usable without the 2 GB of CUDA libraries that it is linked with: where one of them is missing, an empty library
stands in for it. Nothing in them is called as long as nothing asks for a GPU; `generate.py` has the wheel loaded lazily.

    python prepare.py
"""

import os
import re
import subprocess
import sysconfig

# Linked by the wheel for torch 2.13.0; `libcudart.so.13` is the real one, of `nvidia-cuda-runtime`.
LINKED = [
    "libcublas.so.13", "libcublasLt.so.13", "libcudnn.so.9", "libcufft.so.12", "libcufile.so.0", "libcupti.so.13", "libcurand.so.10",
    "libcusolver.so.12", "libcusparse.so.12", "libcusparseLt.so.0", "libnccl.so.2", "libnvJitLink.so.13", "libnvrtc.so.13",
    "libnvshmem_host.so.3",
]


def main():
    packages = sysconfig.get_path("purelib")
    libraries = os.path.join(packages, "torch", "lib")
    runtime = os.path.join(packages, "nvidia", "cu13", "lib", "libcudart.so.13")
    link = os.path.join(libraries, "libcudart.so.13")
    if not os.path.lexists(link):
        os.symlink(os.path.relpath(runtime, libraries), link)
    compiler = os.environ.get("CXX") or "g++"
    for name in LINKED:
        path = os.path.join(libraries, name)
        assert re.fullmatch(r"lib\w+\.so\.\d+", name)
        if not os.path.exists(path):
            subprocess.run([compiler, "-shared", "-x", "c", os.devnull, "-o", path, f"-Wl,-soname,{name}"], check=True)


main()
