//! The predefined layouts, as mapping files.

use rml_base::{Diagnostics, Sources};

use crate::mapping::{self, Layout};

/// A layout that mapping files can use without defining it.
///
/// ```
/// let layouts = rml::layouts();
/// assert!(layouts.iter().any(|layout| layout.name == "torch.lstm"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LayoutInfo {
    /// The name.
    pub name: String,
    /// The layer and the library that it is for, in one line.
    pub about: String,
    /// The definition, in the syntax of a mapping file.
    pub text: String,
}

const FILES: &[(&str, &str)] = &[
    ("layouts/torch.toml", include_str!("layouts/torch.toml")),
    ("layouts/keras.toml", include_str!("layouts/keras.toml")),
    ("layouts/flax.toml", include_str!("layouts/flax.toml")),
];

/// All predefined layouts; their texts are added to `sources`.
pub(crate) fn builtin(sources: &mut Sources) -> Result<Vec<Layout>, Diagnostics> {
    let mut layouts = Vec::new();
    for (name, text) in FILES {
        let file = sources.add(*name, *text);
        layouts.extend(mapping::parse(text, file)?.layouts);
    }
    Ok(layouts)
}

/// All predefined layouts.
pub fn layouts() -> Vec<LayoutInfo> {
    let known = builtin(&mut Sources::new()).unwrap_or_default();
    let paragraphs = || FILES.iter().flat_map(|(_, text)| text.split("\n\n"));
    let info = |layout: Layout| {
        let head = format!("[layout.\"{}\"]\n", layout.name.text);
        let text = paragraphs().find(|p| p.starts_with(&head)).unwrap_or_default();
        LayoutInfo { name: layout.name.text, about: layout.about, text: format!("{}\n", text.trim_end()) }
    };
    known.into_iter().map(info).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Expr;
    use crate::pattern::filled;

    #[test]
    fn all_are_well_formed_and_have_a_purpose() {
        let mut sources = Sources::new();
        let layouts = builtin(&mut sources).unwrap();
        let infos = super::layouts();
        assert_eq!(infos.len(), layouts.len());
        for info in &infos {
            assert!(!info.about.is_empty(), "{info:?}");
            let read = mapping::parse(&info.text, sources.add("one", info.text.clone())).unwrap().layouts;
            assert!(read.len() == 1 && !read[0].params.is_empty(), "{info:?}");
        }
    }

    /// The mappings in the documentation parse, their layouts have the options used, and its table lists all layouts.
    #[test]
    fn the_documentation_is_right() {
        let page = include_str!("../../../docs/weights.md");
        let mut sources = Sources::new();
        let layouts = builtin(&mut sources).unwrap();
        let mut uses = 0;
        for block in page.split("```toml\n").skip(1) {
            let text = block.split("```").next().unwrap();
            let mapping =
                mapping::parse(text, sources.add("page", text)).unwrap_or_else(|e| panic!("{e}\n{text}"));
            for used in &mapping.uses {
                let layout = layouts.iter().find(|l| l.name.text == used.layout.text);
                let layout = layout.unwrap_or_else(|| panic!("no layout {}", used.layout.text));
                let has = |name: &str| layout.options.iter().any(|(option, _)| option == name);
                assert!(used.options.iter().all(|(option, _)| has(&option.text)), "{used:?}");
                uses += 1;
            }
            let places = [("n".to_owned(), "0".to_owned())].into();
            for entry in &mapping.params {
                let filled = entry.value.map_texts(&mut |text, _| Ok(filled(text, &places).unwrap()));
                Expr::read(&filled.unwrap()).unwrap_or_else(|e| panic!("{e}\n{text}"));
            }
        }
        assert!(uses > 10);
        for layout in &layouts {
            assert!(
                page.contains(&format!("`{}`", layout.name.text)),
                "{} is not described",
                layout.name.text
            );
        }
    }
}
