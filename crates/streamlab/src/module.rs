//! The program's kernels on the device: which PTX was loaded, and the functions in it. It launches nothing.

use std::cell::{OnceCell, RefCell};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ffi::CString;
use std::panic::Location;

use cuda_driver::{CUmoduleLoadingMode, CuResult, Symbol};
use cuda_std::abi::{Access, Image, Kernel};

use crate::device::DeviceProperties;
use crate::error::{Doing, Error, failure};
use crate::floor::{self, RawFunction, RawModule};

/// When the driver brings kernels to the device by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadingMode {
    /// With their module.
    Eager,
    /// Each at its first use.
    Lazy,
}

/// A loaded module.
#[derive(Debug)]
pub struct Module {
    raw: RawModule,
    image: &'static Image,
    functions: RefCell<HashMap<&'static str, RawFunction>>,
    /// The PTX, read when it is first asked about; `None` where it cannot be read.
    ptx: OnceCell<Option<ptx::Module>>,
}

/// What a kernel does before its `griddepcontrol.wait`, read from its PTX: it decides whether a launch that may start early is
/// in order with the work ahead of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EarlyAccess {
    /// Whether its PTX has a wait that a thread can reach.
    pub waits: bool,
    early: Vec<(&'static str, Access)>,
}

impl EarlyAccess {
    /// Returns what the kernel can do before its wait to the buffer of `parameter`: nothing, read it, or write it.
    pub fn before_wait(&self, parameter: &str) -> Option<Access> {
        self.early.iter().find(|(name, _)| *name == parameter).map(|(_, access)| *access)
    }

    /// Returns `None` if the PTX has no such kernel.
    fn of(kernel: &Kernel, ptx: &ptx::Module) -> Option<EarlyAccess> {
        let ptx::Dependence { waits, before_wait } = ptx.dependence(kernel.name)?;
        let early = kernel.addresses().filter_map(|(place, parameter)| match before_wait.get(place)? {
            ptx::Touches { writes: true, .. } => Some((parameter.name, Access::Write)),
            ptx::Touches { reads: true, .. } => Some((parameter.name, Access::Read)),
            _ => None,
        });
        Some(EarlyAccess { waits, early: early.collect() })
    }
}

impl Module {
    /// Returns the images that the device can run, newest first.
    pub(crate) fn images_for(
        device: &DeviceProperties,
        images: &'static [Image],
    ) -> Result<Vec<&'static Image>, Error> {
        let mut fitting: Vec<_> =
            images.iter().filter(|image| image.capability <= device.compute_capability).collect();
        fitting.sort_by_key(|image| Reverse(image.capability));
        if fitting.is_empty() {
            return Err(Error::DeviceTooOld {
                device: device.name.clone(),
                capability: device.compute_capability,
                needs: images.iter().map(|image| image.capability).min().unwrap_or_default(),
            });
        }
        Ok(fitting)
    }

    /// Loads the first of `images` that the driver takes (`cuModuleLoadDataEx`): it refuses PTX newer than itself. The kernels
    /// are not on the device yet.
    #[track_caller]
    pub(crate) fn load(device: &DeviceProperties, images: &[&'static Image]) -> Result<Module, Error> {
        for image in images {
            match floor::module_load(image.text) {
                Ok(raw) => {
                    let (functions, ptx) = (RefCell::default(), OnceCell::new());
                    return Ok(Module { raw, image, functions, ptx });
                }
                Err((failed, _)) if failed.code == CuResult::UNSUPPORTED_PTX_VERSION => {}
                Err((failed, said)) => {
                    let (major, minor) = image.ptx_version;
                    let what = format!("load the PTX {major}.{minor} for {}", image.arch);
                    let error = failure(failed, what, Location::caller());
                    return Err(error.or_detail(|_| match for_another_device(device, image.text) {
                        Some(words) if !said.contains(&words) => format!("{words}; {said}"),
                        _ => said,
                    }));
                }
            }
        }
        Err(Error::PtxTooNew {
            ptx: images.last().map(|image| image.ptx_version).unwrap_or_default(),
            driver: device.driver_cuda,
        })
    }

    /// Brings every kernel to the device now (`cuFuncLoad`, where the driver has it). The driver would do it at a kernel's
    /// first launch, and that can wait for kernels that are running: a first measurement then shows no overlap, and of two
    /// kernels one can wait for ever for one that is not loaded.
    pub(crate) fn load_kernels(&self) -> Result<(), Error> {
        if !floor::is_available(Symbol::cuFuncLoad) {
            return Ok(());
        }
        for entry in self.image.kernels {
            let function = self.function(entry)?;
            floor::function_load(function).doing(|| format!("load kernel `{entry}`"))?;
        }
        Ok(())
    }

    /// Returns when the driver brings kernels to the device by default (`cuModuleGetLoadingMode`; the variable
    /// `CUDA_MODULE_LOADING` sets it). `None` from a driver before CUDA 11.7, which knows only one way.
    pub fn loading_mode(&self) -> Option<LoadingMode> {
        match floor::module_loading_mode() {
            Err(_) => None,
            Ok(CUmoduleLoadingMode::LAZY) => Some(LoadingMode::Lazy),
            Ok(_) => Some(LoadingMode::Eager),
        }
    }

    /// Returns the PTX that was loaded.
    pub fn image(&self) -> &'static Image {
        self.image
    }

    /// Whether the module has this entry.
    pub(crate) fn has(&self, entry: &str) -> bool {
        self.image.kernels.contains(&entry)
    }

    /// Returns what a kernel does before its wait. A text that cannot be read says nothing of its kernels: they pass for
    /// kernels that wait first.
    pub(crate) fn early_access(&self, kernel: &Kernel) -> Option<EarlyAccess> {
        let ptx = self.ptx.get_or_init(|| ptx::Module::parse(self.image.text).ok());
        EarlyAccess::of(kernel, ptx.as_ref()?)
    }

    /// Returns the function of an entry, looked up at most once.
    #[track_caller]
    pub(crate) fn function(&self, entry: &'static str) -> Result<RawFunction, Error> {
        if let Some(function) = self.functions.borrow().get(entry) {
            return Ok(*function);
        }
        let name = CString::new(entry).unwrap_or_default();
        let function = floor::module_function(&self.raw, &name)
            .doing(|| format!("find kernel `{entry}` in the PTX for {}", self.image.arch))?;
        self.functions.borrow_mut().insert(entry, function);
        Ok(function)
    }

    /// Unloads it (`cuModuleUnload`). Its functions are forgotten.
    pub(crate) fn unload(&mut self) -> floor::Result<()> {
        self.functions.borrow_mut().clear();
        floor::module_unload(&mut self.raw)
    }
}

