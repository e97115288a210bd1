//! Loading compiled programs and calling them.
#![allow(unsafe_code, reason = "calls code that was compiled from C")]

use std::any::Any;
use std::ffi::{c_int, c_long, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use libloading::Library;
use rml_ir::op::{Binary, Number, Unary};

/// As `window` in C.
#[repr(C)]
struct Window<N> {
    nums: *mut N,
    ints: *mut i64,
    bools: *mut u8,
    set: *mut u8,
    at: *const c_long,
    ticks: c_long,
    context: *mut c_void,
    call: extern "C" fn(*mut c_void, c_long, c_long, c_long, c_long) -> c_int,
}

/// The nodes of a program, compiled.
#[derive(Debug)]
pub(crate) struct Code {
    /// Keeps the code in memory.
    _library: Library,
    nodes: Vec<*const c_void>,
    /// What finds the end of a window, and what runs the rest of the first node then.
    search: Option<[*const c_void; 2]>,
}

// SAFETY: the addresses are those of functions without state, which stay while the library is loaded.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

/// The memory of a window, as the code sees it.
#[derive(Debug, Default)]
pub(crate) struct Memory<N> {
    pub(crate) nums: Vec<N>,
    pub(crate) ints: Vec<i64>,
    pub(crate) bools: Vec<u8>,
    pub(crate) set: Vec<u8>,
    /// Where each slot begins.
    pub(crate) at: Vec<c_long>,
    pub(crate) ticks: usize,
}

/// What runs the calls of a program.
pub(crate) trait Calls<N> {
    /// Runs a call at `ticks` ticks from `tick` on, of a block that begins at `block`, or does something with
    /// registers, as the number says. False if it may have no result.
    fn call(&mut self, memory: &mut Memory<N>, id: i64, tick: usize, ticks: usize, block: usize) -> bool;
}

struct Context<'a, N> {
    memory: *mut Memory<N>,
    calls: &'a mut dyn Calls<N>,
    panic: Option<Box<dyn Any + Send>>,
}

