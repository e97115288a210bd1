//! Names, and the content of the header, in C and in C++.

mod support;

use std::process::Command;

use rml_c::{Exported, Math, Options, export};
use rml_ir::{DType, Data, Shape, Type, Value};
use rml_schedule::{Fed, schedule};

/// The output of a compiler for a text, if the compiler is installed.
fn compiled(compiler: &str, args: &[&str], files: &[(&str, &str)]) -> Option<String> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    let output = Command::new(compiler).args(args).current_dir(folder.path()).output().ok()?;
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler} {args:?}: {err}");
    Some(String::from_utf8(output.stdout).expect("text"))
}

/// The C of the node in a text, called `net`.
fn exported(text: &str) -> Exported {
    let source = rml::Source::text("net.rml", text);
    let program = rml::compile(&source, &rml::Options::default()).expect("a program");
    let plan = schedule(program.flat(), Fed::Windows).expect("a plan");
    let options = Options { name: "net".to_owned(), cycles: 1, math: Math::Own, note: "A test.".to_owned() };
    export(&plan, &|_| None, &options).expect("it has a place in C")
}

/// The C of a program whose inputs and outputs have these names.
fn fields(names: &[String]) -> Exported {
    let types: Vec<Type> = names.iter().map(|_| Type { dtype: DType::Num, shape: Shape::scalar() }).collect();
    let all: Vec<_> = types.into_iter().map(|ty| (rml_ir::op::Op::Copy, vec![ty])).collect();
    let mut plan = rml_testkit::samples::operators(&all, rml_ir::Precision::F32);
    for (i, name) in names.iter().enumerate() {
        plan.inputs[i].0 = name.as_str().into();
        plan.outputs[i].name = name.as_str().into();
    }
    let options = Options { name: "net".to_owned(), cycles: 1, math: Math::Own, note: "A test.".to_owned() };
    export(&plan, &|_| None, &options).expect("it has a place in C")
}

/// Names of macros of the compiler, of the header of a program, or of its includes.
fn macros(compiler: &str, args: &[&str]) -> Vec<String> {
    let text = "#include \"net.h\"\n#include <math.h>\n";
    let header = exported("node net(x: num []) -> (y)  y = x;").header;
    let args = [&["-dM", "-E", "-I."], args, &["all.h"]].concat();
    let all = compiled(compiler, &args, &[("all.h", text), ("net.h", &header)]).unwrap_or_default();
    let names = all.lines().filter_map(|line| line.strip_prefix("#define ")?.split([' ', '(']).next());
    names.map(str::to_owned).filter(|name| !name.starts_with("__")).collect()
}

#[test]
fn every_macro_may_be_a_name() {
    let mut names = macros("cc", &["-x", "c"]);
    assert!(names.len() > 100, "{names:?}");
    names.extend(macros("g++", &["-x", "c++"]));
    let words =
        "int class typeof template bool this last in out state work num t i float int64_t net_state net_run";
    names.extend(words.split(' ').map(str::to_owned));
    names.extend(names.clone().iter().map(|name| format!("{name}_")));
    names.sort();
    names.dedup();
    let files = fields(&names);
    let own: std::collections::BTreeSet<&String> = files.inputs.iter().collect();
    assert_eq!(own.len(), names.len(), "names that differ have fields that differ");
    let header = format!("#include <math.h>\n{}", files.header);
    let all = [("net.h", header.as_str()), ("net.c", files.source.as_str())];
    for standard in ["c99", "gnu99", "gnu11"] {
        compiled(
            "cc",
            &[&format!("-std={standard}"), "-Wall", "-Wextra", "-Werror", "-c", "net.c", "-o", "net.o"],
            &all,
        );
    }
    for compiler in ["g++", "clang++"] {
        compiled(
            compiler,
            &["-std=gnu++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++", "net.h"],
            &all,
        );
    }
}

#[test]
fn states_may_be_called_like_what_stands_beside_them() {
    // Fields of the work struct, flags, tables and functions.
    let files = exported(
        "node net(x: num [], c: bool []) -> (y, z)
  run = param([1.0, 2.0]);
  nums = 0.0 fby nums + x;
  state = 0.0 fby state + sum(run);
  kept = x fby kept * 2.0;
  kept_set = 1.0 fby kept_set + nums;
  start = param([3.0, 4.0]);
  y = nums + state + sum(start);
  z = kept + kept_set;
",
    );
    let all = [("net.h", files.header.as_str()), ("net.c", files.source.as_str())];
    compiled(
        "cc",
        &["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c", "net.c", "-o", "net.o"],
        &all,
    );
}

/// The compiler adds up the sizes of all tables of a source.
#[test]
fn the_header_counts_every_constant() {
    let files = exported(
        "node net(x: num [64], i: int []) -> (y)
  w = param([0.5, 1.5, 2.5]);
  table = cos(to_num(range(64)) * 0.1);
  odd = [1, 3, 5, 7, 11];
  y = sum(x * table) + sum(w) + to_num(gather(odd, i)) + sum(([1.0, 2.0] fby [3.0, 4.0]));
",
    );
    let names =
        files.source.lines().filter_map(|line| line.strip_prefix("static const ")?.strip_suffix("] = {"));
    let names: Vec<&str> = names.filter_map(|line| line.split([' ', '[']).nth(1)).collect();
    assert!(names.len() >= 4, "{}", files.source);
    let sizes: Vec<String> = names.iter().map(|name| format!("sizeof {name}")).collect();
    let main = format!(
        "#include \"net.c\"\n#include <stdio.h>\nint main(void) {{ return ({}) != NET_CONSTANT_BYTES; }}\n",
        sizes.join(" + ")
    );
    let all = [("net.h", files.header.as_str()), ("net.c", files.source.as_str()), ("main.c", &main)];
    compiled("sh", &["-c", "cc -std=c99 -o main main.c -lm && ./main"], &all);
    assert_eq!(files.memory.constants, 4 * (3 + 64) + 8 * 5 + 4 * 2 + 4 * 2);
}

#[test]
fn constants_without_elements_and_values_beside_themselves_compile() {
    let empty = Value::new([0].into_iter().collect(), Data::F64(Vec::new()));
    assert!(empty.shape().is_empty());
    let files = exported(
        "node net(i: int [], c: bool [], x: num [3]) -> (same, odd, none, picked, one)
  same = i <= i;
  odd = i > i or c != c;
  none = sum(zeros([0])) + sum(concat(zeros([0, 3]), zeros([0, 3]), 0));
  picked = gather(zeros([3]), i);
  one = sum(x) + sum(param(zeros([0])));
",
    );
    let all = [("net.h", files.header.as_str()), ("net.c", files.source.as_str())];
    compiled(
        "cc",
        &["-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c", "net.c", "-o", "net.o"],
        &all,
    );
}
