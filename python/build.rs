//! Says to the linker that Python's functions are found when the module is loaded, where linkers do not take that for
//! granted.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
