//! The memory for values: the limit of the process, and the memory that the machine grants.
//!
//! The limit is set once, by [`set_limit`], or to [`default_limit`] at the first use of the library. It is checked
//! before any computation or read whose size depends on programs or data; the error for exceeding it is `memory-limit`.

use std::path::Path;

pub use rml_base::memory::{Reservation, Shortage, UNCOUNTABLE, ask, bytes_of, limit, set_limit, size, used};

/// The limit if the system does not report the memory that it grants.
const ELSEWHERE: u64 = 8 << 30;

/// The limit in bytes if none is set: half of the memory that the machine grants this process. The other half is for
/// memory that is not counted: texts, tables of the compiler, and memory of the allocator. On Linux, the granted memory
/// is the minimum of the physical memory, the limits of the control groups, and the limits of the process's address
/// space and data; on other systems, it is assumed to be 16 GiB.
pub fn default_limit() -> u64 {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    granted(&read).map_or(ELSEWHERE, |bytes| bytes / 2)
}

/// Sets the default limit if no limit is set. Code that compiles or reads calls this first.
pub fn prepare() {
    rml_base::memory::set_default_limit(default_limit);
}

/// The number of bytes that the system grants the process, according to the system's files.
fn granted(read: &dyn Fn(&Path) -> Option<String>) -> Option<u64> {
    let text = |path: &str| read(Path::new(path)).unwrap_or_default();
    let physical = text("/proc/meminfo").lines().find_map(|line| {
        let kib: u64 = line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kib.checked_mul(1024)
    });
    let limits = text("/proc/self/limits");
    let process = limits.lines().filter_map(|line| {
        let rest = ["Max address space", "Max data size"].iter().find_map(|name| line.strip_prefix(name))?;
        rest.split_whitespace().next()?.parse().ok()
    });
    let groups = text("/proc/self/cgroup");
    let groups = groups.lines().filter_map(|line| group(line, read));
    physical.into_iter().chain(process).chain(groups).min()
}

/// The minimum of the limits of a control group and its ancestors. `line` is from `/proc/self/cgroup`: `0::/path` in
/// version 2, `4:memory:/path` in version 1.
fn group(line: &str, read: &dyn Fn(&Path) -> Option<String>) -> Option<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    let (root, file) = match controllers {
        "" => ("/sys/fs/cgroup", "memory.max"),
        _ if controllers.split(',').any(|c| c == "memory") => {
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
        }
        _ => return None,
    };
    let around = Path::new(path.trim_start_matches('/')).ancestors();
    around.filter_map(|folder| read(&Path::new(root).join(folder).join(file))?.trim().parse().ok()).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The memory that a machine with the given files grants.
    fn with(files: &[(&str, &str)]) -> Option<u64> {
        granted(&|path| {
            files.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| (*text).to_owned())
        })
    }

    const MEMORY: (&str, &str) = ("/proc/meminfo", "MemTotal:       16000000 kB\nMemFree:  1 kB\n");

    #[test]
    fn the_least_of_what_the_system_says() {
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[MEMORY]), Some(16_384_000_000));
        let limits = "Limit   Soft Limit  Hard Limit  Units\nMax stack size  8388608  unlimited  bytes\n\
                      Max address space         4096000000           unlimited            bytes\n";
        assert_eq!(with(&[MEMORY, ("/proc/self/limits", limits)]), Some(4_096_000_000));
        let unlimited = "Max address space         unlimited            unlimited            bytes\n";
        assert_eq!(with(&[MEMORY, ("/proc/self/limits", unlimited)]), Some(16_384_000_000));
    }

    #[test]
    fn control_groups_and_those_around_them() {
        let second =
            [MEMORY, ("/proc/self/cgroup", "0::/a/b\n"), ("/sys/fs/cgroup/a/memory.max", "1000000\n")];
        assert_eq!(with(&second), Some(1_000_000));
        let inner = ("/sys/fs/cgroup/a/b/memory.max", "max\n");
        assert_eq!(with(&[&second[..], &[inner]].concat()), Some(1_000_000));
        let first = [
            MEMORY,
            ("/proc/self/cgroup", "5:cpu:/x\n4:cpuset,memory:/a/b\n"),
            // Within a container, the path of the group does not exist, but the root has the limit of the group.
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "2000000\n"),
        ];
        assert_eq!(with(&first), Some(2_000_000));
    }

    #[test]
    fn there_is_always_a_default() {
        assert!(default_limit() > 1 << 20);
    }
}
