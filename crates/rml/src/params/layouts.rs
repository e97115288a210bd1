//! The layouts that need no definition, as mapping files of their own.

use rml_base::{Diagnostics, Sources};

use super::LayoutInfo;
use super::mapping::{self, Layout};

const FILES: &[(&str, &str)] = &[
    ("layouts/torch.toml", include_str!("layouts/torch.toml")),
    ("layouts/keras.toml", include_str!("layouts/keras.toml")),
    ("layouts/flax.toml", include_str!("layouts/flax.toml")),
];

/// All of them; their texts are added to `sources`.
pub(super) fn builtin(sources: &mut Sources) -> Result<Vec<Layout>, Diagnostics> {
    let mut layouts = Vec::new();
    for (name, text) in FILES {
        let file = sources.add(*name, *text);
        layouts.extend(mapping::parse(text, file)?.layouts);
    }
    Ok(layouts)
}

/// All of them, for people, each with its text as it could stand in a mapping file.
pub(super) fn infos() -> Vec<LayoutInfo> {
    let layouts = builtin(&mut Sources::new()).unwrap_or_default();
    let paragraphs = || FILES.iter().flat_map(|(_, text)| text.split("\n\n"));
    let info = |layout: Layout| {
        let head = format!("[layout.\"{}\"]\n", layout.name.text);
        let text = paragraphs().find(|p| p.starts_with(&head)).unwrap_or_default();
        LayoutInfo { name: layout.name.text, about: layout.about, text: format!("{}\n", text.trim_end()) }
    };
    layouts.into_iter().map(info).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_well_formed_and_have_a_purpose() {
        let mut sources = Sources::new();
        let layouts = builtin(&mut sources).unwrap();
        let infos = infos();
        assert_eq!(infos.len(), layouts.len());
        for info in &infos {
            assert!(!info.about.is_empty(), "{info:?}");
            let read = mapping::parse(&info.text, sources.add("one", info.text.clone())).unwrap().layouts;
            assert!(read.len() == 1 && !read[0].params.is_empty(), "{info:?}");
        }
    }
}
