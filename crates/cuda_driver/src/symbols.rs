//! The one list of driver functions: name, and the CUDA release whose driver first had it.
//!
//! Everything that must agree is generated from it: the enum, the table's slots, the jumps. The list holds every
//! function that `cust` 0.3.2 calls and every function that `calls` declares; a test compares both.

use std::fmt;

/// Hands the list, as `(name, major, minor)` triples, to another macro.
///
/// A name is the one that the library exports, not the header's short name for it: `cuda.h` makes `cuMemAlloc`
/// mean `cuMemAlloc_v2`. The release is that of the exported name.
macro_rules! for_each_symbol {
    ($apply:ident) => {
        $apply! {
            // The driver itself.
            (cuInit, 2, 0)
            (cuDriverGetVersion, 2, 2)
            (cuGetErrorName, 6, 0)
            (cuGetErrorString, 6, 0)
            // Devices.
            (cuDeviceGet, 2, 0)
            (cuDeviceGetCount, 2, 0)
            (cuDeviceGetName, 2, 0)
            (cuDeviceGetAttribute, 2, 0)
            (cuDeviceTotalMem_v2, 3, 2)
            // Contexts.
            (cuDevicePrimaryCtxRetain, 7, 0)
            (cuDevicePrimaryCtxRelease_v2, 11, 0)
            (cuDevicePrimaryCtxGetState, 7, 0)
            (cuDevicePrimaryCtxSetFlags_v2, 11, 0)
            (cuDevicePrimaryCtxReset_v2, 11, 0)
            (cuCtxCreate_v2, 3, 2)
            (cuCtxDestroy_v2, 4, 0)
            (cuCtxPushCurrent_v2, 4, 0)
            (cuCtxPopCurrent_v2, 4, 0)
            (cuCtxSetCurrent, 4, 0)
            (cuCtxGetCurrent, 4, 0)
            (cuCtxGetDevice, 2, 0)
            (cuCtxGetFlags, 7, 0)
            (cuCtxGetApiVersion, 3, 2)
            (cuCtxGetLimit, 3, 1)
            (cuCtxSetLimit, 3, 1)
            (cuCtxGetCacheConfig, 3, 2)
            (cuCtxSetCacheConfig, 3, 2)
            (cuCtxGetSharedMemConfig, 4, 2)
            (cuCtxSetSharedMemConfig, 4, 2)
            (cuCtxGetStreamPriorityRange, 5, 5)
            (cuCtxSynchronize, 2, 0)
            // Modules and the linker in the driver.
            (cuModuleLoad, 2, 0)
            (cuModuleLoadData, 2, 0)
            (cuModuleLoadDataEx, 2, 1)
            (cuModuleUnload, 2, 0)
            (cuModuleGetFunction, 2, 0)
            (cuModuleGetGlobal_v2, 3, 2)
            (cuModuleGetLoadingMode, 11, 7)
            (cuLinkCreate_v2, 6, 5)
            (cuLinkAddData_v2, 6, 5)
            (cuLinkComplete, 5, 5)
            (cuLinkDestroy, 5, 5)
            // Functions and launches.
            (cuFuncGetAttribute, 2, 2)
            (cuFuncSetAttribute, 9, 0)
            (cuFuncSetCacheConfig, 3, 0)
            (cuFuncSetSharedMemConfig, 4, 2)
            (cuFuncLoad, 12, 4)
            (cuOccupancyMaxActiveBlocksPerMultiprocessor, 6, 5)
            (cuOccupancyMaxPotentialBlockSize, 6, 5)
            (cuOccupancyAvailableDynamicSMemPerBlock, 10, 2)
            (cuLaunchKernel, 4, 0)
            (cuLaunchKernelEx, 11, 8)
            (cuLaunchHostFunc, 10, 0)
            // Streams.
            (cuStreamCreate, 2, 0)
            (cuStreamCreateWithPriority, 5, 5)
            (cuStreamDestroy_v2, 4, 0)
            (cuStreamSynchronize, 2, 0)
            (cuStreamQuery, 2, 0)
            (cuStreamWaitEvent, 3, 2)
            (cuStreamGetFlags, 5, 5)
            (cuStreamGetPriority, 5, 5)
            (cuStreamBeginCapture_v2, 10, 1)
            (cuStreamEndCapture, 10, 0)
            (cuStreamIsCapturing, 10, 0)
            // Events.
            (cuEventCreate, 2, 0)
            (cuEventDestroy_v2, 4, 0)
            (cuEventRecord, 2, 0)
            (cuEventQuery, 2, 0)
            (cuEventSynchronize, 2, 0)
            (cuEventElapsedTime, 2, 0)
            // Memory.
            (cuMemAlloc_v2, 3, 2)
            (cuMemFree_v2, 3, 2)
            (cuMemAllocHost_v2, 3, 2)
            (cuMemFreeHost, 2, 0)
            (cuMemAllocManaged, 6, 0)
            (cuMemAllocAsync, 11, 2)
            (cuMemFreeAsync, 11, 2)
            (cuMemAdvise, 8, 0)
            (cuMemPrefetchAsync, 8, 0)
            (cuMemGetInfo_v2, 3, 2)
            // Copies and fills.
            (cuMemcpyHtoD_v2, 3, 2)
            (cuMemcpyDtoH_v2, 3, 2)
            (cuMemcpyDtoD_v2, 3, 2)
            (cuMemcpyHtoDAsync_v2, 3, 2)
            (cuMemcpyDtoHAsync_v2, 3, 2)
            (cuMemcpyDtoDAsync_v2, 3, 2)
            (cuMemcpy2D_v2, 3, 2)
            (cuMemcpyAtoH_v2, 3, 2)
            (cuMemcpyHtoA_v2, 3, 2)
            (cuMemsetD8_v2, 3, 2)
            (cuMemsetD16_v2, 3, 2)
            (cuMemsetD32_v2, 3, 2)
            (cuMemsetD8Async, 3, 2)
            (cuMemsetD16Async, 3, 2)
            (cuMemsetD32Async, 3, 2)
            // Graphs.
            (cuGraphCreate, 10, 0)
            (cuGraphDestroy, 10, 0)
            (cuGraphAddKernelNode, 10, 0)
            (cuGraphKernelNodeGetParams, 10, 0)
            (cuGraphGetNodes, 10, 0)
            (cuGraphGetEdges, 10, 0)
            (cuGraphNodeGetType, 10, 0)
            (cuGraphDebugDotPrint, 11, 3)
            (cuGraphInstantiateWithFlags, 11, 4)
            (cuGraphLaunch, 10, 0)
            (cuGraphExecDestroy, 10, 0)
            // Arrays, textures, surfaces, imported memory.
            (cuArray3DCreate_v2, 3, 2)
            (cuArray3DGetDescriptor_v2, 3, 2)
            (cuArrayDestroy, 2, 0)
            (cuTexObjectCreate, 5, 0)
            (cuTexObjectDestroy, 5, 0)
            (cuTexObjectGetResourceDesc, 5, 0)
            (cuTexObjectGetResourceViewDesc, 5, 0)
            (cuSurfObjectCreate, 5, 0)
            (cuSurfObjectDestroy, 5, 0)
            (cuSurfObjectGetResourceDesc, 5, 0)
            (cuImportExternalMemory, 10, 0)
            (cuExternalMemoryGetMappedBuffer, 10, 0)
            (cuDestroyExternalMemory, 10, 0)
        }
    };
}
pub(crate) use for_each_symbol;

