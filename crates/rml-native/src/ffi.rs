//! Loading compiled programs and calling them.
#![allow(unsafe_code, reason = "calls code that was compiled from C")]

use std::any::Any;
use std::ffi::{c_int, c_long, c_void};
use std::marker::PhantomData;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use libloading::Library;
use rml_ir::DType;
use rml_ir::op::{Binary, Number, Unary};

/// The struct `window` of the C code.
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
    from: c_long,
    to: c_long,
    part: c_long,
    parts: c_long,
    shard: c_long,
}

/// The part of a function that a thread runs: some ticks, and the rows of one of several parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub(crate) ticks: Range<usize>,
    pub(crate) part: usize,
    pub(crate) parts: usize,
    /// The memory that a thread has for its blocks.
    pub(crate) shard: usize,
}

impl Part {
    /// A whole window of `ticks` ticks.
    pub(crate) fn all(ticks: usize) -> Part {
        Part { ticks: 0..ticks, part: 0, parts: 1, shard: 0 }
    }
}

/// A function of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Entry {
    /// A whole node.
    Node(usize),
    /// Some stages of a node over all ticks.
    Phase(usize),
    /// The rest of the first node, after the end of a window was found.
    Rest,
}

/// The nodes of a program, compiled.
#[derive(Debug)]
pub(crate) struct Code {
    /// Keeps the code in memory.
    _library: Library,
    nodes: Vec<*const c_void>,
    phases: Vec<*const c_void>,
    /// The function that searches for the end of a window, and the one that then runs the rest of the first node.
    search: Option<[*const c_void; 2]>,
}

// SAFETY: the addresses are those of functions without state, and are valid while the library is loaded.
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
    /// The position of the first element of each slot.
    pub(crate) at: Vec<c_long>,
    pub(crate) ticks: usize,
}

/// The memory of a window, used by several threads at once, each for its own part.
///
/// Elements borrowed for writing are not used by anything else at the same time: an operator does not write what it
/// reads (invariant N9), and parts that run at the same time access different elements ([`parts`](crate::parts)).
#[derive(Debug)]
pub(crate) struct Lent<'m, N> {
    nums: Elements<N>,
    ints: Elements<i64>,
    bools: Elements<u8>,
    set: Elements<u8>,
    at: &'m [c_long],
    pub(crate) ticks: usize,
    memory: PhantomData<&'m mut Memory<N>>,
}

impl<N> Clone for Lent<'_, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N> Copy for Lent<'_, N> {}

// SAFETY: the elements may be sent and shared, and a borrower for writing has exclusive access.
unsafe impl<N: Send + Sync> Send for Lent<'_, N> {}
// SAFETY: as above.
unsafe impl<N: Send + Sync> Sync for Lent<'_, N> {}

/// An array that is borrowed in pieces.
#[derive(Debug)]
struct Elements<T> {
    first: *mut T,
    len: usize,
}

impl<T> Clone for Elements<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Elements<T> {}

impl<T> Elements<T> {
    fn of(all: &mut [T]) -> Self {
        Self { first: all.as_mut_ptr(), len: all.len() }
    }

    fn check(self, at: usize, len: usize) {
        assert!(at.checked_add(len).is_some_and(|end| end <= self.len), "elements are in memory");
    }
}

impl<N: Copy> Memory<N> {
    /// Copies elements of a type to another place.
    pub(crate) fn copy(&mut self, dtype: DType, from: usize, to: usize, len: usize) {
        match dtype {
            DType::Num => self.nums.copy_within(from..from + len, to),
            DType::Int => self.ints.copy_within(from..from + len, to),
            DType::Bool => self.bools.copy_within(from..from + len, to),
        }
    }
}

impl<N> Memory<N> {
    /// Lends the memory to threads that share it.
    pub(crate) fn lent(&mut self) -> Lent<'_, N> {
        Lent {
            nums: Elements::of(&mut self.nums),
            ints: Elements::of(&mut self.ints),
            bools: Elements::of(&mut self.bools),
            set: Elements::of(&mut self.set),
            at: &self.at,
            ticks: self.ticks,
            memory: PhantomData,
        }
    }
}

/// Defines the functions that borrow elements of an array.
macro_rules! borrowed {
    ($($array:ident: $type:ty, $read:ident, $write:ident;)*) => {$(
        /// This many elements, for reading.
        pub(crate) fn $read(self, at: usize, len: usize) -> &'m [$type] {
            self.$array.check(at, len);
            // SAFETY: the elements exist, and nothing writes them now: see the type.
            unsafe { std::slice::from_raw_parts(self.$array.first.add(at), len) }
        }

        /// This many elements, for writing.
        pub(crate) fn $write(self, at: usize, len: usize) -> &'m mut [$type] {
            self.$array.check(at, len);
            // SAFETY: the elements exist, and nothing else uses them now: see the type.
            unsafe { std::slice::from_raw_parts_mut(self.$array.first.add(at), len) }
        }
    )*};
}

