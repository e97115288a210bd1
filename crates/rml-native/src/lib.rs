//! Plans as machine code.
//!
//! A plan becomes [loop nests](rml_nest), which are fused and printed as C: a function for each node, which runs all
//! ticks of a window. The system's compiler compiles it to machine code, which is cached on disk and loaded. Products,
//! convolutions and other operators of whole tensors are calls of the kernels of this project.
//!
//! The bits are those of the reference, so windows may alternate between this executor and the embedded one. Programs
//! whose blocks wait for later values are not compiled; the embedded executor runs them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use rml_backend::{self as backend, Backend, Buffer, Executable, Failure, Function, Options};
use rml_backend_cpu::Cpu;
use rml_backend_cpu::pool::MOST;
use rml_base::codes::backend as codes;
use rml_base::memory::Shortage;
use rml_base::profile::Scope;
use rml_executor::{
    About, Accuracy, Executor, Footprint, Handover, PrepareOptions, Prepared, Refused, Running,
};
use rml_ir::{Data, Precision, Type, Value};
use rml_nest::{Ends, Home, NestNode, NestProgram, NestStage, Output, Slot, Work};
use rml_plan::Plan;

mod auto;
mod compile;
mod ffi;
mod layout;
mod parts;
mod prepare;
mod print;
mod run;

pub use auto::Auto;
use ffi::Code;
use layout::{Layout, Sliding};
use parts::{Limits, Shared, Sharing};

/// Runs plans as machine code.
#[derive(Clone, Debug)]
pub struct Native {
    compiler: &'static compile::Compiler,
    /// The folder of compiled programs.
    programs: Option<PathBuf>,
    limits: Limits,
}

impl Native {
    /// Opens it, with the compiler of the system.
    ///
    /// # Errors
    /// There is no compiler, or another device than `cpu` is requested.
    pub fn open(options: &Options) -> Result<Native, Failure> {
        options.on_cpu("native")?;
        let compiler = compile::compiler().ok_or_else(|| {
            Failure::new(codes::BACKEND_NOT_INSTALLED, "the native backend found no C compiler").help(
                "install gcc or clang (Debian: `apt install gcc`), or name a compiler in `CC`; \
                     `--backend cpu` needs none, and computes the same bits",
            )
        })?;
        Ok(Native { compiler, programs: options.programs.clone(), limits: Limits::USUAL })
    }

    /// The same, but threads share all work that can be shared, however small it is. With `in_turn`, a single thread
    /// runs all parts, in forward and in backward order alternately: the bits stay the same only if the parts are
    /// independent.
    #[must_use]
    pub fn sharing_all(self, in_turn: bool) -> Native {
        Native { limits: Limits::none(in_turn), ..self }
    }

    /// A plan as compiled code; none if the embedded executor runs it, or it cannot be compiled.
    fn compiled(
        &self,
        plan: &Arc<Plan>,
        wish: &PrepareOptions,
        stop: &AtomicBool,
    ) -> Option<Arc<dyn Prepared>> {
        let module = Module::new(plan, (self, wish.threads), stop).ok()?;
        Some(Compiled::ready(module, plan, wish))
    }

    /// Whether `threads` threads would share some of the work of a compiled plan, given enough of it.
    pub fn shares(&self, plan: &Plan, threads: usize) -> bool {
        let Ok(nests) = nests(plan) else { return false };
        let (_, shared, _) = shared(&nests, (threads, self.limits));
        !shared.nodes.iter().all(Sharing::is_alone)
    }

    /// The C text of a plan; an error if the embedded executor runs it.
    ///
    /// # Errors
    /// Why the embedded executor runs it.
    pub fn text(plan: &Plan) -> Result<String, &'static str> {
        let nests = nests(plan)?;
        let (layout, shared, _) = shared(&nests, (1, Limits::USUAL));
        Ok(print::print(&nests.program, &layout, &shared))
    }
}

/// Functions that are called one by one run on the embedded backend.
impl Backend for Native {
    fn about(&self) -> backend::About {
        backend::About {
            name: "native".to_owned(),
            version: self.compiler.version.clone(),
            ..Backend::about(&Cpu)
        }
    }

    fn is_host(&self) -> bool {
        true
    }

    fn takes(&self, ty: &Type) -> bool {
        Backend::takes(&Cpu, ty)
    }

