//! Data that is read once, from its beginning to its end: a file or standard input, compressed or not. Compressed data
//! is unpacked during reading and is never completely in memory.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use rml_base::codes::run as codes;
use rml_base::memory::{Reservation, Shortage};
use rml_base::{Diagnostic, refusal};
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::contents::{self, Contents};
use crate::memory;

/// The path for standard input.
const STANDARD_INPUT: &str = "-";
/// The minimum number of bytes by which the buffer grows.
const CHUNK: usize = 1 << 16;
/// Frames of Zstandard data with a larger window are refused.
const MAX_WINDOW: u64 = 1 << 27;

/// The compression of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    /// No compression.
    Plain,
    /// gzip (`.gz`).
    Gzip,
    /// Zstandard (`.zst`).
    Zstd,
}

impl Compression {
    /// The compression of a file by its name, and the name without the extension of the compression.
    ///
    /// ```
    /// use std::path::Path;
    /// use rml_files::Compression;
    ///
    /// let (how, name) = Compression::of(Path::new("data/table.csv.gz"));
    /// assert_eq!((how, name), (Compression::Gzip, "data/table.csv".into()));
    /// ```
    pub fn of(path: &Path) -> (Self, PathBuf) {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
        let how = match extension.as_str() {
            "gz" => Self::Gzip,
            "zst" => Self::Zstd,
            _ => return (Self::Plain, path.to_owned()),
        };
        (how, path.with_extension(""))
    }

    /// The compression of data by its first bytes.
    fn of_bytes(begin: &[u8]) -> Self {
        match begin {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            _ => Self::Plain,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain data",
            Self::Gzip => "gzip",
            Self::Zstd => "Zstandard",
        }
    }
}

/// Whether a path is that of standard input.
pub fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == STANDARD_INPUT
}

/// Data that is read once.
pub struct Unpacked {
    reader: Box<dyn BufRead>,
    compression: Compression,
    origin: String,
}

impl std::fmt::Debug for Unpacked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unpacked").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl Unpacked {
    /// Opens a file, whose compression is determined by its name, or standard input, whose compression is determined by
    /// its first bytes.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn open(path: &Path) -> Result<Self, Diagnostic> {
        memory::prepare();
        if is_standard_input(path) {
            return Self::of_unnamed(BufReader::new(io::stdin()), "standard input");
        }
        let (file, _) = contents::pieces(path)?;
        Ok(Self::new(BufReader::new(file), Compression::of(path).0, &path.display().to_string()))
    }

    /// Data without a file name.
    fn of_unnamed(mut from: impl BufRead + 'static, origin: &str) -> Result<Self, Diagnostic> {
        let begin = from.fill_buf().map_err(|e| unreadable(origin, &e))?;
        let compression = Compression::of_bytes(begin);
        Ok(Self::new(from, compression, origin))
    }

    fn new(from: impl BufRead + 'static, compression: Compression, origin: &str) -> Self {
        let reader: Box<dyn BufRead> = match compression {
            Compression::Plain => Box::new(from),
            Compression::Gzip => Box::new(BufReader::new(MultiGzDecoder::new(from))),
            Compression::Zstd => Box::new(BufReader::new(Frames::new(from))),
        };
        Self { reader, compression, origin: origin.to_owned() }
    }

    /// All remaining bytes, if the memory suffices.
    ///
    /// # Errors
    /// The data cannot be read or unpacked, or does not fit into the memory.
    pub fn contents(mut self) -> Result<Contents, Diagnostic> {
        let (mut bytes, mut reserved) = (Vec::new(), Reservation::default());
        loop {
            if bytes.len() == bytes.capacity() {
                let more = bytes.len().max(CHUNK);
                let short = |short: Shortage| short.diagnostic(&self.origin);
                reserved.grow(more as u64).map_err(short)?;
                bytes.reserve_exact(more);
            }
            let room = (bytes.capacity() - bytes.len()) as u64;
            let read = (&mut self.reader).take(room).read_to_end(&mut bytes);
            if read.map_err(|e| self.failed(&e))? == 0 {
                return Ok(Contents::new(bytes, reserved));
            }
        }
    }

    /// At most the first `most` bytes. They stay unread.
    ///
    /// # Errors
    /// The data cannot be read or unpacked.
    pub fn begin(&mut self, most: usize) -> Result<Vec<u8>, Diagnostic> {
        let mut begin = Vec::new();
        let read = (&mut self.reader).take(most as u64).read_to_end(&mut begin);
        read.map_err(|e| self.failed(&e))?;
        let rest = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        self.reader = Box::new(io::Cursor::new(begin.clone()).chain(rest));
        Ok(begin)
    }

    /// The error for bytes that cannot be read.
    fn failed(&self, why: &io::Error) -> Diagnostic {
        if self.compression == Compression::Plain {
            return unreadable(&self.origin, why);
        }
        let what = format!("{} cannot be unpacked", self.origin);
        Diagnostic::error(codes::MALFORMED_DATA, what)
            .note(damage(self.compression, why))
            .help("pack the file again, or unpack it and read the file without the last extension")
    }
}