/// A release of CUDA, such as 11.8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CudaVersion {
    /// The 11 of 11.8.
    pub major: u32,
    /// The 8 of 11.8.
    pub minor: u32,
}

impl CudaVersion {
    /// Reads the number that `cuDriverGetVersion` writes: 1000 times major plus 10 times minor.
    pub const fn from_driver_number(number: u32) -> Self {
        CudaVersion { major: number / 1000, minor: number % 1000 / 10 }
    }
}

impl fmt::Display for CudaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

macro_rules! define_symbol {
    ($(($name:ident, $major:literal, $minor:literal))*) => {
        /// A function of the CUDA driver, by the name that the driver's library exports.
        #[allow(non_camel_case_types, reason = "the names are the driver's")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Symbol {
            $(#[doc = concat!("`", stringify!($name), "`, since CUDA ", $major, ".", $minor, ".")] $name,)*
        }

        impl Symbol {
            /// Every function of the list, in the order of the table.
            pub const ALL: &'static [Symbol] = &[$(Symbol::$name),*];

            /// The name that the driver's library exports.
            pub const fn name(self) -> &'static str {
                const NAMES: &[&str] = &[$(stringify!($name)),*];
                NAMES[self as usize]
            }

            /// The CUDA release whose driver first had this function.
            pub const fn since(self) -> CudaVersion {
                const SINCE: &[CudaVersion] = &[$(CudaVersion { major: $major, minor: $minor }),*];
                SINCE[self as usize]
            }
        }
    };
}
for_each_symbol!(define_symbol);

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_name_is_listed_once() {
        let names: HashSet<&str> = Symbol::ALL.iter().map(|symbol| symbol.name()).collect();
        assert_eq!(names.len(), Symbol::ALL.len());
    }

    #[test]
    fn the_position_in_the_list_is_the_symbols_number() {
        for (position, &symbol) in Symbol::ALL.iter().enumerate() {
            assert_eq!(symbol as usize, position, "{symbol}");
        }
    }

    #[test]
    fn the_drivers_number_is_read_as_a_release() {
        assert_eq!(CudaVersion::from_driver_number(13000).to_string(), "13.0");
        assert_eq!(CudaVersion::from_driver_number(11080), Symbol::cuLaunchKernelEx.since());
        assert!(CudaVersion::from_driver_number(2000) < CudaVersion::from_driver_number(10020));
    }

    /// Each call that `calls` declares jumps through the table, so it needs a slot in it.
    #[test]
    fn each_declared_call_is_in_the_list() {
        let declared: HashSet<&str> = [
            include_str!("calls/device.rs"),
            include_str!("calls/graph.rs"),
            include_str!("calls/memory.rs"),
            include_str!("calls/module.rs"),
            include_str!("calls/stream.rs"),
        ]
        .iter()
        .flat_map(|source| source.lines())
        .filter_map(|line| line.trim().strip_prefix("pub fn ")?.split('(').next())
        .collect();
        let listed: HashSet<&str> = Symbol::ALL.iter().map(|symbol| symbol.name()).collect();
        assert!(declared.contains("cuLaunchKernelEx"), "the declarations were not found");
        assert_eq!(declared.difference(&listed).collect::<Vec<_>>(), Vec::<&&str>::new());
    }
}
