//! Launchers that start a command several times: `torchrun`, Slurm's `srun`, Open MPI's `mpirun`.
//!
//! ```
//! use rml::launch::Launch;
//!
//! let started = |name: &str| match name {
//!     "RANK" => Some("1".to_owned()),
//!     "WORLD_SIZE" => Some("4".to_owned()),
//!     _ => None,
//! };
//! let launch = Launch::of(started).unwrap();
//! assert_eq!((launch.rank, launch.processes), (1, 4));
//! ```

use std::time::Duration;

use rml_base::Diagnostic;
use rml_base::codes::run::{NO_LAUNCHER, SEVERAL_PROCESSES};
use rml_collective::{MeetingPoint, Rendezvous, Tcp};
use rml_run::Ranks;

/// One of several processes that were started together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Launch {
    /// The number of the process, from 0.
    pub rank: usize,
    /// How many processes there are.
    pub processes: usize,
    /// How many of them run on this machine, if the launcher says so.
    pub here: usize,
    /// The environment variable with the number of processes.
    pub variable: &'static str,
}

/// The variables that launchers set: the number of a process, the number of processes, and how many of them run on this
/// machine. Slurm gives each process its own cores, so each process counts as alone on its machine.
const LAUNCHERS: [[&str; 3]; 3] = [
    ["RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"],
    ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"],
    ["SLURM_PROCID", "SLURM_STEP_NUM_TASKS", ""],
];

