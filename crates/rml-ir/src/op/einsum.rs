//! The labels of a contraction, `bij,bjk->bik`.

use std::fmt;

/// Which axes of one or two operands belong together, and which of them the result has.
///
/// Labels are ASCII letters; an operand or the result has each label at most once, and the result's labels occur in an
/// operand.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Einsum {
    operands: Vec<Vec<char>>,
    result: Vec<char>,
}

impl Einsum {
    /// Reads `ij,jk->ik`; blanks do not count.
    ///
    /// # Errors
    /// If the text has not that form; the message says what is wrong.
    pub fn parse(text: &str) -> Result<Einsum, String> {
        let compact: String = text.chars().filter(|c| *c != ' ').collect();
        let (left, right) =
            compact.split_once("->").ok_or("`->` and the labels of the result are missing")?;
        let labels = |part: &str| -> Result<Vec<char>, String> {
            let labels: Vec<char> = part.chars().collect();
            if let Some(odd) = labels.iter().find(|c| !c.is_ascii_alphabetic()) {
                return Err(format!("`{odd}` is no label; labels are letters"));
            }
            match labels.iter().enumerate().find(|(i, c)| labels[..*i].contains(c)) {
                Some((_, twice)) => Err(format!("the label `{twice}` stands twice in `{part}`")),
                None => Ok(labels),
            }
        };
        let operands: Vec<Vec<char>> = left.split(',').map(labels).collect::<Result<_, _>>()?;
        if operands.len() > 2 {
            return Err(format!("{} operands are given labels, at most two are contracted", operands.len()));
        }
        let result = labels(right)?;
        match result.iter().find(|c| !operands.iter().any(|o| o.contains(c))) {
            Some(unknown) => Err(format!("no operand has the label `{unknown}` of the result")),
            None => Ok(Einsum { operands, result }),
        }
    }

    /// The labels of each operand.
    pub fn operands(&self) -> &[Vec<char>] {
        &self.operands
    }

    /// The labels of the result.
    pub fn result(&self) -> &[char] {
        &self.result
    }

    /// The contraction of operands and a result with those labels.
    ///
    /// # Panics
    /// If the labels are none of a contraction.
    pub fn of(operands: &[&[char]], result: &[char]) -> Einsum {
        let text: Vec<String> = operands.iter().map(|labels| labels.iter().collect()).collect();
        let text = format!("{}->{}", text.join(","), result.iter().collect::<String>());
        Einsum::parse(&text).expect("labels of a contraction")
    }
}

impl fmt::Display for Einsum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, labels) in self.operands.iter().enumerate() {
            f.write_str(if i > 0 { "," } else { "" })?;
            labels.iter().try_for_each(|c| write!(f, "{c}"))?;
        }
        f.write_str("->")?;
        self.result.iter().try_for_each(|c| write!(f, "{c}"))
    }
}
