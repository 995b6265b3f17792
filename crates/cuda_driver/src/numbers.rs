//! The driver's numbers: attributes, options, flags, states. Each keeps values that this crate has never heard of.

macro_rules! numbers {
    ($(
        $(#[doc = $type_doc:literal])+
        $type:ident { $($(#[doc = $doc:literal])+ $name:ident = $number:literal;)* }
    )*) => {$(
        $(#[doc = $type_doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $type(
            /// The header's number.
            pub u32,
        );

        impl $type {
            $($(#[doc = $doc])+ pub const $name: Self = Self($number);)*
        }
    )*};
}

numbers! {
    /// What `cuDeviceGetAttribute` can be asked. (`CUdevice_attribute`)
    CUdeviceAttribute {
        /// Most threads in a block.
        MAX_THREADS_PER_BLOCK = 1;
        /// Most threads of a block along x.
        MAX_BLOCK_DIM_X = 2;
        /// Most threads of a block along y.
        MAX_BLOCK_DIM_Y = 3;
        /// Most threads of a block along z.
        MAX_BLOCK_DIM_Z = 4;
        /// Most blocks of a grid along x.
        MAX_GRID_DIM_X = 5;
        /// Most blocks of a grid along y.
        MAX_GRID_DIM_Y = 6;
        /// Most blocks of a grid along z.
        MAX_GRID_DIM_Z = 7;
        /// Shared memory that a block gets without asking, bytes.
        MAX_SHARED_MEMORY_PER_BLOCK = 8;
        /// Threads in a warp.
        WARP_SIZE = 10;
        /// Registers of 32 bits that a block can have.
        MAX_REGISTERS_PER_BLOCK = 12;
        /// Peak clock of the multiprocessors, kHz.
        CLOCK_RATE = 13;
        /// Multiprocessors.
        MULTIPROCESSOR_COUNT = 16;
        /// 1 when a watchdog ends long kernels.
        KERNEL_EXEC_TIMEOUT = 17;
        /// Who may use the device: 0 anyone, 2 no one, 3 one process.
        COMPUTE_MODE = 20;
        /// 1 when kernels of one context can run at the same time.
        CONCURRENT_KERNELS = 31;
        /// Peak clock of the memory, kHz.
        MEMORY_CLOCK_RATE = 36;
        /// Width of the memory bus, bits.
        GLOBAL_MEMORY_BUS_WIDTH = 37;
        /// Size of the L2 cache, bytes.
        L2_CACHE_SIZE = 38;
        /// Most resident threads of a multiprocessor.
        MAX_THREADS_PER_MULTIPROCESSOR = 39;
        /// Engines that copy while kernels run.
        ASYNC_ENGINE_COUNT = 40;
        /// The 9 of compute capability 9.0.
        COMPUTE_CAPABILITY_MAJOR = 75;
        /// The 0 of compute capability 9.0.
        COMPUTE_CAPABILITY_MINOR = 76;
        /// 1 when streams have priorities.
        STREAM_PRIORITIES_SUPPORTED = 78;
        /// Shared memory of a multiprocessor, bytes.
        MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81;
        /// Registers of 32 bits of a multiprocessor.
        MAX_REGISTERS_PER_MULTIPROCESSOR = 82;
        /// Shared memory that a block can ask for, bytes.
        MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97;
        /// Most resident blocks of a multiprocessor.
        MAX_BLOCKS_PER_MULTIPROCESSOR = 106;
    }

    /// What `cuFuncGetAttribute` can be asked. (`CUfunction_attribute`)
    CUfunctionAttribute {
        /// Most threads in a block of this kernel.
        MAX_THREADS_PER_BLOCK = 0;
        /// Static shared memory of a block, bytes.
        SHARED_SIZE_BYTES = 1;
        /// Constant memory, bytes.
        CONST_SIZE_BYTES = 2;
        /// Local memory of a thread, bytes. More than 0 may mean spilled registers.
        LOCAL_SIZE_BYTES = 3;
        /// Registers of 32 bits of a thread.
        NUM_REGS = 4;
        /// PTX version that the kernel was compiled for: 10 times major plus minor.
        PTX_VERSION = 5;
        /// Architecture that the kernel was compiled for: 10 times major plus minor.
        BINARY_VERSION = 6;
        /// Most dynamic shared memory that a launch may ask for, bytes. Can be set.
        MAX_DYNAMIC_SHARED_SIZE_BYTES = 8;
        /// Wished share of shared memory in the L1, percent; -1 leaves it to the driver. Can be set.
        PREFERRED_SHARED_MEMORY_CARVEOUT = 9;
    }

    /// What `cuModuleLoadDataEx` can be told. (`CUjit_option`) The value is a `void *`: for a size, the number itself.
    CUjitOption {
        /// Value: where the compiler's notes go.
        INFO_LOG_BUFFER = 3;
        /// Value: bytes in that buffer. The driver writes the bytes used in its place.
        INFO_LOG_BUFFER_SIZE_BYTES = 4;
        /// Value: where the compiler's errors go.
        ERROR_LOG_BUFFER = 5;
        /// Value: bytes in that buffer. The driver writes the bytes used in its place.
        ERROR_LOG_BUFFER_SIZE_BYTES = 6;
        /// Value: 0 to 4, where 4 is the default and the most.
        OPTIMIZATION_LEVEL = 7;
        /// Value: 1 for a log that says more.
        LOG_VERBOSE = 12;
        /// Value: 1 to keep line numbers for profilers.
        GENERATE_LINE_INFO = 13;
    }

    /// How a stream is made. (`CUstream_flags`)
    CUstreamFlags {
        /// The stream and the legacy default stream wait for each other.
        BLOCKING = 0;
        /// The stream and the legacy default stream know nothing of each other. (`CU_STREAM_NON_BLOCKING`)
        NON_BLOCKING = 1;
    }

    /// How an event is made. (`CUevent_flags`) Flags are combined with `|` on the numbers.
    CUeventFlags {
        /// With timestamps; `cuEventSynchronize` spins.
        DEFAULT = 0;
        /// The thread in `cuEventSynchronize` sleeps instead of spinning.
        BLOCKING_SYNC = 1;
        /// Without timestamps: only ordering.
        DISABLE_TIMING = 2;
    }

    /// How a thread waits for the device. (`CUctx_flags`)
    CUcontextFlags {
        /// The driver chooses.
        SCHED_AUTO = 0;
        /// Spins.
        SCHED_SPIN = 1;
        /// Yields the processor between looks.
        SCHED_YIELD = 2;
        /// Sleeps.
        SCHED_BLOCKING_SYNC = 4;
    }

    /// When a module's kernels reach the device. (`CUmoduleLoadingMode`)
    CUmoduleLoadingMode {
        /// All of them as the module is loaded.
        EAGER = 1;
        /// Each at its first use.
        LAZY = 2;
    }

    /// Which calls are refused while a capture is under way. (`CUstreamCaptureMode`)
    CUstreamCaptureMode {
        /// Unsafe calls of every thread, unless that thread has said otherwise.
        GLOBAL = 0;
        /// Unsafe calls of the capturing thread.
        THREAD_LOCAL = 1;
        /// None.
        RELAXED = 2;
    }

    /// What `cuStreamIsCapturing` answers. (`CUstreamCaptureStatus`)
    CUstreamCaptureStatus {
        /// The stream is not captured.
        NONE = 0;
        /// The stream is captured.
        ACTIVE = 1;
        /// The stream is captured, and an error has spoilt the capture.
        INVALIDATED = 2;
    }

    /// What a node of a graph does. (`CUgraphNodeType`)
    CUgraphNodeType {
        /// Runs a kernel.
        KERNEL = 0;
        /// Copies.
        MEMCPY = 1;
        /// Fills memory.
        MEMSET = 2;
        /// Calls a function of the host.
        HOST = 3;
        /// Runs another graph.
        GRAPH = 4;
        /// Nothing; orders others.
        EMPTY = 5;
        /// Waits for an event of outside the graph.
        WAIT_EVENT = 6;
        /// Records an event of outside the graph.
        EVENT_RECORD = 7;
        /// Allocates device memory.
        MEM_ALLOC = 10;
        /// Frees device memory.
        MEM_FREE = 11;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cust::sys;

    /// Against the numbers that `cust_raw` took from the header by machine: one of each type, and the far ends.
    #[test]
    fn the_numbers_are_the_headers() {
        use sys::{CUdevice_attribute as Device, CUfunction_attribute as Function, CUjit_option as Jit};
        for (ours, header) in [
            (
                CUdeviceAttribute::MULTIPROCESSOR_COUNT.0,
                Device::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT as u32,
            ),
            (CUdeviceAttribute::L2_CACHE_SIZE.0, Device::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE as u32),
            (
                CUdeviceAttribute::MAX_BLOCKS_PER_MULTIPROCESSOR.0,
                Device::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR as u32,
            ),
            (
                CUfunctionAttribute::MAX_DYNAMIC_SHARED_SIZE_BYTES.0,
                Function::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as u32,
            ),
            (CUjitOption::ERROR_LOG_BUFFER_SIZE_BYTES.0, Jit::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES as u32),
            (CUstreamFlags::NON_BLOCKING.0, sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32),
            (CUeventFlags::DISABLE_TIMING.0, sys::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING as u32),
            (CUcontextFlags::SCHED_BLOCKING_SYNC.0, sys::CUctx_flags_enum::CU_CTX_SCHED_BLOCKING_SYNC as u32),
            (
                CUstreamCaptureMode::RELAXED.0,
                sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_RELAXED as u32,
            ),
            (
                CUstreamCaptureStatus::INVALIDATED.0,
                sys::CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_INVALIDATED as u32,
            ),
            (CUgraphNodeType::MEM_FREE.0, sys::CUgraphNodeType_enum::CU_GRAPH_NODE_TYPE_MEM_FREE as u32),
        ] {
            assert_eq!(ours, header);
        }
    }
}
