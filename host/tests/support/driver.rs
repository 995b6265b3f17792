//! A driver for tests, in this process: it keeps handles and device memory, runs the lesson's kernels on the CPU as they
//! are launched, and keeps each stream's time, so that events have times and the order of submission decides what
//! overlaps. Every call is noted, and any call can be made to fail.
//!
//! Each thread has a driver of its own, so tests run side by side. It knows the calls that the lessons make and no
//! others, and it is no model of a card: kernels take a fixed time and have no blocks.

#![expect(clippy::undocumented_unsafe_blocks, reason = "one argument covers all calls; it stands above them")]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::NonNull;
use std::slice;

use cuda_driver::{CUlaunchConfig, CuResult, Symbol};

use super::kernels::{self, Cost};

/// How the driver behaves on this thread.
#[derive(Default)]
pub struct Driver {
    /// Devices that it has.
    pub devices: i32,
    /// Compute capability of each, times ten.
    pub capability: i32,
    /// PTX newer than this is refused, times ten.
    pub newest_ptx: u32,
    /// Multiprocessors of each.
    pub sms: i32,
    /// The call that fails, counted from 0 over all calls, and its code.
    pub fails: Option<(usize, u32)>,
    /// The launch that computes one element wrong, counted from 0.
    pub spoiled_launch: Option<usize>,
    /// No two kernels overlap, whatever the streams say.
    pub one_at_a_time: bool,
    /// The spin takes as long for twice the steps.
    pub folds_the_spin: bool,
    /// Ordering events answer with a time instead of an error.
    pub times_everything: bool,
    /// Every call that was made, in order.
    pub calls: Vec<String>,
    /// What it holds at the moment.
    pub state: State,
}

/// Handles, memory and times.
#[derive(Default)]
pub struct State {
    launches: usize,
    next_handle: usize,
    alive: BTreeMap<usize, Handle>,
    functions: HashMap<usize, String>,
    /// When each stream's last work ends.
    ready_us: BTreeMap<usize, f64>,
    /// Streams that the legacy stream is no barrier for.
    non_blocking: BTreeSet<usize>,
    /// When the host last saw the card idle: nothing starts earlier.
    idle_us: f64,
    /// When the last kernel that fills the card ends.
    full_until_us: f64,
    last_end_us: f64,
}

enum Handle {
    Context,
    Module,
    Stream,
    Event { timing: bool, recorded_us: Option<f64> },
    Memory(#[expect(dead_code, reason = "it only keeps the allocation alive")] Box<[u64]>),
}

impl Driver {
    /// A card like an H200 that does everything right.
    pub fn new() -> Self {
        Driver { devices: 1, capability: 90, newest_ptx: 90, sms: 132, ..Driver::default() }
    }

    /// What was made and not released, by kind.
    pub fn leaks(&self) -> Vec<&'static str> {
        self.state
            .alive
            .values()
            .map(|handle| match handle {
                Handle::Context => "context",
                Handle::Module => "module",
                Handle::Stream => "stream",
                Handle::Event { .. } => "event",
                Handle::Memory(_) => "memory",
            })
            .collect()
    }

    fn make(&mut self, handle: Handle) -> usize {
        self.state.next_handle += 0x1000;
        self.state.alive.insert(self.state.next_handle, handle);
        self.state.next_handle
    }

    /// When work that is submitted to `stream` now can start: after its own, after what the host has waited for, and, for
    /// a blocking stream and the legacy stream, after each other's.
    fn ready(&self, stream: usize) -> f64 {
        let State { ready_us, non_blocking, idle_us, .. } = &self.state;
        let of = |stream: &usize| ready_us.get(stream).copied().unwrap_or(0.0);
        let own = if stream == LEGACY {
            ready_us.keys().filter(|other| !non_blocking.contains(other)).map(of).fold(0.0, f64::max)
        } else if non_blocking.contains(&stream) {
            of(&stream)
        } else {
            of(&stream).max(of(&LEGACY))
        };
        own.max(*idle_us)
    }

    /// Puts a kernel on the stream's time line, and says when it runs, ns.
    fn place(&mut self, stream: usize, cost: Cost) -> [u64; 2] {
        let mut start = self.ready(stream);
        if self.one_at_a_time {
            start = start.max(self.state.last_end_us);
        }
        if cost.fills_the_card {
            start = start.max(self.state.full_until_us);
            self.state.full_until_us = start + cost.us;
        }
        self.state.last_end_us = start + cost.us;
        self.state.ready_us.insert(stream, start + cost.us);
        [start, start + cost.us].map(|us| (1e3 * us) as u64)
    }

