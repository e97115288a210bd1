//! Compiles programs, and stores compiled programs in files.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use rml_backend::{Compiled, Failure};
use rml_base::codes::backend::BACKEND_MEMORY;
use rml_base::memory::size;
use rml_files::FileCache;

use crate::error::said;
use crate::ffi::{Client, Program};

/// The most files of programs.
const MOST: usize = 256;

/// The compiler for a device.
pub(crate) struct Programs {
    pub(crate) client: Arc<Client>,
    /// The folder of compiled programs, and the prefix of the keys of this device.
    kept: Option<(FileCache, Vec<u8>)>,
    done: Mutex<Compiled>,
}

impl Programs {
    /// Keeps programs in this folder; `settings` are all dependencies of programs besides their text and the device.
    pub(crate) fn new(client: Arc<Client>, folder: Option<&Path>, settings: &str) -> Self {
        let mut done = Compiled::default();
        let kept = folder.and_then(|folder| match client.platform() {
            Ok(platform) => {
                let head = format!("{settings}\n{}\n", platform.len());
                Some((FileCache::new(folder, MOST), [head.as_bytes(), &platform[..]].concat()))
            }
            Err(why) => {
                done.unkept = Some(said(&why).message);
                None
            }
        });
        Self { client, kept, done: Mutex::new(done) }
    }

    /// Counts and times of the programs compiled and loaded so far.
    pub(crate) fn done(&self) -> Compiled {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Compiles a text.
    pub(crate) fn compile(&self, text: &str) -> Result<Program, Failure> {
        let start = Instant::now();
        let program = self.client.compile(text).map_err(|e| said(&e))?;
        self.count(|done| {
            done.programs += 1;
            done.time += start.elapsed();
        });
        Ok(program)
    }

    /// The program of a window. It is refused before it runs if the device has too little memory for it.
    pub(crate) fn window(&self, text: &str) -> Result<Program, Failure> {
        let program = self.load_or_compile(text)?;
        match (program.needs(), self.client.memory()) {
            (Some(needs), Some(has)) if needs > has => Err(too_large(needs, has)),
            _ => Ok(program),
        }
    }

    /// The program of a text: loaded from its file, or else compiled and stored in a file.
    fn load_or_compile(&self, text: &str) -> Result<Program, Failure> {
        let Some((kept, head)) = &self.kept else { return self.compile(text) };
        let key = [&head[..], text.as_bytes()].concat();
        let start = Instant::now();
        if let Some(program) = kept.get(&key).and_then(|bytes| self.client.load(&bytes).ok()) {
            self.count(|done| {
                done.loaded += 1;
                done.load_time += start.elapsed();
            });
            return Ok(program);
        }
        let program = self.compile(text)?;
        let start = Instant::now();
        let put = |bytes: Vec<u8>| kept.put(&key, &bytes).map_err(|e| e.to_string());
        let unkept = program.serialize().map_err(|why| said(&why).message).and_then(put).err();
        self.count(|done| {
            done.time += start.elapsed();
            done.unkept = unkept;
        });
        Ok(program)
    }

    fn count(&self, what: impl FnOnce(&mut Compiled)) {
        what(&mut self.done.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The failure of a window that takes more memory than the device has.
fn too_large(needs: u64, has: u64) -> Failure {
    let (needs, has) = (size(needs), size(has));
    let what = format!("a window takes {needs} of the device's memory, which has {has}");
    Failure::new(BACKEND_MEMORY, what).help("stack fewer windows with `--batch`, or choose another device")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWICE: &str = "module @twice { func.func @main(%x: tensor<1000xf32>) -> tensor<1000xf32> {
        %y = stablehlo.add %x, %x : tensor<1000xf32>
        return %y : tensor<1000xf32> } }";

    #[test]
    fn a_program_says_how_much_memory_it_takes() {
        let client = Arc::new(Client::cpu().unwrap());
        assert_eq!(client.memory(), None, "the cpu has that of the process");
        let programs = Programs::new(client, None, "");
        let needs = programs.window(TWICE).unwrap().needs();
        assert!(needs.is_some_and(|bytes| (8000..16_000).contains(&bytes)), "{needs:?}");
        let failure = too_large(3 << 30, 2 << 30);
        assert_eq!(failure.code, BACKEND_MEMORY);
        let parts = ["a window takes 3221225472 bytes (3.0 GiB)", "which has 2147483648 bytes (2.0 GiB)"];
        assert!(parts.iter().all(|part| failure.message.contains(part)), "{}", failure.message);
    }
}
