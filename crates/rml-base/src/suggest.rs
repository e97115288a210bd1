//! "Did you mean": the nearest name by edit distance.

/// The candidate nearest to `name`, if it is near enough to be the intended one.
pub fn suggest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let candidates: Vec<&str> = candidates.collect();
    if let Some(same) = candidates.iter().find(|c| **c != name && is_same(c, name)) {
        return Some(same);
    }
    let length = name.chars().count();
    // More than one typing error in a short word gives another word: `take` is not `tanh`.
    let limit = (length / 3).clamp(1, 3);
    candidates
        .into_iter()
        .filter(|c| *c != name && c.chars().count().abs_diff(length) <= limit)
        .map(|c| (strsim::osa_distance(name, c), c))
        .filter(|(d, c)| *d <= limit && 2 * *d <= c.chars().count())
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// Whether two names differ only in capital letters and underscores, as `LayerNorm` and `layer_norm` do.
fn is_same(a: &str, b: &str) -> bool {
    let letters = |name: &str| -> String {
        name.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect()
    };
    let (a, b) = (letters(a), letters(b));
    a == b && !a.is_empty()
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
        assert_eq!(suggest("LayerNorm", ["layer_norm_eps", "layer_norm"].into_iter()), Some("layer_norm"));
        assert_eq!(suggest("tnah", ["tanh"].into_iter()), Some("tanh"));
        for word in ["take", "norm", "grad"] {
            assert_eq!(suggest(word, ["tanh", "sort", "prod"].into_iter()), None, "{word}");
        }
    }
}
