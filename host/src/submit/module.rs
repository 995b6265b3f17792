//! The program's kernels on the card: which PTX was taken, and the functions in it.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::panic::Location;
use std::ptr;

use cuda_driver::{CUfunction, CUjitOption, CUmodule, CUmoduleLoadingMode, CuResult, Symbol};

use super::error::{check, failure};
use super::{Card, Error};
use crate::kernels::Image;

/// Room for what the driver's PTX compiler has to say, bytes.
const COMPILER_LOG: usize = 8192;

/// When kernels are brought to the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loading {
    /// All of them before anything is launched.
    Ahead,
    /// As the driver does it when it is left alone: each at its first launch, or all with their module.
    LeftToTheDriver,
}

/// When the driver, left alone, brings kernels to the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadingMode {
    /// With their module.
    Eager,
    /// Each at its first use.
    Lazy,
}

/// A loaded module.
pub struct Module {
    raw: CUmodule,
    image: &'static Image,
    functions: RefCell<HashMap<&'static str, CUfunction>>,
}

impl Module {
    /// The images that the card can run, newest first.
    ///
    /// # Errors
    ///
    /// [`Error::CardTooOld`] when there is none.
    pub(super) fn images_for(card: &Card, images: &'static [Image]) -> Result<Vec<&'static Image>, Error> {
        let mut fitting: Vec<_> =
            images.iter().filter(|image| image.capability <= card.compute_capability).collect();
        fitting.sort_by_key(|image| Reverse(image.capability));
        if fitting.is_empty() {
            return Err(Error::CardTooOld {
                card: card.name.clone(),
                capability: card.compute_capability,
                needs: images.iter().map(|image| image.capability).min().unwrap_or_default(),
            });
        }
        Ok(fitting)
    }

    /// Loads the first of `images` that the driver takes (`cuModuleLoadDataEx`): it refuses PTX newer than itself. Its
    /// kernels are not on the card yet.
    ///
    /// # Errors
    ///
    /// [`Error::PtxTooNew`] when it takes none; any other refusal as it comes, with the compiler's log.
    pub(super) fn load(card: &Card, images: &[&'static Image]) -> Result<Module, Error> {
        for image in images {
            match load(card, image) {
                Ok(raw) => return Ok(Module { raw, image, functions: RefCell::default() }),
                Err((CuResult::UNSUPPORTED_PTX_VERSION, _)) => {}
                Err((_, error)) => return Err(error),
            }
        }
        Err(Error::PtxTooNew {
            ptx: images.last().map(|image| image.ptx_version).unwrap_or_default(),
            driver: card.driver_cuda,
        })
    }

    /// Brings every kernel to the card now (`cuFuncLoad`, where the driver has it). The driver would else do it at a
    /// kernel's first launch, and that can wait for kernels that are running: a first measurement shows no overlap, and
    /// two kernels of which one waits for the other never end.
    pub(super) fn load_kernels(&self) -> Result<(), Error> {
        if !cuda_driver::is_available(Symbol::cuFuncLoad) {
            return Ok(());
        }
        for entry in self.image.kernels {
            let function = self.function(entry)?;
            // SAFETY: the function is of this module, which is loaded.
            let answer = unsafe { cuda_driver::cuFuncLoad(function) };
            check("cuFuncLoad", answer, || format!("load kernel `{entry}`"))?;
        }
        Ok(())
    }

    /// Whether the driver brings kernels to the card with their module, or each at its first use
    /// (`cuModuleGetLoadingMode`; the variable `CUDA_MODULE_LOADING` sets it). Nothing from a driver before CUDA 11.7,
    /// which knows only the first.
    pub fn loading_mode(&self) -> Option<LoadingMode> {
        let mut mode = CUmoduleLoadingMode::EAGER;
        // SAFETY: `mode` is there to be written.
        let answer = unsafe { cuda_driver::cuModuleGetLoadingMode(&mut mode) };
        match mode {
            _ if !answer.is_success() => None,
            CUmoduleLoadingMode::LAZY => Some(LoadingMode::Lazy),
            _ => Some(LoadingMode::Eager),
        }
    }

    /// The PTX that was loaded.
    pub fn image(&self) -> &'static Image {
        self.image
    }

    /// The function of an entry, a kernel's or its traced twin's, looked up at most once.
    #[track_caller]
    pub(super) fn function(&self, entry: &'static str) -> Result<CUfunction, Error> {
        if let Some(function) = self.functions.borrow().get(entry) {
            return Ok(*function);
        }
        let what = || format!("find kernel `{entry}` in the PTX for {}", self.image.arch);
        let name = CString::new(entry).unwrap_or_default();
        let mut function = CUfunction::NULL;
        // SAFETY: the module is loaded, the name ends in NUL, and `function` is there to be written.
        let answer = unsafe { cuda_driver::cuModuleGetFunction(&mut function, self.raw, name.as_ptr()) };
        check("cuModuleGetFunction", answer, what)?;
        self.functions.borrow_mut().insert(entry, function);
        Ok(function)
    }

    /// Unloads it (`cuModuleUnload`).
    pub(super) fn unload(self) -> Result<(), Error> {
        // SAFETY: `self` is taken, so no function of the module is used after.
        check("cuModuleUnload", unsafe { cuda_driver::cuModuleUnload(self.raw) }, || {
            "unload the kernels".into()
        })
    }
}

#[track_caller]
fn load(card: &Card, image: &Image) -> Result<CUmodule, (CuResult, Error)> {
    let text = CString::new(image.text).unwrap_or_default();
    let mut log = vec![0_u8; COMPILER_LOG];
    let mut options = [CUjitOption::ERROR_LOG_BUFFER, CUjitOption::ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(COMPILER_LOG)];
    let mut raw = CUmodule::NULL;
    // SAFETY: the text ends in NUL; there are as many values as options, the buffer is as long as its size says, and
    // all of them outlive the call.
    let answer = unsafe {
        cuda_driver::cuModuleLoadDataEx(
            &mut raw,
            text.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    if answer == CuResult::SUCCESS {
        return Ok(raw);
    }
    let (major, minor) = image.ptx_version;
    let what = format!("load the PTX {major}.{minor} for {}", image.arch);
    let mut error = failure("cuModuleLoadDataEx", answer, what, Location::caller());
    if let Error::Driver(driver) = &mut error {
        let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
        let said = String::from_utf8_lossy(&log[..end]);
        driver.detail = match for_another_card(card, image.text) {
            Some(words) if !said.contains(&words) => format!("{words}; {said}"),
            _ => said.into_owned(),
        };
    }
    Err((answer, error))
}

/// The driver has one code for PTX that it cannot compile, and PTX for another card is of that kind.
fn for_another_card(card: &Card, text: &str) -> Option<String> {
    let target = text.lines().find_map(|line| line.trim_start().strip_prefix(".target"))?;
    let digits = target.trim_start().strip_prefix("sm_")?;
    let digits = &digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())];
    let (wanted, (major, minor)) = (digits.parse::<u32>().ok()?, card.compute_capability);
    let has = 10 * major + minor;
    (wanted > has).then(|| format!("the PTX is for sm_{wanted} and this card is sm_{has}"))
}
