//! The driver's functions, checked: one function here for one call there. Every raw call of this crate is in this file.
//!
//! A function returns a [`Result`] whose error names the call and keeps the driver's number. Out-pointers stay inside.
//! Handles are types whose values only this file makes, so the functions are safe: a handle names a live object, or one
//! that a `destroy` here replaced by the null handle, which the driver refuses with a code. Memory enters as a
//! [`DeviceSpan`] or a [`HostSpan`], whose constructors are the place where a caller vouches for it.
//!
//! This module may not print, and knows neither streams' names nor the log.

use std::alloc::{Layout, dealloc};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use cuda_driver::{
    CUcontext, CUdevice, CUdeviceAttribute, CUdeviceptr, CUevent, CUfunction, CUfunctionAttribute, CUgraph,
    CUgraphExec, CUgraphNode, CUgraphNodeType, CUjitOption, CUlaunchAttribute, CUlaunchConfig, CUmodule,
    CUmoduleLoadingMode, CUstream, CUstreamCaptureMode, CuResult, LibraryError, Symbol,
};
use cuda_std::abi::MAX_SLOTS;
use virtual_gpu::card::Card;
use virtual_gpu::driver::{self, Options};

use crate::launch::LaunchConfig;

/// Bytes for the messages of the driver's PTX compiler.
const COMPILER_LOG: usize = 8192;

/// A call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The driver API function.
    pub call: &'static str,
    /// The driver's number.
    pub code: CuResult,
}

/// What a call returns.
pub type Result<T> = std::result::Result<T, Failed>;

fn checked<T>(call: &'static str, code: CuResult, value: T) -> Result<T> {
    if code.is_success() { Ok(value) } else { Err(Failed { call, code }) }
}

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident: $raw:ty;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, PartialEq, Eq)]
        pub struct $name($raw);

        impl $name {
            /// Takes the handle, and leaves the null handle in its place.
            fn take(&mut self) -> $raw {
                std::mem::replace(&mut self.0, <$raw>::NULL)
            }
        }
    )*};
}

handles! {
    /// A stream that the program made, or a default one.
    RawStream: CUstream;
    /// An event.
    RawEvent: CUevent;
    /// A loaded module.
    RawModule: CUmodule;
    /// A graph as it was captured.
    RawGraph: CUgraph;
    /// A graph that can be launched.
    RawGraphExec: CUgraphExec;
}

/// A kernel of a loaded module. [`Module`](crate::module::Module) keeps both, and unloads last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawFunction(CUfunction);

/// The primary context of a device, retained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawContext {
    raw: CUcontext,
    device: CUdevice,
}

impl RawStream {
    /// The legacy default stream.
    pub const LEGACY: RawStream = RawStream(CUstream::LEGACY);
    /// The default stream of the thread that makes a call.
    pub const PER_THREAD: RawStream = RawStream(CUstream::PER_THREAD);
}

/// Device memory that a call may read or write until the work that it enqueues is done.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSpan {
    address: CUdeviceptr,
    bytes: usize,
}

impl DeviceSpan {
    /// Vouches for `bytes` bytes of device memory at `address`.
    ///
    /// # Safety
    ///
    /// They are allocated, and stay so until all work that uses the span is done.
    pub unsafe fn new(address: u64, bytes: usize) -> Self {
        DeviceSpan { address: CUdeviceptr(address), bytes }
    }

    /// Returns how many bytes the span and one of `other` bytes both have.
    pub fn common(self, other: usize) -> usize {
        self.bytes.min(other)
    }
}

/// Host memory that a call may read or write until the work that it enqueues is done.
#[derive(Clone, Copy, Debug)]
pub struct HostSpan {
    start: NonNull<c_void>,
    bytes: usize,
}

impl HostSpan {
    /// Vouches for `bytes` bytes of host memory at `start`.
    ///
    /// # Safety
    ///
    /// They are allocated, initialized, and stay so until all work that uses the span is done. A call that writes the span
    /// is given memory that the caller may write.
    pub unsafe fn new(start: NonNull<c_void>, bytes: usize) -> Self {
        HostSpan { start, bytes }
    }

    /// Returns the number of bytes.
    pub fn bytes(self) -> usize {
        self.bytes
    }
}

