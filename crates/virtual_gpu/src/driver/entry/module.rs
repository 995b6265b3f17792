//! Modules, kernels and launches.
#![allow(non_snake_case, reason = "the names are the driver's")]

use super::{Out, Text, call};
use crate::driver::{Answer, Driver, LaunchShape, Refusal};
use cuda_driver::{
    CUfunction, CUfunctionAttribute, CUjitOption, CUlaunchAttribute, CUlaunchConfig, CUmodule,
    CUmoduleLoadingMode, CUstream, CuResult,
};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::{fs, ptr, slice};

/// A module's image: PTX that ends with a zero, or machine code.
#[repr(transparent)]
pub struct Image(*const c_void);

impl Image {
    fn bytes(&self) -> Answer<&[u8]> {
        if self.0.is_null() {
            return Err(CuResult::INVALID_VALUE);
        }
        // SAFETY: not null; text ends with a zero by the caller's promise, and machine code has zeros in its head.
        Ok(unsafe { CStr::from_ptr(self.0.cast::<c_char>()) }.to_bytes())
    }
}

/// The options of a load: `count` of them, and as many values.
#[repr(transparent)]
pub struct JitOptions(*const CUjitOption);

/// The values of a load's options.
#[repr(transparent)]
pub struct JitValues(*const *mut c_void);

/// Where the compiler's errors go, and how many bytes fit.
struct ErrorLog {
    start: *mut u8,
    room: usize,
}

impl ErrorLog {
    fn find(count: c_uint, options: &JitOptions, values: &JitValues) -> Answer<Self> {
        let mut log = ErrorLog { start: ptr::null_mut(), room: 0 };
        if count == 0 {
            return Ok(log);
        }
        if options.0.is_null() || values.0.is_null() {
            return Err(CuResult::INVALID_VALUE);
        }
        // SAFETY: not null, and `count` entries are readable by the caller's promise.
        let options = unsafe { slice::from_raw_parts(options.0, count as usize) };
        // SAFETY: as above.
        let values = unsafe { slice::from_raw_parts(values.0, count as usize) };
        for (&option, &value) in options.iter().zip(values) {
            match option {
                CUjitOption::ERROR_LOG_BUFFER => log.start = value.cast(),
                CUjitOption::ERROR_LOG_BUFFER_SIZE_BYTES => log.room = value.addr(),
                // The others are wishes about a compilation that does not take place.
                _ => {}
            }
        }
        Ok(log)
    }

    fn write(&self, text: &str) {
        if self.start.is_null() || self.room == 0 {
            return;
        }
        let taken = text.len().min(self.room - 1);
        // SAFETY: the buffer has `room` writable bytes by the caller's promise, and `taken` is less than that.
        unsafe { self.start.copy_from_nonoverlapping(text.as_ptr(), taken) };
        // SAFETY: as above.
        unsafe { self.start.add(taken).write(0) };
    }
}

fn module_handle(raw: usize) -> CUmodule {
    CUmodule::from_raw(ptr::without_provenance_mut(raw))
}

pub extern "C" fn cuModuleLoad(module: Out<CUmodule>, path: Text) -> CuResult {
    const FILE_NOT_FOUND: CuResult = CuResult::from_code(301);
    call(|driver| {
        let image = fs::read(path.read()?).map_err(|_| FILE_NOT_FOUND)?;
        module.put(|| driver.load_module(&image).map(module_handle).map_err(|refusal| refusal.code))
    })
}

pub extern "C" fn cuModuleLoadData(module: Out<CUmodule>, image: Image) -> CuResult {
    cuModuleLoadDataEx(module, image, 0, JitOptions(ptr::null()), JitValues(ptr::null()))
}

pub extern "C" fn cuModuleLoadDataEx(
    module: Out<CUmodule>,
    image: Image,
    count: c_uint,
    options: JitOptions,
    values: JitValues,
) -> CuResult {
    call(|driver| {
        let log = ErrorLog::find(count, &options, &values)?;
        module.put(|| {
            driver.load_module(image.bytes()?).map(module_handle).map_err(|Refusal { code, log: text }| {
                log.write(&text);
                code
            })
        })
    })
}

pub extern "C" fn cuModuleUnload(module: CUmodule) -> CuResult {
    call(|driver| driver.unload_module(module.as_raw().addr()))
}

pub extern "C" fn cuModuleGetFunction(function: Out<CUfunction>, module: CUmodule, name: Text) -> CuResult {
    let handle = |raw| CUfunction::from_raw(ptr::without_provenance_mut(raw));
    call(|driver| function.put(|| driver.function(module.as_raw().addr(), name.read()?).map(handle)))
}

pub extern "C" fn cuModuleGetGlobal_v2(
    address: Out<u64>,
    bytes: Out<usize>,
    module: CUmodule,
    name: Text,
) -> CuResult {
    call(|driver| {
        let (start, length) = driver.global(module.as_raw().addr(), name.read()?)?;
        // Either may be left out.
        _ = address.put(|| Ok(start));
        _ = bytes.put(|| usize::try_from(length).map_err(|_| CuResult::INVALID_VALUE));
        Ok(())
    })
}

pub extern "C" fn cuModuleGetLoadingMode(mode: Out<CUmoduleLoadingMode>) -> CuResult {
    call(|_| mode.put(|| Ok(CUmoduleLoadingMode::LAZY)))
}