impl<'m, N> Lent<'m, N> {
    borrowed! {
        nums: N, nums, nums_mut;
        ints: i64, ints, ints_mut;
        bools: u8, bools, bools_mut;
        set: u8, sets, sets_mut;
    }

    /// The position of the first element of a slot.
    pub(crate) fn at(self, slot: usize) -> usize {
        usize::try_from(self.at[slot]).unwrap_or_default()
    }

    /// Whether a register is set.
    pub(crate) fn is_set(self, register: usize) -> bool {
        self.sets(register, 1)[0] != 0
    }
}

/// Runs the calls of a part of a program.
pub(crate) trait Calls<N> {
    /// Runs call `id` at `ticks` ticks from `tick` on, of a block that begins at `block`. Negative numbers mean
    /// operations on registers instead. False if the call may have failed.
    fn call(&mut self, memory: Lent<'_, N>, id: i64, tick: usize, ticks: usize, block: isize) -> bool;
}

struct Context<'a, N> {
    memory: Lent<'a, N>,
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
    let (memory, calls) = (context.memory, &mut context.calls);
    let size = |x: c_long| usize::try_from(x).unwrap_or_default();
    let block = isize::try_from(block).unwrap_or_default();
    match catch_unwind(AssertUnwindSafe(|| calls.call(memory, id, size(tick), size(ticks), block))) {
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
    /// Loads a library with this many nodes and phases.
    ///
    /// # Errors
    /// Why it cannot be loaded.
    pub(crate) fn load<N: Number>(
        path: &Path,
        [nodes, phases]: [usize; 2],
        finds: bool,
    ) -> Result<Code, String> {
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
            // SAFETY: the symbol is a function; only its address is kept, and the callers know its type.
            let function = unsafe { library.get::<extern "C" fn(*const c_void) -> c_int>(name.as_bytes()) };
            function.map(|f| *f as *const c_void).map_err(failed)
        };
        let all =
            |name: &str, n| (0..n).map(|k| address(&format!("{name}_{k}"))).collect::<Result<Vec<_>, _>>();
        let (nodes, phases) = (all("node", nodes)?, all("phase", phases)?);
        let search = if finds { Some([address("find")?, address("rest")?]) } else { None };
        Ok(Code { _library: library, nodes, phases, search })
    }

    /// Whether the program finds the ends of its windows.
    pub(crate) fn finds(&self) -> bool {
        self.search.is_some()
    }

    /// Runs a part of a window. False if an operator may have failed.
    pub(crate) fn run<N: Number>(
        &self,
        memory: Lent<'_, N>,
        calls: &mut dyn Calls<N>,
        (function, range): (Entry, Part),
    ) -> bool {
        let address = match function {
            Entry::Node(k) => self.nodes[k],
            Entry::Phase(k) => self.phases[k],
            Entry::Rest => self.search.expect("it finds the ends of windows")[1],
        };
        with_window(memory, calls, range, |window| {
            // SAFETY: the symbol is of this type, and of a library that was printed for this layout.
            let node: extern "C" fn(*const Window<N>) -> c_int = unsafe { std::mem::transmute(address) };
            node(window) == 0
        })
    }

    /// Searches for the end of a window among the ticks `from..to`. Returns the length of the window, or 0; none if an
    /// operator may have failed.
    pub(crate) fn find<N: Number>(
        &self,
        memory: Lent<'_, N>,
        calls: &mut dyn Calls<N>,
        from: usize,
        to: usize,
    ) -> Option<usize> {
        let [find, _] = self.search?;
        let long = |x: usize| c_long::try_from(x).unwrap_or(c_long::MAX);
        let mut found = 0;
        let done = with_window(memory, calls, Part::all(memory.ticks), |window| {
            // SAFETY: the symbol is `int find(const window *, long, long, long *)` of a library that was printed for
            // this layout.
            let find: extern "C" fn(*const Window<N>, c_long, c_long, *mut c_long) -> c_int =
                unsafe { std::mem::transmute(find) };
            find(window, long(from), long(to), &raw mut found) == 0
        });
        done.then(|| usize::try_from(found).unwrap_or_default())
    }
}

/// Runs code on a window. If a call from the code panics, the panic continues after the code has returned.
fn with_window<N: Number, T>(
    memory: Lent<'_, N>,
    calls: &mut dyn Calls<N>,
    range: Part,
    run: impl FnOnce(*const Window<N>) -> T,
) -> T {
    let mut context = Context { memory, calls, panic: None };
    let long = |x: usize| c_long::try_from(x).unwrap_or(c_long::MAX);
    let window = Window {
        nums: memory.nums.first,
        ints: memory.ints.first,
        bools: memory.bools.first,
        set: memory.set.first,
        at: memory.at.as_ptr(),
        ticks: long(memory.ticks),
        context: (&raw mut context).cast(),
        call: call::<N>,
        from: long(range.ticks.start),
        to: long(range.ticks.end),
        part: long(range.part),
        parts: long(range.parts),
        shard: long(range.shard),
    };
    let result = run(&raw const window);
    if let Some(panic) = context.panic.take() {
        resume_unwind(panic);
    }
    result
}