/// One function for one driver call. `-> name: type = blank` makes an out-value of that name, which the arguments pass as
/// `&mut name`.
macro_rules! calls {
    ($(
        $(#[$doc:meta])*
        fn $function:ident($($argument:ident: $type:ty),*) $(-> $out:ident: $of:ty = $blank:expr)?
            => $call:ident($($value:expr),*);
    )*) => {$(
        $(#[$doc])*
        pub fn $function($($argument: $type),*) -> Result<calls!(@of $($of)?)> {
            $(let mut $out: $of = $blank;)?
            // SAFETY: each handle names a live object of this process, or is null, which the driver refuses: only this
            // module makes and destroys them (see its head). Each out-pointer is a local variable of the type that
            // `cuda_driver` declares. Each address is of a span whose maker vouched for it, with the length that is passed.
            let code = unsafe { cuda_driver::$call($($value),*) };
            checked(stringify!($call), code, calls!(@value $($out)?))
        }
    )*};
    (@of $of:ty) => { $of };
    (@of) => { () };
    (@value $out:ident) => { $out };
    (@value) => { () };
}

calls! {
    /// Starts the driver.
    fn init() => cuInit(0);
    /// Returns the newest CUDA release that the driver knows, 1000 times major plus 10 times minor.
    fn driver_version() -> version: c_int = 0 => cuDriverGetVersion(&mut version);
    /// Counts the devices.
    fn device_count() -> count: c_int = 0 => cuDeviceGetCount(&mut count);
    /// Reads an attribute of a device.
    fn device_attribute(device: i32, attribute: CUdeviceAttribute) -> value: c_int = 0
        => cuDeviceGetAttribute(&mut value, attribute, CUdevice(device));
    /// Counts one user of the device's primary context more, and returns the context.
    fn primary_context_retain(device: i32) -> raw: CUcontext = CUcontext::NULL
        => cuDevicePrimaryCtxRetain(&mut raw, CUdevice(device));
    /// Counts one user of the primary context less.
    fn primary_context_release(context: RawContext) => cuDevicePrimaryCtxRelease_v2(context.device);
    /// Makes a context current on the calling thread.
    fn context_set_current(context: RawContext) => cuCtxSetCurrent(context.raw);
    /// Waits for all work of the current context.
    fn context_synchronize() => cuCtxSynchronize();
    /// Returns free and total bytes of the device's memory.
    fn memory_info() -> free_total: (usize, usize) = (0, 0)
        => cuMemGetInfo_v2(&mut free_total.0, &mut free_total.1);
    /// Returns the least and the greatest stream priority.
    fn priority_range() -> range: (c_int, c_int) = (0, 0)
        => cuCtxGetStreamPriorityRange(&mut range.0, &mut range.1);

    /// Makes a stream.
    fn stream_create(flags: u32) -> stream: RawStream = RawStream(CUstream::NULL)
        => cuStreamCreate(&mut stream.0, flags);
    /// Makes a stream of a priority.
    fn stream_create_with_priority(flags: u32, priority: i32) -> stream: RawStream = RawStream(CUstream::NULL)
        => cuStreamCreateWithPriority(&mut stream.0, flags, priority);
    /// Destroys a stream; its pending work goes on.
    fn stream_destroy(stream: &mut RawStream) => cuStreamDestroy_v2(stream.take());
    /// Waits for a stream.
    fn stream_synchronize(stream: &RawStream) => cuStreamSynchronize(stream.0);
    /// Asks whether a stream's work is done; `NOT_READY` where it is not.
    fn stream_query(stream: &RawStream) => cuStreamQuery(stream.0);
    /// Reads a stream's priority.
    fn stream_priority(stream: &RawStream) -> priority: c_int = 0
        => cuStreamGetPriority(stream.0, &mut priority);
    /// Makes later work of the stream wait for an event.
    fn stream_wait_event(stream: &RawStream, event: &RawEvent) => cuStreamWaitEvent(stream.0, event.0, 0);
    /// Begins a capture that no other thread may disturb.
    fn stream_begin_capture(stream: &RawStream)
        => cuStreamBeginCapture_v2(stream.0, CUstreamCaptureMode::GLOBAL);
    /// Ends a capture, and returns its graph.
    fn stream_end_capture(stream: &RawStream) -> graph: RawGraph = RawGraph(CUgraph::NULL)
        => cuStreamEndCapture(stream.0, &mut graph.0);

    /// Makes an event.
    fn event_create(flags: u32) -> event: RawEvent = RawEvent(CUevent::NULL) => cuEventCreate(&mut event.0, flags);
    /// Destroys an event; waits for it stay.
    fn event_destroy(event: &mut RawEvent) => cuEventDestroy_v2(event.take());
    /// Records an event on a stream.
    fn event_record(event: &RawEvent, stream: &RawStream) => cuEventRecord(event.0, stream.0);
    /// Waits for an event.
    fn event_synchronize(event: &RawEvent) => cuEventSynchronize(event.0);
    /// Asks whether an event's work is done; `NOT_READY` where it is not.
    fn event_query(event: &RawEvent) => cuEventQuery(event.0);
    /// Returns the milliseconds between two events.
    fn event_elapsed_ms(start: &RawEvent, stop: &RawEvent) -> ms: f32 = 0.0
        => cuEventElapsedTime(&mut ms, start.0, stop.0);

    /// Finds a kernel of a module. `name` must not hold a zero.
    fn module_function(module: &RawModule, name: &CStr) -> function: RawFunction = RawFunction(CUfunction::NULL)
        => cuModuleGetFunction(&mut function.0, module.0, name.as_ptr());
    /// Returns when the driver brings kernels to the device.
    fn module_loading_mode() -> mode: CUmoduleLoadingMode = CUmoduleLoadingMode::EAGER
        => cuModuleGetLoadingMode(&mut mode);
    /// Unloads a module.
    fn module_unload(module: &mut RawModule) => cuModuleUnload(module.take());
    /// Brings a kernel to the device.
    fn function_load(function: RawFunction) => cuFuncLoad(function.0);
    /// Reads an attribute of a kernel.
    fn function_attribute(function: RawFunction, attribute: CUfunctionAttribute) -> value: c_int = 0
        => cuFuncGetAttribute(&mut value, attribute, function.0);
    /// Returns how many blocks of the kernel a multiprocessor holds.
    fn occupancy(function: RawFunction, threads: i32) -> blocks: c_int = 0
        => cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, function.0, threads, 0);

    /// Allocates device memory, and returns its address.
    fn memory_alloc(bytes: usize) -> address: CUdeviceptr = CUdeviceptr(0) => cuMemAlloc_v2(&mut address, bytes);
    /// Allocates page-locked host memory.
    fn memory_alloc_host(bytes: usize) -> address: *mut c_void = ptr::null_mut()
        => cuMemAllocHost_v2(&mut address, bytes);
    /// Copies from host to device on the legacy default stream; may return before the device has the data.
    fn copy_to_device(to: DeviceSpan, from: HostSpan)
        => cuMemcpyHtoD_v2(to.address, from.start.as_ptr(), to.common(from.bytes));
    /// Copies from device to host on the legacy default stream, and waits.
    fn copy_to_host(to: HostSpan, from: DeviceSpan)
        => cuMemcpyDtoH_v2(to.start.as_ptr(), from.address, from.common(to.bytes));
    /// Enqueues a copy from host to device.
    fn copy_to_device_async(to: DeviceSpan, from: HostSpan, stream: &RawStream)
        => cuMemcpyHtoDAsync_v2(to.address, from.start.as_ptr(), to.common(from.bytes), stream.0);
    /// Enqueues a copy from device to host.
    fn copy_to_host_async(to: HostSpan, from: DeviceSpan, stream: &RawStream)
        => cuMemcpyDtoHAsync_v2(to.start.as_ptr(), from.address, from.common(to.bytes), stream.0);
    /// Enqueues a copy on the device.
    fn copy_on_device_async(to: DeviceSpan, from: DeviceSpan, stream: &RawStream)
        => cuMemcpyDtoDAsync_v2(to.address, from.address, to.common(from.bytes), stream.0);
    /// Sets bytes to zero on the legacy default stream; returns before it is done.
    fn memset_zeros(to: DeviceSpan) => cuMemsetD8_v2(to.address, 0, to.bytes);
    /// Enqueues a memset to zero.
    fn memset_zeros_async(to: DeviceSpan, stream: &RawStream)
        => cuMemsetD8Async(to.address, 0, to.bytes, stream.0);

    /// Instantiates a graph.
    fn graph_instantiate(graph: &RawGraph) -> exec: RawGraphExec = RawGraphExec(CUgraphExec::NULL)
        => cuGraphInstantiateWithFlags(&mut exec.0, graph.0, 0);
    /// Launches a graph.
    fn graph_launch(exec: &RawGraphExec, stream: &RawStream) => cuGraphLaunch(exec.0, stream.0);
    /// Destroys a graph.
    fn graph_destroy(graph: &mut RawGraph) => cuGraphDestroy(graph.take());
    /// Destroys a graph that can be launched; a launch that is under way goes on.
    fn graph_exec_destroy(exec: &mut RawGraphExec) => cuGraphExecDestroy(exec.take());
    /// Counts a graph's nodes.
    fn graph_node_count(graph: &RawGraph) -> count: usize = 0 => cuGraphGetNodes(graph.0, ptr::null_mut(), &mut count);
    /// Counts a graph's edges.
    fn graph_edge_count(graph: &RawGraph) -> count: usize = 0
        => cuGraphGetEdges(graph.0, ptr::null_mut(), ptr::null_mut(), &mut count);
}

/// Retains the primary context of a device and makes it current.
pub fn context_open(device: i32) -> Result<RawContext> {
    let context = RawContext { raw: primary_context_retain(device)?, device: CUdevice(device) };
    context_set_current(context).inspect_err(|_| _ = primary_context_release(context))?;
    Ok(context)
}

/// Loads PTX (`cuModuleLoadDataEx`). An error comes with what the driver's compiler said.
pub fn module_load(text: &str) -> std::result::Result<RawModule, (Failed, String)> {
    let text = CString::new(text).unwrap_or_default();
    let mut log = vec![0_u8; COMPILER_LOG];
    let mut options = [CUjitOption::ERROR_LOG_BUFFER, CUjitOption::ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(COMPILER_LOG)];
    let mut module = RawModule(CUmodule::NULL);
    // SAFETY: the text ends in NUL; there are as many values as options, the buffer is as long as its size says, and all of
    // them outlive the call.
    let code = unsafe {
        cuda_driver::cuModuleLoadDataEx(
            &mut module.0,
            text.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    checked("cuModuleLoadDataEx", code, module).map_err(|failed| {
        let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
        (failed, String::from_utf8_lossy(&log[..end]).into_owned())
    })
}

/// Memory that is freed by whoever owns it.
#[derive(Debug)]
pub enum Owned {
    /// Device memory at this address (`cuMemFree`).
    Device(u64),
    /// Page-locked host memory (`cuMemFreeHost`).
    Pinned(NonNull<c_void>),
    /// Host memory of the allocator.
    Pageable(NonNull<c_void>, Layout),
}

impl Owned {
    /// Frees the memory.
    ///
    /// # Safety
    ///
    /// It was allocated by the function of its kind. Nothing uses it any more: neither the program nor work that was enqueued.
    pub unsafe fn free(self) -> Result<()> {
        // SAFETY: the caller's contract.
        unsafe {
            match self {
                Owned::Device(address) => {
                    checked("cuMemFree_v2", cuda_driver::cuMemFree_v2(CUdeviceptr(address)), ())
                }
                Owned::Pinned(start) => {
                    checked("cuMemFreeHost", cuda_driver::cuMemFreeHost(start.as_ptr()), ())
                }
                Owned::Pageable(start, layout) => {
                    dealloc(start.as_ptr().cast(), layout);
                    Ok(())
                }
            }
        }
    }
}

/// A launch, ready to be enqueued by any host thread.
#[derive(Debug)]
pub struct Enqueue {
    function: RawFunction,
    stream: CUstream,
    config: LaunchConfig,
    slots: [u64; MAX_SLOTS + 1],
}

impl Enqueue {
    /// Puts a launch together.
    ///
    /// # Safety
    ///
    /// `slots` holds a value for each parameter of the function, of its type. The memory that they name stays allocated
    /// until the work is done, and the stream and the function live until [`Enqueue::make`] returns.
    pub unsafe fn new(
        function: RawFunction,
        stream: &RawStream,
        config: LaunchConfig,
        slots: &[u64],
    ) -> Self {
        let mut all = [0; MAX_SLOTS + 1];
        all[..slots.len()].copy_from_slice(slots);
        Enqueue { function, stream: stream.0, config, slots: all }
    }

    /// Enqueues it (`cuLaunchKernel`; with attributes `cuLaunchKernelEx`). The driver copies the values before it returns.
    pub fn make(&self) -> Result<()> {
        let mut arguments: [*mut c_void; MAX_SLOTS + 1] =
            std::array::from_fn(|i| ptr::from_ref(&self.slots[i]).cast_mut().cast());
        let LaunchConfig { grid, block, shared_bytes, attributes } = self.config;
        let serialization = attributes
            .programmatic_stream_serialization
            .map(CUlaunchAttribute::programmatic_stream_serialization);
        let priority = attributes.priority.map(CUlaunchAttribute::priority);
        let mut attributes: Vec<_> = serialization.into_iter().chain(priority).collect();
        let plain = attributes.is_empty();
        let config = CUlaunchConfig {
            grid_dim_x: grid.0,
            grid_dim_y: grid.1,
            grid_dim_z: grid.2,
            block_dim_x: block.0,
            block_dim_y: block.1,
            block_dim_z: block.2,
            shared_mem_bytes: shared_bytes,
            stream: self.stream,
            attrs: attributes.as_mut_ptr(),
            num_attrs: attributes.len() as u32,
        };
        let (function, arguments, extra) = (self.function.0, arguments.as_mut_ptr(), ptr::null_mut());
        // SAFETY: one pointer for each parameter, each to eight readable bytes; the rest is the contract of `new`. The attributes
        // are as many as the configuration says and live until the call returns.
        let code = unsafe {
            if plain {
                let ((gx, gy, gz), (bx, by, bz), shared) = (grid, block, shared_bytes);
                cuda_driver::cuLaunchKernel(
                    function,
                    gx,
                    gy,
                    gz,
                    bx,
                    by,
                    bz,
                    shared,
                    self.stream,
                    arguments,
                    extra,
                )
            } else {
                cuda_driver::cuLaunchKernelEx(&config, function, arguments, extra)
            }
        };
        checked(if plain { "cuLaunchKernel" } else { "cuLaunchKernelEx" }, code, ())
    }
}

/// Edges of a graph: the places of the two nodes of each.
type Edges = Vec<(usize, usize)>;

/// Returns what each node of a graph does, and of each edge the places of its two nodes.
pub fn graph_topology(graph: &RawGraph) -> Result<(Vec<CUgraphNodeType>, Edges)> {
    let (mut n_nodes, mut n_edges) = (graph_node_count(graph)?, graph_edge_count(graph)?);
    let mut nodes = vec![CUgraphNode::NULL; n_nodes];
    let (mut from, mut to) = (vec![CUgraphNode::NULL; n_edges], vec![CUgraphNode::NULL; n_edges]);
    let mut kinds = vec![CUgraphNodeType::EMPTY; n_nodes];
    // SAFETY: the graph is alive, there is room for as many nodes and edges as the counts say, and each node whose type is asked
    // for is one that the driver wrote.
    unsafe {
        if n_nodes > 0 {
            let code = cuda_driver::cuGraphGetNodes(graph.0, nodes.as_mut_ptr(), &mut n_nodes);
            checked("cuGraphGetNodes", code, ())?;
        }
        if n_edges > 0 {
            let code =
                cuda_driver::cuGraphGetEdges(graph.0, from.as_mut_ptr(), to.as_mut_ptr(), &mut n_edges);
            checked("cuGraphGetEdges", code, ())?;
        }
        for (node, kind) in nodes.iter().zip(&mut kinds) {
            checked("cuGraphNodeGetType", cuda_driver::cuGraphNodeGetType(*node, kind), ())?;
        }
    }
    let place = |node: &CUgraphNode| nodes.iter().position(|one| one == node);
    let edges = from.iter().zip(&to).filter_map(|(from, to)| Some((place(from)?, place(to)?))).collect();
    Ok((kinds, edges))
}

/// Returns the driver's name of a code and its text for it, where it knows the code.
pub fn error_words(code: CuResult) -> (Option<String>, Option<String>) {
    let ask = |call: unsafe extern "C" fn(CuResult, *mut *const c_char) -> CuResult| {
        let mut text = ptr::null();
        // SAFETY: the driver writes a pointer to a static string that ends in NUL, or null for a code that it does not know.
        unsafe {
            let answer = call(code, &mut text);
            (answer.is_success() && !text.is_null())
                .then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    };
    (ask(cuda_driver::cuGetErrorName), ask(cuda_driver::cuGetErrorString))
}

/// Whether the driver has a function.
pub fn is_available(symbol: Symbol) -> bool {
    cuda_driver::is_available(symbol)
}

/// Whether a virtual device fills the driver's table.
static IS_VIRTUAL: AtomicBool = AtomicBool::new(false);

/// The driver's own functions that free memory; see [`free_after_waiting`].
static FREE: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static FREE_HOST: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Fills the driver's table with the functions of the machine's `libcuda.so.1`.
pub fn use_library() -> std::result::Result<(), LibraryError> {
    let library = cuda_driver::Library::open()?;
    fill(|symbol| library.resolve(symbol));
    IS_VIRTUAL.store(false, Ordering::Relaxed);
    Ok(())
}

/// Fills the driver's table with the functions of a virtual device.
pub fn use_virtual(card: Card, options: Options) {
    driver::install(card, options);
    fill(driver::resolve);
    IS_VIRTUAL.store(true, Ordering::Relaxed);
}

/// Fills the table, with a wait in front of the two functions that free memory.
fn fill(mut resolve: impl FnMut(Symbol) -> Option<NonNull<c_void>>) {
    let with_waits = |symbol| {
        let own = resolve(symbol)?;
        let (kept, waits) = match symbol {
            Symbol::cuMemFree_v2 => (&FREE, free_after_waiting as *mut c_void),
            Symbol::cuMemFreeHost => (&FREE_HOST, free_host_after_waiting as *mut c_void),
            _ => return Some(own),
        };
        kept.store(own.as_ptr(), Ordering::Release);
        NonNull::new(waits)
    };
    // SAFETY: the functions are those of the machine's driver, whose library stays open until the process ends, or a virtual
    // device's, which have the same signatures and live for ever; the two that wait first do what the driver's do.
    unsafe { cuda_driver::fill(with_waits) };
}

/// `cuMemFree`, after the work of the context is done. CUDA says only that the call may wait; with this, memory that is freed,
/// by this crate or by `cust`, is in no work's use. Where the wait fails, nothing is freed, but for a context that is lost:
/// nothing runs in it any more.
unsafe extern "C" fn free_after_waiting(address: CUdeviceptr) -> CuResult {
    free_waiting(|| {
        let free = FREE.load(Ordering::Acquire);
        // SAFETY: the table was filled with this driver function, whose signature this is; the caller's argument is passed on.
        unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(CUdeviceptr) -> CuResult>(free)(address)
        }
    })
}

/// `cuMemFreeHost`, likewise.
unsafe extern "C" fn free_host_after_waiting(start: *mut c_void) -> CuResult {
    free_waiting(|| {
        let free = FREE_HOST.load(Ordering::Acquire);
        // SAFETY: as for `free_after_waiting`.
        unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void) -> CuResult>(free)(start)
        }
    })
}

fn free_waiting(free: impl FnOnce() -> CuResult) -> CuResult {
    match context_synchronize() {
        Err(failed) if !is_sticky(failed.code.code()) => failed.code,
        _ => free(),
    }
}

/// Whether a code is of a kernel's own failure, after which the context cannot be used: those of which the driver's manual
/// says that they leave the process in an inconsistent state (700 illegal address, 702 timeout, 710 assertion, 714 to 719
/// what the hardware refuses, 721 tensor memory).
pub fn is_sticky(code: u32) -> bool {
    matches!(code, 700 | 702 | 710 | 714..=719 | 721)
}

/// Returns the clock of a virtual device's host, ns; `None` on a GPU.
pub fn virtual_host_ns() -> Option<u64> {
    IS_VIRTUAL.load(Ordering::Relaxed).then(driver::host_ns).flatten()
}

/// Returns what a virtual device knows beyond a code: the function that it does not have, or the access that ended a kernel.
/// Empty on a GPU.
pub fn virtual_detail(code: CuResult) -> String {
    match code {
        _ if !IS_VIRTUAL.load(Ordering::Relaxed) => String::new(),
        CuResult::NOT_SUPPORTED => driver::take_unsupported()
            .map(|symbol| format!("the virtual device does not have {symbol}"))
            .unwrap_or_default(),
        code if is_sticky(code.code()) => {
            driver::last_fault().map(|fault| fault.to_string()).unwrap_or_default()
        }
        _ => String::new(),
    }
}
