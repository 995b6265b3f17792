//! Modules and the kernels in them.

use super::device::MAX_THREADS_PER_BLOCK;
use super::{Answer, Driver};
use crate::card::{Card, WARP};
use crate::machine::{Kernel, LoadError, Program};
use cuda_driver::{CUfunctionAttribute as Ask, CuResult};

/// A loaded module.
pub struct Module {
    /// The handle of its context.
    pub context: usize,
    /// What was loaded.
    pub program: Program,
}

/// A kernel of a loaded module.
pub struct Function {
    /// The handle of its context.
    pub context: usize,
    /// The handle of its module.
    pub module: usize,
    /// The kernel.
    pub kernel: Kernel,
    /// Dynamic shared memory that a launch may ask for, bytes.
    pub dynamic_shared_limit: u32,
    /// Wished share of shared memory, percent; kept and given back, of no effect on times.
    pub carveout: i32,
    /// Whether it was used: the first use brings it to the card.
    pub loaded: bool,
}

/// Why an image was refused: the code, and what the compiler's log says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The driver's code.
    pub code: CuResult,
    /// One line.
    pub log: String,
}

impl From<CuResult> for Refusal {
    fn from(code: CuResult) -> Self {
        Refusal { code, log: String::new() }
    }
}

impl Driver {
    /// `cuModuleLoadData`: reads PTX, and gives its variables memory.
    ///
    /// # Errors
    ///
    /// `INVALID_IMAGE` for what is no PTX, `NO_BINARY_FOR_GPU` for machine code, `UNSUPPORTED_PTX_VERSION`, `INVALID_PTX`.
    pub fn load_module(&mut self, image: &[u8]) -> Result<usize, Refusal> {
        let context = self.context_handle()?;
        let refuse = |code, log: &str| Err(Refusal { code, log: log.to_owned() });
        if is_machine_code(image) {
            let log = "the image is machine code: the virtual card reads PTX; load the PTX instead";
            return refuse(CuResult::NO_BINARY_FOR_GPU, log);
        }
        let Ok(text) = std::str::from_utf8(image) else {
            return refuse(CuResult::INVALID_IMAGE, "the image is neither PTX nor machine code");
        };
        let module = ptx::Module::parse(text)
            .map_err(|error| Refusal { code: code_of(error.reason), log: error.to_string() })?;
        check_target(self.card(), &module)?;
        let program = self.machine.load(module).map_err(|error| match error {
            LoadError::Memory(_) => Refusal { code: CuResult::OUT_OF_MEMORY, log: error.to_string() },
            LoadError::Kernel(_) => Refusal { code: CuResult::INVALID_PTX, log: error.to_string() },
        })?;
        let handle = self.names.give();
        self.modules.put(handle, Module { context, program });
        self.spend(self.card().host.allocate_ns)?;
        Ok(handle)
    }

    /// `cuModuleUnload`. Waits for all work on the card; the module's functions are then gone.
    ///
    /// # Errors
    ///
    /// `INVALID_HANDLE`; the error of a kernel.
    pub fn unload_module(&mut self, handle: usize) -> Answer<()> {
        self.context()?;
        self.modules.get(handle)?;
        self.wait_for_all()?;
        let module = self.modules.take(handle)?;
        self.functions.take_all(|function| function.module == handle);
        self.machine.unload(&module.program);
        Ok(())
    }

    /// `cuModuleGetFunction`.
    ///
    /// # Errors
    ///
    /// `INVALID_HANDLE`; `NOT_FOUND` when the module has no kernel of that name.
    pub fn function(&mut self, module: usize, name: &str) -> Answer<usize> {
        let context = self.context_handle()?;
        let same = |function: &Function| function.module == module && function.kernel.name() == name;
        if let Some(handle) = self.functions.find(same) {
            return Ok(handle);
        }
        let kernel = self.modules.get(module)?.program.kernel(name).ok_or(CuResult::NOT_FOUND)?;
        let limit = self.card().sm.shared_bytes_per_block.saturating_sub(kernel.shared_bytes());
        let handle = self.names.give();
        self.functions.put(
            handle,
            Function { context, module, kernel, dynamic_shared_limit: limit, carveout: -1, loaded: false },
        );
        Ok(handle)
    }

    /// `cuModuleGetGlobal`: address and bytes of a variable.
    ///
    /// # Errors
    ///
    /// `INVALID_HANDLE`; `NOT_FOUND`.
    pub fn global(&mut self, module: usize, name: &str) -> Answer<(u64, u64)> {
        self.context()?;
        self.modules.get(module)?.program.variable(name).ok_or(CuResult::NOT_FOUND)
    }

