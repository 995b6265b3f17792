//! How kernels that may start early depend on the work ahead of them: read from the PTX that was loaded, in terms of the
//! kernels' own parameters. It touches no device.

use std::collections::HashMap;

use cuda_std::abi::{Access, Kernel};
use virtual_gpu::ptx;

use super::log::{Entry, Operation};
use crate::kernels::Image;

/// What decides whether a kernel that may start early is in order with the work ahead of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependence {
    /// Whether its PTX has a `griddepcontrol.wait` that a thread can reach.
    pub waits: bool,
    early: Vec<(&'static str, Access)>,
}

impl Dependence {
    /// What the kernel can do before its wait to the buffer that is passed for `parameter`: nothing, read it, or write it.
    pub fn before_wait(&self, parameter: &str) -> Option<Access> {
        self.early.iter().find(|(name, _)| *name == parameter).map(|(_, access)| *access)
    }

    /// Of a kernel that the text does not have there is nothing to tell.
    fn of(kernel: &Kernel, ptx: &ptx::Module) -> Option<Dependence> {
        let ptx::Dependence { waits, before_wait } = ptx.dependence(kernel.name)?;
        let early = kernel.addresses().filter_map(|(place, parameter)| match before_wait.get(place)? {
            ptx::Touches { writes: true, .. } => Some((parameter.name, Access::Write)),
            ptx::Touches { reads: true, .. } => Some((parameter.name, Access::Read)),
            _ => None,
        });
        Some(Dependence { waits, early: early.collect() })
    }
}

/// For each kernel that was launched to start early, by its name. Where there is none, the PTX is not looked at. A text that
/// cannot be read tells nothing of its kernels: they pass for kernels that wait first.
pub(super) fn of_early_starters(entries: &[Entry], image: &Image) -> HashMap<&'static str, Dependence> {
    let kernels: HashMap<_, _> = entries
        .iter()
        .filter_map(|entry| match &entry.operation {
            Operation::Launch { kernel, launch, .. } if launch.attributes.may_start_early() => {
                Some((kernel.name, *kernel))
            }
            _ => None,
        })
        .collect();
    if kernels.is_empty() {
        return HashMap::new();
    }
    let Ok(ptx) = ptx::Module::parse(image.text) else { return HashMap::new() };
    kernels.into_iter().filter_map(|(name, kernel)| Some((name, Dependence::of(kernel, &ptx)?))).collect()
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
        file: "",
        line: 0,
    };

    fn of(body: &str) -> Option<Dependence> {
        let parameters: Vec<_> = (0..5).map(|n| format!(".param .u64 p{n}")).collect();
        let text = format!(
            ".version 7.8\n.target sm_90\n.entry k({})\n{{ .reg .b32 %r; .reg .b64 %a, %length, %n, %b; \
             ld.param.u64 %a, [p0]; ld.param.u64 %length, [p1]; ld.param.u64 %n, [p2]; ld.param.u64 %b, [p3];\n{body} }}",
            parameters.join(", ")
        );
        Dependence::of(KERNEL, &ptx::Module::parse(&text).unwrap())
    }

    #[test]
    fn a_buffer_is_known_by_its_address_and_no_other_number_is_one() {
        let found = of("add.u64 %b, %b, %length; add.u64 %b, %b, %n; ld.global.u32 %r, [%b]; \
                        st.global.u32 [%a], 1; griddepcontrol.wait; ret;");
        let found = found.unwrap();
        assert!(found.waits);
        let early = ["a", "b", "c", "n"].map(|parameter| found.before_wait(parameter));
        assert_eq!(early, [Some(Access::Write), Some(Access::Read), None, None]);
        assert!(!of("ret;").unwrap().waits);
    }

    #[test]
    fn a_kernel_that_the_text_does_not_have_is_told_nothing_of() {
        let empty = ptx::Module::parse(".version 7.8\n.target sm_90\n").unwrap();
        assert_eq!(Dependence::of(KERNEL, &empty), None);
    }
}