pub extern "C" fn cuFuncGetAttribute(
    value: Out<c_int>,
    attribute: CUfunctionAttribute,
    function: CUfunction,
) -> CuResult {
    call(|driver| value.put(|| driver.function_attribute(function.as_raw().addr(), attribute)))
}

pub extern "C" fn cuFuncSetAttribute(
    function: CUfunction,
    attribute: CUfunctionAttribute,
    value: c_int,
) -> CuResult {
    call(|driver| driver.set_function_attribute(function.as_raw().addr(), attribute, value))
}

pub extern "C" fn cuFuncLoad(function: CUfunction) -> CuResult {
    call(|driver| driver.load_function(function.as_raw().addr()))
}

pub extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: Out<c_int>,
    function: CUfunction,
    threads: c_int,
    shared: usize,
) -> CuResult {
    let function = function.as_raw().addr();
    call(|driver| {
        blocks
            .put(|| driver.blocks_per_multiprocessor(function, threads, shared as u64).map(u32::cast_signed))
    })
}

/// What a caller of the best block's query has to say about shared memory. (`CUoccupancyB2DSize`)
pub type SharedForBlock = Option<extern "C" fn(c_int) -> usize>;

pub extern "C" fn cuOccupancyMaxPotentialBlockSize(
    blocks: Out<c_int>,
    threads: Out<c_int>,
    function: CUfunction,
    shared_for_block: SharedForBlock,
    shared: usize,
    limit: c_int,
) -> CuResult {
    let function = function.as_raw().addr();
    call(|driver| {
        let limit = u32::try_from(limit).map_err(|_| CuResult::INVALID_VALUE)?;
        let needed = |threads: u32| shared_for_block.map_or(shared, |ask| ask(threads.cast_signed())) as u64;
        let (grid, block) = driver.best_block(function, needed, limit)?;
        blocks.put(|| Ok(grid.cast_signed()))?;
        threads.put(|| Ok(block.cast_signed()))
    })
}

pub extern "C" fn cuOccupancyAvailableDynamicSMemPerBlock(
    bytes: Out<usize>,
    function: CUfunction,
    blocks: c_int,
    threads: c_int,
) -> CuResult {
    let function = function.as_raw().addr();
    call(|driver| {
        let free = driver.shared_for_blocks(function, blocks, threads)?;
        bytes.put(|| usize::try_from(free).map_err(|_| CuResult::INVALID_VALUE))
    })
}

/// A launch's arguments: a pointer to each.
#[repr(transparent)]
pub struct Arguments(*const *const c_void);

impl Arguments {
    /// Copies the arguments together, as the kernel's parameters are laid out.
    fn read(&self, driver: &mut Driver, function: usize) -> Answer<Vec<u8>> {
        let mut bytes = Vec::new();
        for (index, (offset, length)) in driver.parameters(function)?.into_iter().enumerate() {
            if self.0.is_null() {
                return Err(CuResult::INVALID_VALUE);
            }
            // SAFETY: not null, and there are as many pointers as the kernel has parameters by the caller's promise.
            let argument = unsafe { self.0.add(index).read() };
            if argument.is_null() {
                return Err(CuResult::INVALID_VALUE);
            }
            // SAFETY: not null, and it points to as many bytes as the parameter has by the caller's promise.
            let value = unsafe { slice::from_raw_parts(argument.cast::<u8>(), length as usize) };
            bytes.resize(offset as usize, 0);
            bytes.extend_from_slice(value);
        }
        Ok(bytes)
    }
}

pub extern "C" fn cuLaunchKernel(
    function: CUfunction,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared_bytes: c_uint,
    stream: CUstream,
    arguments: Arguments,
    extra: *const c_void,
) -> CuResult {
    let shape =
        LaunchShape { grid: [grid_x, grid_y, grid_z], block: [block_x, block_y, block_z], shared_bytes };
    launch(function, shape, stream, &arguments, extra, &[])
}

/// A launch's description.
#[repr(transparent)]
pub struct Config(*const CUlaunchConfig);

pub extern "C" fn cuLaunchKernelEx(
    config: Config,
    function: CUfunction,
    arguments: Arguments,
    extra: *const c_void,
) -> CuResult {
    if config.0.is_null() {
        return CuResult::INVALID_VALUE;
    }
    // SAFETY: not null, and readable by the caller's promise.
    let config = unsafe { *config.0 };
    let attributes: &[CUlaunchAttribute] = match config.num_attrs {
        0 => &[],
        _ if config.attrs.is_null() => return CuResult::INVALID_VALUE,
        // SAFETY: not null, and there are as many as the description says by the caller's promise.
        count => unsafe { slice::from_raw_parts(config.attrs, count as usize) },
    };
    let shape = LaunchShape {
        grid: [config.grid_dim_x, config.grid_dim_y, config.grid_dim_z],
        block: [config.block_dim_x, config.block_dim_y, config.block_dim_z],
        shared_bytes: config.shared_mem_bytes,
    };
    launch(function, shape, config.stream, &arguments, extra, attributes)
}

fn launch(
    function: CUfunction,
    shape: LaunchShape,
    stream: CUstream,
    arguments: &Arguments,
    extra: *const c_void,
    attributes: &[CUlaunchAttribute],
) -> CuResult {
    let function = function.as_raw().addr();
    call(|driver| {
        // The other way to pass arguments, packed by the caller.
        if !extra.is_null() {
            return Err(CuResult::NOT_SUPPORTED);
        }
        let arguments = arguments.read(driver, function)?;
        driver.launch(function, shape, stream.as_raw().addr(), arguments, attributes)
    })
}
