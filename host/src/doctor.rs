//! What the lab finds on this machine and what is missing, a line for each. It changes nothing and runs no lesson.

use std::process::Command;

use crate::kernels::{CORE, IMAGES};
use streamlab::InstalledDriver;

/// Programs that look at a run from outside, and what for.
const TOOLS: [(&str, &str); 3] = [
    ("nsys", "profile -t cuda,nvtx shows a lesson's ranges and kernels; without it there is --timeline"),
    ("ncu", "counts what a kernel does inside"),
    ("compute-sanitizer", "finds wrong accesses of a kernel; the virtual device names them too"),
];

/// One thing that was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What: `driver`.
    pub what: &'static str,
    /// Whether it is there.
    pub found: bool,
    /// What was found, or what is missing and what to do.
    pub words: String,
}

/// Looks at everything.
pub fn diagnose() -> Vec<Finding> {
    let mut findings = vec![toolchain(), kernels()];
    findings.extend(driver());
    findings.extend(TOOLS.map(tool));
    findings
}

/// The findings as lines of text.
pub fn in_words(findings: &[Finding]) -> String {
    let line = |Finding { what, found, words }: &Finding| {
        format!("{what:18} {:8} {words}", if *found { "found" } else { "missing" })
    };
    findings.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn toolchain() -> Finding {
    match version_of("rustc") {
        Some(version) => Finding { what: "toolchain", found: true, words: format!("{version}; {CORE}") },
        None => Finding {
            what: "toolchain",
            found: false,
            words: "no rustc on the PATH: to change a kernel, install rustup".to_owned(),
        },
    }
}

fn kernels() -> Finding {
    let images: Vec<_> = IMAGES
        .iter()
        .map(|image| {
            let (major, minor) = image.ptx_version;
            format!("PTX {major}.{minor} for {}", image.arch)
        })
        .collect();
    Finding { what: "kernels", found: true, words: images.join(", ") }
}

fn driver() -> Vec<Finding> {
    let driver = match InstalledDriver::find() {
        Ok(driver) => driver,
        Err(error) => {
            let words =
                "none: lessons run on the virtual H200, or with --device virtual:t4 on that".to_owned();
            return vec![
                Finding { what: "driver", found: false, words: error.to_string() },
                Finding { what: "device", found: false, words },
            ];
        }
    };
    let (major, minor) = driver.cuda;
    let mut findings =
        vec![Finding { what: "driver", found: true, words: format!("for CUDA {major}.{minor}") }];
    if !driver.missing.is_empty() {
        let words =
            format!("{}: update the driver for the lessons that need them", driver.missing.join(", "));
        findings.push(Finding { what: "driver's functions", found: false, words });
    }
    if driver.devices.is_empty() {
        let words = "the driver finds none: look at `nvidia-smi` and CUDA_VISIBLE_DEVICES".to_owned();
        findings.push(Finding { what: "device", found: false, words });
    }
    findings.extend(driver.devices.into_iter().map(|device| {
        let fits = |image: &&cuda_std::abi::Image| image.capability <= device.compute_capability;
        match IMAGES.iter().rfind(fits) {
            Some(image) => Finding {
                what: "device",
                found: true,
                words: format!("{device}, takes the PTX for {}", image.arch),
            },
            None => {
                Finding { what: "device", found: false, words: format!("{device}: too old for the kernels") }
            }
        }
    }));
    findings
}

fn tool((what, purpose): (&'static str, &'static str)) -> Finding {
    match version_of(what) {
        Some(version) => Finding { what, found: true, words: format!("{version}: {purpose}") },
        None => Finding { what, found: false, words: format!("not on the PATH: {purpose}") },
    }
}

/// What a program says of its version: the line that has a digit in it.
fn version_of(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().rfind(|line| line.chars().any(|letter| letter.is_ascii_digit())).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_missing_and_says_what_it_is_for() {
        assert_eq!(version_of("a-program-that-nobody-has"), None);
        let finding = tool(("a-program-that-nobody-has", "does nothing"));
        assert_eq!((finding.found, finding.words.as_str()), (false, "not on the PATH: does nothing"));
        assert_eq!(in_words(&[finding]), "a-program-that-nobody-has missing  not on the PATH: does nothing");
    }

    #[test]
    fn every_image_is_named() {
        let words = kernels().words;
        assert!(IMAGES.iter().all(|image| words.contains(image.arch)), "{words}");
    }
}
