//! Lines of a stream: a refused line has no effect, and every answer is an object, one per cycle, in order.

use rml::{End, InferOptions, Source, Stream};
use rml_testkit::Lcg;
use serde_json::Value as Json;

use super::{Target, bytes, nothing_smaller};
use crate::{Corpus, FuzzInput};

pub(super) const TARGET: Target = Target {
    name: "streams",
    about: "lines of a stream, sound and damaged: those that are refused leave no trace, answers come in order",
    chunk: 400,
    generate,
    check,
    smaller: nothing_smaller,
};

/// Programs with a node `infer` that has no parameters.
const PROGRAMS: [&str; 7] = [
    "node infer(x: num [], c: bool []) -> (o: num [], s: int []) o = (0.0 fby o) + x; s = if c then 1 else 0;",
    "node infer(x: num [], c: bool []) -> (o) o = merge c (x when c) ((post o) when not c);",
    "node total(x: int []) -> (o) o = x + (0 fby o); node infer(x: int [], c: bool []) -> (o) o = total(x) every c;",
    "node infer(x: num [2], c: bool [], y: num [] when c) -> (o) o = merge c (y * sum(x when c)) 0.0;",
    "node infer(x: num [batch, 2], c: bool []) -> (o: num [batch] when c) o = sum(0.0 fby x, 1) when c;",
    "node infer(x: num [], c: bool []) -> (o) o = if c then x else post o;",
    "node infer(x: int [3], c: bool [2, 2]) -> (o) o = gather([1.0, 2.0, 4.0], x); ",
];

fn generate(r: &mut Lcg, corpus: &Corpus) -> FuzzInput {
    let kept = corpus.of(TARGET.name);
    if !kept.is_empty() && r.chance(0.2) {
        return FuzzInput::bytes("jsonl", bytes::damaged(&r.pick(kept).bytes, r));
    }
    let program = r.below(PROGRAMS.len());
    let mut text = String::new();
    for _ in 0..1 + r.below(7) {
        let line = line(program, r);
        let line = if r.chance(0.2) {
            String::from_utf8_lossy(&bytes::damaged(line.as_bytes(), r)).into_owned()
        } else {
            line
        };
        text += &(line + "\n");
    }
    FuzzInput::with_settings("jsonl", "#", &[("program", program.to_string())], &text)
}

/// A line that the program accepts.
fn line(program: usize, r: &mut Lcg) -> String {
    let number = |r: &mut Lcg| match r.below(5) {
        0 => "9223372036854775807".to_owned(),
        1 => r.below(4).to_string(),
        2 => format!("-{}", r.below(4)),
        _ => format!("{:.2}", r.range(-3.0, 3.0)),
    };
    let small = |r: &mut Lcg| (r.below(4) as i64).to_string();
    let c = r.chance(0.5);
    match program {
        2 => {
            let x = if r.chance(0.2) { "9223372036854775807".to_owned() } else { small(r) };
            format!("{{\"x\": {x}, \"c\": {c}}}")
        }
        3 => {
            let y = if c { number(r) } else { "null".to_owned() };
            format!("{{\"x\": [{}, {}], \"c\": {c}, \"y\": {y}}}", number(r), number(r))
        }
        4 => format!("{{\"x\": [{}, {}], \"c\": {c}}}", number(r), number(r)),
        6 => format!(
            "{{\"x\": [{}, {}, {}], \"c\": [[{c}, true], [false, {c}]]}}",
            small(r),
            small(r),
            small(r)
        ),
        _ => format!("{{\"x\": {}, \"c\": {c}}}", number(r)),
    }
}

fn check(case: &FuzzInput) -> Result<(), String> {
    let (settings, text) = case.settings("#");
    let program = settings.get("program").and_then(|p| p.parse::<usize>().ok()).and_then(|p| PROGRAMS.get(p));
    let Some(program) = program else { return Ok(()) };
    let lines: Vec<&str> = text.lines().collect();
    let (accepted, answers) = answers(program, &lines)?;
    let (again, same) = self::answers(program, &accepted)?;
    if again.len() != accepted.len() {
        return Err(format!(
            "{} of {} lines that were accepted are refused",
            accepted.len() - again.len(),
            accepted.len()
        ));
    }
    if same != answers {
        return Err(format!(
            "without the lines that are refused, the answers differ:\n{answers:?}\n{same:?}"
        ));
    }
    let blank = |l: &&&str| !l.trim().is_empty();
    let cycles = accepted.iter().filter(blank).count();
    if answers.len() != cycles {
        return Err(format!("{} answers to {cycles} lines", answers.len()));
    }
    for (n, answer) in answers.iter().enumerate() {
        let object: Json =
            serde_json::from_str(answer).map_err(|e| format!("the answer {answer} is no JSON: {e}"))?;
        if object["cycle"].as_u64() != Some(n as u64) {
            return Err(format!("answer {n} is {answer}"));
        }
    }
    Ok(())
}

/// The lines that are accepted, and all answers.
fn answers<'l>(program: &str, lines: &[&'l str]) -> Result<(Vec<&'l str>, Vec<String>), String> {
    let stream = Stream::new(&Source::text("program", program), &InferOptions::default());
    let mut stream = stream.map_err(|e| format!("the program of the target is refused: {e}"))?;
    let (mut accepted, mut answers) = (Vec::new(), Vec::new());
    for line in lines {
        if let Ok(made) = stream.line(line) {
            accepted.push(*line);
            answers.extend(made);
        }
        if stream.is_stuck() {
            break;
        }
    }
    answers.extend(stream.finish(End::Closed).lines);
    Ok((accepted, answers))
}
