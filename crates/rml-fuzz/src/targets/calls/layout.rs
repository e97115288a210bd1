//! Calls that move elements, and indices.

use std::fmt::Write as _;

use super::{Call, Dims, list};

impl Call<'_> {
    pub(super) fn layout(&mut self) -> String {
        let dims = self.dims(1, 4);
        match self.r.below(6) {
            0 => {
                let x = self.input("num", &dims);
                format!("transpose({x})")
            }
            5 => {
                let x = self.input("num", &dims);
                let axis = self.axis(dims.len() + 1);
                if self.r.chance(0.5) {
                    format!("expand_dims({x}, {axis})")
                } else {
                    format!("expand_dims({x}, [0, -1])")
                }
            }
            1 => {
                let mut perm: Dims = (0..dims.len()).collect();
                for i in (1..perm.len()).rev() {
                    perm.swap(i, self.r.below(i + 1));
                }
                let x = self.input("int", &dims);
                format!("transpose({x}, {})", list(&perm))
            }
            2 => {
                let mut shape = dims.clone();
                shape.swap(0, dims.len() - 1);
                if self.r.chance(0.5) {
                    shape = vec![dims.iter().product()];
                }
                let x = self.input("num", &dims);
                format!("reshape({}, {x})", list(&shape))
            }
            3 => {
                let narrow = self.narrower(&dims);
                let x = self.input("num", &narrow);
                format!("broadcast({}, {x})", list(&dims))
            }
            _ => {
                let narrow = self.narrower(&dims);
                let x = self.input("num", &dims);
                format!("sum_to({}, {x})", list(&narrow))
            }
        }
    }

    pub(super) fn parts(&mut self) -> String {
        let dims = self.dims(1, 3);
        let at = self.r.below(dims.len());
        match self.r.below(4) {
            0 => {
                let mut other = dims.clone();
                other[at] = self.dim();
                let (a, b) = (self.input("num", &dims), self.input("num", &other));
                format!("concat({a}, {b}, {at})")
            }
            1 => {
                let (a, b) = (self.input("int", &dims), self.input("int", &dims));
                format!("stack({}, {a}, {b}, {a})", self.r.below(dims.len() + 1))
            }
            2 => {
                let (a, b) = (self.input("bool", &dims), self.input("bool", &dims));
                format!("[{a}, {b}]")
            }
            _ => {
                let mut whole = dims.clone();
                whole[at] *= 2;
                let x = self.input("num", &whole);
                let _ = writeln!(self.before, "  a, b = split({x}, {at});");
                "a - 2.0 * b".to_owned()
            }
        }
    }

    /// An index entry for an axis of the given size, and the number of positions that it keeps, if it keeps the axis.
    fn entry(&mut self, size: usize) -> (String, Option<usize>) {
        if size > 0 && self.r.chance(0.3) {
            let at = self.r.below(size);
            let text = if self.r.chance(0.3) { format!("-{}", size - at) } else { at.to_string() };
            return (text, None);
        }
        let start = self.r.below(size + 1);
        let len = self.r.below(size - start + 1);
        if len > 1 && self.r.chance(0.3) {
            // The slice runs backward, down to `start`.
            let last = start + len - 1;
            let end = if start == 0 { String::new() } else { (start - 1).to_string() };
            return (format!("{last}:{end}:-1"), Some(len));
        }
        let step = 1 + self.r.below(3);
        let kept = len.div_ceil(step);
        let text = if self.r.chance(0.2) && start == 0 && len == size {
            format!("::{step}")
        } else {
            format!("{start}:{}:{step}", start + len)
        };
        (text, Some(kept))
    }

    pub(super) fn index(&mut self) -> String {
        let dims = self.dims(1, 3);
        let entries: Vec<_> = dims.iter().map(|d| self.entry(*d)).collect();
        let texts = entries.iter().map(|e| e.0.as_str()).collect::<Vec<_>>().join(", ");
        if self.r.chance(0.5) {
            let x = self.input("num", &dims);
            return format!("{x}[{texts}]");
        }
        let kept: Dims = entries.iter().filter_map(|e| e.1).collect();
        let x = self.input("num", &kept);
        format!("unindex({}, {x}, {texts})", list(&dims))
    }

    pub(super) fn gather(&mut self) -> String {
        let dims = self.dims(1, 3);
        let (at, size) = (self.r.below(dims.len()), self.dims(0, 2));
        match self.r.below(4) {
            0 => {
                let x = self.input("int", &size);
                format!("one_hot({}, {x})", self.dim())
            }
            1 => {
                let (rows, n) = (&dims[..dims.len() - 1], dims[dims.len() - 1]);
                let i = self.positions(rows, n);
                let x = self.input("num", &dims);
                format!("pick({x}, {i})")
            }
            2 => {
                let i = self.positions(&size, dims[at]);
                let x = self.input("num", &dims);
                format!("gather({x}, {i}, {at})")
            }
            _ => {
                let i = self.positions(&size, dims[at]);
                let d = [&dims[..at], &size, &dims[at + 1..]].concat();
                let d = self.input("num", &d);
                format!("scatter_add({}, {i}, {d}, {at})", list(&dims))
            }
        }
    }
}
