//! Starts plans on the embedded executor, and switches to compiled code in programs that run for a long time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rml_backend::{self as backend, Backend, Buffer, Executable, Failure, Function, Options};
use rml_backend_cpu::Cpu;
use rml_base::memory::Shortage;
use rml_base::profile::Scope;
use rml_executor::{
    About, Choice, Executor, Footprint, Handover, PrepareOptions, Prepared, Refused, Running, TooLong,
    take_over,
};
use rml_ir::{Type, Value};
use rml_plan::Plan;

use crate::Native;

/// Runs plans on the [embedded executor](Cpu). When windows have run for a second, the plan is [compiled](Native) in
/// the background. Then both are timed, and the faster one runs all further windows; the bits are the same.
///
/// Without a C compiler, and for plans that are not printed, all windows run on the embedded executor.
#[derive(Clone, Debug)]
pub struct Auto {
    embedded: Cpu,
    native: Option<Native>,
    patience: Duration,
}

/// How long windows run before the plan is compiled.
const PATIENCE: Duration = Duration::from_secs(1);

/// The shortest time, and the fewest windows, for which compiled code is timed.
const TRIAL: (Duration, u32) = (Duration::from_millis(100), 8);

impl Auto {
    /// Opens both executors.
    ///
    /// # Errors
    /// Another device than `cpu` is requested.
    pub fn open(options: &Options) -> Result<Auto, Failure> {
        options.on_cpu("auto")?;
        let native = Native::open(options).ok();
        Ok(Auto { embedded: Cpu::open(options)?, native, patience: PATIENCE })
    }

    /// The same, with this time before the plan is compiled.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Auto {
        Auto { patience, ..self }
    }
}

/// Functions that are called one by one run on the embedded backend.
impl Backend for Auto {
    fn about(&self) -> backend::About {
        let by = self.native.as_ref().map(|native| Backend::about(native).version);
        let version = format!("cpu; in long runs native, by {}", by.as_deref().unwrap_or("no compiler"));
        let cpu = Backend::about(&self.embedded);
        backend::About { name: "auto".to_owned(), version, ..cpu }
    }

    fn is_host(&self) -> bool {
        true
    }

    fn takes(&self, ty: &Type) -> bool {
        Backend::takes(&self.embedded, ty)
    }

    fn prepare(&self, function: &Function) -> Result<Box<dyn Executable>, Failure> {
        Backend::prepare(&self.embedded, function)
    }

    fn upload(&self, value: &Value) -> Result<Arc<dyn Buffer>, Failure> {
        Backend::upload(&self.embedded, value)
    }
}

impl Executor for Auto {
    fn about(&self) -> About {
        About { name: "auto".to_owned(), ..Executor::about(&self.embedded) }
    }

    fn prepare(&self, plan: &Arc<Plan>, wish: &PrepareOptions) -> Result<Arc<dyn Prepared>, Refused> {
        let embedded = Executor::prepare(&self.embedded, plan, wish)?;
        let Some(native) = self.native.clone() else { return Ok(embedded) };
        let plan = Arc::clone(plan);
        let later = Later {
            plan,
            wish: wish.clone(),
            native,
            patience: self.patience,
            job: Mutex::default(),
            stop: Arc::default(),
            ready: Arc::default(),
        };
        Ok(Arc::new(Ready { embedded, later: Arc::new(later) }))
    }
}

#[derive(Debug)]
struct Ready {
    embedded: Arc<dyn Prepared>,
    later: Arc<Later>,
}

impl Prepared for Ready {
    fn footprint(&self) -> Footprint {
        self.embedded.footprint()
    }

    fn start(&self, profile: Option<&Scope>) -> Result<Box<dyn Running>, Shortage> {
        let now = self.embedded.start(profile)?;
        if profile.is_some() {
            return Ok(now);
        }
        let later = Arc::clone(&self.later);
        let choice = Adaptive { before: None, later, clock: Clock::start(), stage: Stage::Embedded };
        Ok(Box::new(Handover::new(now, choice)))
    }
}

