//! What would take more memory than is allowed is an error that names the expression, before it is allocated.

mod support;

use support::Folder;

#[test]
fn constants_are_within_the_limit() {
    let text = "node main(k: num []) -> (o)\n  o = sum(k * ones([2000, 3000]));\n";
    let folder = Folder::new().file("p.rml", text).file("d.json", r#"{"k": [2.0]}"#);
    let words = ["memory-limit", "p.rml:2:15", "num [2000, 3000]", "24000000 bytes (22.9 MiB) asked for"];
    folder.rml("run p.rml --inputs d.json --memory 16M").fails(1, &words);
    folder.rml("check p.rml --memory 16M").fails(1, &words);
    folder.rml("run p.rml --inputs d.json --f64 --memory 32M").fails(1, &["48000000 bytes"]);
    assert!(folder.rml("run p.rml --inputs d.json --memory 128M").ok().contains("12000000"));
}

#[test]
fn a_shape_without_elements_has_a_bound() {
    for shape in ["9223372036854775807, 0, 0", "0, 1000000000, 4, 2"] {
        for value in [format!("zeros([{shape}])"), format!("broadcast([{shape}], 1.0)")] {
            let folder = Folder::new().file("p.rml", format!("node main() -> (o)\n  o = {value};\n"));
            folder.rml("run p.rml --cycles 1").fails(1, &["static-value", "a dimension of 0 counting as 1"]);
        }
    }
}
