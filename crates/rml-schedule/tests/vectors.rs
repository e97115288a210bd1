//! The conformance vectors, by plan and by simulator.

use std::collections::BTreeMap;
use std::path::Path;

use rml_testkit::Lcg;
use rml_testkit::conformance::{ConformanceVector, files, program};
use rml_testkit::plans::{Planned, compare};

#[test]
fn plans_of_vectors_mean_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance");
    let (mut equal, mut declined) = (0, BTreeMap::<String, Vec<String>>::new());
    for part in ["vectors", "more", "random"] {
        for file in files(&folder.join(part)).unwrap() {
            let vector = ConformanceVector::parse(&std::fs::read_to_string(&file).unwrap()).unwrap();
            let Ok((flat, inputs)) = program(&vector) else { continue };
            let name = file.file_stem().unwrap().to_string_lossy().into_owned();
            match compare(&flat, &inputs, &mut Lcg(1)) {
                Ok(Planned::Equal | Planned::Waited(..)) => equal += 1,
                Ok(Planned::Declined(why)) => declined.entry(why).or_default().push(name),
                Ok(Planned::Failed | Planned::Stopped) => {}
                Err(why) => panic!("{name}: {why}"),
            }
        }
    }
    assert!(equal >= 90, "{equal} vectors have a plan; declined: {declined:#?}");
}
