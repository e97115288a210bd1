//! The programs, commands, outputs and pictures of the pages that teach: `docs/walkthrough.md`, `docs/relations.md`,
//! `docs/own-csv.md`, and those in `docs/tutorial` and `docs/cookbook`.
//!
//! | fenced as | what it is |
//! |---|---|
//! | `LANGUAGE NAME` | a file of that name, in the folder of the page; the paragraph before it says the name, which readers do not see otherwise |
//! | `sh` | commands, which run there, one block after the other; `examples` and `tests` are those of the repository |
//! | `sh fails` | the same, and the last command must fail |
//! | `sh NEED` | the same, where `RML_PAGES` names that need: `libraries` (JAX and PyTorch), `onnx`, `python`, `xla` |
//! | `text` after commands | what they print; times such as `1.2 s` count as `0.1 s` |
//!
//! Each page has its own folder, but those of the tutorial share one, and run in the order of their names.
//!
//! A picture in a page is the file of the same name that its commands write. `RML_BLESS=1` rewrites outputs and
//! pictures, and an argument selects pages by a part of their name.

mod support;

#[cfg(unix)]
use std::os::unix::fs::symlink;
#[cfg(windows)]
use std::os::windows::fs::symlink_dir as symlink;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use support::Folder;

/// Requirements of commands that are not available everywhere; `cargo xtask test` provides them.
const NEEDS: [&str; 4] = ["libraries", "onnx", "python", "xla"];

/// The least number of outputs in all pages together.
const OUTPUTS: usize = 40;

/// Pages that run in one folder, one after the other.
type Chapter = Vec<PathBuf>;

