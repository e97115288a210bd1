//! Windows that slide over one or two spatial axes: what convolutions, pooling and patches share.
//!
//! Layout: `[batch.., n.., channels]`, channels last, with one or two spatial axes `n..` and any batch
//! dimensions; a convolution's kernel is `[k.., channels / groups, filters]`.

use std::fmt;

/// How a convolution goes along one spatial axis.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConvAxis {
    /// Distance of neighbouring windows, at least 1.
    pub stride: usize,
    /// Zeros before the axis.
    pub lo: usize,
    /// Zeros behind it.
    pub hi: usize,
    /// Distance of neighbouring elements of a window, at least 1.
    pub dilation: usize,
}

/// A convolution over one or two spatial axes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Conv {
    /// The spatial axes.
    pub axes: Vec<ConvAxis>,
    /// How many groups the channels and filters fall into, each convolved by itself; at least 1.
    pub groups: usize,
}

/// Windows along one spatial axis.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PoolAxis {
    /// Length of a window, at least 1.
    pub size: usize,
    /// Distance of neighbouring windows, at least 1.
    pub stride: usize,
    /// Padding before the axis, less than `size`.
    pub lo: usize,
    /// Padding behind it, less than `size`.
    pub hi: usize,
}

/// Windows over one or two spatial axes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pool {
    /// The spatial axes.
    pub axes: Vec<PoolAxis>,
}

impl ConvAxis {
    /// Every position, without padding.
    pub const PLAIN: ConvAxis = ConvAxis { stride: 1, lo: 0, hi: 0, dilation: 1 };

    /// How many windows of `size` elements an axis of that length has; `None` if it is too short, or an
    /// attribute out of range.
    pub fn windows(&self, length: usize, size: usize) -> Option<usize> {
        let extent = size.checked_sub(1)?.checked_mul(self.dilation)?.checked_add(1)?;
        let padded = length.checked_add(self.lo)?.checked_add(self.hi)?;
        if self.dilation == 0 {
            return None;
        }
        Some(padded.checked_sub(extent)?.checked_div(self.stride)? + 1)
    }
}

impl PoolAxis {
    /// How many windows an axis of that length has; `None` if it is too short, or an attribute out of range.
    pub fn windows(&self, length: usize) -> Option<usize> {
        let inside = self.lo < self.size && self.hi < self.size && length > 0;
        self.conv().windows(length, self.size).filter(|_| inside)
    }

    /// The convolution that meets the same elements.
    pub(super) fn conv(self) -> ConvAxis {
        ConvAxis { stride: self.stride, lo: self.lo, hi: self.hi, dilation: 1 }
    }
}

impl fmt::Display for ConvAxis {
    /// For messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConvAxis { stride, lo, hi, dilation } = self;
        write!(f, "stride {stride}, padding [{lo}, {hi}] and dilation {dilation}")
    }
}

impl fmt::Display for PoolAxis {
    /// For messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PoolAxis { size, stride, lo, hi } = self;
        write!(f, "windows of {size}, stride {stride} and padding [{lo}, {hi}]")
    }
}

impl fmt::Display for Conv {
    /// `stride lo:hi dilation` of each axis, then the groups.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, ConvAxis { stride, lo, hi, dilation }) in self.axes.iter().enumerate() {
            write!(f, "{}{stride} {lo}:{hi} {dilation}", if i > 0 { ", " } else { "" })?;
        }
        write!(f, "; {}", self.groups)
    }
}

impl fmt::Display for Pool {
    /// `size stride lo:hi` of each axis.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, PoolAxis { size, stride, lo, hi }) in self.axes.iter().enumerate() {
            write!(f, "{}{size} {stride} {lo}:{hi}", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

/// The numbers of an axis, separated by blanks and colons.
fn numbers<const N: usize>(text: &str) -> Result<[usize; N], String> {
    let found: Result<Vec<usize>, _> =
        text.split([' ', ':']).filter(|t| !t.is_empty()).map(str::parse).collect();
    found.ok().and_then(|v| v.try_into().ok()).ok_or_else(|| format!("`{text}` is no spatial axis"))
}

/// The axes of a text, of which there are `rank`.
fn axes<T>(text: &str, rank: usize, axis: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    let axes: Vec<T> = text.split(',').map(axis).collect::<Result<_, _>>()?;
    if axes.len() == rank { Ok(axes) } else { Err(format!("`{text}` has not {rank} axes")) }
}

impl Conv {
    /// Reads the text form of one over `rank` axes.
    pub(super) fn parse(text: &str, rank: usize) -> Result<Conv, String> {
        let (text, groups) = text.rsplit_once(';').ok_or("`;` is missing")?;
        let axis = |text: &str| {
            let [stride, lo, hi, dilation] = numbers(text)?;
            Ok(ConvAxis { stride, lo, hi, dilation })
        };
        let groups = groups.trim().parse().map_err(|_| format!("`{groups}` is no number of groups"))?;
        Ok(Conv { axes: axes(text, rank, axis)?, groups })
    }
}

impl Pool {
    /// Reads the text form of one over `rank` axes.
    pub(super) fn parse(text: &str, rank: usize) -> Result<Pool, String> {
        let axis = |text: &str| {
            let [size, stride, lo, hi] = numbers(text)?;
            Ok(PoolAxis { size, stride, lo, hi })
        };
        Ok(Pool { axes: axes(text, rank, axis)? })
    }
}
