//! The memory that the embedded backend asks for is its footprint, and segments change no bits. The limit is that of
//! the process, so this test is alone in it.

#[test]
fn it_asks_for_its_footprint() {
    assert_eq!(rml_executor::suite::limits(&rml_backend_cpu::Cpu), []);
}
