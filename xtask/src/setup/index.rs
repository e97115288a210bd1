//! The page of a project in a package index: which address a file has. Pages are JSON or HTML (the "simple" interface).

use serde_json::Value;

/// The forms of a page that are understood, the best first.
pub(super) const ACCEPT: &str =
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1";

/// The address of a project's page.
pub(super) fn page(index: &str, project: &str) -> String {
    format!("{}/{project}/", index.trim_end_matches('/'))
}

/// The address of that file on a page that was read from `page`; nothing where the page does not list it.
pub(super) fn find(page: &str, text: &str, file: &str) -> Option<String> {
    let href = match serde_json::from_str::<Value>(text) {
        Ok(json) => listed(&json, file),
        Err(_) => linked(text, file),
    }?;
    Some(join(page, href.split('#').next().unwrap_or_default()))
}

fn listed(json: &Value, file: &str) -> Option<String> {
    let entry = json["files"].as_array()?.iter().find(|f| f["filename"] == file)?;
    entry["url"].as_str().map(str::to_owned)
}

/// The `href` of the anchor whose last part is the file's name.
fn linked(html: &str, file: &str) -> Option<String> {
    html.split("href=").skip(1).find_map(|rest| {
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let href = rest[1..].split(quote).next()?.replace("&amp;", "&");
        let path = href.split(['#', '?']).next()?;
        let name = path.rsplit('/').next()?.replace("%2B", "+").replace("%2b", "+");
        (name == file).then_some(href)
    })
}

/// The address that `href` means on the page `base`.
fn join(base: &str, href: &str) -> String {
    if href.contains("://") {
        return href.to_owned();
    }
    let scheme_end = base.find("://").map_or(0, |at| at + 3);
    let host_end = base[scheme_end..].find('/').map_or(base.len(), |at| scheme_end + at);
    if let Some(rest) = href.strip_prefix("//") {
        return format!("{}//{rest}", &base[..scheme_end.saturating_sub(2)]);
    }
    if href.starts_with('/') {
        return format!("{}{href}", &base[..host_end]);
    }
    let mut folders: Vec<&str> = base[host_end..].split('/').collect();
    folders.pop();
    for part in href.split('/') {
        match part {
            "." => {}
            ".." => drop((folders.len() > 1).then(|| folders.pop())),
            part => folders.push(part),
        }
    }
    format!("{}{}", &base[..host_end], folders.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "https://host/pip/simple/p/";

    #[test]
    fn files_are_found_in_json() {
        let text = r#"{"files": [{"filename": "p-1.whl", "url": "../../f/p-1.whl#sha256=0"}, {"filename": "q", "url": "x"}]}"#;
        assert_eq!(page("https://host/pip/simple/", "p"), PAGE);
        assert_eq!(find(PAGE, text, "p-1.whl").unwrap(), "https://host/pip/f/p-1.whl");
        assert_eq!(find(PAGE, text, "p-2.whl"), None);
    }

    #[test]
    fn files_are_found_in_html() {
        let text = "<a href=\"/f/p-1.whl#sha256=0\">p-1.whl</a>\n<a href='https://o/p-2%2Bcpu.whl?a=1&amp;b=2'>p</a>";
        assert_eq!(find(PAGE, text, "p-1.whl").unwrap(), "https://host/f/p-1.whl");
        assert_eq!(find(PAGE, text, "p-2+cpu.whl").unwrap(), "https://o/p-2%2Bcpu.whl?a=1&b=2");
        assert_eq!(find(PAGE, "<html>", "p-1.whl"), None);
    }

    #[test]
    fn addresses_are_joined() {
        for (href, joined) in [
            ("//cdn/x", "https://cdn/x"),
            ("x", "https://host/pip/simple/p/x"),
            ("./x", "https://host/pip/simple/p/x"),
            ("../../../../../x", "https://host/x"),
        ] {
            assert_eq!(join(PAGE, href), joined, "{href}");
        }
    }
}
