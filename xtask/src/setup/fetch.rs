//! Fetching wheels: what exists stays, what is half there continues, and no file bears its name before its hash is
//! right.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::http::{Client, Failure};
use super::progress::{Progress, megabytes};
use super::wheels::Wheel;
use super::{cache, disk, index, pip};

/// How long is waited before a failed connection is tried again, each time; progress starts the list again.
const PAUSES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(10)];

/// The folder of fetched files, and from where they come.
pub(super) struct Fetcher {
    downloads: PathBuf,
    pip: pip::Config,
    pauses: &'static [Duration],
}

impl Fetcher {
    /// Fetches into that folder, from where pip is configured to.
    pub(super) fn new(downloads: &Path) -> Result<Fetcher, String> {
        std::fs::create_dir_all(downloads).map_err(|e| disk::failure("make", downloads, &e))?;
        let variable = |name: &str| cache::environment(name)?.into_string().ok();
        let pip = pip::config(&variable, &|path| std::fs::read_to_string(path).ok());
        Ok(Fetcher { downloads: downloads.to_path_buf(), pip, pauses: &PAUSES })
    }

    /// The paths of those wheels, all fetched and right.
    pub(super) fn all(&self, wheels: &[Wheel]) -> Result<Vec<PathBuf>, String> {
        let total = megabytes(wheels.iter().map(|w| w.size).sum());
        println!("{} wheels, {total:.0} MB, in {}", wheels.len(), self.downloads.display());
        wheels.iter().map(|wheel| self.one(wheel)).collect()
    }

    fn one(&self, wheel: &Wheel) -> Result<PathBuf, String> {
        let path = self.downloads.join(wheel.file);
        if path.exists() {
            if hash(&path)? == wheel.sha256 {
                println!("  {}: there already", wheel.file);
                return Ok(path);
            }
            println!("  {}: damaged, fetched again", wheel.file);
            std::fs::remove_file(&path).map_err(|e| disk::failure("remove", &path, &e))?;
        }
        let local = self.pip.links.iter().map(|folder| folder.join(wheel.file)).find(|p| p.is_file());
        if let Some(local) = local.filter(|p| hash(p).is_ok_and(|h| h == wheel.sha256)) {
            return self.copy(&local, wheel);
        }
        let client = Client::new(&self.pip)?;
        let url = self.address(&client, wheel).map_err(|told| self.explained(wheel, &told))?;
        self.transfer(&client, &url, wheel)
    }

    fn copy(&self, local: &Path, wheel: &Wheel) -> Result<PathBuf, String> {
        println!("  {}: from {}", wheel.file, local.display());
        let part = self.part(wheel);
        std::fs::copy(local, &part).map_err(|e| disk::failure("write", &part, &e))?;
        self.accept(wheel)
    }

    /// What went wrong, and what fixes it.
    fn explained(&self, wheel: &Wheel, error: &str) -> String {
        format!(
            "cannot fetch {}: {error}\n\
             fix: check the network and pip's configuration (PIP_INDEX_URL, PIP_CERT, HTTPS_PROXY) and run the command again, it continues \
             where it stopped; or put that file into {} by hand (SHA-256 {})",
            wheel.file,
            self.downloads.display(),
            wheel.sha256
        )
    }

    /// Where the indexes say that the file is.
    fn address(&self, client: &Client, wheel: &Wheel) -> Result<String, String> {
        let mut answers = Vec::new();
        for index in &self.pip.indexes {
            let page = index::page(index, wheel.project);
            match self.persistently(|| client.text(&page, index::ACCEPT)) {
                Ok(text) => match index::find(&page, &text, wheel.file) {
                    Some(url) => return Ok(url),
                    None => answers.push(format!("{page} does not list it")),
                },
                Err(told) => answers.push(told),
            }
        }
        Err(if answers.is_empty() {
            "pip's configuration names no index".to_owned()
        } else {
            answers.join("; ")
        })
    }

    /// Asks again after passing failures, with pauses.
    fn persistently<T>(&self, ask: impl Fn() -> Result<T, Failure>) -> Result<T, String> {
        let mut pauses = self.pauses.iter();
        loop {
            match (ask(), pauses.next()) {
                (Ok(answer), _) => return Ok(answer),
                (Err(Failure::Passing(told)), Some(pause)) => wait(&told, *pause),
                (Err(Failure::Passing(told) | Failure::Final(told) | Failure::Disk(told)), _) => {
                    return Err(told);
                }
                (Err(Failure::NoSuchRange), _) => return Err("the server has no such range".to_owned()),
            }
        }
    }

