//! Fourier transforms of rows. libtorch's functions fail if there are no rows.

use tch::{TchError, Tensor};

use crate::kernel::{Kernel, dim, one};

/// Zeros whose shape is that of `x` without its last `dropped` axes, followed by `last`.
fn nothing(x: &Tensor, dropped: usize, last: &[i64]) -> Result<Tensor, TchError> {
    let size = x.size();
    let size: Vec<i64> = size[..size.len() - dropped].iter().chain(last).copied().collect();
    Tensor::f_zeros(size, (x.kind(), x.device()))
}

pub(super) fn rfft(x: &Tensor) -> Result<Tensor, TchError> {
    if x.numel() == 0 {
        let n = x.size().last().copied().unwrap_or(0);
        return nothing(x, 1, &[n / 2 + 1, 2]);
    }
    x.f_fft_rfft(None, -1, "backward")?.f_view_as_real()
}

pub(super) fn irfft(n: usize) -> Kernel {
    let n = dim(n);
    one(move |y| {
        if y.numel() == 0 {
            return nothing(y, 2, &[n]);
        }
        y.f_contiguous()?.f_view_as_complex()?.f_fft_irfft(n, -1, "backward")
    })
}
