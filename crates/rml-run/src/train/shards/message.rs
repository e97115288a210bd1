//! The part of a sum that one rank sends another, as bytes. Both run the same program, so neither names nor shapes are
//! sent.

use rml_ir::{Data, Shape, Value};

use super::part::{Given, Part};
use crate::runner::Averages;

/// Writes a part, as far as rank `rank` of `ranks` adds it: some elements of each gradient. `None` adds nothing.
pub(super) fn write(part: Option<&Part>, (rank, ranks): (usize, usize), to: &mut Vec<u8>) {
    to.push(u8::from(part.is_some()));
    let Some(part) = part else { return };
    for given in &part.given {
        number(given.ticks as u64, to);
        to.push(u8::from(given.gradient.is_some()));
        if let Some(gradient) = &given.gradient {
            let [from, end] = [rank, rank + 1].map(|end| gradient.shape().len() * end / ranks);
            match gradient {
                Value::Tensor(tensor) => elements(tensor.data(), from..end, to),
                scalar => elements(&scalar.to_data(), from..end, to),
            }
        }
    }
    for (sum, weight) in part.averages.bits() {
        number(sum, to);
        number(weight, to);
    }
}

fn number(n: u64, to: &mut Vec<u8>) {
    to.extend(n.to_le_bytes());
}

fn elements(data: &Data, at: std::ops::Range<usize>, to: &mut Vec<u8>) {
    let is_double = matches!(data, Data::F64(_));
    to.push(u8::from(is_double));
    number(at.len() as u64, to);
    match data {
        Data::F32(v) => v[at].iter().for_each(|x| to.extend_from_slice(&x.to_le_bytes())),
        Data::F64(v) => v[at].iter().for_each(|x| to.extend_from_slice(&x.to_le_bytes())),
        Data::Bool(_) | Data::Int(_) => unreachable!("gradients are numbers"),
    }
}

/// Reads what others wrote.
pub(super) struct Reader<'b>(pub(super) &'b [u8]);

impl Reader<'_> {
    /// A part with as many gradients and sums as `like` has. Its gradients are the elements that were sent.
    ///
    /// # Errors
    /// `None`: these are not such bytes.
    pub(super) fn part(&mut self, gradients: usize, like: &Averages) -> Option<Option<Part>> {
        if !self.flag()? {
            return Some(None);
        }
        let given = (0..gradients).map(|_| {
            let ticks = usize::try_from(self.number()?).ok()?;
            let gradient = if self.flag()? { Some(self.elements()?) } else { None };
            Some(Given { ticks, gradient })
        });
        let given = given.collect::<Option<_>>()?;
        let mut averages = like.clone();
        let bits = averages.bits().map(|_| Some((self.number()?, self.number()?)));
        let bits: Vec<(u64, u64)> = bits.collect::<Option<_>>()?;
        averages.set_bits(&bits);
        Some(Some(Part { given, averages }))
    }

    fn flag(&mut self) -> Option<bool> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first != 0)
    }

    fn number(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*first))
    }

    fn elements(&mut self) -> Option<Value> {
        let (is_double, len) = (self.flag()?, usize::try_from(self.number()?).ok()?);
        let size = if is_double { size_of::<f64>() } else { size_of::<f32>() };
        let (bytes, rest) = self.0.split_at_checked(len.checked_mul(size)?)?;
        self.0 = rest;
        let data = match is_double {
            true => Data::F64(bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect()),
            false => Data::F32(bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect()),
        };
        Some(Value::new(Shape::new(&[len]), data))
    }
}