    /// Brings the rest of the file from that address, however many connections it takes, and gives it its name.
    fn transfer(&self, client: &Client, url: &str, wheel: &Wheel) -> Result<PathBuf, String> {
        let part = self.part(wheel);
        let mut pauses = self.pauses.iter();
        let mut joined = false; // whether the part comes from more than one connection
        loop {
            let have = std::fs::metadata(&part).map_or(0, |m| m.len());
            if have == wheel.size {
                match self.accept(wheel) {
                    Err(_) if joined => {
                        println!("  {}: the joined parts are not the file; fetched again", wheel.file);
                        joined = false;
                        continue;
                    }
                    outcome => return outcome,
                }
            }
            joined |= have > 0;
            match continue_part(client, url, wheel, &part, have) {
                Ok(()) => {}
                Err(Failure::Disk(told)) => return Err(told),
                Err(Failure::Final(told)) => return Err(self.explained(wheel, &told)),
                Err(Failure::NoSuchRange) if have == 0 => {
                    return Err(self.explained(wheel, &format!("{url}: the server has nothing there")));
                }
                Err(Failure::NoSuchRange) => remove(&part)?,
                Err(Failure::Passing(told)) => {
                    if std::fs::metadata(&part).is_ok_and(|m| m.len() > have) {
                        pauses = self.pauses.iter();
                    }
                    let Some(pause) = pauses.next() else { return Err(self.explained(wheel, &told)) };
                    wait(&told, *pause);
                }
            }
        }
    }

    fn part(&self, wheel: &Wheel) -> PathBuf {
        self.downloads.join(format!("{}.part", wheel.file))
    }

    /// Gives the part its name if its hash is right, and removes it if not.
    fn accept(&self, wheel: &Wheel) -> Result<PathBuf, String> {
        let part = self.part(wheel);
        let found = hash(&part)?;
        if found != wheel.sha256 {
            remove(&part)?;
            let told = format!(
                "what came has the SHA-256 {found} and should have {}; the mirror serves another file under that name",
                wheel.sha256
            );
            return Err(self.explained(wheel, &told));
        }
        let path = self.downloads.join(wheel.file);
        std::fs::rename(&part, &path).map_err(|e| disk::failure("rename", &part, &e))?;
        Ok(path)
    }
}

/// Appends to the part what the server gives from `have` on; begins it again where the server gives the whole file
/// only.
fn continue_part(client: &Client, url: &str, wheel: &Wheel, part: &Path, have: u64) -> Result<(), Failure> {
    if have > wheel.size {
        return Err(Failure::NoSuchRange);
    }
    let mut answer = client.open(url, have, "*/*")?;
    let disk_failure = |e| Failure::Disk(disk::failure("write", part, &e));
    let file = File::options().create(true).append(true).open(part);
    let mut file = file.map_err(disk_failure)?;
    file.set_len(answer.start).map_err(disk_failure)?;
    let mut done = answer.start;
    let mut progress = Progress::new(wheel.file, done, wheel.size);
    let mut buffer = vec![0; 1 << 18];
    loop {
        let read = answer.body.read(&mut buffer).map_err(|e| Failure::Passing(format!("{url}: {e}")))?;
        done += read as u64;
        if done > wheel.size {
            file.set_len(0).map_err(disk_failure)?;
            return Err(Failure::Final(format!(
                "{url}: longer than the {} bytes it should have",
                wheel.size
            )));
        }
        if read == 0 && done < wheel.size {
            return Err(Failure::Passing(format!("{url}: ends after {done} of {} bytes", wheel.size)));
        }
        if read == 0 {
            return file.sync_all().map_err(disk_failure);
        }
        file.write_all(&buffer[..read]).map_err(disk_failure)?;
        progress.advance(done);
    }
}

fn wait(told: &str, pause: Duration) {
    println!("  {told}; trying again in {} s", pause.as_secs());
    std::thread::sleep(pause);
}

fn remove(path: &Path) -> Result<(), String> {
    std::fs::remove_file(path).map_err(|e| disk::failure("remove", path, &e))
}

/// The SHA-256 of a file, in hexadecimal.
pub(super) fn hash(path: &Path) -> Result<String, String> {
    let failure = |e| disk::failure("read", path, &e);
    let mut file = File::open(path).map_err(failure)?;
    let mut hasher = Sha256::new();
    std::io::copy(&mut file, &mut hasher).map_err(failure)?;
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests;
