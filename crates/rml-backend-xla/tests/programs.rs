//! Compiled programs in a folder are reused when the backend is opened again.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rml_backend::plugin::host::Library;
use rml_backend::{Backend, Compiled, Held, Options, Outcome, routine};
use rml_files::FileCache;
use rml_ir::{Data, Shape, Value};

/// Opens the library that cargo built beside this test.
fn open(programs: Option<&Path>, threads: usize) -> Arc<dyn Backend> {
    static LIBRARY: OnceLock<Arc<Library>> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        Library::open(&test.with_file_name("librml_backend_xla.so")).unwrap()
    });
    let programs = programs.map(Path::to_owned);
    library.backend(&Options { threads: Some(threads), programs, ..Options::default() }).unwrap()
}

/// A recurrence over 7 rows, with a sum after it.
const TEXT: &str = "routine f32 \"loop\"
s0 input num [7, 40]
s1 input num [40]
s2 input num [40, 40]
loop 7 forward carried (s1) rows (s0 at 0) whole (s2) {
function f32 \"body\"
x0 input num [40]
x1 input num [40]
x2 input num [40, 40]
x3 num [40] = matmul (x2, x0)
x4 num [40] = add (x3, x1)
x5 num [40] = tanh (x4)
result x5
result x5
}
call (s4) {
function f32 \"behind\"
x0 input num [7, 40]
x1 num [40] = sum{axis=0} (x0)
result x1
}
result s3
result s5
";

/// The bits of the results of the routine, and the programs compiled for it.
fn run(backend: &dyn Backend) -> (Vec<u32>, Compiled) {
    let routine = routine::parse(TEXT).unwrap();
    routine::verify(&routine).unwrap();
    let executable = backend.prepare_routine(&routine).unwrap();
    let arg = |dims: &[usize]| {
        let len = dims.iter().product::<usize>();
        let items = (0..len).map(|i| ((i * 37 % 101) as f32 - 50.0) / 80.0).collect();
        Held::Host(Value::new(Shape::new(dims), Data::F32(items)))
    };
    let Outcome::Done(results) = executable.run(vec![arg(&[7, 40]), arg(&[40]), arg(&[40, 40])]).unwrap()
    else {
        panic!("nothing here is suspect")
    };
    let bits = |held: &Held| match held.to_host().unwrap().to_data() {
        Data::F32(items) => items.iter().map(|x| x.to_bits()).collect::<Vec<u32>>(),
        other => panic!("{other:?}"),
    };
    (results.iter().flat_map(bits).collect(), backend.compiled().unwrap())
}

fn files(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_program_is_compiled_once_for_several_processes_and_has_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let programs = folder.path().join("programs");
    let (plain, compiled) = run(&*open(None, 1));
    assert_eq!((compiled.programs, compiled.loaded, compiled.unkept), (1, 0, None));
    assert!(!compiled.time.is_zero());
    let (first, compiled) = run(&*open(Some(&programs), 1));
    assert_eq!((first, compiled.programs, compiled.loaded, compiled.unkept), (plain.clone(), 1, 0, None));
    assert_eq!(files(&programs).len(), 1);
    let backend = open(Some(&programs), 1);
    for _ in 0..2 {
        let (second, compiled) = run(&*backend);
        assert_eq!(
            (second, compiled.programs, compiled.loaded),
            (plain.clone(), 0, 1),
            "kept by the process, too"
        );
    }
}

/// A program for another number of threads is a different program.
#[test]
fn a_program_for_other_settings_is_another_one() {
    let folder = tempfile::tempdir().unwrap();
    for (threads, loaded) in [(1, 0), (2, 0), (2, 1), (1, 1)] {
        let (_, compiled) = run(&*open(Some(folder.path()), threads));
        assert_eq!((compiled.programs, compiled.loaded), (1 - loaded, loaded), "{threads} threads");
    }
    assert_eq!(files(folder.path()).len(), 2);
}

#[test]
fn a_file_that_is_no_program_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (bits, _) = run(&*open(Some(folder.path()), 1));
    let file = files(folder.path()).remove(0);
    let whole = std::fs::read(&file).unwrap();
    // The key follows a mark, a hash and its length.
    let length = usize::try_from(u64::from_le_bytes(whole[24..32].try_into().unwrap())).unwrap();
    let key = &whole[32..32 + length];
    let of_another_kind = || FileCache::new(folder.path(), 9).put(key, b"no program").unwrap();
    let mut damaged = whole.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let replace: [&dyn Fn(); 4] = [
        &|| std::fs::write(&file, &whole[..whole.len() / 2]).unwrap(),
        &|| std::fs::write(&file, &damaged).unwrap(),
        &|| std::fs::write(&file, "").unwrap(),
        &of_another_kind,
    ];
    for (i, replace) in replace.iter().enumerate() {
        replace();
        let (again, compiled) = run(&*open(Some(folder.path()), 1));
        assert_eq!((&again, compiled.programs, compiled.loaded, compiled.unkept), (&bits, 1, 0, None), "{i}");
        let (again, compiled) = run(&*open(Some(folder.path()), 1));
        assert_eq!((&again, compiled.programs, compiled.loaded), (&bits, 0, 1), "{i}: it was replaced");
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_told_and_changes_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "no folder").unwrap();
    let (plain, _) = run(&*open(None, 1));
    let (bits, compiled) = run(&*open(Some(&file), 1));
    assert_eq!((bits, compiled.programs, compiled.loaded), (plain, 1, 0));
    assert!(compiled.unkept.is_some_and(|why| why.contains("cannot be written")));
}