    /// Runs a kernel now, and puts it on the time line.
    ///
    /// # Safety
    ///
    /// As for `kernels::run`.
    unsafe fn launch(
        &mut self,
        function: usize,
        arguments: *mut *mut u64,
        stream: usize,
        (grid, block): (u32, u32),
    ) -> Result<(), u32> {
        let entry = self.state.functions.get(&function).cloned().ok_or(400_u32)?;
        let name = entry.trim_end_matches("_traced");
        let spoiled = self.spoiled_launch == Some(self.state.launches);
        self.state.launches += 1;
        // SAFETY: the caller's.
        let cost = unsafe { kernels::run(name, arguments, spoiled, self.folds_the_spin) };
        let [start, end] = self.place(stream, cost);
        if name == "stamp" {
            // SAFETY: the first argument is the address of the reading.
            unsafe { *(**arguments as *mut u64) = start };
        }
        if name != entry {
            let sms = self.sms.unsigned_abs();
            let warps = block.div_ceil(32);
            let records: Vec<u64> =
                (0..grid * warps).flat_map(|warp| [start, end, u64::from(warp / warps % sms)]).collect();
            // SAFETY: the last argument of a twin is the address of a record for each warp.
            unsafe {
                let address = **arguments.add(kernels::slots(name));
                (address as *mut u64).copy_from_nonoverlapping(records.as_ptr(), records.len());
            }
        }
        Ok(())
    }
}

const LEGACY: usize = 1;

thread_local! {
    static DRIVER: RefCell<Driver> = RefCell::new(Driver::new());
}

/// Puts `driver` in place on this thread, fills the table with the calls below, runs `test`, and returns the driver.
pub fn with<T>(driver: Driver, test: impl FnOnce() -> T) -> (T, Driver) {
    with_functions(resolve, driver, test)
}

/// The same with only those functions that `resolve` has. The table belongs to the process: a test that leaves a function
/// out has a process of its own.
pub fn with_functions<T>(
    resolve: impl FnMut(Symbol) -> Option<NonNull<c_void>>,
    driver: Driver,
    test: impl FnOnce() -> T,
) -> (T, Driver) {
    // SAFETY: each function below has the signature that is declared for its symbol, and functions live for ever.
    unsafe { cuda_driver::fill(resolve) };
    DRIVER.set(driver);
    let outcome = test();
    (outcome, DRIVER.replace(Driver::new()))
}

/// Notes the call, and runs it unless it was chosen to fail.
fn call(note: String, run: impl FnOnce(&mut Driver) -> Result<(), u32>) -> CuResult {
    DRIVER.with_borrow_mut(|driver| {
        let number = driver.calls.len();
        driver.calls.push(note);
        let answer = match driver.fails {
            Some((failing, code)) if failing == number => Err(code),
            _ => run(driver),
        };
        CuResult::from_code(answer.err().unwrap_or(0))
    })
}

macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),*) $(@ $note:expr)? => |$driver:ident| $body:block)*) => {
        $(
            #[allow(non_snake_case, unused_variables)]
            unsafe extern "C" fn $name($($argument: $type),*) -> CuResult {
                #[allow(unused_mut, unused_assignments)]
                let mut note = stringify!($name).to_owned();
                $(note = format!("{} {}", note, $note);)?
                call(note, |$driver| { $body; #[allow(unreachable_code)] Ok(()) })
            }
        )*
        /// The function of this driver for a symbol.
        pub fn resolve(symbol: Symbol) -> Option<NonNull<c_void>> {
            match symbol {
                $(Symbol::$name => NonNull::new($name as *mut c_void),)*
                // Asking for an error's words is not part of what a test follows.
                Symbol::cuGetErrorName => NonNull::new(error_name as *mut c_void),
                Symbol::cuGetErrorString => NonNull::new(error_name as *mut c_void),
                _ => None,
            }
        }
    };
}

unsafe extern "C" fn error_name(code: CuResult, name: *mut *const c_char) -> CuResult {
    let text: &CStr = match code.code() {
        1 => c"CUDA_ERROR_INVALID_VALUE",
        2 => c"CUDA_ERROR_OUT_OF_MEMORY",
        222 => c"CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        400 => c"CUDA_ERROR_INVALID_HANDLE",
        700 => c"CUDA_ERROR_ILLEGAL_ADDRESS",
        _ => return CuResult::INVALID_VALUE,
    };
    // SAFETY: the caller passes a place for a pointer.
    unsafe { *name = text.as_ptr() };
    CuResult::SUCCESS
}

// SAFETY of all that follows: the submission layer passes what the driver's manual asks for, and handles are looked up
// before anything is followed.
functions! {
    cuInit(flags: c_uint) => |driver| { if driver.devices == 0 { return Err(100) } }
    cuDriverGetVersion(version: *mut c_int) => |driver| { unsafe { *version = 13000 } }
    cuDeviceGetCount(count: *mut c_int) => |driver| { unsafe { *count = driver.devices } }
    cuDeviceGet(device: *mut c_int, ordinal: c_int) @ ordinal => |driver| { unsafe { *device = ordinal } }
    cuDeviceGetName(name: *mut c_char, room: c_int, device: c_int) => |driver| {
        let text = c"Test Card".to_bytes_with_nul();
        unsafe { name.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len().min(room as usize)) }
    }
    cuDeviceGetAttribute(value: *mut c_int, attribute: c_uint, device: c_int) @ attribute => |driver| {
        let answer = match attribute {
            16 => driver.sms,
            13 => 1_980_000,
            38 => 4096,
            39 => 2048,
            40 => 3,
            75 => driver.capability / 10,
            76 => driver.capability % 10,
            _ => return Err(1),
        };
        unsafe { *value = answer }
    }
    cuDevicePrimaryCtxRetain(context: *mut usize, device: c_int) => |driver| {
        unsafe { *context = driver.make(Handle::Context) }
    }
    cuDevicePrimaryCtxRelease_v2(device: c_int) => |driver| {
        driver.state.alive.retain(|_, handle| !matches!(handle, Handle::Context))
    }
    cuCtxSetCurrent(context: usize) => |driver| {}
    cuCtxSynchronize() => |driver| {
        driver.state.idle_us = driver.state.ready_us.values().copied().fold(driver.state.idle_us, f64::max)
    }
    cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) => |driver| {
        unsafe { (*least, *greatest) = (0, -5) }
    }
    cuModuleLoadDataEx(
        module: *mut usize, image: *const c_char, count: c_uint, options: *const c_uint, values: *mut *mut c_void
    ) => |driver| {
        let text = unsafe { CStr::from_ptr(image) }.to_string_lossy();
        let version = text.lines().find_map(|line| line.strip_prefix(".version ")).unwrap_or("0").replace('.', "");
        if version.parse::<u32>().unwrap_or(0) > driver.newest_ptx { return Err(222) }
        unsafe { *module = driver.make(Handle::Module) }
    }
    cuModuleUnload(module: usize) => |driver| { driver.state.alive.remove(&module).ok_or(400_u32)? }
    cuModuleGetFunction(function: *mut usize, module: usize, name: *const c_char)
    @ unsafe { CStr::from_ptr(name) }.to_string_lossy() => |driver| {
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
        driver.state.next_handle += 0x1000;
        driver.state.functions.insert(driver.state.next_handle, name);
        unsafe { *function = driver.state.next_handle }
    }
    cuStreamCreate(stream: *mut usize, flags: c_uint) @ flags => |driver| {
        let made = driver.make(Handle::Stream);
        if flags & 1 != 0 { driver.state.non_blocking.insert(made); }
        unsafe { *stream = made }
    }
    cuStreamDestroy_v2(stream: usize) => |driver| {
        driver.state.ready_us.remove(&stream);
        driver.state.alive.remove(&stream).ok_or(400_u32)?
    }
    cuStreamSynchronize(stream: usize) => |driver| {}
    cuStreamWaitEvent(stream: usize, event: usize, flags: c_uint) @ format!("{stream:x} {event:x}") => |driver| {
        let Some(Handle::Event { recorded_us, .. }) = driver.state.alive.get(&event) else { return Err(400) };
        let recorded_us = recorded_us.unwrap_or(0.0);
        let ready = driver.ready(stream).max(recorded_us);
        driver.state.ready_us.insert(stream, ready)
    }
    cuEventCreate(event: *mut usize, flags: c_uint) @ flags => |driver| {
        unsafe { *event = driver.make(Handle::Event { timing: flags & 2 == 0, recorded_us: None }) }
    }
    cuEventRecord(event: usize, stream: usize) @ format!("{event:x} {stream:x}") => |driver| {
        let now = driver.ready(stream);
        driver.state.ready_us.insert(stream, now);
        let Some(Handle::Event { recorded_us, .. }) = driver.state.alive.get_mut(&event) else { return Err(400) };
        *recorded_us = Some(now)
    }
    cuEventSynchronize(event: usize) => |driver| {
        let Some(Handle::Event { recorded_us, .. }) = driver.state.alive.get(&event) else { return Err(400) };
        driver.state.idle_us = driver.state.idle_us.max(recorded_us.unwrap_or(0.0))
    }
    cuEventDestroy_v2(event: usize) => |driver| { driver.state.alive.remove(&event).ok_or(400_u32)? }
    cuEventElapsedTime(ms: *mut f32, start: usize, stop: usize) => |driver| {
        let time = |event| match driver.state.alive.get(&event) {
            Some(Handle::Event { timing, recorded_us: Some(us) }) if *timing || driver.times_everything => Ok(*us),
            _ => Err(400_u32),
        };
        let (start, stop) = (time(start)?, time(stop)?);
        unsafe { *ms = ((stop - start) / 1000.0) as f32 }
    }
    cuMemAlloc_v2(address: *mut usize, bytes: usize) @ bytes => |driver| {
        let memory = vec![0x7fc0_0000_7fc0_0000_u64; bytes.div_ceil(8)].into_boxed_slice();
        let start = memory.as_ptr() as usize;
        driver.state.alive.insert(start, Handle::Memory(memory));
        unsafe { *address = start }
    }
    cuMemFree_v2(address: usize) => |driver| { driver.state.alive.remove(&address).ok_or(400_u32)? }
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize) => |driver| { unsafe { (*free, *total) = (1000, 2000) } }
    cuMemcpyHtoD_v2(to: usize, from: *const u8, bytes: usize) @ bytes => |driver| {
        unsafe { (to as *mut u8).copy_from_nonoverlapping(from, bytes) }
    }
    cuMemcpyDtoH_v2(to: *mut u8, from: usize, bytes: usize) @ bytes => |driver| {
        unsafe { to.copy_from_nonoverlapping(from as *const u8, bytes) }
    }
    cuMemsetD8Async(to: usize, value: u8, bytes: usize, stream: usize) @ format!("{stream:x}") => |driver| {
        unsafe { (to as *mut u8).write_bytes(value, bytes) }
    }
    cuMemcpyDtoDAsync_v2(to: usize, from: usize, bytes: usize, stream: usize) @ format!("{stream:x}") => |driver| {
        unsafe { (to as *mut u8).copy_from_nonoverlapping(from as *const u8, bytes) }
        driver.place(stream, Cost { us: 80.0, fills_the_card: true });
    }
    cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int, function: usize, threads: c_int, shared: usize
    ) @ threads => |driver| { unsafe { *blocks = 2048 / threads } }
    cuLaunchKernel(
        function: usize, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint, shared: c_uint,
        stream: usize, arguments: *mut *mut u64, extra: *mut c_void
    ) @ format!("{gx}x{bx} {stream:x}") => |driver| { unsafe { driver.launch(function, arguments, stream, (gx, bx)) }? }
    cuLaunchKernelEx(
        config: *const CUlaunchConfig, function: usize, arguments: *mut *mut u64, extra: *mut c_void
    ) @ unsafe { attributes(config) } => |driver| {
        let (stream, shape) = unsafe { ((*config).stream, ((*config).grid_dim_x, (*config).block_dim_x)) };
        unsafe { driver.launch(function, arguments, stream.as_raw().addr(), shape) }?
    }
}

/// A launch's grid and attributes, as they arrived.
///
/// # Safety
///
/// `config` is one that the submission layer made.
unsafe fn attributes(config: *const CUlaunchConfig) -> String {
    let config = unsafe { &*config };
    let list = unsafe { slice::from_raw_parts(config.attrs, config.num_attrs as usize) };
    let list: Vec<_> =
        list.iter().map(|attribute| format!("{}={}", attribute.id().0, attribute.as_int())).collect();
    format!("{}x{} {}", config.grid_dim_x, config.block_dim_x, list.join(","))
}