impl Read for Unpacked {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buf).map_err(|e| match self.compression {
            Compression::Plain => e,
            packed => io::Error::new(e.kind(), damage(packed, &e)),
        })
    }
}

/// Describes the error in compressed data.
fn damage(compression: Compression, why: &io::Error) -> String {
    let name = compression.name();
    match why.kind() {
        io::ErrorKind::UnexpectedEof => format!("its {name} data ends too early"),
        _ => format!("it is not {name} data, or is damaged: {}", refusal(why)),
    }
}

fn unreadable(origin: &str, why: &io::Error) -> Diagnostic {
    Diagnostic::error(codes::UNREADABLE_FILE, format!("{origin} cannot be read")).note(refusal(why))
}

/// The content of frames of Zstandard data that have `length` bytes; `None` if they are damaged or have another length.
/// The memory for the content has been requested.
pub fn unpack_zstd(bytes: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut unpacked = Vec::new();
    Frames::new(bytes).take(length as u64 + 1).read_to_end(&mut unpacked).ok()?;
    (unpacked.len() == length).then_some(unpacked)
}

/// The frames of Zstandard data, one after the other.
struct Frames<R: BufRead> {
    from: R,
    /// The current frame.
    frame: Option<Box<FrameDecoder>>,
}

impl<R: BufRead> Frames<R> {
    fn new(from: R) -> Self {
        Self { from, frame: None }
    }

    /// Begins the next frame that contains data; returns `None` at the end.
    fn next(&mut self) -> io::Result<Option<Box<FrameDecoder>>> {
        while !self.from.fill_buf()?.is_empty() {
            let mut frame = Box::new(FrameDecoder::new());
            // A frame keeps a window of its unpacked data.
            frame.set_max_window_size(MAX_WINDOW.min(memory::limit().saturating_sub(memory::used())));
            match frame.init(&mut self.from) {
                Ok(()) => return Ok(Some(frame)),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut (&mut self.from).take(length.into()), &mut io::sink())?;
                }
                Err(why) => return Err(io::Error::other(why)),
            }
        }
        Ok(None)
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut frame = match self.frame.take() {
                Some(frame) => frame,
                None => match self.next()? {
                    Some(frame) => frame,
                    None => return Ok(0),
                },
            };
            while frame.can_collect() == 0 && !frame.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                frame.decode_blocks(&mut self.from, one).map_err(io::Error::other)?;
            }
            let read = frame.read(buf)?;
            if read > 0 || buf.is_empty() {
                self.frame = Some(frame);
                return Ok(read);
            }
            let declared = frame.get_checksum_from_data();
            if declared.is_some() && declared != frame.get_calculated_checksum() {
                return Err(io::Error::other("its checksum differs from that of its content"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn packed(text: &[u8]) -> [(&'static str, Vec<u8>); 2] {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gz.write_all(text).unwrap();
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        [("a.gz", gz.finish().unwrap()), ("a.zst", ruzstd::encoding::compress_to_vec(text, level))]
    }

    fn text() -> Vec<u8> {
        (0..40_000).flat_map(|i| format!("{i},{}\n", i * 7919 % 1000).into_bytes()).collect()
    }

    #[test]
    fn what_is_packed_is_read_by_its_name_or_its_first_bytes() {
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in packed(&text()) {
            let twice = [bytes.clone(), bytes.clone()].concat();
            std::fs::write(dir.path().join(name), twice).unwrap();
            let all = Unpacked::open(&dir.path().join(name)).unwrap().contents().unwrap().bytes;
            assert_eq!(all, text().repeat(2), "{name}");
            let mut unnamed = Unpacked::of_unnamed(io::Cursor::new(bytes), "standard input").unwrap();
            assert_eq!(unnamed.begin(10).unwrap(), text()[..10]);
            assert_eq!(unnamed.contents().unwrap().bytes, text(), "{name}");
        }
        let plain = Unpacked::of_unnamed(io::Cursor::new(text()), "standard input").unwrap();
        assert_eq!(plain.contents().unwrap().bytes, text());
    }

    #[test]
    fn what_is_damaged_is_no_panic() {
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in packed(&text()) {
            let path = dir.path().join(name);
            let mut other = bytes.clone();
            let middle = other.len() / 2;
            other[middle] ^= 0x55;
            for damaged in [&bytes[..bytes.len() / 2], &bytes[..bytes.len() - 1], &other, b"x,y\n1,2\n"] {
                std::fs::write(&path, damaged).unwrap();
                let found = Unpacked::open(&path).unwrap().contents().unwrap_err();
                assert_eq!(found.code, codes::MALFORMED_DATA, "{name}");
                assert!(found.message.ends_with(&format!("{name} cannot be unpacked")), "{found:?}");
            }
        }
    }
}