    /// `cuFuncLoad`: brings the kernel to the card.
    ///
    /// # Errors
    ///
    /// `INVALID_HANDLE`.
    pub fn load_function(&mut self, handle: usize) -> Answer<()> {
        self.context()?;
        self.functions.get_mut(handle)?.loaded = true;
        Ok(())
    }

    /// `cuFuncGetAttribute`.
    ///
    /// # Errors
    ///
    /// `INVALID_HANDLE`; `INVALID_VALUE` for an attribute that it does not know.
    pub fn function_attribute(&mut self, handle: usize, ask: Ask) -> Answer<i32> {
        self.context()?;
        let function = self.functions.get(handle)?;
        let (card, kernel) = (self.card(), &function.kernel);
        let version = |(major, minor): (u32, u32)| 10 * major + minor;
        let number = match ask {
            Ask::MAX_THREADS_PER_BLOCK => max_threads(card, kernel),
            Ask::SHARED_SIZE_BYTES => kernel.shared_bytes(),
            // Parameters lie elsewhere, and constants of a module are read as its other variables are.
            Ask::CONST_SIZE_BYTES => 0,
            Ask::LOCAL_SIZE_BYTES => kernel.local_bytes(),
            Ask::NUM_REGS => kernel.registers(),
            Ask::PTX_VERSION => kernel.target(),
            Ask::BINARY_VERSION => version(card.capability),
            Ask::MAX_DYNAMIC_SHARED_SIZE_BYTES => function.dynamic_shared_limit,
            Ask::PREFERRED_SHARED_MEMORY_CARVEOUT => return Ok(function.carveout),
            _ => return Err(CuResult::INVALID_VALUE),
        };
        i32::try_from(number).map_err(|_| CuResult::INVALID_VALUE)
    }

    /// `cuFuncSetAttribute`.
    ///
    /// # Errors
    ///
    /// `INVALID_HANDLE`; `INVALID_VALUE` for an attribute that cannot be set, or a value out of its range.
    pub fn set_function_attribute(&mut self, handle: usize, attribute: Ask, value: i32) -> Answer<()> {
        self.context()?;
        let most = self.card().sm.shared_bytes_per_block_optin;
        let function = self.functions.get_mut(handle)?;
        match attribute {
            Ask::MAX_DYNAMIC_SHARED_SIZE_BYTES => {
                let limit = u32::try_from(value).map_err(|_| CuResult::INVALID_VALUE)?;
                if limit + function.kernel.shared_bytes() > most {
                    return Err(CuResult::INVALID_VALUE);
                }
                function.dynamic_shared_limit = limit;
            }
            Ask::PREFERRED_SHARED_MEMORY_CARVEOUT if (-1..=100).contains(&value) => function.carveout = value,
            _ => return Err(CuResult::INVALID_VALUE),
        }
        Ok(())
    }
}

/// Threads that a block of this kernel can have: what the kernel says, and what its registers allow.
pub fn max_threads(card: &Card, kernel: &Kernel) -> u32 {
    let by_registers = card.sm.registers / kernel.registers().max(1) / WARP * WARP;
    kernel.max_threads().unwrap_or(MAX_THREADS_PER_BLOCK).min(MAX_THREADS_PER_BLOCK).min(by_registers)
}

fn code_of(reason: ptx::Reason) -> CuResult {
    match reason {
        ptx::Reason::NotPtx => CuResult::INVALID_IMAGE,
        ptx::Reason::Invalid => CuResult::INVALID_PTX,
        ptx::Reason::Version => CuResult::UNSUPPORTED_PTX_VERSION,
    }
}

/// ELF, or the container of several images.
fn is_machine_code(image: &[u8]) -> bool {
    image.starts_with(b"\x7fELF") || image.starts_with(&0xba55_ed50_u32.to_le_bytes())
}

/// The card's driver must know the PTX version, and the card must be at least what the PTX is for.
fn check_target(card: &Card, module: &ptx::Module) -> Result<(), Refusal> {
    let ((major, minor), (newest, newest_minor)) = (module.version, card.newest_ptx);
    if module.version > card.newest_ptx {
        return Err(Refusal {
            code: CuResult::UNSUPPORTED_PTX_VERSION,
            log: format!(
                "the PTX is of version {major}.{minor} and this driver reads up to {newest}.{newest_minor}: compile for an \
                 older version"
            ),
        });
    }
    let (wanted, has) = (module.target, card.sm_number());
    if wanted > has {
        return Err(Refusal {
            code: CuResult::INVALID_PTX,
            log: format!(
                "the PTX is for sm_{wanted} and this device is sm_{has}: compile for sm_{has} or older"
            ),
        });
    }
    Ok(())
}