/// The compiled plan, which all runs of it share.
#[derive(Debug)]
struct Later {
    plan: Arc<Plan>,
    wish: PrepareOptions,
    native: Native,
    patience: Duration,
    job: Mutex<Option<JoinHandle<()>>>,
    /// Tells the compiler process to stop.
    stop: Arc<AtomicBool>,
    /// Set when the compiler has ended; contains none if the plan cannot be compiled.
    ready: Arc<OnceLock<Option<Arc<dyn Prepared>>>>,
}

impl Later {
    /// Starts the compiler, unless it was started before.
    fn begin(&self) {
        let mut job = self.job.lock().unwrap_or_else(PoisonError::into_inner);
        if job.is_some() {
            return;
        }
        let (plan, native, ready) = (Arc::clone(&self.plan), self.native.clone(), Arc::clone(&self.ready));
        let (wish, stop) = (self.wish.clone(), Arc::clone(&self.stop));
        let compile = move || {
            let _ = ready.set(native.compiled(&plan, &wish, &stop));
        };
        *job = std::thread::Builder::new().name("compile".to_owned()).spawn(compile).ok();
        if job.is_none() {
            let _ = self.ready.set(None);
        }
    }
}

/// Stops the compiler before the program ends, so that none of its files remains.
impl Drop for Later {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let job = self.job.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(job) = job {
            let _ = job.join();
        }
    }
}

/// Time and ticks since some window.
#[derive(Clone, Copy, Debug)]
struct Clock {
    start: Instant,
    windows: u32,
    ticks: u64,
}

impl Clock {
    fn start() -> Clock {
        Clock { start: Instant::now(), windows: 0, ticks: 0 }
    }

    fn per_tick(&self) -> f64 {
        self.start.elapsed().as_secs_f64() / (self.ticks.max(1) as f64)
    }
}

/// The progress of the switch to compiled code.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Stage {
    /// Compiled code is not available yet.
    Embedded,
    /// Compiled code is timed; the embedded executor took this many seconds per tick.
    Tried(f64),
    /// The choice is made.
    Settled,
}

/// Switches to compiled code when that is available, and back if it is slower.
#[derive(Debug)]
struct Adaptive {
    /// The embedded executor while compiled code is tried.
    before: Option<Box<dyn Running>>,
    later: Arc<Later>,
    clock: Clock,
    stage: Stage,
}

impl Adaptive {
    fn turn(&mut self, now: &mut Box<dyn Running>) {
        let registers = self.later.plan.registers.len();
        match self.stage {
            Stage::Embedded if self.clock.start.elapsed() < self.later.patience => {}
            Stage::Embedded => match self.later.ready.get() {
                None => self.later.begin(),
                Some(compiled) => {
                    let next = compiled.as_ref().and_then(|compiled| compiled.start(None).ok());
                    self.before = next.and_then(|next| take_over(now, next, registers));
                    self.stage = match self.before {
                        Some(_) => Stage::Tried(self.clock.per_tick()),
                        None => Stage::Settled,
                    };
                    self.clock = Clock::start();
                }
            },
            Stage::Tried(per_tick)
                if self.clock.start.elapsed() >= TRIAL.0 && self.clock.windows > TRIAL.1 =>
            {
                self.stage = Stage::Settled;
                let before = self.before.take().filter(|_| self.clock.per_tick() > per_tick);
                before.and_then(|before| take_over(now, before, registers));
            }
            Stage::Tried(_) | Stage::Settled => {}
        }
    }
}

impl Choice for Adaptive {
    fn ask(&mut self, now: &mut Box<dyn Running>, ticks: usize) -> Result<(), TooLong> {
        if self.stage != Stage::Settled {
            // Some windows take less time than reading a clock, so the clock is read only at some of them.
            if self.clock.windows.is_power_of_two() || self.clock.windows.is_multiple_of(256) {
                self.turn(now);
            }
            self.clock.windows = self.clock.windows.wrapping_add(1);
            self.clock.ticks += ticks as u64;
        }
        now.ask(ticks)
    }
}
