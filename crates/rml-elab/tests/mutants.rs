//! Damaged programs: whatever the damage, elaboration does not panic, and returns a module or reports errors.

mod common;

use std::path::Path;

use common::{check_all, options};
use rml_base::Sources;
use rml_elab::{NoFiles, Options, Root, elaborate};
use rml_ir::typed::StaticValue;
use rml_testkit::Lcg;
use rml_testkit::damage::damaged;

fn programs() -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dirs = [crates.join("../../examples/paper"), crates.join("../../std"), crates.join("tests/rejected")];
    let mut paths: Vec<_> = dirs
        .iter()
        .flat_map(|d| std::fs::read_dir(d).expect("directory"))
        .map(|e| e.expect("readable").path())
        .filter(|p| p.extension().is_some_and(|e| e == "rml") && !p.ends_with("instance_limit.rml"))
        .collect();
    paths.sort();
    paths.iter().map(|p| std::fs::read_to_string(p).expect("readable")).collect()
}

#[test]
fn mutants_never_panic() {
    let rounds: usize = std::env::var("RML_MUTANTS").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    let texts = programs();
    let mut random = Lcg(1);
    let mut accepted = 0;
    for round in 0..rounds {
        for text in &texts {
            let donor = random.pick(&texts);
            let mutant = damaged(text, donor, &mut random);
            let mut options = options();
            for name in ["units", "n", "batch", "d", "sizex"] {
                options.defaults.insert(name.to_owned(), StaticValue::Int(3));
            }
            let roots = [Root::Default, Root::Diff("main".to_owned()), Root::Run("train".to_owned())];
            options.root = roots[round % roots.len()].clone();
            accepted += usize::from(check(&mutant, &options));
        }
    }
    assert!(accepted > rounds, "only {accepted} mutants were programs");
}

fn check(text: &str, options: &Options) -> bool {
    let mut sources = Sources::new();
    let main = sources.add("mutant", text);
    let result = std::panic::catch_unwind(|| {
        let mut sources = sources.clone();
        let (module, found) = elaborate(&mut sources, main, options, &mut NoFiles);
        assert_eq!(module.is_some(), !found.has_errors(), "{found}");
        check_all(&mut sources, main, options);
        module.is_some()
    });
    result.unwrap_or_else(|_| panic!("panicked on:\n{text}"))
}
