//! A module in device memory, and a kernel of it that is ready to run.

use std::sync::Arc;

use ptx::{Error, Module, Space, Target};

use super::lower::{self, Setting};
use super::step::{Code, End};
use crate::memory::{Memory, MemoryError, window};
use crate::segment::CostTable;

/// A module whose variables lie in device memory.
#[derive(Debug)]
pub struct Image {
    module: Arc<Module>,
    /// The address of each variable; shared ones have none.
    addresses: Vec<u64>,
}

/// A kernel of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kernel(u32);

/// A kernel, decoded for one card's costs. It does not change, and may run on several threads at once.
#[derive(Debug)]
pub struct Program {
    pub(super) name: String,
    /// By the function's number; those that cannot be reached are absent.
    pub(super) codes: Vec<Option<Code>>,
    pub(super) entry: u32,
    /// Rows that all frames share.
    pub(super) temporaries: [u32; 3],
    shared_bytes: u64,
    parameters: Vec<ParameterPlace>,
    parameter_bytes: u32,
    max_threads: Option<u32>,
}

/// Where a parameter lies among a kernel's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterPlace {
    /// Bytes from the first one's start.
    pub offset: u32,
    /// Bytes.
    pub bytes: u32,
}

impl Image {
    /// Puts a module's variables into device memory.
    ///
    /// # Errors
    /// [`MemoryError::Full`]; nothing is left behind.
    pub fn load(module: Module, memory: &mut Memory) -> Result<Self, MemoryError> {
        let mut image = Self { module: Arc::new(module), addresses: Vec::new() };
        for number in 0..image.module.variables.len() {
            let variable = &image.module.variables[number];
            let placed = match variable.space {
                Space::Global | Space::Constant => {
                    memory.allocate(variable.bytes, Some(format!("variable {}", plain(&variable.name))))
                }
                _ => Ok(0),
            };
            match placed {
                Ok(address) => image.addresses.push(address),
                Err(error) => {
                    image.unload(memory);
                    return Err(error);
                }
            }
        }
        for (variable, &address) in image.module.variables.iter().zip(&image.addresses) {
            if address == 0 {
                continue;
            }
            let mut bytes = variable.init.clone();
            for relocation in &variable.relocations {
                let start = match relocation.target {
                    Target::Function(number) => window::function_address(number),
                    Target::Variable(number) => image.addresses[number as usize],
                };
                let at = relocation.offset as usize;
                let value = start.wrapping_add(relocation.addend).to_le_bytes();
                bytes[at..at + 8].copy_from_slice(&value);
            }
            memory.write(address, bytes.len() as u64)?.copy_from_slice(&bytes);
            if variable.space == Space::Constant {
                memory.make_read_only(address)?;
            }
        }
        Ok(image)
    }

    /// Gives the memory of its variables back.
    pub fn unload(&self, memory: &mut Memory) {
        for &address in self.addresses.iter().filter(|address| **address != 0) {
            // Only this image frees what it allocated.
            let freed = memory.free(address);
            debug_assert_eq!(freed, Ok(()));
        }
    }

    /// What was read.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Option<Kernel> {
        match self.module.names.get(name) {
            Some(&Target::Function(number)) if self.module.functions[number as usize].entry => {
                Some(Kernel(number))
            }
            _ => None,
        }
    }

    /// Address and bytes of the variable of that name, if it lies in device memory.
    pub fn variable(&self, name: &str) -> Option<(u64, u64)> {
        match self.module.names.get(name) {
            Some(&Target::Variable(number)) => {
                let address = self.addresses[number as usize];
                (address != 0).then(|| (address, self.module.variables[number as usize].bytes))
            }
            _ => None,
        }
    }
}

