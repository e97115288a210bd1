//! Convolutions, pooling and patches. A single spatial axis is treated as two, the first of length 1.

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
    /// The geometry for a tensor with these dimensions.
    fn new(axes: &[ConvAxis], sizes: &[usize], dims: &[usize]) -> Self {
        let rank = axes.len();
        let (batch, rest) = dims.split_at(dims.len() - rank - 1);
        let two = |of: &[usize]| if let [a, b] = *of { [a, b] } else { [1, of[0]] };
        let axes = if let [a, b] = *axes { [a, b] } else { [ConvAxis::PLAIN, axes[0]] };
        let (input, size) = (two(&rest[..rank]), two(sizes));
        let output = [0, 1].map(|i| axes[i].windows(input[i], size[i]).unwrap_or(0));
        Self { axes, input, size, output, batch: batch.iter().product() }
    }

    /// Opens loops over the elements of a window, without padding.
    fn taps(&self, f: &mut Function<'_>) -> usize {
        let depth = loops(f, &[("v", self.size[0])]);
        self.place(f, 0);
        let depth = depth + loops(f, &[("u", self.size[1])]);
        self.place(f, 1);
        depth
    }

    /// Computes the position of an element of a window, and tests whether it is padding.
    fn places(&self, f: &mut Function<'_>) {
        self.place(f, 0);
        self.place(f, 1);
    }

    fn place(&self, f: &mut Function<'_>, i: usize) {
        let (tap, window, at) = [("v", "y", "row"), ("u", "x", "column")][i];
        let ConvAxis { stride, lo, dilation, .. } = self.axes[i];
        let place = linear(&[(window.to_owned(), stride), (tap.to_owned(), dilation)], 0);
        f.lines.line(format!("const long {at} = {place} - {lo};"));
        f.lines.open(format!("if ({at} < 0 || {at} >= {})", self.input[i]));
        f.lines.line("continue;");
        f.lines.close();
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

/// Opens loops, including those that run only once; returns their number.
fn loops(f: &mut Function<'_>, all: &[(&str, usize)]) -> usize {
    for (index, n) in all {
        f.lines.open(format!("for (long {index} = 0; {index} < {n}; {index}++)"));
    }
    all.len()
}

fn with(far: &[(&str, usize)], channel: &str) -> String {
    let terms: Vec<(String, usize)> = far.iter().map(|(i, n)| ((*i).to_owned(), *n)).collect();
    crate::operand::sum(&[&linear(&terms, 0), channel])
}

/// A convolution, or one of its transposes. Each element is a sum of chains of products: one for each window or each
/// example.
pub(crate) fn convolve(f: &mut Function<'_>, op: &Op, args: &[Operand], out: &Operand) {
    let (conv, x, kernel, d): (&Conv, _, _, _) = match op {
        Op::Conv(conv) => (conv, &args[0], &args[1], out),
        Op::ConvTranspose { conv, .. } => (conv, out, &args[1], &args[0]),
        Op::ConvKernel { conv, .. } => (conv, &args[0], out, &args[1]),
        other => unreachable!("{other} is no convolution"),
    };
    let [sizes @ .., channels, filters] = kernel.dims() else { return };
    let g = Geometry::new(&conv.axes, sizes, x.dims());
    let (all, own) = (channels * conv.groups, filters / conv.groups);
    let fma = f.scope.scalars.function("rml_fma");
    let x_at = x.at(&g.element(all, &linear(&[("g".to_owned(), *channels), ("c".to_owned(), 1)], 0)));
    let filter = linear(&[("g".to_owned(), own), ("o".to_owned(), 1)], 0);
    let far = g.tap(channels * filters);
    let kernel_at = kernel.at(&with(&[far[0], far[1], ("c", *filters)], &filter));
    let d_at = d.at(&g.window(*filters, &filter));
    let windows = [("b", g.batch), ("y", g.output[0]), ("x", g.output[1])];
    let taps = [("v", g.size[0]), ("u", g.size[1])];
    let (group, channel, own) = (("g", conv.groups), ("c", *channels), ("o", own));
    match op {
        Op::Conv(_) => {
            let depth = loops(f, &windows) + g.taps(f) + loops(f, &[group, channel, own]);
            f.lines.line(format!("{d_at} = {fma}({x_at}, {kernel_at}, {d_at});"));
            f.lines.close_all(depth);
        }
        Op::ConvTranspose { .. } => {
            let depth = loops(f, &windows) + g.taps(f) + loops(f, &[group, channel]);
            f.lines.line("num chain = 0;");
            let inner = loops(f, &[own]);
            f.lines.line(format!("chain = {fma}({d_at}, {kernel_at}, chain);"));
            f.lines.close_all(inner);
            f.lines.line(format!("{x_at} += chain;"));
            f.lines.close_all(depth);
        }
        Op::ConvKernel { .. } => {
            let depth = loops(f, &taps) + loops(f, &[group, channel, own, windows[0]]);
            f.lines.line("num chain = 0;");
            let inner = loops(f, &windows[1..]);
            g.places(f);
            f.lines.line(format!("chain = {fma}({x_at}, {d_at}, chain);"));
            f.lines.close_all(inner);
            f.lines.line(format!("{kernel_at} += chain;"));
            f.lines.close_all(depth);
        }
        other => unreachable!("{other} is no convolution"),
    }
}

/// Opens loops over windows and their elements, channel by channel.
pub(crate) fn pool(f: &mut Function<'_>, op: &Op, arg: &Operand, out: &Operand) {
    let (pool, x): (&Pool, _) = match op {
        Op::MaxPool(pool) | Op::AvgPool(pool) | Op::Patches(pool) => (pool, arg),
        Op::Unpatches { pool, .. } => (pool, out),
        other => unreachable!("{other} has no windows"),
    };
    let axes: Vec<ConvAxis> =
        pool.axes.iter().map(|a| ConvAxis { stride: a.stride, lo: a.lo, hi: a.hi, dilation: 1 }).collect();
    let sizes: Vec<usize> = pool.axes.iter().map(|axis| axis.size).collect();
    let g = Geometry::new(&axes, &sizes, x.dims());
    let channels = x.dims().last().copied().unwrap_or(1);
    let taps = g.size[0] * g.size[1];
    match op {
        Op::MaxPool(_) => f.fill_all("-RML_INFINITY", out),
        Op::Patches(_) => f.fill_all("0", out),
        _ => {}
    }
    let windows = [("b", g.batch), ("y", g.output[0]), ("x", g.output[1])];
    let depth = loops(f, &windows) + g.taps(f) + loops(f, &[("c", channels)]);
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
        Op::Unpatches { .. } => format!("{} += {};", out.at(&element), arg.at(&patch)),
        other => unreachable!("{other} has no windows"),
    });
    f.lines.close_all(depth);
    if matches!(op, Op::AvgPool(_)) {
        let looped = f.lines.over("i", out.len());
        f.lines.line(format!("{} /= {taps};", out.at(if looped { "i" } else { "0" })));
        f.lines.close_all(usize::from(looped));
    }
}
