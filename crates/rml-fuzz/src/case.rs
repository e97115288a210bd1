//! An input of a target.

use std::collections::BTreeMap;
use std::path::Path;

/// The input of a target, as the content of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FuzzInput {
    /// The extension of the file, which determines the format.
    pub extension: String,
    /// The content of the file.
    pub bytes: Vec<u8>,
}

impl FuzzInput {
    /// A case with a text.
    pub fn text(extension: &str, text: impl Into<String>) -> Self {
        Self { extension: extension.to_owned(), bytes: text.into().into_bytes() }
    }

    /// A case with any bytes.
    pub fn bytes(extension: &str, bytes: Vec<u8>) -> Self {
        Self { extension: extension.to_owned(), bytes }
    }

    /// Reads a case from a file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(path: &Path) -> Result<Self, String> {
        let bytes = std::fs::read(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("txt");
        Ok(Self::bytes(extension, bytes))
    }

    /// The content as text; bytes that are not UTF-8 are replaced.
    pub fn as_text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// The settings at the beginning of the text, one `MARK key: value` per line, and the rest of the text.
    pub(crate) fn settings(&self, mark: &str) -> (BTreeMap<String, String>, String) {
        let text = self.as_text();
        let mut settings = BTreeMap::new();
        let mut rest = &*text;
        while let Some((line, more)) = rest.split_once('\n') {
            let setting = line.strip_prefix(mark).and_then(|l| l.split_once(':'));
            let Some((key, value)) = setting else { break };
            settings.insert(key.trim().to_owned(), value.trim().to_owned());
            rest = more;
        }
        (settings, rest.to_owned())
    }

    /// A text after lines with settings.
    pub(crate) fn with_settings(
        extension: &str,
        mark: &str,
        settings: &[(&str, String)],
        text: &str,
    ) -> Self {
        let lines: String = settings.iter().map(|(key, value)| format!("{mark} {key}: {value}\n")).collect();
        Self::text(extension, lines + text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_back() {
        let made = FuzzInput::with_settings(
            "rml",
            "--",
            &[("seed", "7".into()), ("a b", "t: f".into())],
            "x = 1: 2\n-- c: d\n",
        );
        let (settings, rest) = made.settings("--");
        assert_eq!(settings, [("a b".into(), "t: f".into()), ("seed".into(), "7".into())].into());
        assert_eq!(rest, "x = 1: 2\n-- c: d\n");
    }
}
