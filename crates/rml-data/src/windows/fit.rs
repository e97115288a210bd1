//! Fits recipes to windows.

use std::collections::BTreeMap;

use rml_base::Diagnostic;
use rml_ir::InputInfo;

use super::Windows;
use crate::recipe::{Preparation, Recipe};

impl Preparation {
    /// Fits a recipe to the windows to train on. The inputs may belong to several nodes, each with its windows of the
    /// same data.
    ///
    /// # Errors
    /// An input that does not exist or has no value; data that cannot be read.
    pub fn fit(asked: Recipe, nodes: &[&Windows], set: &[usize]) -> Result<Self, Diagnostic> {
        let inputs: Vec<&InputInfo> = nodes.iter().flat_map(|windows| windows.infos()).collect();
        asked.check(&inputs)?;
        let (mut classes, mut steps) = (BTreeMap::new(), BTreeMap::new());
        for windows in nodes {
            for (input, names) in windows.classes() {
                classes.entry(input.to_owned()).or_insert_with(|| names.to_vec());
            }
        }
        let mut names: Vec<&String> = asked.fills.keys().collect();
        names.extend(asked.standardised.iter().filter(|name| !asked.fills.contains_key(*name)));
        for name in names {
            let windows = nodes.iter().find(|windows| windows.infos().any(|info| *info.name == **name));
            if let Some(windows) = windows {
                let fill = asked.fills.get(name);
                let scales = asked.standardised.contains(name);
                let found = windows.fit(name, fill, scales, set)?;
                steps.insert(name.clone(), found);
            }
        }
        Ok(Self { asked, classes, steps, ..Self::default() })
    }
}
