//! What the tests share: the learner's kernels, compiled once, and a card that has no clock.
#![allow(dead_code, reason = "every test binary uses its own part")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

pub mod learner;
mod real;

use std::path::Path;
use std::sync::{Arc, LazyLock};

use cuda_builder::CudaBuilder;
use ptx::Module;
use virtual_gpu::exec::{Image, Launch, Program, Seat};
use virtual_gpu::memory::{Fault, Memory};
use virtual_gpu::segment::{BlockProgram, Cost, CostTable, Next, Now};

/// The PTX of the kernel crate in a folder beside this crate's manifest.
pub fn compile(folder: &str, arch: &str) -> String {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    // A machine with a GPU may have no compiler: there the PTX of another one is read.
    if let Some(ptx) = std::env::var_os("VIRTUAL_GPU_TESTS_PTX") {
        let name = format!("{}-{arch}.ptx", dir.file_name().unwrap().to_str().unwrap());
        return std::fs::read_to_string(Path::new(&ptx).join(name)).unwrap();
    }
    let build = CudaBuilder::new(dir).archs([arch]).build().unwrap_or_else(|error| panic!("{error}"));
    std::fs::read_to_string(&build.modules()[0].path).unwrap()
}

/// The learner's kernels.
pub static KERNELS: LazyLock<String> = LazyLock::new(|| compile("tests/kernels", "sm_90"));

/// One cycle for everything: these tests look at results.
pub fn costs() -> CostTable {
    CostTable::new(|_| Cost { issue: 1, latency: 1 })
}

/// Blocks of one kernel, in turns, without a clock.
pub struct Card {
    pub memory: Memory,
    pub image: Image,
    ticks: u64,
    real: Option<real::Real>,
}

/// What is passed to a kernel.
pub enum Argument {
    Number(Vec<u8>),
    Address(u64),
    Slice(u64, u64),
}

impl Card {
    /// The card that the tests run on: the virtual one, or the first GPU if `VIRTUAL_GPU_TESTS_ON=gpu` says so.
    pub fn new(ptx: &str) -> Self {
        let card = Self::virtual_only(ptx);
        let real =
            std::env::var("VIRTUAL_GPU_TESTS_ON").is_ok_and(|on| on == "gpu").then(|| real::Real::new(ptx));
        Self { real, ..card }
    }

    /// The first GPU, or the code with which its driver refuses the text.
    pub fn gpu(ptx: &str) -> Result<Self, u32> {
        Ok(Self { real: Some(real::Real::load(ptx)?), ..Self::virtual_only(ptx) })
    }

    /// The virtual one.
    pub fn virtual_only(ptx: &str) -> Self {
        let mut memory = Memory::new(1 << 32);
        let module = Module::parse(ptx).unwrap_or_else(|error| panic!("{error}"));
        let image = Image::load(module, &mut memory).unwrap();
        Self { memory, image, ticks: 0, real: None }
    }

