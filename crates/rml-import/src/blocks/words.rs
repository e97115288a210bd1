//! The names of what several blocks have in common.

/// The words that all names begin with.
pub(super) fn common_start<'t>(names: &[&'t str]) -> Vec<&'t str> {
    let Some((first, rest)) = names.split_first() else { return Vec::new() };
    let mut words: Vec<&str> = first.split('_').collect();
    for name in rest {
        let same = words.iter().zip(name.split('_')).take_while(|(a, b)| **a == *b).count();
        words.truncate(same);
    }
    words
}

/// What names have in common: the words that are the same in all, if these have as many; else those at the beginning
/// and at the end. `None` if that says nothing.
pub(super) fn common(names: &[&str]) -> Option<String> {
    let lists: Vec<Vec<&str>> = names.iter().map(|name| name.split('_').collect()).collect();
    let (first, rest) = lists.split_first()?;
    let words: Vec<&str> = if rest.iter().all(|list| list.len() == first.len()) {
        let same = |i: &usize| rest.iter().all(|list| list[*i] == first[*i]);
        (0..first.len()).filter(same).map(|i| first[i]).collect()
    } else {
        let least = lists.iter().map(Vec::len).min().unwrap_or(0);
        let head = |i: &usize| rest.iter().all(|list| list[*i] == first[*i]);
        let heads = (0..least).take_while(head).count();
        let tail = |i: &usize| rest.iter().all(|list| list[list.len() - i] == first[first.len() - i]);
        let tails = (1..=least - heads).take_while(tail).count();
        [&first[..heads], &first[first.len() - tails..]].concat()
    };
    let text = words.join("_");
    text.chars().any(|c| c.is_ascii_alphabetic()).then_some(text)
}

/// A name without the scope that it begins with, or the inner part of the scope, and numbers after it.
pub(super) fn within(name: &str, scope: &[&str]) -> String {
    for skipped in 0..scope.len() {
        let inner = scope[skipped..].join("_");
        if let Some(rest) = name.strip_prefix(&inner).and_then(|rest| rest.strip_prefix('_'))
            && rest.chars().any(|c| c.is_ascii_alphabetic())
        {
            return rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_').to_owned();
        }
    }
    name.to_owned()
}

/// The name of a block whose names begin with that scope: its last word, unless that is a function.
pub(super) fn of_block(scope: &[&str]) -> String {
    let says = |word: &&&str| word.chars().any(|c| c.is_ascii_alphabetic());
    match scope.iter().rev().find(says) {
        Some(word) if rml_ir::op::info(word).is_some() => format!("{word}_block"),
        Some(word) => (*word).to_owned(),
        None => "block".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_differ_are_left_out() {
        assert_eq!(common(&["layer_0_add", "layer_11_add"]).as_deref(), Some("layer_add"));
        assert_eq!(common(&["conv", "conv_1", "conv_12"]).as_deref(), Some("conv"));
        assert_eq!(common(&["a_b_c", "a_c"]).as_deref(), Some("a_c"));
        assert_eq!(common(&["a_a", "a"]).as_deref(), Some("a"));
        assert_eq!(common(&["a", "b"]), None);
        assert_eq!(common(&["a_1", "b_1"]), None);
        assert_eq!(common(&[]), None);
    }

    #[test]
    fn scopes_are_left_out() {
        assert_eq!(common_start(&["encoder_layer_query", "encoder_layer_key"]), ["encoder", "layer"]);
        assert_eq!(within("encoder_layer_query", &["bert", "encoder", "layer"]), "query");
        assert_eq!(within("layer_0_1_key", &["encoder", "layer"]), "key");
        assert_eq!(within("encoder_layer", &["encoder", "layer"]), "encoder_layer");
        assert_eq!(of_block(&["encoder", "layer", "0"]), "layer");
        assert_eq!(of_block(&["softmax"]), "softmax_block");
        assert_eq!(of_block(&[]), "block");
    }
}
