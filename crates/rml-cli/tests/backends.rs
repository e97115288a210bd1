//! Choosing backends: `--backend`, `--device`, `--threads` and `rml backends`, in builds with and without the features
//! `xla` and `torch`.

mod support;

use support::{Folder, Run};

const SUM: &str = "node sum(x: num []) -> (o: num [])\n  k = param(2.0);\n  o = k * x;\n";

const COMMANDS: [&str; 4] = [
    "run sum.rml --inputs i.json",
    "grad sum.rml --inputs i.json",
    "gradcheck sum.rml --inputs i.json",
    "train sum.rml --node sum --data i.json --epochs 1 --test 0",
];

fn folder() -> Folder {
    Folder::new().file("sum.rml", SUM).file("i.json", r#"{"x": [1.0, 2.0]}"#)
}

/// `rml` with the folder `installed` as the folder of the backends' libraries.
fn rml(folder: &Folder, args: &str) -> Run {
    folder.rml_where(&[("RML_BACKENDS", "installed")], args)
}

#[test]
fn what_computes_runs_on_the_cpu_by_default() {
    let folder = folder();
    for command in COMMANDS {
        let plain = rml(&folder, command).ok();
        assert_eq!(rml(&folder, &format!("{command} --backend cpu --device cpu --threads 2")).ok(), plain);
        for other in ["native", "reference"] {
            assert_eq!(rml(&folder, &format!("{command} --backend {other}")).ok(), plain, "{other}");
        }
        assert!(
            folder.rml(&format!("{} --help", command.split(' ').next().unwrap())).ok().contains("--device")
        );
    }
    for command in ["trace sum.rml --inputs i.json --backend cpu", "check sum.rml --backend cpu"] {
        rml(&folder, command).fails(2, &["--backend"]);
    }
}

#[test]
fn a_device_that_is_not_there_is_named() {
    let folder = folder();
    for command in COMMANDS {
        rml(&folder, &format!("{command} --device cuda:7"))
            .fails(1, &["error[no-device]", "cuda:7", "rml backends"]);
    }
    rml(&folder, "run sum.rml --inputs i.json --device cuda")
        .fails(1, &["error[bad-option]", "`cuda`", "`cuda:N`"]);
    rml(&folder, "run sum.rml --inputs i.json --device cuda:o")
        .fails(1, &["error[bad-option]", "there is `cuda:0`"]);
    for wrong in ["--threads 0", "--backend tpu"] {
        rml(&folder, &format!("run sum.rml --inputs i.json {wrong}")).fails(2, &["--help"]);
    }
    rml(&folder, "run sum.rml --inputs i.json --backend tpu")
        .fails(2, &["auto, cpu, native, reference, xla, torch"]);
}

#[test]
fn every_backend_is_listed() {
    let folder = folder();
    let list = rml(&folder, "backends --format json").json();
    let names: Vec<&str> = list.as_array().unwrap().iter().map(|b| b["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["auto", "cpu", "native", "reference", "xla", "torch"]);
    for embedded in &list.as_array().unwrap()[..4] {
        assert_eq!((&embedded["built_in"], &embedded["loads"]), (&true.into(), &true.into()));
        assert_eq!(embedded["devices"], serde_json::json!(["cpu"]));
    }
    for (at, built) in [(4, cfg!(feature = "xla")), (5, cfg!(feature = "torch"))] {
        let code = if built { "backend-not-installed" } else { "backend-not-built" };
        assert_eq!((&list[at]["built_in"], &list[at]["loads"]), (&built.into(), &false.into()));
        assert_eq!(list[at]["code"], code);
        assert!(list[at]["why"].as_str().unwrap().contains(names[at]));
    }
    let table = rml(&folder, "backends").ok();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 7, "{table}");
    assert!(lines[0].starts_with("backend") && lines[0].ends_with("devices"), "{table}");
    assert!(lines[1].starts_with("auto") && lines[1].contains("native"), "{table}");
    assert!(lines[2].starts_with("cpu") && lines[2].ends_with("cpu"), "{table}");
    assert!(lines[3].starts_with("native"), "{table}");
    assert!(lines[4].starts_with("reference") && lines[4].contains("slow"), "{table}");
    assert!(lines[5].starts_with("xla") && lines[5].contains("rml explain backend-not-"), "{table}");
}

#[cfg(not(feature = "xla"))]
#[test]
fn a_build_without_a_backend_names_the_commands_that_bring_it() {
    let folder = folder();
    for command in COMMANDS {
        rml(&folder, &format!("{command} --backend xla")).fails(
            1,
            &[
                "error[backend-not-built]",
                "cargo xtask setup xla",
                "cargo build --release --features xla,torch",
            ],
        );
    }
}

#[cfg(feature = "xla")]
mod with_xla {
    use std::process::Command;

    use super::*;

    const RUN: &str = "run sum.rml --inputs i.json --backend xla";

    /// A folder with this file as the library of the backend.
    fn installed(library: impl FnOnce(&std::path::Path)) -> Folder {
        let folder = folder();
        std::fs::create_dir_all(folder.path("installed/xla/lib")).expect("a folder");
        library(&folder.path("installed/xla/lib/librml_backend_xla.so"));
        folder
    }

    /// A folder with a library compiled from this C source.
    fn compiled(source: &str) -> Folder {
        installed(|path| {
            let file = path.with_extension("c");
            std::fs::write(&file, source).expect("a file");
            let cc = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(path).arg(&file).status();
            assert!(cc.expect("a C compiler").success());
        })
    }

    fn refused(folder: &Folder, why: &str) {
        let words = ["error[backend-not-installed]", why, "librml_backend_xla.so", "`cargo xtask setup xla`"];
        rml(folder, RUN).fails(1, &words);
        let list = rml(folder, "backends").ok();
        assert!(list.contains(why), "{list}");
    }

    #[test]
    fn a_library_that_is_not_there_or_broken_is_named_with_the_mend() {
        refused(&folder(), "there is no library");
        refused(&installed(|path| std::fs::write(path, "half a libr").expect("a file")), "does not load");
        refused(&compiled("int nothing;"), "is no backend");
        let other = "static long api[64] = {999}; void *rml_backend_api(void) { return api; }";
        refused(&compiled(other), "was built for another version");
    }

    #[test]
    fn what_needs_no_library_opens_none() {
        let broken = installed(|path| std::fs::write(path, "half a libr").expect("a file"));
        for command in ["check sum.rml", "run sum.rml --inputs i.json"] {
            rml(&broken, command).ok();
        }
    }

    #[test]
    fn without_a_home_the_folder_has_to_be_named() {
        let folder = folder();
        let output =
            folder.command(RUN).env_remove("HOME").env_remove("XDG_CACHE_HOME").output().expect("rml ends");
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(err.contains("error[backend-not-installed]") && err.contains("RML_BACKENDS"), "{err}");
    }
}

#[test]
fn compiling_needs_a_compiler() {
    let folder = folder();
    let run = "run sum.rml --inputs i.json --backend native";
    let without = [("PATH", "nowhere"), ("CC", "")];
    folder
        .rml_where(&without, run)
        .fails(1, &["error[backend-not-installed]", "gcc or clang", "--backend cpu"]);
    folder.rml_where(&without, "backends").ok();
}

#[test]
fn compiled_programs_are_kept_where_the_variable_says() {
    let folder = folder();
    let run = "run sum.rml --inputs i.json --backend native";
    let plain = folder.rml("run sum.rml --inputs i.json").ok();
    let count = || std::fs::read_dir(folder.path("programs")).map_or(0, |files| files.count());
    for _ in 0..2 {
        assert_eq!(folder.rml_where(&[("RML_PROGRAMS", "programs")], run).ok(), plain);
        assert_eq!(count(), 1, "one library, and nothing else");
    }
    assert_eq!(folder.rml_where(&[("RML_PROGRAMS", "off")], run).ok(), plain);
    assert_eq!(count(), 1);
    let wrong = "run sum.rml --inputs i.json --backend native --device cuda:0";
    folder.rml(wrong).fails(1, &["error[no-device]", "native backend has no device `cuda:0`"]);
}
