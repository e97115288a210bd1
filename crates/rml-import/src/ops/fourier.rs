//! Fourier transforms of numbers.

use rml_ir::op::{Binary, Op};

use super::Table;
use super::layout::{last_axis, unsigned};
use super::statics::scalar;
use crate::build::{Builder, Call, Val};
use crate::refuse::{Refusal, Res, refuse};

pub(super) const TABLE: Table = &[("STFT", stft), ("DFT", dft)];

/// The frequencies of windows of a signal.
fn stft(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let signal = call.arg(0)?;
    let dims = signal.dims();
    if dims.len() == 3 && dims[2] != 1 {
        return refuse("its signal is complex");
    }
    if !call.flag("onesided", true) {
        return refuse("all frequencies are asked for, not only those up to the half");
    }
    let (batch, length) = (dims[0], dims[1]);
    let step = known(call, 1, "step")?;
    let size = match call.opt(3) {
        Some(_) => known(call, 3, "length of a frame")?,
        None => call.arg(2)?.len(),
    };
    if size == 0 || step == 0 || length < size {
        return Err(Refusal::malformed("its frames do not fit its signal"));
    }
    let signal = b.reshape(signal, &[batch, length, 1])?;
    let axis = rml_ir::op::PoolAxis { size, stride: step, lo: 0, hi: 0 };
    let frames = b.apply(Op::Patches(rml_ir::op::Pool { axes: vec![axis] }), &[&signal], signal.elem)?;
    let frames = b.reshape(&frames, &[batch, (length - size) / step + 1, size])?;
    let frames = match call.opt(2) {
        Some(window) => b.binary(Binary::Mul, &frames, window)?,
        None => frames,
    };
    Ok(vec![b.apply(Op::Rfft, &[&frames], frames.elem)?])
}

fn known(call: &Call<'_>, i: usize, what: &str) -> Res<usize> {
    #[allow(clippy::cast_possible_truncation, reason = "a size")]
    let found = call.opt(i).and_then(scalar).map(|x| x as i64);
    unsigned(found.ok_or_else(|| Refusal::new(format!("its {what} is not known")))?)
}

fn dft(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let dims = x.dims();
    if dims.last() != Some(&1) || call.flag("inverse", false) || !call.flag("onesided", false) {
        return refuse("only the frequencies of real numbers, up to the half, can be imported")
            .map_err(|r: Refusal| r.help("export it with `onesided`"));
    }
    let given = call.known_ints(2, "axis")?.and_then(|v| v.first().copied());
    let given = given.unwrap_or_else(|| call.int("axis", if call.opset < 20 { 1 } else { -2 }));
    let axis = call.axis(given, dims.len())?;
    let plain = b.reshape(x, &dims[..dims.len() - 1])?;
    let plain = match call.opt(1) {
        Some(_) => {
            let (wanted, now) = (known(call, 1, "length")?, dims[axis]);
            let zero = b.num(0.0);
            let cut = b.range(&plain, axis, 0, now.min(wanted))?;
            super::layout::filled(b, &cut, axis, 0, wanted.saturating_sub(now), &zero)?
        }
        None => plain,
    };
    let (turned, mut back) = last_axis(b, &plain, axis)?;
    let made = b.apply(Op::Rfft, &[&turned], x.elem)?;
    back.push(back.len());
    Ok(vec![b.transpose(&made, &back)?])
}
