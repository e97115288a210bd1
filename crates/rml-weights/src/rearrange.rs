//! Rearranges named axes: `o i -> i o` transposes, `f c w -> (w c) f` also joins two axes, `1 n -> n` drops an axis of
//! length 1. The notation is that of einops, without ellipses and repetition.

use indexmap::IndexMap;

/// Sizes of axes by name.
pub(crate) type Sizes = IndexMap<String, usize>;

/// An axis of a tensor: the named axes that it joins, outermost first; none for length 1.
type Group = Vec<String>;

/// A step from one arrangement of axes to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rearrange {
    from: Vec<Group>,
    to: Vec<Group>,
    /// The sizes that are given.
    sizes: Sizes,
}

/// The same for tensors of known shape: axes are split, permuted and joined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Concrete {
    /// The sizes of the named axes, in the order of the operand.
    pub(crate) apart: Vec<usize>,
    /// The named axis at each position of the result.
    pub(crate) order: Vec<usize>,
    /// The shape of the operand.
    pub(crate) from: Vec<usize>,
    /// The shape of the result.
    pub(crate) to: Vec<usize>,
}

/// Why a shape does not fit an arrangement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Unfit {
    /// The sizes of these axes are ambiguous.
    Unknown(Vec<String>),
    /// The shape contradicts the arrangement.
    Shape,
}

impl Rearrange {
    /// Parses a text; `Err` = the error in it.
    pub(crate) fn parse(text: &str, sizes: Sizes) -> Result<Self, String> {
        let (from, to) = text.split_once("->").ok_or("there is no `->` in it")?;
        let (from, to) = (groups(from)?, groups(to)?);
        let mut names: Vec<&String> = from.iter().flatten().collect();
        let mut others: Vec<&String> = to.iter().flatten().collect();
        names.sort();
        others.sort();
        if let Some(twice) = names.windows(2).find(|w| w[0] == w[1]) {
            return Err(format!("the axis `{}` stands twice on one side", twice[0]));
        }
        if names != others {
            return Err("the two sides do not have the same axes".into());
        }
        if let Some(stranger) = sizes.keys().find(|k| !names.contains(k)) {
            return Err(format!("there is no axis `{stranger}`"));
        }
        Ok(Self { from, to, sizes })
    }

    /// The steps for an operand of this shape.
    pub(crate) fn forward(&self, from: &[usize]) -> Result<Concrete, Unfit> {
        let mut sizes = self.sizes.clone();
        solve(&self.from, from, &mut sizes)?;
        self.concrete(&sizes)
    }

    /// The steps for a result of this shape; `hint` may be the shape of the operand.
    pub(crate) fn backward(&self, to: &[usize], hint: Option<&[usize]>) -> Result<Concrete, Unfit> {
        let mut sizes = self.sizes.clone();
        match solve(&self.to, to, &mut sizes) {
            Ok(()) => self.concrete(&sizes),
            Err(Unfit::Unknown(names)) => {
                let concrete = self.forward(hint.ok_or(Unfit::Unknown(names))?)?;
                if concrete.to == to { Ok(concrete) } else { Err(Unfit::Shape) }
            }
            Err(e) => Err(e),
        }
    }

    fn concrete(&self, sizes: &Sizes) -> Result<Concrete, Unfit> {
        let names: Vec<&String> = self.from.iter().flatten().collect();
        let join = |groups: &[Group]| -> Option<Vec<usize>> {
            let product = |g: &Group| g.iter().try_fold(1_usize, |n, name| n.checked_mul(*sizes.get(name)?));
            groups.iter().map(product).collect()
        };
        let apart: Option<Vec<usize>> = names.iter().map(|name| sizes.get(*name).copied()).collect();
        let order = self.to.iter().flatten().filter_map(|name| names.iter().position(|n| *n == name));
        match (apart, join(&self.from), join(&self.to)) {
            (Some(apart), Some(from), Some(to)) => Ok(Concrete { apart, order: order.collect(), from, to }),
            _ => Err(Unfit::Shape),
        }
    }
}