extern "C" fn call<N: Number>(
    context: *mut c_void,
    id: c_long,
    tick: c_long,
    ticks: c_long,
    block: c_long,
) -> c_int {
    // SAFETY: `run` gave the address of its context, which nothing else uses while the code runs.
    let context = unsafe { &mut *context.cast::<Context<'_, N>>() };
    // SAFETY: the code has been given addresses in this memory, but it computes nothing until this function returns.
    let memory = unsafe { &mut *context.memory };
    let calls = &mut context.calls;
    let size = |x: c_long| usize::try_from(x).unwrap_or_default();
    match catch_unwind(AssertUnwindSafe(|| calls.call(memory, id, size(tick), size(ticks), size(block)))) {
        Ok(done) => c_int::from(!done),
        Err(panic) => {
            context.panic = Some(panic);
            1
        }
    }
}

extern "C" fn sin<N: Number>(x: N) -> N {
    N::unary_one(Unary::Sin, x)
}

extern "C" fn cos<N: Number>(x: N) -> N {
    N::unary_one(Unary::Cos, x)
}

fn binary<N: Number>(f: Binary, x: N, y: N) -> N {
    let mut out = [N::default()];
    N::binary(f, &[x], &[y], &mut out);
    out[0]
}

extern "C" fn pow<N: Number>(x: N, y: N) -> N {
    binary(Binary::Pow, x, y)
}

extern "C" fn atan2<N: Number>(x: N, y: N) -> N {
    binary(Binary::Atan2, x, y)
}

impl Code {
    /// Loads a library with that many nodes.
    ///
    /// # Errors
    /// Why it cannot be loaded.
    pub(crate) fn load<N: Number>(path: &Path, nodes: usize, finds: bool) -> Result<Code, String> {
        let failed = |e: libloading::Error| format!("cannot load {}: {e}", path.display());
        // SAFETY: the library was compiled from a program that this crate printed; it has no initialisers.
        let library = unsafe { Library::new(path) }.map_err(failed)?;
        let one: [(&str, extern "C" fn(N) -> N); 2] = [("math_sin", sin::<N>), ("math_cos", cos::<N>)];
        for (name, function) in one {
            // SAFETY: the library has a variable of that name and type, and no code of it runs yet.
            unsafe {
                **library.get::<*mut extern "C" fn(N) -> N>(name.as_bytes()).map_err(failed)? = function
            };
        }
        let two: [(&str, extern "C" fn(N, N) -> N); 2] = [("math_pow", pow::<N>), ("math_atan2", atan2::<N>)];
        for (name, function) in two {
            // SAFETY: as above.
            unsafe {
                **library.get::<*mut extern "C" fn(N, N) -> N>(name.as_bytes()).map_err(failed)? = function
            };
        }
        let address = |name: &str| {
            // SAFETY: the symbol is a function; its address alone is kept, and whoever calls it knows its type.
            let function = unsafe { library.get::<extern "C" fn(*const c_void) -> c_int>(name.as_bytes()) };
            function.map(|f| *f as *const c_void).map_err(failed)
        };
        let all = (0..nodes).map(|k| address(&format!("node_{k}"))).collect::<Result<Vec<_>, _>>()?;
        let search = if finds { Some([address("find")?, address("rest")?]) } else { None };
        Ok(Code { _library: library, nodes: all, search })
    }

    /// Whether it finds the ends of windows.
    pub(crate) fn finds(&self) -> bool {
        self.search.is_some()
    }

    /// Runs all nodes; the first one only what is left of its last tick, if its end was found. False if an operator may
    /// have no result.
    pub(crate) fn run<N: Number>(
        &self,
        memory: &mut Memory<N>,
        calls: &mut dyn Calls<N>,
        is_found: bool,
    ) -> bool {
        let rest = self.search.filter(|_| is_found).map(|[_, rest]| rest);
        let first = rest.or(self.nodes.first().copied());
        let nodes = first.into_iter().chain(self.nodes.iter().skip(1).copied());
        with_window(memory, calls, |window| {
            nodes.into_iter().all(|node| {
                // SAFETY: the symbol is `int node_K(const window *)`, or `rest` of the same type, of a library that was
                // printed for this layout.
                let node: extern "C" fn(*const Window<N>) -> c_int = unsafe { std::mem::transmute(node) };
                node(window) == 0
            })
        })
    }

    /// Searches for the end of a window in the ticks from `from` on, before `to`: how many ticks it has, or 0. None if
    /// an operator may have no result.
    pub(crate) fn find<N: Number>(
        &self,
        memory: &mut Memory<N>,
        calls: &mut dyn Calls<N>,
        from: usize,
        to: usize,
    ) -> Option<usize> {
        let [find, _] = self.search?;
        let long = |x: usize| c_long::try_from(x).unwrap_or(c_long::MAX);
        let mut found = 0;
        let done = with_window(memory, calls, |window| {
            // SAFETY: the symbol is `int find(const window *, long, long, long *)` of a library that was printed for
            // this layout.
            let find: extern "C" fn(*const Window<N>, c_long, c_long, *mut c_long) -> c_int =
                unsafe { std::mem::transmute(find) };
            find(window, long(from), long(to), &raw mut found) == 0
        });
        done.then(|| usize::try_from(found).unwrap_or_default())
    }
}

/// Lets code run with a window. A panic of what the code has called is resumed after it.
fn with_window<N: Number, T>(
    memory: &mut Memory<N>,
    calls: &mut dyn Calls<N>,
    run: impl FnOnce(*const Window<N>) -> T,
) -> T {
    let memory: *mut Memory<N> = memory;
    let mut context = Context { memory, calls, panic: None };
    // SAFETY: the memory lives as long as this call; its arrays are neither moved nor resized by calls.
    let own = unsafe { &mut *memory };
    let window = Window {
        nums: own.nums.as_mut_ptr(),
        ints: own.ints.as_mut_ptr(),
        bools: own.bools.as_mut_ptr(),
        set: own.set.as_mut_ptr(),
        at: own.at.as_ptr(),
        ticks: c_long::try_from(own.ticks).unwrap_or(c_long::MAX),
        context: (&raw mut context).cast(),
        call: call::<N>,
    };
    let result = run(&raw const window);
    if let Some(panic) = context.panic.take() {
        resume_unwind(panic);
    }
    result
}