    fn prepare(&self, function: &Function) -> Result<Box<dyn Executable>, Failure> {
        Backend::prepare(&Cpu, function)
    }

    fn upload(&self, value: &Value) -> Result<Arc<dyn Buffer>, Failure> {
        Backend::upload(&Cpu, value)
    }
}

impl Executor for Native {
    fn about(&self) -> About {
        About {
            name: "native".to_owned(),
            device: "cpu".to_owned(),
            devices: vec!["cpu".to_owned()],
            accuracy: Accuracy::Bits,
            waits: true,
            guesses: false,
            compiles: false,
        }
    }

    fn prepare(&self, plan: &Arc<Plan>, wish: &PrepareOptions) -> Result<Arc<dyn Prepared>, Refused> {
        match Module::new(plan, (self, wish.threads), &AtomicBool::new(false)) {
            Ok(module) => Ok(Compiled::ready(module, plan, wish)),
            Err(Why::Embedded) => Executor::prepare(&Cpu, plan, wish),
            Err(Why::Failed(why)) => Err(Refused::new(why)),
        }
    }
}

/// Why a plan is not compiled.
enum Why {
    /// The embedded executor runs it.
    Embedded,
    /// It cannot be compiled or loaded.
    Failed(String),
}

/// The nests of a plan, ready to be printed, the start values of its registers, and those that slide.
struct Nests {
    program: NestProgram,
    starts: Vec<Option<Value>>,
    slides: Vec<Sliding>,
}

fn nests(plan: &Plan) -> Result<Nests, &'static str> {
    let program = rml_nest::lower(plan);
    if let Some(why) = prepare::refusal(&program) {
        return Err(why);
    }
    let starts = prepare::starts(plan);
    let mut program = prepare::simplified(rml_nest::fuse(&program), &starts);
    let slides = layout::slid(&mut program, plan);
    Ok(Nests { program, starts, slides })
}

/// The layout of a program in memory, how threads share its work, and its calls.
fn shared(
    Nests { program, starts, slides }: &Nests,
    (threads, limits): (usize, Limits),
) -> (Layout, Shared, Vec<run::Ready>) {
    let layout = Layout::new(program, slides.clone(), starts, threads);
    let ready = |(node, stage): (usize, usize)| {
        let own = (&program.nodes[node], &program.nodes[node].stages[stage]);
        let (node, NestStage { work: Work::Call(call), when, .. }) = own else {
            unreachable!("calls alone are numbered")
        };
        run::Ready::new(program, call, when, node.order)
    };
    let calls: BTreeMap<_, _> = print::calls(program).into_iter().map(|id| (id, ready(id))).collect();
    let shared = Shared::new(program, &layout, &calls, (threads, limits));
    (layout, shared, calls.into_values().collect())
}

/// A compiled plan.
#[derive(Debug)]
struct Module {
    program: NestProgram,
    layout: Layout,
    code: Code,
    calls: Vec<run::Ready>,
    shared: Shared,
    inputs: Vec<Slot>,
    registers: Vec<Slot>,
    /// The registers that each node writes.
    written: Vec<Vec<usize>>,
    /// The elements of each register while it is not set, if all readers see the same constant.
    starts: Vec<Option<Data>>,
    /// The outputs that read registers.
    early: Vec<usize>,
    /// Whether commits read registers.
    commits_read: bool,
    footprint: Footprint,
    /// The folder of the library, if that is deleted at the end.
    _folder: Option<tempfile::TempDir>,
}

