//! The embedded backend has one device.

use rml_backend::{Backend, Options};
use rml_backend_cpu::Cpu;
use rml_base::codes::backend as codes;

#[test]
fn other_devices_are_refused() {
    let open = |device: &str| Cpu::open(&Options { device: device.to_owned(), ..Options::default() });
    assert_eq!(open("cpu").unwrap().about().device, "cpu");
    let refused = open("cuda:0").unwrap_err();
    assert_eq!(refused.code, codes::NO_DEVICE);
    assert!(refused.message.contains("cuda:0"));
}
