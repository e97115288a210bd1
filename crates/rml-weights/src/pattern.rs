//! Names with placeholders: `lstm_{n}` matches `lstm_0`, `lstm_1` and so on. The text that `{n}` matched can be
//! inserted elsewhere, also in arithmetic: `layers.{2*n+1}.weight`.

use indexmap::IndexMap;

/// The texts that placeholders matched.
pub(crate) type Captures = IndexMap<String, String>;

/// Matches `path` against a pattern, and returns the text of each placeholder; placeholders with the same name must
/// have the same text. The text of a placeholder is not empty and contains no `.`.
pub(crate) fn matched(pattern: &str, path: &str) -> Option<Captures> {
    let mut captures = Captures::new();
    matches(pattern, path, &mut captures).then_some(captures)
}

fn matches(pattern: &str, path: &str, captures: &mut Captures) -> bool {
    let Some((name, rest)) = pattern.strip_prefix('{').and_then(|p| p.split_once('}')) else {
        let Some(c) = pattern.chars().next() else { return path.is_empty() };
        return path.strip_prefix(c).is_some_and(|path| matches(&pattern[c.len_utf8()..], path, captures));
    };
    if let Some(known) = captures.get(name).cloned() {
        return path.strip_prefix(known.as_str()).is_some_and(|path| matches(rest, path, captures));
    }
    let ends = path.char_indices().map(|(at, c)| (at + c.len_utf8(), c));
    for (end, _) in ends.take_while(|(_, c)| *c != '.') {
        let before = captures.len();
        captures.insert(name.to_owned(), path[..end].to_owned());
        if matches(rest, &path[end..], captures) {
            return true;
        }
        captures.truncate(before);
    }
    false
}

/// Whether `name` matches a pattern of literal text and `*` (any text).
pub(crate) fn glob(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, rest)) => name.strip_prefix(head).is_some_and(|tail| {
            let starts = tail.char_indices().map(|(at, _)| at).chain([tail.len()]);
            starts.into_iter().any(|at| glob(rest, &tail[at..]))
        }),
    }
}

/// The text with its placeholders filled: by the matched text, `{n}`, or if it is a whole number by sums of products of
/// it and numbers, `{n+1}`, `{2*n-1}`, `{2-2*m}`. `Err` = the error in a placeholder.
pub(crate) fn filled(text: &str, captures: &Captures) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (place, behind) = after.split_once('}').ok_or("a `{` has no `}`")?;
        out.push_str(before);
        out.push_str(&one(place, captures)?);
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

fn one(place: &str, captures: &Captures) -> Result<String, String> {
    if let Some(known) = captures.get(place) {
        return Ok(known.clone());
    }
    let factor = |text: &str| match (text.parse::<i64>(), captures.get(text)) {
        (Ok(number), _) => Ok(number),
        (Err(_), Some(known)) => known
            .parse()
            .map_err(|_| format!("`{{{place}}}` cannot be computed if `{{{text}}}` is `{known}`")),
        (Err(_), None) if text.starts_with(|c: char| c.is_ascii_digit()) => {
            Err(format!("`{{{place}}}` cannot be computed: `{text}` is no number of 64 bits"))
        }
        (Err(_), None) => {
            let names: Vec<String> = captures.keys().map(|name| format!("`{{{name}}}`")).collect();
            let there =
                if names.is_empty() { String::new() } else { format!("; there are {}", names.join(", ")) };
            Err(format!("`{{{place}}}` is not defined{there}"))
        }
    };
    let compact: String = place.chars().filter(|c| !c.is_whitespace()).collect();
    // `2-n` is `2` and `-1*n`
    let sum = compact.replace('-', "+-1*");
    let mut value: i64 = 0;
    for term in sum.strip_prefix('+').unwrap_or(&sum).split('+') {
        let mut product: i64 = 1;
        for part in term.split('*') {
            let factors = product.checked_mul(factor(part)?);
            product = factors.ok_or_else(|| format!("`{{{place}}}` is too large"))?;
        }
        value = value.checked_add(product).ok_or_else(|| format!("`{{{place}}}` is too large"))?;
    }
    Ok(value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_stand_for_parts_of_one_segment() {
        let found = matched("lstm_{n}.cell_{m}.kernel", "lstm_12.cell_0.kernel").unwrap();
        assert_eq!((found["n"].as_str(), found["m"].as_str()), ("12", "0"));
        assert_eq!(matched("{a}.k", "x.y.k"), None);
        assert_eq!(matched("{a}_{a}.k", "x_y.k"), None);
        assert_eq!(matched("{a}_{a}.k", "xy_xy.k").unwrap()["a"], "xy");
        assert_eq!(matched("{a}_{b}", "x_y_z").unwrap()["a"], "x");
        assert_eq!(matched("", ""), Some(Captures::new()));
        assert_eq!(matched("lstm_{n}", "lstm_"), None);
    }

    #[test]
    fn places_are_filled_and_reckoned() {
        let captures: Captures = [("n".to_owned(), "3".to_owned()), ("a".to_owned(), "x".to_owned())].into();
        for (text, expected) in [
            ("l{n}", "l3"),
            ("{n+1}.{n-1}", "4.2"),
            ("{2*n}", "6"),
            ("{2 * n + 1}.{a}", "7.x"),
            ("{2-2*n}.{-n}.{n*n-1}", "-4.-3.8"),
            ("plain", "plain"),
        ] {
            assert_eq!(filled(text, &captures).unwrap(), expected);
        }
        for text in ["{m}", "{a+1}", "{n", "{9223372036854775807*n}", "{n+}", "{}"] {
            assert!(filled(text, &captures).is_err(), "{text}");
        }
    }

    #[test]
    fn globs() {
        assert!(glob("*.num_batches_tracked", "a.b.num_batches_tracked"));
        assert!(glob("a*b*", "axxbyy") && glob("*", "") && glob("é*", "éa"));
        assert!(!glob("a*b", "axx") && !glob("", "a") && !glob("a", "ab"));
    }
}
