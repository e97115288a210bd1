//! Parts of pages in HTML.

use std::fmt::Write as _;

use rml_base::visible;

use crate::page::LIVE;
use crate::svg::escape;

const STYLE: &str = include_str!("report.css");

/// A section: what stands in addresses, the heading, the text. One without a text is left out.
pub(super) type Section = (&'static str, &'static str, String);

/// What a page begins with.
pub(super) struct Head<'a> {
    pub(super) title: &'a str,
    /// A sentence.
    pub(super) outcome: &'a str,
    /// What went wrong.
    pub(super) findings: &'a str,
    pub(super) lines: &'a [String],
    /// Of a page that a server sends and that asks for another one: what is said once the server has ended.
    pub(super) live: Option<&'a str>,
}

/// A page without external resources, with scripts behind its sections.
pub(super) fn document(head: &Head<'_>, sections: &[Section], scripts: &str) -> String {
    let Head { title, outcome, findings, lines, live } = head;
    let sections: Vec<&Section> = sections.iter().filter(|(_, _, text)| !text.is_empty()).collect();
    let title = text(title);
    let connect = if live.is_some() { "'self'" } else { "'none'" };
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; connect-src {connect}\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n"
    );
    let class = if findings.is_empty() { "outcome" } else { "failed" };
    let _ = writeln!(out, "<p id=\"outcome\" class=\"{class}\">{}</p>", prose(outcome));
    for line in *lines {
        let _ = writeln!(out, "<p class=\"dim\">{}</p>", prose(line));
    }
    if !findings.is_empty() {
        let _ = writeln!(out, "<pre tabindex=\"0\">{}</pre>", text(findings));
    }
    out += "<nav aria-label=\"Sections\">";
    for (id, heading, _) in &sections {
        let _ = write!(out, "<a href=\"#{id}\">{heading}</a>");
    }
    out += "</nav>\n</header>\n<main>\n";
    for (id, heading, body) in sections {
        let _ = writeln!(
            out,
            "<section id=\"{id}\" aria-labelledby=\"{id}-h\">\n<h2 id=\"{id}-h\">{heading}</h2>\n{body}</section>"
        );
    }
    out += scripts;
    if let Some(ended) = live {
        let ended = format!("document.getElementById(\"outcome\").textContent = \"{ended}\"");
        let _ = writeln!(out, "<script>{LIVE}loadAgain(() => ({ended}));</script>");
    }
    out + "</main>\n</body>\n</html>\n"
}

/// Names and values as a table.
pub(super) fn pairs(caption: &str, pairs: &[(String, String)]) -> String {
    if pairs.is_empty() {
        return String::new();
    }
    let row = |(name, value): &(String, String)| {
        format!("<tr><th scope=\"row\">{}</th><td class=\"text\">{}</td></tr>\n", text(name), text(value))
    };
    let rows: String = pairs.iter().map(row).collect();
    scrolled(
        &text(caption),
        &format!("<table><caption>{}</caption><tbody>\n{rows}</tbody></table>", prose(caption)),
    )
}

/// A table that may be wider than the page: it scrolls by keys, too.
pub(super) fn scrolled(label: &str, table: &str) -> String {
    format!("<div class=\"scroll\" role=\"region\" aria-label=\"{label}\" tabindex=\"0\">{table}</div>\n")
}

/// A sentence. What stands between two backticks is code.
pub(super) fn prose(sentence: &str) -> String {
    let parts: Vec<&str> = sentence.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return text(sentence);
    }
    let part = |(i, part): (usize, &&str)| match i % 2 {
        0 => text(part),
        _ => format!("<code>{}</code>", text(part)),
    };
    parts.iter().enumerate().map(part).collect()
}

/// A text that may be anything.
pub(super) fn text(text: &str) -> String {
    escape(&visible(text))
}
