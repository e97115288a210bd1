//! Where wheels come from: what pip is configured to use on this machine, so that a mirror set up for pip serves here
//! too.
//!
//! Read are pip's configuration files (sections `global` and `download`) and its variables `PIP_*`, in pip's order; pip
//! itself need not be installed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The index that pip uses without configuration.
const PYPI: &str = "https://pypi.org/simple";

/// The options that are understood.
const OPTIONS: [&str; 6] = ["index-url", "extra-index-url", "no-index", "find-links", "cert", "proxy"];

/// What is configured.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Config {
    /// Addresses of package indexes, asked in that order.
    pub(super) indexes: Vec<String>,
    /// Folders on this machine that may hold the files.
    pub(super) links: Vec<PathBuf>,
    /// A file of certificate authorities, in place of the system's.
    pub(super) cert: Option<PathBuf>,
    /// A proxy for all connections, in place of what `HTTPS_PROXY` names.
    pub(super) proxy: Option<String>,
}

/// Reads the configuration. `variable` gives the environment, `file` the text of a file that exists.
pub(super) fn config(
    variable: &dyn Fn(&str) -> Option<String>,
    file: &dyn Fn(&Path) -> Option<String>,
) -> Config {
    let mut options = BTreeMap::new();
    for text in paths(variable).iter().filter_map(|path| file(path)) {
        options.extend(parse(&text));
    }
    for name in OPTIONS {
        let variable = variable(&format!("PIP_{}", name.to_uppercase().replace('-', "_")));
        options.extend(variable.map(|value| (name.to_owned(), value)));
    }
    let words = |name: &str| -> Vec<String> {
        options.get(name).map_or_else(Vec::new, |v| v.split_whitespace().map(str::to_owned).collect())
    };
    let one = |name: &str| options.get(name).map(|v| v.trim().to_owned()).filter(|v| !v.is_empty());
    let closed = one("no-index").is_some_and(|v| !matches!(v.as_str(), "0" | "false" | "no" | "off"));
    let mut indexes = vec![one("index-url").unwrap_or_else(|| PYPI.to_owned())];
    indexes.extend(words("extra-index-url"));
    Config {
        indexes: if closed { Vec::new() } else { indexes },
        links: words("find-links").iter().filter(|l| !l.contains("://")).map(PathBuf::from).collect(),
        cert: one("cert").map(PathBuf::from),
        proxy: one("proxy"),
    }
}

/// The configuration files, from the one that says least to the one that says most.
fn paths(variable: &dyn Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let named = variable("PIP_CONFIG_FILE");
    if named.as_deref() == Some("/dev/null") {
        return Vec::new();
    }
    let system = variable("XDG_CONFIG_DIRS").unwrap_or_else(|| "/etc/xdg".to_owned());
    let mut paths: Vec<PathBuf> = system.split(':').map(|d| Path::new(d).join("pip/pip.conf")).collect();
    paths.push(PathBuf::from("/etc/pip.conf"));
    let home = variable("HOME").map(PathBuf::from);
    paths.extend(home.as_ref().map(|h| h.join(".pip/pip.conf")));
    let user = variable("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| Some(home?.join(".config")));
    paths.extend(user.map(|u| u.join("pip/pip.conf")));
    paths.extend(variable("VIRTUAL_ENV").map(|v| Path::new(&v).join("pip.conf")));
    paths.extend(named.map(PathBuf::from));
    paths
}

/// The understood options of the sections that concern downloads; `download` beats `global`. A value may continue in
/// indented lines.
fn parse(text: &str) -> BTreeMap<String, String> {
    let mut sections: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
    let (mut section, mut last) = ("", None);
    for line in text.lines() {
        let content = line.trim();
        if content.is_empty() || content.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = content.strip_prefix('[').and_then(|c| c.strip_suffix(']')) {
            (section, last) = (name, None);
        } else if line.starts_with([' ', '\t']) && last.is_some() {
            let value = last.as_ref().and_then(|name| sections.get_mut(section)?.get_mut(name));
            value.into_iter().for_each(|v: &mut String| {
                v.push('\n');
                v.push_str(content);
            });
        } else if let Some((name, value)) = content.split_once(['=', ':']) {
            let name = name.trim().to_lowercase().replace('_', "-");
            sections.entry(section).or_default().insert(name.clone(), value.trim().to_owned());
            last = Some(name);
        }
    }
    let mut found = sections.remove("global").unwrap_or_default();
    found.extend(sections.remove("download").unwrap_or_default());
    found.retain(|name, _| OPTIONS.contains(&name.as_str()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)], files: &[(&str, &str)]) -> Config {
        let find = |list: &[(&str, &str)], key: &str| {
            list.iter().find(|(k, _)| *k == key).map(|(_, value)| (*value).to_owned())
        };
        config(&|name| find(variables, name), &|path| find(files, path.to_str()?))
    }

    #[test]
    fn without_configuration_it_is_the_public_index() {
        assert_eq!(read(&[], &[]), Config { indexes: vec![PYPI.to_owned()], ..Config::default() });
    }

    #[test]
    fn files_are_read_in_order_and_variables_beat_them() {
        let files = [
            ("/etc/pip.conf", "[global]\nindex-url = https://a/simple\ncert: /ca.pem\nproxy =\n"),
            ("/h/.config/pip/pip.conf", "[global]\nindex_url=https://b/simple\n[list]\ncert = /no.pem\n"),
        ];
        let home = [("HOME", "/h")];
        let found = read(&home, &files);
        assert_eq!((found.indexes, found.proxy), (vec!["https://b/simple".to_owned()], None));
        assert_eq!(found.cert, Some(PathBuf::from("/ca.pem")));
        let found = read(&[home[0], ("PIP_INDEX_URL", "https://c/simple")], &files);
        assert_eq!(found.indexes, ["https://c/simple"]);
        let found = read(&[home[0], ("PIP_CONFIG_FILE", "/dev/null")], &files);
        assert_eq!(found.indexes, [PYPI]);
    }

    #[test]
    fn values_of_many_lines_and_a_closed_index() {
        let text = "[global]\n# more\nextra-index-url =\n  https://x/simple\n  https://y/simple\nfind-links = /wheels https://z/\n";
        let found = read(&[], &[("/etc/pip.conf", text)]);
        assert_eq!(found.indexes, [PYPI, "https://x/simple", "https://y/simple"]);
        assert_eq!(found.links, [PathBuf::from("/wheels")]);
        assert!(read(&[("PIP_NO_INDEX", "1")], &[]).indexes.is_empty());
        assert_eq!(read(&[("PIP_NO_INDEX", "false")], &[]).indexes.len(), 1);
    }
}
