//! Weight files of other libraries, and how to convert them to files of tensors.

use rml_base::Diagnostic;

/// How many bytes at the end of an archive are searched for the names of its files.
const END: usize = 1 << 16;

/// A kind of file of another library, and how to convert it.
struct Foreign {
    what: &'static str,
    help: &'static str,
    /// The name of the file of tensors in the advice.
    file: &'static str,
}

const TORCH: Foreign = Foreign {
    what: "it is a file of PyTorch (`torch.save`)",
    help: "write a file of tensors in Python: `safetensors.torch.save_file(model.state_dict(), \"weights.safetensors\")`",
    file: "weights.safetensors",
};

const KERAS: Foreign = Foreign {
    what: "it is a file of Keras (HDF5, or an archive with it)",
    help: "write a file of tensors in Python: `np.savez(\"weights.npz\", **{w.path: w.numpy() for w in model.weights})`",
    file: "weights.npz",
};

const NUMPY: Foreign = Foreign {
    what: "it is an archive of NumPy arrays",
    help: "as a file of tensors, it has a name that ends in `.npz`",
    file: "weights.npz",
};

/// Completes the finding about a file that is not a checkpoint: what it is and how to convert it, if another library
/// wrote it. `None` = no known library writes such files.
pub fn foreign(d: Diagnostic, bytes: &[u8]) -> Option<Diagnostic> {
    let Foreign { what, help, file } = library(bytes)?;
    let import = format!(
        "`rml params import FILE.rml --node infer --from {file} --map map.toml --save net.safetensors`"
    );
    Some(d.note(what).help(help).help(format!(
        "then make a checkpoint of it: {import}; `rml params layouts` lists what a map may name"
    )))
}

/// Completes in the same way the finding about a file that is not a file of tensors.
pub(crate) fn no_tensors(d: Diagnostic, bytes: &[u8]) -> Diagnostic {
    match library(bytes) {
        Some(Foreign { what, help, .. }) => d.note(what).help(help),
        None => d,
    }
}

fn library(bytes: &[u8]) -> Option<Foreign> {
    if bytes.starts_with(b"\x89HDF\r\n\x1a\n") {
        return Some(KERAS);
    }
    // A pickle of protocol 2 or later.
    let is_header = bytes.get(8) == Some(&b'{');
    if let ([0x80, 2..=5, ..], false) = (bytes, is_header) {
        return Some(TORCH);
    }
    if !bytes.starts_with(b"PK\x03\x04") {
        return None;
    }
    let begin = &bytes[..bytes.len().min(END)];
    let end = &bytes[bytes.len().saturating_sub(END)..];
    let names = |name: &[u8]| [begin, end].iter().any(|part| part.windows(name.len()).any(|w| w == name));
    if names(b"data.pkl") {
        Some(TORCH)
    } else if names(b".weights.h5") {
        Some(KERAS)
    } else {
        names(b".npy").then_some(NUMPY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_told_apart() {
        let what = |bytes: &[u8]| library(bytes).map(|found| found.what);
        assert_eq!(what(b"PK\x03\x04....archive/data.pkl..."), Some(TORCH.what));
        assert_eq!(what(b"\x80\x02ccollections"), Some(TORCH.what));
        assert_eq!(what(b"\x89HDF\r\n\x1a\n..."), Some(KERAS.what));
        assert_eq!(what(b"PK\x03\x04...model.weights.h5"), Some(KERAS.what));
        assert_eq!(what(b"PK\x03\x04...x.npy"), Some(NUMPY.what));
        assert_eq!(what(b"PK\x03\x04...x.txt"), None);
        assert_eq!(what(b"\x80\x02\0\0\0\0\0\0{"), None);
        assert_eq!(what(b""), None);
    }
}
