//! The shape of the PTX that the compiler wrote: what it must contain, and what it must not.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::Command;

use cuda_std::abi::{Image, Kernel};
use cuda_std::trace::{streamlab_read_timer, streamlab_timestamp};
use host::kernels::IMAGES;

/// The kernels that every module has to read the clock; they have no traced twin.
const CLOCK: [&Kernel; 2] = [streamlab_read_timer::KERNEL, streamlab_timestamp::KERNEL];

/// The kernels of the lessons that the image must have, each with a traced twin.
fn kernels(image: &Image) -> impl Iterator<Item = &'static Kernel> {
    let (major, minor) = image.capability;
    gpu::KERNELS.iter().copied().filter(move |kernel| kernel.since_sm <= 10 * major + minor)
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
fn every_kernel_and_its_traced_twin_are_entries_with_the_parameters_of_its_descriptor_and_there_is_no_other()
{
    for image in IMAGES {
        let entries = CLOCK.len() + 2 * kernels(image).count();
        assert_eq!(image.text.matches(".entry ").count(), entries, "{}", image.arch);
        let bits = |name| entry(image, name).0.iter().map(|ptx_type| &ptx_type[1..]).collect::<Vec<_>>();
        let bits_of =
            |kernel: &Kernel| kernel.slots().map(|bytes| (8 * bytes).to_string()).collect::<Vec<_>>();
        for kernel in CLOCK {
            assert_eq!(
                (bits(kernel.name), kernel.traced_name),
                (bits_of(kernel).iter().map(String::as_str).collect(), "")
            );
        }
        for kernel in kernels(image) {
            let mut want = bits_of(kernel);
            assert_eq!(bits(kernel.name), want, "{} for {}", kernel.name, image.arch);
            want.push("64".to_owned());
            assert_eq!(bits(kernel.traced_name), want, "{} for {}", kernel.traced_name, image.arch);
        }
    }
}

/// A twin reads the clock first and last, and does in between what its kernel does.
#[test]
fn a_traced_twin_is_its_kernel_between_two_readings_of_the_clock() {
    let is_work = |line: &&str| {
        ["fma.", "ld.global", "st.global.b32", "griddepcontrol", "mul.", "add.rn"]
            .iter()
            .any(|word| line.starts_with(word))
            && !line.starts_with("mul.wide")
            && !line.starts_with("mul.lo")
    };
    for image in IMAGES {
        // This one reads the clock itself.
        for kernel in kernels(image).filter(|kernel| kernel.name != "wait_for_flag") {
            let ((_, own), (_, twin)) = (entry(image, kernel.name), entry(image, kernel.traced_name));
            let work = |body: &[&str]| body.iter().copied().filter(is_work).count();
            assert_eq!(work(&own), work(&twin), "{} for {}", kernel.name, image.arch);
            let readings: Vec<_> = (0..twin.len()).filter(|&at| twin[at].contains("%globaltimer")).collect();
            let [first, last] = readings[..] else { panic!("{}: {readings:?}", kernel.traced_name) };
            let between = twin[first..last].iter().filter(|line| is_work(line)).count();
            assert_eq!(between, work(&twin), "{} for {}", kernel.traced_name, image.arch);
            assert_eq!(count(&own, "%globaltimer;"), 0, "{}", kernel.name);
        }
    }
}

