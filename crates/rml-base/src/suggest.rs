//! "Did you mean": the nearest name by edit distance.

/// The name among `candidates` nearest to `name`, if one is near enough to be meant.
pub fn suggest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let candidates: Vec<&str> = candidates.collect();
    if let Some(same) = candidates.iter().find(|c| **c != name && c.eq_ignore_ascii_case(name)) {
        return Some(same);
    }
    let length = name.chars().count();
    let limit = length.div_ceil(3).clamp(1, 3);
    candidates
        .into_iter()
        .filter(|c| *c != name && c.chars().count().abs_diff(length) <= limit)
        .map(|c| (strsim::levenshtein(name, c), c))
        .filter(|(d, c)| *d <= limit && 2 * *d <= c.chars().count())
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_name() {
        let names = ["sigmoid", "softmax", "sum"];
        assert_eq!(suggest("sigmoyd", names.into_iter()), Some("sigmoid"));
        assert_eq!(suggest("soft_max", names.into_iter()), Some("softmax"));
        assert_eq!(suggest("quux", names.into_iter()), None);
        assert_eq!(suggest("SOFTMAX", names.into_iter()), Some("softmax"));
        assert_eq!(suggest("ReLU", ["elu", "relu"].into_iter()), Some("relu"));
    }
}
