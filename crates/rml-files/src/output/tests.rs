use super::*;

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    write_output(path, bytes)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn replaces_and_keeps() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    write(&path, b"one").unwrap();
    write(&path, b"two").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"two");
    assert_eq!(names(dir.path()), ["a"], "no temporary file is left");
}

#[test]
fn files_that_belong_together_are_replaced_together() {
    let dir = tempfile::tempdir().unwrap();
    let [a, b, folder] = ["a", "b", "c"].map(|name| dir.path().join(name));
    std::fs::write(&a, "old").unwrap();
    std::fs::create_dir(&folder).unwrap();
    let error = write_outputs(&[(&a, b"new"), (&b, b"new"), (&folder, b"new")]).unwrap_err();
    assert!(error.to_string().contains("it is a folder"), "{error}");
    assert_eq!((std::fs::read(&a).unwrap(), b.exists()), (b"old".to_vec(), false));
    write_outputs(&[(&a, b"new"), (&b, b"newer")]).unwrap();
    assert_eq!(
        (std::fs::read(&a).unwrap(), std::fs::read(&b).unwrap()),
        (b"new".to_vec(), b"newer".to_vec())
    );
    assert_eq!(names(dir.path()), ["a", "b", "c"], "no temporary file is left");
}

/// The check reports the same errors as the write.
#[test]
fn what_cannot_be_written_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    std::fs::create_dir(path("folder")).unwrap();
    std::fs::write(path("file"), "x").unwrap();
    std::fs::write(path("fixed"), "x").unwrap();
    let mut permissions = std::fs::metadata(path("fixed")).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(path("fixed"), permissions).unwrap();
    for (name, why) in [
        ("folder", "it is a folder"),
        ("new/", "the name of a folder"),
        ("new/.", "the name of a folder"),
        ("..", "the name of a folder"),
        ("no/such", "there is no folder"),
        ("file/such", "is no folder"),
        ("fixed", "it is read-only"),
        ("/dev/null", "not a regular file"),
    ] {
        let [before, after] =
            [check_output(&path(name), &[]), write(&path(name), b"y")].map(Result::unwrap_err);
        assert_eq!(before.code(), Some(codes::UNWRITABLE_FILE));
        assert!(before.to_string().contains(why), "{why} in {before}");
        assert_eq!(before.to_string(), after.to_string());
    }
    assert!(check_output(&path(&"n".repeat(300)), &[]).is_err());
    for name in ["file", "new", &"n".repeat(250)] {
        check_output(&path(name), &[]).unwrap();
        write(&path(name), b"y").unwrap();
    }
    assert_eq!(names(dir.path()).len(), 5, "no temporary file is left");
}

#[cfg(unix)]
#[test]
fn inputs_are_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    std::fs::write(path("in"), "x").unwrap();
    std::fs::create_dir(path("folder")).unwrap();
    std::fs::hard_link(path("in"), path("hard")).unwrap();
    std::os::unix::fs::symlink("in", path("link")).unwrap();
    for name in ["in", "hard", "link", "folder/../in"] {
        let error = check_output(&path(name), &[path("none"), path("in")]).unwrap_err();
        assert_eq!(error.code(), Some(codes::OUTPUT_IS_INPUT), "{name}");
        assert_eq!(error.to_string().contains("the same file as"), name != "in", "{error}");
    }
    assert!(check_output(&path("out"), &[path("in"), path("out")]).is_ok());
}

#[cfg(unix)]
#[test]
fn a_link_stays_and_what_it_leads_to_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    std::fs::create_dir(path("folder")).unwrap();
    std::os::unix::fs::symlink("folder/a", path("link")).unwrap();
    std::os::unix::fs::symlink("round", path("round")).unwrap();
    for text in ["one", "two"] {
        check_output(&path("link"), &[]).unwrap();
        write(&path("link"), text.as_bytes()).unwrap();
        assert_eq!(std::fs::read_to_string(path("folder/a")).unwrap(), text);
    }
    assert!(std::fs::symlink_metadata(path("link")).unwrap().is_symlink());
    assert!(check_output(&path("round"), &[]).unwrap_err().to_string().contains("leads nowhere"));
}

#[test]
fn leftovers_of_writers_that_are_gone_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a", "b", &"n".repeat(250)] {
        let path = dir.path().join(name);
        // A killed writer does not remove its file, and the system releases its lock.
        let (_, killed) = temporary::create(&path).unwrap().keep().unwrap();
        let at_work = temporary::create(&path).unwrap();
        let other = dir.path().join(format!(".{:.100}x.rml-abcdef.tmp", name));
        std::fs::write(&other, "").unwrap();
        assert!(killed.file_name().unwrap().to_string_lossy().contains(".rml-"));
        check_output(&dir.path().join("c"), &[]).unwrap();
        assert!(killed.exists(), "it belongs to another file");
        check_output(&path, &[]).unwrap();
        assert!(!killed.exists() && at_work.path().exists() && other.exists());
        std::fs::remove_file(other).unwrap();
    }
    assert_eq!(names(dir.path()), [""; 0]);
}