#[test]
fn the_kernels_that_read_the_clock_read_it() {
    for image in IMAGES {
        for kernel in CLOCK {
            let (_, body) = entry(image, kernel.name);
            assert!(count(&body, "%globaltimer;") > 0, "{} for {}", kernel.name, image.arch);
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
    let slots: Vec<_> = gpu::forkjoin::grind_fma::KERNEL.slots().collect();
    let offsets: Vec<_> = slots
        .iter()
        .scan(0_usize, |end, &bytes| {
            let start = end.next_multiple_of(bytes);
            *end = start + bytes;
            Some(start)
        })
        .collect();
    let [.., a, b] = offsets[..] else { panic!("{offsets:?}") };
    assert_ne!(a / 8, b / 8, "{offsets:?}");
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

/// The position of the one instruction that has this mnemonic.
fn place(body: &[&str], mnemonic: &str) -> usize {
    let mut found = body.iter().enumerate().filter(|(_, line)| line.contains(mnemonic));
    let (place, _) = found.next().unwrap();
    assert_eq!(found.next(), None, "{mnemonic} stands twice");
    place
}

#[test]
fn every_step_of_the_spin_is_executed() {
    for image in IMAGES {
        let (_, body) = entry(image, "spin_lcg");
        let steps: Vec<_> = body.iter().filter(|line| line.starts_with("mad.lo.s32")).collect();
        // As many as the compiler wrote opaque steps, each with the recurrence's own numbers: none is a folded one.
        assert_eq!(steps.len(), body.iter().filter(|line| line.starts_with("/* %r")).count());
        assert!(
            !steps.is_empty() && steps.iter().all(|step| step.ends_with(", 1664525, 1013904223;")),
            "{steps:?}"
        );
        for other in ["mul.lo.s32", "mul.lo.u32", "shl.b32"] {
            assert_eq!(count(&body, other), 0, "{other} for {}", image.arch);
        }
    }
}

#[test]
fn the_secondary_reads_nothing_of_the_primary_before_the_wait() {
    for image in IMAGES.iter().filter(|image| image.capability >= (9, 0)) {
        let (_, body) = entry(image, "combine_stage");
        let wait = place(&body, "griddepcontrol.wait");
        // What is loaded through the read-only path is the secondary's own; the rest may be the primary's.
        let own = place(&body, "ld.global.nc.b32");
        let primarys = place(&body, "ld.global.b32");
        let chain = body.iter().rposition(|line| line.starts_with("fma.rn.f32")).unwrap();
        assert!(
            own < chain && chain < wait && wait < primarys,
            "own {own}, chain {chain}, wait {wait}, mid {primarys}"
        );
        // A jump target stands between the chain and the wait: on one path the assembler would move the wait up.
        assert!(body[chain..wait].iter().any(|line| line.starts_with("$L__")), "{:?}", &body[chain..=wait]);
    }
}

#[test]
fn the_trigger_stands_where_the_kernels_name_says() {
    let triggers = |image, name| {
        let (_, body) = entry(image, name);
        let places = |mnemonic: &str| -> Vec<usize> {
            (0..body.len()).filter(|&at| body[at].starts_with(mnemonic)).collect()
        };
        (places("griddepcontrol.launch_dependents"), places("fma.rn.f32"), places("st.global.b32"))
    };
    for image in IMAGES.iter().filter(|image| image.capability >= (9, 0)) {
        let (trigger, fmas, stores) = triggers(image, "produce_stage_never");
        assert_eq!((trigger.len(), fmas.len(), stores.len()), (0, 512, 2));
        let (trigger, fmas, _) = triggers(image, "produce_stage_early");
        assert!(trigger[0] < fmas[0], "{trigger:?}");
        let (trigger, fmas, stores) = triggers(image, "produce_stage");
        assert!(
            fmas[255] < trigger[0] && stores[0] < trigger[0] && trigger[0] < fmas[256],
            "{trigger:?} {stores:?}"
        );
        let (trigger, _, stores) = triggers(image, "produce_stage_late");
        assert!(stores[1] < trigger[0], "{trigger:?} {stores:?}");
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
        for kernel in kernels(image).chain(CLOCK) {
            assert!(report.contains(&format!("Compiling entry function '{}'", kernel.name)), "{report}");
        }
        let spills: Vec<_> = report.lines().filter(|line| line.contains("spill")).collect();
        let clean = "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads";
        assert!(!spills.is_empty() && spills.iter().all(|line| line.trim() == clean), "{report}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_every_image_that_the_device_can_run_loads() {
    for image in IMAGES {
        match streamlab::Context::open(streamlab::Device::Gpu(0), std::slice::from_ref(image)) {
            Ok(context) => assert!(context.finish().is_empty()),
            Err(streamlab::Error::DeviceTooOld { capability, needs, .. }) => assert!(capability < needs),
            Err(other) => panic!("{}: {other}", image.arch),
        }
    }
}