/// Says that PTX is for another device. The driver has one code for PTX that it cannot compile, and this is of that kind.
fn for_another_device(device: &DeviceProperties, text: &str) -> Option<String> {
    let target = text.lines().find_map(|line| line.trim_start().strip_prefix(".target"))?;
    let digits = target.trim_start().strip_prefix("sm_")?;
    let digits = &digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())];
    let (wanted, (major, minor)) = (digits.parse::<u32>().ok()?, device.compute_capability);
    let has = 10 * major + minor;
    (wanted > has).then(|| format!("the PTX is for sm_{wanted} and this device is sm_{has}"))
}

#[cfg(test)]
mod tests {
    use cuda_std::abi::{Parameter, ParameterKind};

    use super::*;

    const fn parameter(name: &'static str, kind: ParameterKind) -> Parameter {
        Parameter { name, type_name: "", kind }
    }

    const BUFFER: ParameterKind = ParameterKind::Slice { access: Access::Write, element_bytes: 4 };

    /// In PTX: `a`, its length, `n`, `b`, `c`.
    const KERNEL: &Kernel = &Kernel {
        name: "k",
        traced_name: "",
        parameters: &[
            parameter("a", BUFFER),
            parameter("n", ParameterKind::Scalar { bytes: 8 }),
            parameter("b", BUFFER),
            parameter("c", BUFFER),
        ],
        since_sm: 90,
        equal_lengths: true,
        is_unsafe: true,
        file: "",
        line: 0,
    };

    fn of(body: &str) -> Option<EarlyAccess> {
        let parameters: Vec<_> = (0..5).map(|n| format!(".param .u64 p{n}")).collect();
        let text = format!(
            ".version 7.8\n.target sm_90\n.entry k({})\n{{ .reg .b32 %r; .reg .b64 %a, %length, %n, %b; \
             ld.param.u64 %a, [p0]; ld.param.u64 %length, [p1]; ld.param.u64 %n, [p2]; ld.param.u64 %b, [p3];\n{body} }}",
            parameters.join(", ")
        );
        EarlyAccess::of(KERNEL, &ptx::Module::parse(&text).expect("the text is PTX"))
    }

    #[test]
    fn a_buffer_is_known_by_its_address_and_no_other_number_is_one() {
        let found = of("add.u64 %b, %b, %length; add.u64 %b, %b, %n; ld.global.u32 %r, [%b]; \
                        st.global.u32 [%a], 1; griddepcontrol.wait; ret;");
        let found = found.expect("the kernel is there");
        assert!(found.waits);
        let early = ["a", "b", "c", "n"].map(|parameter| found.before_wait(parameter));
        assert_eq!(early, [Some(Access::Write), Some(Access::Read), None, None]);
        assert!(!of("ret;").expect("the kernel is there").waits);
    }

    #[test]
    fn nothing_is_known_of_a_kernel_that_the_text_does_not_have() {
        let empty = ptx::Module::parse(".version 7.8\n.target sm_90\n").expect("the text is PTX");
        assert_eq!(EarlyAccess::of(KERNEL, &empty), None);
    }
}