fn main() -> ExitCode {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let alone = ["walkthrough.md", "relations.md", "own-csv.md"];
    let mut chapters: Vec<Chapter> = alone.map(|page| vec![docs.join(page)]).into();
    chapters.push(pages_in(&docs.join("tutorial")));
    chapters.extend(pages_in(&docs.join("cookbook")).into_iter().map(|page| vec![page]));
    // If requirements are provided, only the pages that need them run.
    if std::env::var_os("RML_PAGES").is_some() {
        let needs = |page: &PathBuf| read(page).is_ok_and(|text| NEEDS.iter().any(|need| needs(&text, need)));
        chapters.retain(|chapter| chapter.iter().any(needs));
    }
    let trial = |chapter: &Chapter| {
        let name = chapter[0].strip_prefix(&docs).unwrap_or(&chapter[0]).display().to_string();
        let chapter = chapter.clone();
        // the commands are those of a Unix shell
        Trial::test(name, move || check(&chapter).map_err(Failed::from)).with_ignored_flag(cfg!(not(unix)))
    };
    let mut trials: Vec<Trial> = chapters.iter().map(trial).collect();
    let least = if std::env::var_os("RML_PAGES").is_some() { 1 } else { OUTPUTS };
    trials.push(Trial::test("outputs are found", move || {
        let shown = chapters.iter().flatten();
        let shown = shown.map(|path| read(path).map(|text| text.matches("```text\n").count()));
        let shown: usize = shown.sum::<Result<usize, String>>()?;
        if shown >= least { Ok(()) } else { Err(format!("only {shown} outputs").into()) }
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The pages of a folder, by name.
fn pages_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    pages.retain(|path| path.extension().is_some_and(|e| e == "md"));
    pages.sort();
    pages
}

/// Compares the pages of a chapter, or writes them.
fn check(chapter: &Chapter) -> Result<(), String> {
    let folder = Folder::new();
    for linked in ["examples", "tests"] {
        let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(linked);
        symlink(target, folder.path(linked)).map_err(|e| e.to_string())?;
    }
    chapter
        .iter()
        .try_for_each(|path| check_page(path, &folder).map_err(|e| format!("{}: {e}", path.display())))
}

fn check_page(path: &Path, folder: &Folder) -> Result<(), String> {
    let page = read(path)?;
    let remade = remade(&page, folder)?;
    let pictures = pictures(&page);
    if std::env::var_os("RML_BLESS").is_some() {
        std::fs::write(path, &remade).map_err(|e| e.to_string())?;
        for picture in pictures {
            std::fs::write(path.with_file_name(picture), folder.read(picture)).map_err(|e| e.to_string())?;
        }
        return Ok(());
    }
    for picture in pictures {
        let made = std::fs::read_to_string(folder.path(picture));
        let made = made.map_err(|e| format!("no command of the page writes {picture}: {e}"))?;
        if read(&path.with_file_name(picture))? != made {
            return Err(format!(
                "{picture} is not the picture that the commands draw; RML_BLESS=1 writes it"
            ));
        }
    }
    match (1..).zip(page.lines().zip(remade.lines())).find(|(_, (a, b))| a != b) {
        Some((line, (shown, printed))) => Err(format!(
            "line {line} shows\n    {shown}\nand the commands print\n    {printed}\nRML_BLESS=1 writes what they print"
        )),
        None if page != remade => Err("the page ends differently from the commands do".to_owned()),
        None => Ok(()),
    }
}

/// The page with the current outputs of its commands.
fn remade(page: &str, folder: &Folder) -> Result<String, String> {
    let (mut made, mut printed) = (String::new(), None);
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let before = made.trim_end().rsplit("\n\n").next().unwrap_or_default().to_owned();
        made.push_str(&format!("{line}\n"));
        let Some(info) = line.strip_prefix("```") else { continue };
        let body: String = lines.by_ref().take_while(|l| *l != "```").map(|l| format!("{l}\n")).collect();
        let mut shown = body.clone();
        match info.split_once(' ') {
            None if info == "sh" => printed = Some(output(folder, &body, true)?),
            Some(("sh", "fails")) => printed = Some(output(folder, &body, false)?),
            Some(("sh", need)) if NEEDS.contains(&need) => {
                printed = has(need).then(|| output(folder, &body, true)).transpose()?;
            }
            Some(("sh", need)) => return Err(format!("commands that need {need}: there are {NEEDS:?}")),
            None if info == "text" => shown = printed.take().unwrap_or(shown),
            Some((_, name)) if before.contains(&format!("`{name}`")) => {
                std::fs::write(folder.path(name), &body).map_err(|e| format!("{name}: {e}"))?;
            }
            Some((_, name)) => {
                return Err(format!("the text before the file does not say its name, `{name}`"));
            }
            None => {}
        }
        made.push_str(&format!("{shown}```\n"));
    }
    Ok(made)
}

/// Whether commands of the page need `need`, and it is available.
fn needs(page: &str, need: &str) -> bool {
    has(need) && page.contains(&format!("```sh {need}\n"))
}

/// Whether commands that need `need` can run on this machine.
fn has(need: &str) -> bool {
    std::env::var("RML_PAGES").is_ok_and(|given| given.split(',').any(|name| name == need))
}

/// Joins both outputs. An `rml` that fails within a pipe, whose status is that of the last command, leaves a file.
const PRELUDE: &str = "exec 2>&1
set -e
rml() { command rml \"$@\" || { status=$?; : > .failed; return $status; }; }
";

/// The output of the commands, both streams, run by the shell in this folder.
fn output(folder: &Folder, commands: &str, succeeds: bool) -> Result<String, String> {
    let mut shell = folder.shell(&format!("{PRELUDE}{commands}"));
    let output = shell.stdin(std::process::Stdio::null()).output().map_err(|e| format!("no shell: {e}"))?;
    let printed = timeless(&String::from_utf8_lossy(&output.stdout));
    let text = if printed.is_empty() || printed.ends_with('\n') { printed } else { printed + "\n" };
    let failed = std::fs::remove_file(folder.path(".failed")).is_ok();
    if (output.status.success() && !failed) == succeeds {
        return Ok(text);
    }
    let how = if succeeds { "fail" } else { "do not fail" };
    Err(format!("these commands {how}:\n{commands}{text}"))
}

/// The text with each time, as `1.2 s`, as `0.1 s`.
fn timeless(text: &str) -> String {
    let is_time = |word: &str| {
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        word.split_once('.').is_some_and(|(whole, part)| digits(whole) && digits(part) && part.len() == 1)
    };
    let line = |line: &str| {
        let mut words: Vec<&str> = line.split(' ').collect();
        for unit in 1..words.len() {
            if words[unit] == "s" && is_time(words[unit - 1]) {
                words[unit - 1] = "0.1";
            }
        }
        words.join(" ")
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// The names of the pictures that the page shows.
fn pictures(page: &str) -> Vec<&str> {
    let images = page.split("![").skip(1).filter_map(|rest| rest.split_once("](")?.1.split(')').next());
    images.filter(|target| !target.contains('/')).collect()
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}
