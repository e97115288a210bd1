//! The findings of a campaign, and the files that contain them.

use std::fmt;
use std::path::{Path, PathBuf};

use rml_ir::random::path_hash;
use serde_json::{Value as Json, json};

use crate::FuzzInput;

/// The way in which a case failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailureKind {
    /// A result is wrong, or two results that must agree differ.
    Wrong,
    /// A panic.
    Panic,
    /// The process ended, by itself or by a signal: a stack overflow, a failed allocation, an abort.
    Death,
    /// The case exceeded the time limit.
    Hang,
}

impl FailureKind {
    const ALL: [(FailureKind, &'static str); 4] = [
        (FailureKind::Wrong, "wrong"),
        (FailureKind::Panic, "panic"),
        (FailureKind::Death, "death"),
        (FailureKind::Hang, "hang"),
    ];
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::ALL.iter().find(|(kind, _)| kind == self).map_or("", |(_, name)| name))
    }
}

/// A failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The target.
    pub target: String,
    /// The way in which the case failed.
    pub kind: FailureKind,
    /// The description of the failure.
    pub message: String,
}

impl Finding {
    /// The common part of findings with the same cause: the first line of the message, with all numbers replaced.
    pub fn signature(&self) -> String {
        let line = self.message.lines().next().unwrap_or_default();
        let mut short = String::new();
        for c in line.chars().take(160) {
            match c {
                '0'..='9' if short.ends_with('0') => {}
                '0'..='9' => short.push('0'),
                c => short.push(c),
            }
        }
        // A panic is identified by its place.
        let short = if self.kind == FailureKind::Panic {
            line.split(": ").next().unwrap_or_default()
        } else {
            &short
        };
        format!("{} {} {short}", self.target, self.kind)
    }

    /// The finding as one line of JSON.
    pub(crate) fn to_json(&self) -> String {
        json!({"target": self.target, "kind": self.kind.to_string(), "message": self.message}).to_string()
    }

    pub(crate) fn from_json(text: &str) -> Option<Self> {
        let value: Json = serde_json::from_str(text).ok()?;
        let field = |name: &str| value[name].as_str().map(str::to_owned);
        let name = field("kind")?;
        let (kind, _) = FailureKind::ALL.into_iter().find(|(_, n)| *n == name)?;
        Some(Self { target: field("target")?, kind, message: field("message")? })
    }

    /// Writes the case to `FOLDER/TARGET/HASH.EXT` and the failure to a file next to it; returns the path of the case.
    pub(crate) fn write(&self, folder: &Path, case: &FuzzInput) -> Result<PathBuf, String> {
        let folder = folder.join(&self.target);
        let error = |e: std::io::Error| format!("cannot write to {}: {e}", folder.display());
        std::fs::create_dir_all(&folder).map_err(error)?;
        let path = folder.join(format!("{:012x}.{}", path_hash(&self.signature()) >> 16, case.extension));
        std::fs::write(&path, &case.bytes).map_err(error)?;
        std::fs::write(path.with_extension("why"), format!("{}: {}\n", self.kind, self.message))
            .map_err(error)?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(kind: FailureKind, message: &str) -> Finding {
        Finding { target: "data".into(), kind, message: message.into() }
    }

    #[test]
    fn findings_of_one_cause_have_one_signature() {
        let one = finding(FailureKind::Wrong, "cycle 17: 1.25 but 3\nand more").signature();
        assert_eq!(one, finding(FailureKind::Wrong, "cycle 2: 10.5 but 42\nor less").signature());
        assert_ne!(one, finding(FailureKind::Wrong, "cycle 2: 10.5 not 42").signature());
        let panic = finding(FailureKind::Panic, "a.rs:12: index 3").signature();
        assert_eq!(panic, finding(FailureKind::Panic, "a.rs:12: index 900").signature());
        assert_ne!(panic, finding(FailureKind::Panic, "a.rs:13: index 3").signature());
    }

    #[test]
    fn json_reads_back() {
        let found = finding(FailureKind::Hang, "\"a\"\n\u{1b}");
        assert_eq!(Finding::from_json(&found.to_json()), Some(found));
    }
}
