//! Damaged programs: whatever becomes of a program, elaboration does not panic, and gives a module or says why not.

mod common;

use std::path::Path;

use common::options;
use rml_base::Sources;
use rml_elab::{NoFiles, Options, Root, check_all, elaborate};
use rml_ir::typed::StaticValue;

/// A small generator of pseudo-random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % n.max(1)
    }
}

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

/// Words, numbers and single other characters.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut word = false;
    for c in text.lines().filter(|l| !l.trim_start().starts_with("--")).flat_map(|l| l.chars().chain(['\n']))
    {
        let now = c.is_alphanumeric() || c == '_';
        match tokens.last_mut() {
            Some(last) if now && word => last.push(c),
            _ => tokens.push(c.to_string()),
        }
        word = now;
    }
    tokens
}

fn mutate(tokens: &mut Vec<String>, others: &[String], random: &mut Random) {
    let at = random.below(tokens.len());
    match random.below(5) {
        0 => {
            tokens.remove(at);
        }
        1 => {
            let copy = tokens[random.below(tokens.len())].clone();
            tokens.insert(at, copy);
        }
        2 => {
            let other = random.below(tokens.len());
            tokens.swap(at, other);
        }
        3 => tokens[at] = others[random.below(others.len())].clone(),
        _ => {
            // names for names keep the program in the grammar
            let words: Vec<usize> = (0..tokens.len())
                .filter(|i| tokens[*i].len() > 1 || tokens[*i].parse::<u8>().is_ok())
                .collect();
            if !words.is_empty() {
                let (a, b) = (words[random.below(words.len())], words[random.below(words.len())]);
                tokens[a] = tokens[b].clone();
            }
        }
    }
}

#[test]
fn mutants_never_panic() {
    let rounds: usize = std::env::var("RML_MUTANTS").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    let texts = programs();
    let all: Vec<String> = texts.iter().flat_map(|t| tokens(t)).collect();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut accepted = 0;
    for round in 0..rounds {
        for text in &texts {
            let mut tokens = tokens(text);
            for _ in 0..=random.below(3) {
                mutate(&mut tokens, &all, &mut random);
            }
            let mutant = tokens.concat();
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
        check_all(&mut sources, main, options, &mut NoFiles);
        module.is_some()
    });
    result.unwrap_or_else(|_| panic!("panicked on:\n{text}"))
}
