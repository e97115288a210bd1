//! Fourier transforms of the last axis.

use super::text::{Elem, Ssa, Text, Ty, array};

/// The element type of complex numbers made of these real ones.
fn complex(elem: Elem) -> Elem {
    if elem == Elem::F64 { Elem::C128 } else { Elem::C64 }
}

fn attributes(kind: &str, n: usize) -> String {
    format!("fft_type = #stablehlo<fft_type {kind}>, fft_length = {}", array([n]))
}

/// The frequencies, with their parts along a new last axis.
pub(super) fn rfft(t: &mut Text, x: &Ssa) -> Ssa {
    let (elem, axis) = (x.ty.elem, x.dims().len() - 1);
    let n = x.dims()[axis];
    let mut dims = x.dims().to_vec();
    dims[axis] = n / 2 + 1;
    let made = t.op_attr("fft", &[x], &attributes("RFFT", n), Ty::new(complex(elem), &dims));
    let one: Vec<usize> = dims.iter().copied().chain([1]).collect();
    let parts = ["real", "imag"].map(|part| {
        let part = t.op(part, &[&made], Ty::new(elem, &dims));
        t.reshape(&part, &one)
    });
    t.concat(&parts, axis + 1)
}

/// The inverse transform.
pub(super) fn irfft(t: &mut Text, n: usize, y: &Ssa) -> Ssa {
    let (elem, last) = (y.ty.elem, y.dims().len() - 1);
    let dims = y.dims()[..last].to_vec();
    let parts = [0, 1].map(|part| {
        let part = t.slice_axis(y, last, part, 1, 1);
        t.reshape(&part, &dims)
    });
    // Unused parts are set to 0: libraries differ in whether they read them.
    let at = t.iota(&Ty::new(Elem::I64, &dims), last - 1);
    let first = t.compare_to(rml_ir::op::Compare::Eq, &at, 0.0);
    let own = if n.is_multiple_of(2) {
        #[allow(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
        let middle = t.compare_to(rml_ir::op::Compare::Eq, &at, (n / 2) as f64);
        t.zip("or", &first, &middle)
    } else {
        first
    };
    let zero = t.splat(0.0, &parts[1].ty);
    let imaginary = t.select(&own, &zero, &parts[1]);
    let pairs = t.op("complex", &[&parts[0], &imaginary], Ty::new(complex(elem), &dims));
    let mut wide = dims;
    wide[last - 1] = n;
    t.op_attr("fft", &[&pairs], &attributes("IRFFT", n), Ty::new(elem, &wide))
}
