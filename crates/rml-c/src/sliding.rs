//! Convolutions, pooling and patches. One spatial axis is two, the first of length 1.

use rml_ir::op::{Conv, ConvAxis, Op, Pool};

use crate::function::Function;
use crate::operand::{Operand, linear};

/// Two spatial axes and the windows on them.
struct Geometry {
    axes: [ConvAxis; 2],
    input: [usize; 2],
    size: [usize; 2],
    output: [usize; 2],
    batch: usize,
}

impl Geometry {
    /// Of a tensor of those dimensions.
    fn new(axes: &[ConvAxis], sizes: &[usize], dims: &[usize]) -> Self {
        let rank = axes.len();
        let (batch, rest) = dims.split_at(dims.len() - rank - 1);
        let two = |of: &[usize]| if let [a, b] = *of { [a, b] } else { [1, of[0]] };
        let axes = if let [a, b] = *axes { [a, b] } else { [ConvAxis::PLAIN, axes[0]] };
        let (input, size) = (two(&rest[..rank]), two(sizes));
        let output = [0, 1].map(|i| axes[i].windows(input[i], size[i]).unwrap_or(0));
        Self { axes, input, size, output, batch: batch.iter().product() }
    }

    /// Loops over examples, windows and their elements that are no padding; `b`, `y`, `x`, `v`, `u`, and the element's `row` and `column`.
    fn loops(&self, f: &mut Function<'_>) -> usize {
        let mut depth = 0;
        for (index, n) in [("b", self.batch), ("y", self.output[0]), ("x", self.output[1])] {
            f.lines.open(format!("for (long {index} = 0; {index} < {n}; {index}++)"));
            depth += 1;
        }
        for (i, (tap, window, at)) in [("v", "y", "row"), ("u", "x", "column")].into_iter().enumerate() {
            let ConvAxis { stride, lo, dilation, .. } = self.axes[i];
            f.lines.open(format!("for (long {tap} = 0; {tap} < {}; {tap}++)", self.size[i]));
            let place = linear(&[(window.to_owned(), stride), (tap.to_owned(), dilation)], 0);
            f.lines.line(format!("const long {at} = {place} - {lo};"));
            f.lines.open(format!("if ({at} < 0 || {at} >= {})", self.input[i]));
            f.lines.line("continue;");
            f.lines.close();
            depth += 1;
        }
        depth
    }

    fn element(&self, channels: usize, channel: &str) -> String {
        let [h, w] = self.input;
        let far = [("b", h * w * channels), ("row", w * channels), ("column", channels)];
        with(&far, channel)
    }

    fn window(&self, channels: usize, channel: &str) -> String {
        let [h, w] = self.output;
        let far = [("b", h * w * channels), ("y", w * channels), ("x", channels)];
        with(&far, channel)
    }

    fn tap(&self, channels: usize) -> [(&'static str, usize); 2] {
        [("v", self.size[1] * channels), ("u", channels)]
    }
}

fn with(far: &[(&str, usize)], channel: &str) -> String {
    let terms: Vec<(String, usize)> = far.iter().map(|(i, n)| ((*i).to_owned(), *n)).collect();
    crate::operand::sum(&[&linear(&terms, 0), channel])
}

/// A convolution, or one of its transposes: the same loops, and each time another of the three tensors is added to.
pub(crate) fn convolve(f: &mut Function<'_>, op: &Op, args: &[Operand], out: &Operand) {
    let (conv, x, kernel, d): (&Conv, _, _, _) = match op {
        Op::Conv(conv) => (conv, &args[0], &args[1], out),
        Op::ConvTranspose { conv, .. } => (conv, out, &args[1], &args[0]),
        Op::ConvKernel { conv, .. } => (conv, &args[0], out, &args[1]),
        _ => return,
    };
    let [sizes @ .., channels, filters] = kernel.dims() else { return };
    let g = Geometry::new(&conv.axes, sizes, x.dims());
    let (all, own) = (channels * conv.groups, filters / conv.groups);
    let depth = g.loops(f);
    for (index, n) in [("g", conv.groups), ("c", *channels), ("o", own)] {
        f.lines.open(format!("for (long {index} = 0; {index} < {n}; {index}++)"));
    }
    let x_at = x.at(&g.element(all, &linear(&[("g".to_owned(), *channels), ("c".to_owned(), 1)], 0)));
    let filter = linear(&[("g".to_owned(), own), ("o".to_owned(), 1)], 0);
    let far = g.tap(channels * filters);
    let kernel_at = kernel.at(&with(&[far[0], far[1], ("c", *filters)], &filter));
    let d_at = d.at(&g.window(*filters, &filter));
    f.lines.line(match op {
        Op::Conv(_) => format!("{d_at} += {x_at} * {kernel_at};"),
        Op::ConvTranspose { .. } => format!("{x_at} += {d_at} * {kernel_at};"),
        _ => format!("{kernel_at} += {x_at} * {d_at};"),
    });
    f.lines.close_all(depth + 3);
}

/// Windows and their elements, channel by channel.
pub(crate) fn pool(f: &mut Function<'_>, op: &Op, arg: &Operand, out: &Operand) {
    let (pool, x): (&Pool, _) = match op {
        Op::MaxPool(pool) | Op::AvgPool(pool) | Op::Patches(pool) => (pool, arg),
        Op::Unpatches { pool, .. } => (pool, out),
        _ => return,
    };
    let axes: Vec<ConvAxis> =
        pool.axes.iter().map(|a| ConvAxis { stride: a.stride, lo: a.lo, hi: a.hi, dilation: 1 }).collect();
    let sizes: Vec<usize> = pool.axes.iter().map(|axis| axis.size).collect();
    let g = Geometry::new(&axes, &sizes, x.dims());
    let channels = x.dims().last().copied().unwrap_or(1);
    let taps = g.size[0] * g.size[1];
    match op {
        Op::MaxPool(_) => f.copy(&Operand::alike("(num)-INFINITY", out.dtype, out.shape.clone()), out),
        Op::Patches(_) => f.copy(&Operand::alike("0", out.dtype, out.shape.clone()), out),
        _ => {}
    }
    let depth = g.loops(f);
    f.lines.open(format!("for (long c = 0; c < {channels}; c++)"));
    let (element, window) = (g.element(channels, "c"), g.window(channels, "c"));
    let [v, u] = g.tap(channels);
    let [_, w] = g.output;
    let patch = with(
        &[("b", g.output[0] * w * taps * channels), ("y", w * taps * channels), ("x", taps * channels), v, u],
        "c",
    );
    f.lines.line(match op {
        Op::MaxPool(_) => {
            let (from, to) = (arg.at(&element), out.at(&window));
            format!("if ({from} > {to} || {from} != {from}) {to} = {from};")
        }
        Op::AvgPool(_) => format!("{} += {};", out.at(&window), arg.at(&element)),
        Op::Patches(_) => format!("{} = {};", out.at(&patch), arg.at(&element)),
        _ => format!("{} += {};", out.at(&element), arg.at(&patch)),
    });
    f.lines.close_all(depth + 1);
    if matches!(op, Op::AvgPool(_)) {
        let looped = f.lines.over("i", out.len());
        f.lines.line(format!("{} /= {taps};", out.at(if looped { "i" } else { "0" })));
        f.lines.close_all(usize::from(looped));
    }
}
