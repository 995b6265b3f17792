//! The shape of the PTX that the compiler wrote: what it must contain, and what it must not.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::Command;

use cuda_std::abi::{Kernel, ParameterKind};
use host::kernels::{IMAGES, Image};

/// Every kernel of the crate `gpu`.
const KERNELS: &[&Kernel] = &[
    gpu::forkjoin::grind_fma::KERNEL,
    gpu::forkjoin::sum_four::KERNEL,
    gpu::streams::spin_lcg::KERNEL,
    gpu::streams::sweep_add::KERNEL,
    gpu::streams::sweep_scale::KERNEL,
    gpu::pdl::produce_stage::KERNEL,
    gpu::pdl::produce_stage_early::KERNEL,
    gpu::pdl::produce_stage_late::KERNEL,
    gpu::pdl::produce_stage_never::KERNEL,
    gpu::pdl::combine_stage::KERNEL,
];

/// The kernels that the image must have.
fn kernels(image: &Image) -> impl Iterator<Item = &'static Kernel> {
    let (major, minor) = image.capability;
    KERNELS.iter().copied().filter(move |kernel| kernel.since_sm <= 10 * major + minor)
}

/// An entry's parameter types in order, and the instructions of its body.
fn entry<'a>(image: &'a Image, name: &str) -> (Vec<&'a str>, Vec<&'a str>) {
    let start = image.text.find(&format!(".visible .entry {name}(")).expect(name);
    let (head, rest) = image.text[start..].split_once("\n{\n").unwrap();
    let (body, _) = rest.split_once("\n}\n").unwrap();
    let parameters =
        head.lines().filter_map(|line| line.trim().strip_prefix(".param .")?.split(' ').next()).collect();
    (parameters, body.lines().map(str::trim).filter(|line| !line.is_empty()).collect())
}

fn count(instructions: &[&str], mnemonic: &str) -> usize {
    instructions.iter().filter(|line| line.split_whitespace().any(|word| word == mnemonic)).count()
}

#[test]
fn there_is_one_image_for_each_architecture_and_it_says_which() {
    let architectures: Vec<_> = IMAGES.iter().map(|image| (image.arch, image.capability)).collect();
    assert_eq!(architectures, [("sm_75", (7, 5)), ("sm_90", (9, 0))]);
    for image in IMAGES {
        assert!(image.text.contains(&format!("\n.target {}\n", image.arch)));
        let (major, minor) = image.ptx_version;
        assert!(image.text.contains(&format!("\n.version {major}.{minor}\n")));
        assert!(image.text.contains("\n.address_size 64\n"));
    }
}

#[test]
fn every_kernel_is_an_entry_with_the_parameters_of_its_descriptor_and_there_is_no_other() {
    for image in IMAGES {
        assert_eq!(image.text.matches(".entry ").count(), kernels(image).count(), "{}", image.arch);
        for kernel in kernels(image) {
            let bytes: Vec<_> = entry(image, kernel.name).0.iter().map(|ptx_type| &ptx_type[1..]).collect();
            let mut want = Vec::new();
            for parameter in kernel.parameters {
                match parameter.kind {
                    ParameterKind::Slice { .. } => want.extend(["64".to_owned(), "64".to_owned()]),
                    ParameterKind::Pointer { .. } => want.push("64".to_owned()),
                    ParameterKind::Scalar { bytes } => want.push((8 * bytes).to_string()),
                }
            }
            assert_eq!(bytes, want, "{} for {}", kernel.name, image.arch);
            assert_eq!(bytes.len(), kernel.slots());
        }
    }
}

#[test]
fn nothing_is_left_to_link() {
    for image in IMAGES {
        assert!(!image.text.contains(".extern"), "{}", image.arch);
    }
}

#[test]
fn the_grind_chain_is_fused_multiply_adds_and_nothing_else() {
    for image in IMAGES {
        let (_, body) = entry(image, "grind_fma");
        assert!(count(&body, "fma.rn.f32") >= 64, "{}", image.arch);
        for apart in ["mul.f32", "mul.rn.f32", "add.f32", "add.rn.f32"] {
            assert_eq!(count(&body, apart), 0, "{apart} for {}", image.arch);
        }
        assert!(!body.iter().any(|line| line.contains(".local")), "a value went through local memory");
    }
}

/// Two scalars in one aligned word are loaded into two registers at once, and each step of the chain then reads three
/// registers, two of them from one bank (see `grind_fma`).
#[test]
fn the_factors_of_the_chain_do_not_share_a_word() {
    let mut offset = 0_usize;
    let mut words = Vec::new();
    for parameter in gpu::forkjoin::grind_fma::KERNEL.parameters {
        if let ParameterKind::Scalar { bytes } = parameter.kind {
            offset = offset.next_multiple_of(bytes);
            if ["a", "b"].contains(&parameter.name) {
                words.push(offset / 8);
            }
            offset += bytes;
        } else {
            offset = offset.next_multiple_of(8) + 8 * parameter.kind.slots();
        }
    }
    assert!(words.len() == 2 && words[0] != words[1], "{words:?}");
}

#[test]
fn shared_slices_are_loaded_through_the_read_only_path_and_all_access_is_to_global_memory() {
    for image in IMAGES {
        for (name, loads) in [("grind_fma", 2), ("sum_four", 4)] {
            let (_, body) = entry(image, name);
            assert_eq!(count(&body, "ld.global.nc.b32"), loads, "{name} for {}", image.arch);
            assert_eq!(count(&body, "st.global.b32"), 1, "{name} for {}", image.arch);
            for generic in ["ld.b32", "st.b32"] {
                assert_eq!(count(&body, generic), 0, "{generic} in {name} for {}", image.arch);
            }
        }
    }
}

#[test]
fn dependent_launch_is_absent_before_sm_90() {
    for image in IMAGES.iter().filter(|image| image.capability < (9, 0)) {
        assert!(!image.text.contains("griddepcontrol"), "{}", image.arch);
    }
}

#[test]
#[ignore = "needs NVIDIA's assembler: PTXAS=path/to/ptxas cargo test -- --ignored ptxas"]
fn ptxas_assembles_every_kernel_without_a_spill() {
    let ptxas = std::env::var_os("PTXAS").unwrap_or_else(|| "ptxas".into());
    let folder = std::env::temp_dir().join(format!("ptxas-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for image in IMAGES {
        let source = folder.join(format!("{}.ptx", image.arch));
        std::fs::write(&source, image.text).unwrap();
        let output = Command::new(&ptxas)
            .args(["-v", &format!("-arch={}", image.arch), "-o"])
            .arg(folder.join("out.cubin"))
            .arg(&source)
            .output()
            .expect("ptxas could not be run: name it in PTXAS");
        let report = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{report}");
        for kernel in kernels(image) {
            assert!(report.contains(&format!("Compiling entry function '{}'", kernel.name)), "{report}");
        }
        let spills: Vec<_> = report.lines().filter(|line| line.contains("spill")).collect();
        let clean = "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads";
        assert!(!spills.is_empty() && spills.iter().all(|line| line.trim() == clean), "{report}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
