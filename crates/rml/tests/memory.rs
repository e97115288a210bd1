//! Tests the memory limit as users of the library see it. This file contains one test, because the limit applies to the
//! process.

use rml::{Columns, Feed, Options, RunOptions, Session, Source, codes, compile, memory};

const TEXT: &str = "\
node main(x: num [100000], end: bool []) -> (o)
  o = if end then x else post o;
";

fn program() -> rml::Program {
    compile(&Source::text("p.rml", TEXT), &Options::default()).expect("a program")
}

#[test]
fn a_limit_for_programs_of_ones_own() {
    let program = program();
    assert_eq!(memory::limit(), memory::default_limit(), "compiling sets the default");
    memory::set_limit(8 << 20);
    let before = memory::used();
    let mut session = Session::new(&program);
    let step = |session: &mut Session| {
        let x: Vec<f32> = vec![1.0; 100_000];
        session
            .step([("x", Feed::Value(rml::tensor(&[100_000], x).expect("a tensor"))), ("end", false.into())])
    };
    let failed = (0..100).find_map(|n| step(&mut session).err().map(|e| (n, e)));
    let (n, error) = failed.expect("forty megabytes do not fit");
    assert!((15..=22).contains(&n), "{n} cycles of 400 kB");
    assert_eq!(error.code(), Some(codes::run::MEMORY_LIMIT));
    assert!(error.to_string().contains("cycles"), "{error}");
    // The results are kept, and dropping the session frees the memory.
    assert!(memory::used() > before + (6 << 20));
    drop(session);
    assert_eq!(memory::used(), before);
    memory::set_limit(64 << 20);
    let mut session = Session::new(&program);
    assert!((0..100).all(|_| step(&mut session).is_ok()));

    let counter = Source::text("c.rml", "node main() -> (o) o = 0 fby o + 1;");
    let counter = compile(&counter, &Options::default()).expect("a program");
    let options = RunOptions { cycles: Some(usize::MAX), ..RunOptions::default() };
    let error = rml::run(&counter, &Columns::default(), &options).expect_err("no machine holds that");
    assert_eq!(error.code(), Some(codes::run::MEMORY_LIMIT));
}
