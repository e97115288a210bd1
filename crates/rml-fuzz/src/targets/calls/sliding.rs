//! Convolutions and pooling.

use super::{Call, Dims, list};

impl Call<'_> {
    /// The stride, the padding before and after, and the dilation of an axis, and the number of windows of size `size`
    /// over the axis.
    fn sliding(&mut self, length: usize, size: usize, dilated: bool) -> ([usize; 4], usize) {
        let dilation = if dilated && self.r.chance(0.4) { 2 } else { 1 };
        let extent = dilation * (size - 1) + 1;
        let most = if dilated { 3 } else { size };
        let (mut lo, hi) = (self.r.below(most), self.r.below(most));
        if length + lo + hi < extent {
            lo = extent - length - hi;
        }
        let stride = 1 + self.r.below(3);
        ([stride, lo, hi, dilation], (length + lo + hi - extent) / stride + 1)
    }

    pub(super) fn convolution(&mut self) -> String {
        let rank = 1 + self.r.below(2);
        let (batch, groups) = (self.dims(0, 1), 1 + self.r.below(2));
        let (channels, filters) = (groups * (1 + self.r.below(2)), groups * (1 + self.r.below(2)));
        let lengths: Dims = (0..rank).map(|_| 1 + self.r.below(5)).collect();
        let sizes: Dims = (0..rank).map(|_| 1 + self.r.below(3)).collect();
        let axes: Vec<_> = lengths.iter().zip(&sizes).map(|(n, k)| self.sliding(*n, *k, true)).collect();
        let windows: Dims = axes.iter().map(|a| a.1).collect();
        let x = [&batch[..], &lengths, &[channels]].concat();
        let kernel = [&sizes[..], &[channels / groups, filters]].concat();
        let d = [&batch[..], &windows, &[filters]].concat();
        let one = |f: &dyn Fn(&[usize; 4]) -> String| {
            let all: Vec<String> = axes.iter().map(|a| f(&a.0)).collect();
            if rank == 1 { all[0].clone() } else { format!("[{}]", all.join(", ")) }
        };
        let rest = format!(
            "{}, {}, {}, {groups}",
            one(&|a| a[0].to_string()),
            one(&|a| format!("[{}, {}]", a[1], a[2])),
            one(&|a| a[3].to_string())
        );
        match self.r.below(3) {
            0 => {
                let (x, k) = (self.input("num", &x), self.input("num", &kernel));
                format!("conv{rank}d({x}, {k}, {rest})")
            }
            1 => {
                let (given, k) = (self.input("num", &d), self.input("num", &kernel));
                format!("conv{rank}d_transpose({}, {given}, {k}, {rest})", list(&x))
            }
            _ => {
                let (x, d) = (self.input("num", &x), self.input("num", &d));
                format!("conv{rank}d_kernel({}, {x}, {d}, {rest})", list(&kernel))
            }
        }
    }

    pub(super) fn pooling(&mut self) -> String {
        let rank = 1 + self.r.below(2);
        let (batch, channels) = (self.dims(0, 1), 1 + self.r.below(2));
        let lengths: Dims = (0..rank).map(|_| 1 + self.r.below(5)).collect();
        let sizes: Dims = (0..rank).map(|_| 1 + self.r.below(3)).collect();
        let axes: Vec<_> = lengths.iter().zip(&sizes).map(|(n, k)| self.sliding(*n, *k, false)).collect();
        let windows: Dims = axes.iter().map(|a| a.1).collect();
        let one = |all: Vec<String>| if rank == 1 { all[0].clone() } else { format!("[{}]", all.join(", ")) };
        let rest = format!(
            "{}, {}, {}",
            one(sizes.iter().map(usize::to_string).collect()),
            one(axes.iter().map(|a| a.0[0].to_string()).collect()),
            one(axes.iter().map(|a| format!("[{}, {}]", a.0[1], a.0[2])).collect())
        );
        let x = [&batch[..], &lengths, &[channels]].concat();
        let name = *self.r.pick(&["max_pool", "avg_pool", "patches", "unpatches"]);
        if name == "unpatches" {
            let d = self.input("num", &[&batch[..], &windows, &sizes, &[channels]].concat());
            return format!("unpatches{rank}d({}, {d}, {rest})", list(&x));
        }
        let x = self.input("num", &x);
        format!("{name}{rank}d({x}, {rest})")
    }
}
