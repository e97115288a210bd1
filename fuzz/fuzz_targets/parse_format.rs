//! Any text parses or is reported; a text without errors keeps its tree when formatted, and formatting twice changes nothing.
#![no_main]

use bumpalo::Bump;
use libfuzzer_sys::fuzz_target;
use rml_base::FileId;
use rml_syntax::{dump, format, parse};

fuzz_target!(|bytes: &[u8]| {
    // The parser takes valid UTF-8; everything else is replaced, so that every byte string is some text.
    let text = String::from_utf8_lossy(bytes);
    let Some(tree) = accepted(&text) else {
        assert!(format(&text).is_err());
        return;
    };
    let once = format(&text).expect("a text without errors has a layout");
    assert_eq!(accepted(&once).as_ref(), Some(&tree), "formatting changed the tree:\n{once}");
    assert_eq!(format(&once).as_ref(), Ok(&once), "formatting twice differs");
});

/// The dump of the tree, if the text has no errors.
fn accepted(text: &str) -> Option<String> {
    let bump = Bump::new();
    let mut names = lasso::Rodeo::new();
    let parsed = parse(&bump, &mut names, FileId(0), text);
    for diagnostic in &parsed.diagnostics {
        assert!(diagnostic.labels.iter().all(|l| text.get(l.span.range()).is_some()), "{diagnostic:?}");
    }
    parsed.diagnostics.is_empty().then(|| dump(&parsed.file, &names))
}