impl Module {
    fn new(plan: &Arc<Plan>, (native, threads): (&Native, usize), stop: &AtomicBool) -> Result<Module, Why> {
        let threads = threads.clamp(1, MOST);
        let plan = &*rml_plan::pack(Arc::clone(plan));
        let nests = nests(plan).map_err(|_| Why::Embedded)?;
        let (layout, shared, calls) = shared(&nests, (threads, native.limits));
        let Nests { mut program, starts, .. } = nests;
        let text = print::print(&program, &layout, &shared);
        let (path, folder) = compile::library(&text, native.compiler, native.programs.as_deref(), stop)
            .map_err(Why::Failed)?;
        let functions = [program.nodes.len(), shared.phases().count()];
        let finds = matches!(program.ends, Ends::Found { .. });
        let code = match program.precision {
            Precision::F32 => Code::load::<f32>(&path, functions, finds),
            Precision::F64 => Code::load::<f64>(&path, functions, finds),
        };
        let code = code.map_err(Why::Failed)?;
        let inputs = program.inputs().collect();
        let registers: Vec<Slot> = program.registers().collect();
        let number = |slot: Slot| registers.iter().position(|own| *own == slot);
        let written_by = |node: &NestNode| {
            let all: BTreeSet<usize> =
                node.writes.iter().filter_map(|write| number(write.register)).collect();
            all.into_iter().collect()
        };
        let written = program.nodes.iter().map(written_by).collect();
        let bytes = |ticks: usize| {
            let [nums, ints, bools] = layout.places(ticks).sizes;
            let num = if program.precision == Precision::F32 { 4 } else { 8 };
            (nums * num + ints * 8 + bools) as u64
        };
        let (one, many) = (bytes(1), bytes(65));
        // While the end of a window is searched for, there is memory for up to twice as many ticks.
        let per_tick = many.saturating_sub(one).div_ceil(64) * if finds { 2 } else { 1 };
        let footprint = Footprint { fixed: one.saturating_sub(per_tick), per_tick };
        let early = early(&program);
        let starts = starts.iter().map(|start| start.as_ref().map(Value::to_data)).collect();
        program.commits.retain(|write| layout.exchanged.iter().all(|(own, _)| *own != write.register));
        let commits_read = program.commits.iter().any(|write| run::reads_register(&program, write));
        Ok(Module {
            program,
            layout,
            code,
            calls,
            shared,
            inputs,
            registers,
            written,
            starts,
            early,
            commits_read,
            footprint,
            _folder: folder,
        })
    }

    fn register(&self, slot: Slot) -> usize {
        self.registers.iter().position(|own| *own == slot).expect("it is a register")
    }
}

/// The outputs that read registers.
fn early(program: &NestProgram) -> Vec<usize> {
    let is_register = |slot: Slot| matches!(program.slots[slot].home, Home::Register { .. });
    let reads = |output: &Output| {
        output.cases.iter().any(|(_, when, source)| {
            when.iter().any(|guard| is_register(guard.cond.slot))
                || rml_nest::accesses(source).iter().any(|(_, access)| is_register(access.slot))
        })
    };
    program.outputs.iter().enumerate().filter(|(_, output)| reads(output)).map(|(i, _)| i).collect()
}

#[derive(Debug)]
struct Compiled {
    module: Arc<Module>,
    embedded: Arc<Embedded>,
}

impl Compiled {
    fn ready(module: Module, plan: &Arc<Plan>, wish: &PrepareOptions) -> Arc<dyn Prepared> {
        let embedded =
            Arc::new(Embedded { plan: Arc::clone(plan), wish: wish.clone(), ready: OnceLock::new() });
        Arc::new(Compiled { module: Arc::new(module), embedded })
    }
}

impl Prepared for Compiled {
    fn footprint(&self) -> Footprint {
        self.module.footprint
    }

    fn start(&self, _: Option<&Scope>) -> Result<Box<dyn Running>, Shortage> {
        let module = Arc::clone(&self.module);
        let registers = module.registers.len();
        let machine: Box<dyn Running> = match module.program.precision {
            Precision::F32 => Box::new(run::Machine::<f32>::new(module)?),
            Precision::F64 => Box::new(run::Machine::<f64>::new(module)?),
        };
        let embedded: Arc<dyn Prepared> = Arc::<Embedded>::clone(&self.embedded);
        Ok(Box::new(Handover::new(machine, run::Switch::new(embedded, registers))))
    }
}

/// The same plan on the embedded executor, prepared when it is needed.
#[derive(Debug)]
struct Embedded {
    plan: Arc<Plan>,
    wish: PrepareOptions,
    ready: OnceLock<Arc<dyn Prepared>>,
}

impl Embedded {
    fn ready(&self) -> &dyn Prepared {
        let prepare = || Executor::prepare(&Cpu, &self.plan, &self.wish).expect("it runs every plan");
        &**self.ready.get_or_init(prepare)
    }
}

impl Prepared for Embedded {
    fn footprint(&self) -> Footprint {
        self.ready().footprint()
    }

    fn start(&self, profile: Option<&Scope>) -> Result<Box<dyn Running>, Shortage> {
        self.ready().start(profile)
    }
}
