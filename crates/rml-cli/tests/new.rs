//! `rml new`: the commands on its page give the promised results. Completions, manual pages, the version.

mod support;

use support::Folder;

/// The commands of the page of a new program, without `rml`.
fn commands(page: &str) -> Vec<String> {
    let block = page.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("commands");
    block.lines().filter_map(|line| line.strip_prefix("rml ")).map(str::to_owned).collect()
}

/// The last number after a name in a report.
fn last(text: &str, name: &str) -> f64 {
    let found = text.rsplit(&format!("{name} ")).next().and_then(|rest| rest.split_whitespace().next());
    found
        .and_then(|number| number.trim_end_matches([',', ';']).parse().ok())
        .unwrap_or_else(|| panic!("no {name}: {text}"))
}

/// Makes a new program, runs the commands of its page in its folder, and returns the output of each.
fn run(template: &str) -> Vec<String> {
    let folder = Folder::new();
    folder.rml(&format!("new it --template {template}")).ok();
    let page = folder.read("it/README.md");
    let formatted = folder.rml("fmt --check it/it.rml");
    assert_eq!(formatted.code, Some(0), "{}", folder.read("it/it.rml"));
    let run = |command: &String| {
        let mut input = String::new();
        let (command, rest) = command.split_once(" < ").unwrap_or((command, ""));
        if !rest.is_empty() {
            input = folder.read(&format!("it/{}", rest.split_whitespace().next().expect("a file")));
        }
        let run = folder.run_in("it", command, &input);
        assert_eq!(run.code, Some(0), "{command}: {}", run.err);
        assert!(!run.err.contains("warning"), "{command}: {}", run.err);
        run.out + &run.err
    };
    commands(&page).iter().map(run).collect()
}

#[test]
fn sequences_are_told_apart() {
    let said = run("lstm");
    assert!(last(&said[2], "accuracy") >= 0.95, "{}", said[2]);
}

#[test]
fn a_series_is_predicted() {
    let said = run("forecast");
    assert!(last(&said[2], "loss") < 0.1 * last(&said[2], "naive"), "{}", said[2]);
}

#[test]
fn a_pole_is_balanced() {
    run("rl");
}

#[test]
fn a_stream_raises_one_alarm() {
    let said = run("stream");
    let alarms: Vec<&str> = said[1]
        .lines()
        .filter(|line| line.contains("\"alarm\": true") || line.contains("\"alarm\":true"))
        .collect();
    assert!(!alarms.is_empty() && alarms.len() <= 5 && alarms[0].contains("799"), "{alarms:?}");
}

#[test]
fn what_is_there_is_kept() {
    let folder = Folder::new().file("it", "mine");
    folder.rml("new it").fails(1, &["unwritable-file", "it exists already"]);
    assert_eq!(folder.read("it"), "mine");
    folder.rml("new 'a b'").fails(1, &["bad-option", "letters"]);
    folder.rml("new ..").fails(1, &["bad-option"]);
    folder.rml("new it --template gan").fails(2, &["lstm"]);
}

#[test]
fn shells_and_man_know_the_commands() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = folder.rml(&format!("completions {shell}")).ok();
        assert!(text.contains("train") && text.contains("gradcheck"), "{shell}");
    }
    folder.rml("man pages").ok();
    assert!(folder.read("pages/rml.1").contains("rml\\-train(1)"), "{}", folder.read("pages/rml.1"));
    assert!(folder.read("pages/rml-train.1").contains("\\-\\-epochs"));
    assert!(folder.rml("--version").ok().contains("backends: auto, cpu"));
}
