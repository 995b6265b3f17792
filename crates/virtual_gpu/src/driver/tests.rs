//! The driver's rules, call by call, as a program would meet them.

mod capture;
mod errors;
mod handles;
mod launches;
mod memory;
mod order;
mod time;

use super::*;
use crate::card::{H200, T4};
use cuda_driver::CUstreamFlags;

/// `empty()`; `put(to, value)`, each block in its own place of a buffer of words; `slow(steps)`, some 30 cycles a step.
const PTX: &str = "
.version 7.8
.target sm_75
.address_size 64
.visible .entry empty()
{
    ret;
}
.visible .entry put(.param .u64 put_to, .param .u32 put_value)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [put_to];
    ld.param.u32 %r1, [put_value];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r2, %ctaid.x;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r1;
    ret;
}
.visible .entry slow(.param .u32 slow_steps)
{
    .reg .pred %p<2>;
    .reg .b32 %r<2>;
    ld.param.u32 %r1, [slow_steps];
again:
    add.s32 %r1, %r1, -1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra again;
    ret;
}
";

const BLOCKING: u32 = CUstreamFlags::BLOCKING.0;
const NON_BLOCKING: u32 = CUstreamFlags::NON_BLOCKING.0;
const LEGACY: usize = 1;
const PER_THREAD: usize = 2;
/// Flags of an event without timestamps.
const ORDERING: u32 = 2;
const TIMING: u32 = 0;

/// A driver with a context and the module above.
struct Rig {
    driver: Driver,
    module: usize,
}

impl Rig {
    fn new() -> Self {
        Rig::with(H200, Schedule::Card)
    }

    fn late() -> Self {
        Rig::with(H200, Schedule::Late)
    }

    fn with(card: Card, schedule: Schedule) -> Self {
        let mut driver = Driver::new(card, Options { schedule, threads: 1 });
        driver.init(0).unwrap();
        let context = driver.retain_primary().unwrap();
        driver.set_current_context(Some(context)).unwrap();
        let module = driver.load_module(PTX.as_bytes()).unwrap();
        let mut rig = Rig { driver, module };
        // Loaded, so that no first use waits for what runs.
        for name in ["empty", "put", "slow"] {
            let function = rig.function(name);
            rig.driver.load_function(function).unwrap();
        }
        rig
    }

    fn function(&mut self, name: &str) -> usize {
        self.driver.function(self.module, name).unwrap()
    }

    fn stream(&mut self, flags: u32) -> usize {
        self.driver.create_stream(flags, 0).unwrap()
    }

    fn event(&mut self, flags: u32) -> usize {
        self.driver.create_event(flags).unwrap()
    }

    fn launch(&mut self, name: &str, blocks: u32, stream: usize, arguments: &[u8]) -> Answer<()> {
        let function = self.driver.function(self.module, name)?;
        let shape = LaunchShape { grid: [blocks, 1, 1], block: [1, 1, 1], shared_bytes: 0 };
        self.driver.launch(function, shape, stream, arguments.to_vec(), &[])
    }

    /// A kernel of about a millisecond.
    fn slow(&mut self, stream: usize) {
        self.launch("slow", 1, stream, &70_000_u32.to_le_bytes()).unwrap();
    }

    /// Writes a word, some time after the launch.
    fn put(&mut self, stream: usize, to: u64, value: u32) {
        self.launch("put", 1, stream, &put(to, value)).unwrap();
    }

    fn words(&mut self, count: u64) -> u64 {
        let address = self.driver.allocate(4 * count).unwrap();
        self.driver.fill(address, &0_u32.to_le_bytes(), count, LEGACY).unwrap();
        self.driver.synchronize().unwrap();
        address
    }

    /// A word of device memory as it is now, looked at from outside.
    fn word(&mut self, address: u64) -> u32 {
        let bytes = self.driver.machine.memory().read(address, 4).unwrap();
        u32::from_le_bytes(bytes.try_into().unwrap())
    }
}

fn put(to: u64, value: u32) -> Vec<u8> {
    [&to.to_le_bytes()[..], &value.to_le_bytes()[..]].concat()
}

/// The memory of a slice, for a copy that is over before the slice goes.
fn host<T>(slice: &mut [T]) -> HostMemory {
    // SAFETY: each test keeps the slice until it has synchronized, and looks at it only then.
    unsafe { HostMemory::new(slice.as_mut_ptr().cast()) }
}
