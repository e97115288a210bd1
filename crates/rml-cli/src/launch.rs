//! Launchers that start a command several times: `torchrun`, Slurm's `srun`, Open MPI's `mpirun`.

use rml::Diagnostic;
use rml::codes::run::SEVERAL_PROCESSES;

/// One of several processes that were started together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Launch {
    /// The number of the process, from 0.
    pub(crate) rank: usize,
    /// How many processes there are.
    pub(crate) processes: usize,
    /// How many of them run on this machine, if the launcher says so.
    pub(crate) here: usize,
    /// The environment variable with the number of processes.
    pub(crate) variable: &'static str,
}

/// The variables that launchers set: the number of a process, the number of processes, and how many of them run on this
/// machine. Slurm gives each process its own cores, so each process counts as alone on its machine.
const LAUNCHERS: [[&str; 3]; 3] = [
    ["RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"],
    ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"],
    ["SLURM_PROCID", "SLURM_STEP_NUM_TASKS", ""],
];

impl Launch {
    /// Reads the environment. None if this process was started alone.
    pub(crate) fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name| variable(name)?.trim().parse::<usize>().ok();
        LAUNCHERS.into_iter().find_map(|[rank, processes, here]| {
            let launch = Self {
                rank: number(rank)?,
                processes: number(processes)?,
                here: number(here).unwrap_or(1).max(1),
                variable: processes,
            };
            (launch.processes > 1).then_some(launch)
        })
    }

    /// The launch of this process.
    pub(crate) fn here() -> Option<Self> {
        Self::of(|name| std::env::var(name).ok())
    }

    /// The error for a training in several processes: all of them would do the same work, and write the same files.
    pub(crate) fn refused(self) -> Diagnostic {
        let Self { rank, processes, variable, .. } = self;
        let what = format!("this is process {rank} of {processes}, and `rml train` trains in one process");
        Diagnostic::error(SEVERAL_PROCESSES, what)
            .note(format!("{variable}={processes} in the environment: all of them would do the same"))
            .help(format!(
                "several trainings are shared among processes: `--runs DIR --seeds 0..{processes}`"
            ))
            .help("start it once; it uses all cores, or as many as `--threads N` says")
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
    fn one_process_is_no_launch() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("RANK", "0"), ("WORLD_SIZE", "1")]), None);
        assert_eq!(of(&[("WORLD_SIZE", "8")]), None);
        assert_eq!(of(&[("RANK", "x"), ("WORLD_SIZE", "8")]), None);
    }
}