    /// A buffer with these bytes.
    pub fn upload<T: Bytes>(&mut self, values: &[T]) -> Argument {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_bytes()).collect();
        if let Some(real) = &self.real {
            return Argument::Slice(real.upload(&bytes), values.len() as u64);
        }
        let address = self.memory.allocate(bytes.len().max(1) as u64, None).unwrap();
        self.memory.write(address, bytes.len() as u64).unwrap().copy_from_slice(&bytes);
        Argument::Slice(address, values.len() as u64)
    }

    /// What a buffer holds now.
    pub fn download<T: Bytes>(&self, buffer: &Argument) -> Vec<T> {
        let Argument::Slice(address, length) = *buffer else { panic!("no buffer") };
        let bytes = length * T::SIZE as u64;
        let bytes = match &self.real {
            Some(real) => real.download(address, bytes as usize),
            None => self.memory.read(address, bytes).unwrap().to_vec(),
        };
        bytes.chunks(T::SIZE).map(T::of_bytes).collect()
    }

    /// Runs a kernel to its end: each block computes until it needs the card, and then it is the next one's turn.
    pub fn run(
        &mut self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        arguments: &[&Argument],
    ) -> Result<(), Box<Fault>> {
        self.run_with(kernel, grid, block, arguments, |launch| launch)
    }

    /// The same, with a launch that is changed before it starts.
    pub fn run_with(
        &mut self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        arguments: &[&Argument],
        change: impl FnOnce(Launch) -> Launch,
    ) -> Result<(), Box<Fault>> {
        let number = self.image.kernel(kernel).unwrap_or_else(|| panic!("no kernel {kernel}"));
        let program = Arc::new(Program::new(&self.image, number, &costs()).unwrap_or_else(|e| panic!("{e}")));
        let values = arguments.iter().flat_map(|argument| match argument {
            Argument::Number(bytes) => vec![bytes.clone()],
            Argument::Address(address) => vec![address.to_le_bytes().to_vec()],
            Argument::Slice(address, length) => {
                vec![address.to_le_bytes().to_vec(), length.to_le_bytes().to_vec()]
            }
        });
        if let Some(real) = &self.real {
            real.run(kernel, grid, block, &mut values.collect::<Vec<_>>());
            return Ok(());
        }
        let mut parameters = vec![0; program.parameter_bytes() as usize];
        let mut places = program.parameters().iter();
        for value in values {
            let place = places.next().expect("as many parameters as arguments");
            assert_eq!(place.bytes as usize, value.len(), "parameter at {}", place.offset);
            parameters[place.offset as usize..][..value.len()].copy_from_slice(&value);
        }
        assert_eq!(places.next(), None, "as many arguments as parameters");
        let launch = Launch::new(program, grid, block, parameters, 0).unwrap();
        let launch = Arc::new(change(launch));
        let mut running = Vec::new();
        for z in 0..grid[2] {
            for y in 0..grid[1] {
                for x in 0..grid[0] {
                    running.push(launch.start([x, y, z], Seat { sm: x, sm_count: 132, grid_id: 1 }));
                }
            }
        }
        while !running.is_empty() {
            let mut fault = None;
            running.retain_mut(|run| {
                self.ticks += 1;
                match run.compute().next {
                    Next::Finished => return false,
                    Next::Fault(found) => fault = fault.take().or(Some(found)),
                    Next::Access => {
                        let now = Now { ns: 32 * self.ticks, cycles: 64 * self.ticks };
                        fault = fault.take().or(run.access(&mut self.memory, now).err());
                    }
                    Next::Await | Next::Yield | Next::Trigger | Next::Wait => {}
                }
                fault.is_none()
            });
            if let Some(fault) = fault {
                return Err(fault);
            }
        }
        Ok(())
    }
}

impl Argument {
    /// A buffer's address without its length.
    pub fn address(&self) -> Self {
        match self {
            Self::Slice(address, _) => Self::Address(*address),
            _ => panic!("no buffer"),
        }
    }
}

/// A value that lies in memory.
pub trait Bytes: Copy {
    const SIZE: usize;
    fn to_bytes(self) -> Vec<u8>;
    fn of_bytes(bytes: &[u8]) -> Self;
    fn argument(self) -> Argument {
        Argument::Number(self.to_bytes())
    }
}

macro_rules! bytes {
    ($($type:ty),*) => {$(
        impl Bytes for $type {
            const SIZE: usize = size_of::<$type>();
            fn to_bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            fn of_bytes(bytes: &[u8]) -> Self {
                <$type>::from_le_bytes(bytes.try_into().unwrap())
            }
        }
    )*};
}

bytes!(u8, i8, u16, i16, u32, i32, u64, i64, usize, f32, f64);

/// Numbers that look like chance and are the same in every run.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let x = self.0;
        (x ^ x >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd) ^ x >> 29
    }

    pub fn many<T>(&mut self, count: usize, make: impl Fn(u64) -> T) -> Vec<T> {
        (0..count).map(|_| make(self.roll())).collect()
    }
}