/// Finds the sizes of all axes that `dims` determine.
fn solve(groups: &[Group], dims: &[usize], sizes: &mut Sizes) -> Result<(), Unfit> {
    if groups.len() != dims.len() {
        return Err(Unfit::Shape);
    }
    let mut open = Vec::new();
    for (group, &dim) in groups.iter().zip(dims) {
        let unknown: Vec<&String> = group.iter().filter(|name| !sizes.contains_key(*name)).collect();
        let known =
            group.iter().filter_map(|name| sizes.get(name)).try_fold(1_usize, |n, s| n.checked_mul(*s));
        let known = known.ok_or(Unfit::Shape)?;
        match unknown[..] {
            [] if known == dim => {}
            [name] if known > 0 && dim.is_multiple_of(known) => {
                sizes.insert(name.clone(), dim / known);
            }
            [_, _, ..] => open.extend(unknown.into_iter().cloned()),
            _ => return Err(Unfit::Shape),
        }
    }
    if open.is_empty() { Ok(()) } else { Err(Unfit::Unknown(open)) }
}

fn groups(text: &str) -> Result<Vec<Group>, String> {
    let spaced = text.replace('(', " ( ").replace(')', " ) ");
    let mut found: Vec<Group> = Vec::new();
    let mut open: Option<Group> = None;
    for word in spaced.split_whitespace() {
        match (word, &mut open) {
            ("(", None) => open = Some(Vec::new()),
            (")", Some(_)) => found.extend(open.take()),
            ("(" | ")", _) => return Err("the parentheses do not match".into()),
            ("1", None) => found.push(Vec::new()),
            ("1", Some(_)) => {}
            (name, _) if !name.chars().all(|c| c.is_alphanumeric() || c == '_') => {
                return Err(format!("`{name}` is not the name of an axis"));
            }
            (name, Some(group)) => group.push(name.to_owned()),
            (name, None) => found.push(vec![name.to_owned()]),
        }
    }
    if open.is_some() { Err("the parentheses do not match".into()) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Rearrange {
        Rearrange::parse(text, Sizes::new()).unwrap()
    }

    #[test]
    fn axes_are_found_from_either_side() {
        let step = parse("f c w -> (w c) f");
        let there = step.forward(&[8, 3, 5]).unwrap();
        assert_eq!(
            (&there.apart[..], &there.order[..], &there.to[..]),
            (&[8, 3, 5][..], &[2, 1, 0][..], &[15, 8][..])
        );
        assert_eq!(step.backward(&[15, 8], Some(&[8, 3, 5])).unwrap(), there);
        assert_eq!(step.backward(&[15, 8], None), Err(Unfit::Unknown(vec!["w".into(), "c".into()])));
        assert_eq!(step.backward(&[16, 8], Some(&[8, 3, 5])), Err(Unfit::Shape));
        let sized = Rearrange::parse("f c w -> (w c) f", [("w".to_owned(), 5)].into()).unwrap();
        assert_eq!(sized.backward(&[15, 8], None).unwrap(), there);
        assert_eq!(sized.forward(&[8, 3, 4]), Err(Unfit::Shape));
    }

    #[test]
    fn axes_of_length_one_come_and_go() {
        let step = parse("1 n -> n");
        assert_eq!(step.forward(&[1, 4]).unwrap().to, [4]);
        assert_eq!(step.forward(&[2, 4]), Err(Unfit::Shape));
        assert_eq!(step.backward(&[4], None).unwrap().from, [1, 4]);
        assert_eq!(parse(" -> 1").forward(&[]).unwrap().to, [1]);
    }

    #[test]
    fn texts_that_mean_nothing() {
        for text in
            ["a b", "a -> b", "a a -> a a", "(a -> a", "a) -> a", "((a)) -> a", "a.b -> a.b", "a -> a a"]
        {
            assert!(Rearrange::parse(text, Sizes::new()).is_err(), "{text}");
        }
        assert!(Rearrange::parse("a -> a", [("b".to_owned(), 1)].into()).is_err());
    }

    #[test]
    fn an_empty_axis_is_no_accident() {
        let step = parse("a b -> (a b)");
        assert_eq!(step.forward(&[0, 3]).unwrap().to, [0]);
        assert!(matches!(step.backward(&[0], None), Err(Unfit::Unknown(_))));
    }
}