/// A name without its mangling.
fn plain(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

impl Program {
    /// Decodes a kernel and all that it may call.
    ///
    /// # Errors
    /// What the reader lets pass and cannot be run nevertheless: a function that is too large, a load beyond the
    /// parameters.
    pub fn new(image: &Image, kernel: Kernel, costs: &CostTable) -> Result<Self, Error> {
        let module = &*image.module;
        let entry = &module.functions[kernel.0 as usize];
        let mut addresses = image.addresses.clone();
        let shared_bytes = place_shared(module, kernel, &mut addresses)?;
        let setting = Setting { module, addresses: &addresses, costs };
        let mut codes: Vec<Option<Code>> = module.functions.iter().map(|_| None).collect();
        let mut waiting = vec![kernel.0];
        while let Some(number) = waiting.pop() {
            if codes[number as usize].is_some() {
                continue;
            }
            let code = lower::function(&setting, number)?;
            waiting.extend(called(module, &code));
            codes[number as usize] = Some(code);
        }
        let mut temporaries = [0; 3];
        for code in codes.iter().flatten() {
            temporaries = std::array::from_fn(|k| temporaries[k].max(code.temporaries[k]));
        }
        let (offsets, parameter_bytes) = lower::parameter_offsets(entry);
        let parameters = offsets.iter().zip(&entry.parameters);
        Ok(Self {
            name: entry.name.clone(),
            codes,
            entry: kernel.0,
            temporaries,
            shared_bytes,
            parameters: parameters.map(|(&offset, p)| ParameterPlace { offset, bytes: p.bytes }).collect(),
            parameter_bytes,
            max_threads: entry.max_threads,
        })
    }

    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of shared memory that a block has before the launch adds to it.
    pub fn shared_bytes(&self) -> u64 {
        self.shared_bytes
    }

    /// Where the parameters lie, in order.
    pub fn parameters(&self) -> &[ParameterPlace] {
        &self.parameters
    }

    /// Bytes of all parameters.
    pub fn parameter_bytes(&self) -> u32 {
        self.parameter_bytes
    }

    /// Threads that a block may have, if the kernel says so.
    pub fn max_threads(&self) -> Option<u32> {
        self.max_threads
    }

    /// Bytes of local memory that the kernel's own variables take.
    pub fn local_bytes(&self) -> u64 {
        self.code(self.entry).map_or(0, |code| code.local_bytes)
    }

    /// 32-bit registers that a thread needs, as far as the PTX tells: the most that are needed at once, and some for
    /// addresses and scalars. The card's own compiler decides otherwise, but not by much for kernels as small as these.
    pub fn registers(&self) -> u32 {
        let of = |code: &Code| {
            let [words, doubles, _] = std::array::from_fn(|k| code.rows[k] + code.temporaries[k]);
            words + 2 * doubles
        };
        SCALAR_REGISTERS + self.codes.iter().flatten().map(of).max().unwrap_or(0)
    }

    pub(super) fn code(&self, number: u32) -> Option<&Code> {
        self.codes.get(number as usize)?.as_ref()
    }
}

/// Registers that a thread has for what is the same in all lanes.
const SCALAR_REGISTERS: u32 = 8;

/// Gives each shared variable its offset, those that the launch sizes last; returns the bytes of the others.
fn place_shared(module: &Module, kernel: Kernel, addresses: &mut [u64]) -> Result<u64, Error> {
    let named = shared_of(module, kernel.0);
    let mut end = 0_u64;
    for sized in [true, false] {
        for &number in &named {
            let variable = &module.variables[number as usize];
            if (variable.bytes > 0) == sized {
                let start = end.next_multiple_of(variable.align.max(1));
                addresses[number as usize] = start;
                end = if sized { start + variable.bytes } else { end };
            }
        }
    }
    if end > MAX_SHARED {
        let entry = &module.functions[kernel.0 as usize];
        let what = format!("{end} bytes of shared memory where {MAX_SHARED} are the most");
        return Err(Error::new(what, entry.line, &entry.name));
    }
    Ok(end)
}

/// More than any card's multiprocessor has; the card's own limit is the driver's business.
const MAX_SHARED: u64 = 1 << 20;

/// The shared variables that a kernel, or a function that it may call, names.
fn shared_of(module: &Module, kernel: u32) -> Vec<u32> {
    use ptx::{Action, Address, Base};
    let (mut found, mut seen, mut waiting) = (Vec::new(), vec![false; module.functions.len()], vec![kernel]);
    while let Some(number) = waiting.pop() {
        if std::mem::replace(&mut seen[number as usize], true) {
            continue;
        }
        for instruction in &module.functions[number as usize].body.code {
            let address: Option<&Address> = match &instruction.action {
                Action::AddressOf { address, .. }
                | Action::Load { address, .. }
                | Action::Store { address, .. }
                | Action::Atomic { address, .. } => Some(address),
                Action::Call(call) => {
                    match call.callee {
                        Ok(callee) => waiting.push(callee),
                        Err(_) => waiting.extend(callable(module)),
                    }
                    None
                }
                _ => None,
            };
            let Some(Base::Module(Target::Variable(number))) = address.map(|address| address.base) else {
                continue;
            };
            if module.variables[number as usize].space == Space::Shared && !found.contains(&number) {
                found.push(number);
            }
        }
    }
    found.sort_unstable();
    found
}

/// Functions that a pointer may point to: all that have a body and are no kernels.
fn callable(module: &Module) -> impl Iterator<Item = u32> + '_ {
    let functions = module.functions.iter().enumerate();
    functions.filter(|(_, f)| !f.entry && !f.body.code.is_empty()).map(|(number, _)| number as u32)
}

/// What a function may call.
fn called(module: &Module, code: &Code) -> Vec<u32> {
    let mut found = Vec::new();
    for block in &code.blocks {
        match &block.end {
            End::Call { callee: Ok(callee), .. } => found.push(*callee),
            End::Call { callee: Err(_), .. } => found.extend(callable(module)),
            _ => {}
        }
    }
    found
}
