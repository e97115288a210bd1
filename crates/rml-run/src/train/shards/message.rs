//! The part of a sum that one rank sends another, as bytes. Both run the same program, so neither names nor shapes nor
//! types are sent.

use std::ops::Range;

use rml_ir::{Data, Precision, Shape, Value};

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
            let at = piece(gradient.shape().len(), (rank, ranks));
            match gradient {
                Value::Tensor(tensor) => elements(tensor.data(), at, to),
                scalar => elements(&scalar.to_data(), at, to),
            }
        }
    }
    for (sum, weight) in part.averages.bits() {
        number(sum, to);
        number(weight, to);
    }
    number(part.cycles as u64, to);
}

/// The elements of a gradient that rank `rank` of `ranks` adds.
fn piece(elements: usize, (rank, ranks): (usize, usize)) -> Range<usize> {
    elements * rank / ranks..elements * (rank + 1) / ranks
}

fn number(n: u64, to: &mut Vec<u8>) {
    to.extend(n.to_le_bytes());
}

fn elements(data: &Data, at: Range<usize>, to: &mut Vec<u8>) {
    match data {
        Data::F32(v) => v[at].iter().for_each(|x| to.extend_from_slice(&x.to_le_bytes())),
        Data::F64(v) => v[at].iter().for_each(|x| to.extend_from_slice(&x.to_le_bytes())),
        Data::Bool(_) | Data::Int(_) => unreachable!("gradients are numbers"),
    }
}

/// What the parts of a program have.
pub(super) struct Form {
    /// The shape of each gradient.
    pub(super) shapes: Vec<Shape>,
    pub(super) precision: Precision,
    /// Sums of the metrics.
    pub(super) averages: Averages,
}

/// Reads what others wrote.
pub(super) struct Reader<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) form: &'b Form,
}

impl Reader<'_> {
    /// A part whose gradients are the elements that rank `rank` of `ranks` adds.
    ///
    /// # Errors
    /// `None`: these are not such bytes.
    pub(super) fn part(&mut self, (rank, ranks): (usize, usize)) -> Option<Option<Part>> {
        if !self.flag()? {
            return Some(None);
        }
        let form = self.form;
        let given = form.shapes.iter().map(|shape| {
            let ticks = usize::try_from(self.number()?).ok()?;
            let count = piece(shape.len(), (rank, ranks)).len();
            let gradient = if self.flag()? { Some(self.elements(count)?) } else { None };
            Some(Given { ticks, gradient })
        });
        let given = given.collect::<Option<_>>()?;
        let mut averages = form.averages.clone();
        let bits = averages.bits().map(|_| Some((self.number()?, self.number()?)));
        let bits: Vec<(u64, u64)> = bits.collect::<Option<_>>()?;
        averages.set_bits(&bits);
        let cycles = usize::try_from(self.number()?).ok()?;
        Some(Some(Part { given, averages, cycles }))
    }

    /// Whether all bytes were read.
    pub(super) fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    fn flag(&mut self) -> Option<bool> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first != 0)
    }

    fn number(&mut self) -> Option<u64> {
        let (first, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(u64::from_le_bytes(*first))
    }

    fn elements(&mut self, count: usize) -> Option<Value> {
        let size = match self.form.precision {
            Precision::F32 => size_of::<f32>(),
            Precision::F64 => size_of::<f64>(),
        };
        let (bytes, rest) = self.bytes.split_at_checked(count.checked_mul(size)?)?;
        self.bytes = rest;
        let data = match self.form.precision {
            Precision::F32 => Data::F32(bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect()),
            Precision::F64 => Data::F64(bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect()),
        };
        Some(Value::new(Shape::new(&[count]), data))
    }
}