/// The value of an environment variable.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl Launch {
    /// Reads the environment.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name| variable(name)?.trim().parse::<usize>().ok();
        LAUNCHERS.into_iter().find_map(|[rank, processes, here]| {
            let launch = Self {
                rank: number(rank)?,
                processes: number(processes)?,
                here: number(here).unwrap_or(1).max(1),
                variable: processes,
            };
            (launch.rank < launch.processes).then_some(launch)
        })
    }

    /// The launch of this process. None if it was started alone.
    pub fn here() -> Option<Self> {
        Self::of(variable).filter(|launch| launch.processes > 1)
    }

    /// How often `torchrun` started the processes before.
    pub fn restarts(variable: impl Fn(&str) -> Option<String>) -> usize {
        let count = variable("TORCHELASTIC_RESTART_COUNT");
        count.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    /// The launch of this process, also of a single one.
    ///
    /// # Errors
    /// It was started by no launcher (`no-launcher`).
    pub fn required() -> Result<Self, Diagnostic> {
        Self::of(variable).ok_or_else(none)
    }

    /// Meets the other processes where the environment says, to train with them. `patience` is how long to wait for
    /// them, here and in each exchange.
    ///
    /// # Errors
    /// No address to meet at (`no-launcher`); processes that do not come (`no-peers`) or do not belong together
    /// (`ranks-differ`).
    pub fn join(self, patience: Duration) -> Result<Ranks, Diagnostic> {
        Ok(Ranks::new(Tcp::join(&self.meeting(variable, host(), patience)?)?))
    }

    /// Where this process meets the others, as the environment says.
    fn meeting(
        self,
        variable: impl Fn(&str) -> Option<String>,
        host: String,
        patience: Duration,
    ) -> Result<Rendezvous, Diagnostic> {
        let named = || Some((variable("MASTER_ADDR")?, variable("MASTER_PORT")?));
        let slurm = || {
            let job = variable("SLURM_JOB_ID")?;
            let last =
                job.trim().chars().rev().take(4).collect::<Vec<_>>().into_iter().rev().collect::<String>();
            Some((
                first_host(&variable("SLURM_STEP_NODELIST")?),
                (15_000 + last.parse::<u16>().ok()?).to_string(),
            ))
        };
        let Some((address, port)) = named().or_else(slurm) else {
            let Self { rank, processes, .. } = self;
            let what = format!("nothing says where the {processes} processes meet");
            return Err(Diagnostic::error(NO_LAUNCHER, what)
                .note(format!("this is process {rank}; `MASTER_ADDR` and `MASTER_PORT` are not set"))
                .help("set them to an address of the machine of rank 0 and a free port there: `mpirun -x MASTER_ADDR=node1 -x MASTER_PORT=29500 ..`"));
        };
        let Ok(number) = port.trim().parse() else {
            let what = format!("`MASTER_PORT` is no port: {port}");
            return Err(Diagnostic::error(NO_LAUNCHER, what).help("set it to a number from 1 to 65535"));
        };
        let has_store = variable("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|value| value == "True");
        let place = if has_store {
            let key = format!("rml/{}/rank0", Self::restarts(&variable));
            MeetingPoint::Store { host: address, port: number, key }
        } else {
            MeetingPoint::Address { host: address, port: number }
        };
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Ok(Rendezvous { rank: self.rank, size: self.processes, host, version, place, patience })
    }

    /// The error for a training in several processes: all of them would do the same work, and write the same files.
    pub fn refused(self) -> Diagnostic {
        let Self { rank, processes, variable, .. } = self;
        let what = format!("this is process {rank} of {processes}, and nothing says how they share the work");
        Diagnostic::error(SEVERAL_PROCESSES, what)
            .note(format!("{variable}={processes} in the environment: all of them would do the same"))
            .help("they train one network together: `--distributed`")
            .help(format!(
                "several trainings are shared among processes: `--runs DIR --seeds 0..{processes}`"
            ))
    }
}

/// The name of this machine.
pub fn host() -> String {
    gethostname::gethostname().to_string_lossy().into_owned()
}

/// The error of `--distributed` without a launcher.
fn none() -> Diagnostic {
    let [variables, mpi, slurm] = LAUNCHERS.map(|[rank, processes, _]| format!("`{rank}` and `{processes}`"));
    Diagnostic::error(NO_LAUNCHER, "`--distributed` is for processes that were started together")
        .note(format!("none of these is in the environment: {variables}, {mpi}, {slurm}"))
        .help("start it by a launcher: `torchrun --nproc-per-node 2 --no-python rml train ..`, `srun`, `mpirun`")
        .help("or leave `--distributed` out; `--shards N` gives the same result in one process")
}

/// The first name in a list of nodes of Slurm, such as `node[07-12,15],login`.
fn first_host(list: &str) -> String {
    match list.split_once([',', '[']) {
        Some((name, rest)) if list.as_bytes().get(name.len()) == Some(&b'[') => {
            let number = rest.split([',', '-', ']']).next().unwrap_or_default();
            format!("{name}{number}")
        }
        Some((name, _)) => name.to_owned(),
        None => list.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(set: &[(&str, &str)]) -> Option<Launch> {
        Launch::of(|name| set.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn launchers_are_told_by_their_variables() {
        let launch = of(&[("RANK", "3"), ("WORLD_SIZE", "8"), ("LOCAL_WORLD_SIZE", "4")]);
        let wanted = Launch { rank: 3, processes: 8, here: 4, variable: "WORLD_SIZE" };
        assert_eq!(launch, Some(wanted));
        let open_mpi = of(&[("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "2")]);
        assert_eq!(open_mpi.map(|launch| (launch.rank, launch.processes, launch.here)), Some((0, 2, 1)));
        let slurm = of(&[("SLURM_PROCID", "1"), ("SLURM_STEP_NUM_TASKS", "2")]);
        assert_eq!(slurm.map(|launch| launch.rank), Some(1));
    }

    #[test]
    fn half_a_launch_is_none() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("RANK", "0"), ("WORLD_SIZE", "1")]).map(|launch| launch.processes), Some(1));
        assert_eq!(of(&[("WORLD_SIZE", "8")]), None);
        assert_eq!(of(&[("RANK", "x"), ("WORLD_SIZE", "8")]), None);
        assert_eq!(of(&[("RANK", "8"), ("WORLD_SIZE", "8")]), None);
    }

    fn meeting(set: &[(&str, &str)]) -> Result<MeetingPoint, String> {
        let variable = |name: &str| set.iter().find(|(own, _)| *own == name).map(|(_, v)| (*v).to_owned());
        let launch = Launch { rank: 1, processes: 2, here: 1, variable: "WORLD_SIZE" };
        let meeting = launch.meeting(variable, "here".to_owned(), Duration::from_secs(1));
        meeting.map(|meeting| meeting.place).map_err(|d| d.message)
    }

    #[test]
    fn processes_meet_where_the_launcher_says() {
        let address = |host: &str, port| Ok(MeetingPoint::Address { host: host.to_owned(), port });
        let own = [("MASTER_ADDR", "node1"), ("MASTER_PORT", "29500")];
        assert_eq!(meeting(&own), address("node1", 29500));
        let agent = [("TORCHELASTIC_USE_AGENT_STORE", "True"), ("TORCHELASTIC_RESTART_COUNT", "2")];
        let (host, key) = ("node1".to_owned(), "rml/2/rank0".to_owned());
        assert_eq!(meeting(&[&own[..], &agent].concat()), Ok(MeetingPoint::Store { host, port: 29500, key }));
        let slurm = [("SLURM_JOB_ID", "1234567"), ("SLURM_STEP_NODELIST", "n[07-12,15],login")];
        assert_eq!(meeting(&slurm), address("n07", 19567));
        assert_eq!(meeting(&[&own[..], &slurm].concat()), address("node1", 29500));
        assert!(meeting(&own[..1]).is_err_and(|what| what.contains("nothing says where")));
        assert!(meeting(&[own[0], ("MASTER_PORT", "x")]).is_err_and(|what| what.contains("no port: x")));
    }

    #[test]
    fn the_first_node_of_a_list_is_found() {
        for (list, first) in [("a", "a"), ("a,b[1-2]", "a"), ("gpu-[003,005-9]", "gpu-003"), ("c[7]", "c7")] {
            assert_eq!(first_host(list), first);
        }
    }
}
