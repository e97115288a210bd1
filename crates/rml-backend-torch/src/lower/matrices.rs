//! Factors of square matrices, and systems of equations.

use tch::{TchError, Tensor};

use crate::kernel::{Context, Kernel, two};

/// The lower triangular factors; all elements are NaN for a matrix that is not positive definite.
pub(super) fn cholesky(x: &Tensor) -> Result<Tensor, TchError> {
    let (factors, failed) = x.f_linalg_cholesky_ex(false, false)?;
    let failed = failed.f_ne(0_i64)?.f_unsqueeze(-1)?.f_unsqueeze(-1)?;
    factors.f_tril(0)?.f_masked_fill(&failed, f64::NAN)
}

/// The solutions. A vector is passed as a matrix with one column, since libtorch would guess from the shapes.
pub(super) fn solve(cx: &Context<'_>) -> Kernel {
    if cx.args[0].shape.rank() == cx.args[1].shape.rank() {
        return two(|a, b| Ok(Tensor::f_linalg_solve_ex(a, b, true, false)?.0));
    }
    two(|a, b| Tensor::f_linalg_solve_ex(a, &b.f_unsqueeze(-1)?, true, false)?.0.f_squeeze_dim(-1))
}
