//! Texts that mean no good: the reader refuses them or reads them, but neither panics nor hangs, and its memory stays
//! within a multiple of the text. What it accepts is decoded and run with a budget.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ptx::Module;
use support::Dice;
use virtual_gpu::exec::{Image, Launch, Program, Seat};
use virtual_gpu::memory::Memory;
use virtual_gpu::segment::{BlockProgram, Next, Now};

/// Counts what is allocated, and the most that it ever was.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is the system's own; only numbers are kept beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(held, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A text with one of everything, so that mutations reach every rule.
const EVERYTHING: &str = include_str!("everything.ptx");
const LAB: &str = include_str!("forkjoin.ptx");

/// Reads a text, asks how its kernels depend on others, and decodes and runs them.
fn try_all(text: &str) -> bool {
    let Ok(module) = Module::parse(text) else { return false };
    let names: Vec<String> = module.functions.iter().filter(|f| f.entry).map(|f| f.name.clone()).collect();
    for name in &names {
        assert!(module.dependence(name).is_some());
    }
    let mut memory = Memory::new(1 << 20);
    let Ok(image) = Image::load(module, &mut memory) else { return false };
    for name in names {
        let Some(kernel) = image.kernel(&name) else { continue };
        let Ok(program) = Program::new(&image, kernel, &support::costs()) else { continue };
        let buffer = memory.allocate(4096, None).unwrap();
        let parameters = buffer.to_le_bytes().repeat(program.parameter_bytes().div_ceil(8) as usize);
        let parameters = parameters[..program.parameter_bytes() as usize].to_vec();
        let launch = Launch::new(Arc::new(program), [1, 1, 1], [40, 1, 1], parameters, 64).unwrap();
        let mut run = Arc::new(launch.with_budget(3000)).start([0, 0, 0], Seat::default());
        loop {
            match run.compute().next {
                Next::Finished | Next::Fault(_) => break,
                Next::Access if run.access(&mut memory, Now::default()).is_err() => break,
                _ => {}
            }
        }
    }
    true
}

const CHARACTERS: &[u8] = b" \n\t{}()[];:,.@%$!|+-=<>\"/*0123456789abefprstuvx_\xff";

/// Changes a text in one or two places: characters, words, lines, numbers.
fn mutate(text: &str, dice: &mut Dice) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..1 + dice.roll() % 2 {
        let at = dice.roll() as usize % bytes.len();
        let line_of = |at: usize, bytes: &[u8]| {
            let start = bytes[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |k| k + 1);
            let end = bytes[at..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |k| at + k + 1);
            start..end
        };
        match dice.roll() % 12 {
            0 => bytes[at] = CHARACTERS[dice.roll() as usize % CHARACTERS.len()],
            1 => {
                bytes.remove(at);
            }
            2 => bytes.truncate(at.max(20)),
            3 => {
                let line = line_of(at, &bytes);
                bytes.drain(line);
            }
            4 => {
                let (line, to) = (line_of(at, &bytes), dice.roll() as usize % bytes.len());
                let (copy, to) = (bytes[line].to_vec(), line_of(to, &bytes).start);
                bytes.splice(to..to, copy);
            }
            5 => {
                let words: [&[u8]; 14] = [
                    b"4294967295",
                    b"18446744073709551615",
                    b"-1",
                    b"0f7FC00000",
                    b".b8",
                    b".b64",
                    b"%r1",
                    b"%p1",
                    b"%rd1",
                    b"bra",
                    b"ret;",
                    b".v4",
                    b"@%p1 ",
                    b"[0]",
                ];
                let word = words[dice.roll() as usize % words.len()];
                bytes.splice(at..at, word.iter().copied());
            }
            6 => {
                let other = dice.roll() as usize % bytes.len();
                bytes.swap(at, other);
            }
            _ => {
                // Another number in the place of a number.
                if let Some(digit) = bytes[at..].iter().position(u8::is_ascii_digit) {
                    bytes[at + digit] = b'0' + (dice.roll() % 10) as u8;
                }
            }
        }
        if bytes.is_empty() {
            bytes.push(b' ');
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// One test for all, since memory is counted for the whole process.
#[test]
fn hostile_texts_are_survived() {
    assert!(try_all(EVERYTHING) && try_all(LAB), "the texts are right before they are changed");
    let mut dice = Dice(2026);
    let mut accepted = 0;
    for round in 0..10_000 {
        let text = mutate(if round % 4 == 0 { LAB } else { EVERYTHING }, &mut dice);
        accepted += u32::from(try_all(&text));
    }
    // Both ways are well used, or the mutations are too tame or too wild to find anything.
    assert!((1000..9000).contains(&accepted), "{accepted} of 10,000 were accepted");

    const MIB: usize = 1 << 20;
    let head = ".version 7.8\n.target sm_90\n";
    let entry = |body: &str| format!("{head}.entry k() {{ .reg .pred %p; .reg .b32 %r<9>;\n{body}\nret; }}");
    let fill = |part: &str, length: usize| part.repeat(length / part.len());
    let labels: String = (0..60_000).map(|k| format!("L{k}:\n")).collect();
    let names: String = (0..40_000).map(|k| format!("L{},", k % 60_000)).collect();
    for text in [
        fill("\0", MIB),
        fill("{", MIB),
        fill("/*", MIB),
        fill("\"", MIB),
        format!("{head}{}", fill(".global .b8 x[1099511627776];\n", MIB)),
        format!("{head}.global .b8 x[1099511627776] = {{{}}};", fill("1,", MIB)),
        format!("{head}.entry k({}", fill(".param .b64 a,", MIB)),
        entry(&fill("{", MIB)),
        entry(&fill("{}", MIB)),
        entry(&fill("ret;", MIB)),
        entry(&fill("@%p bra X;\n", MIB)),
        entry(&format!("X: {}", fill("@%p bra X;", MIB / 8))),
        entry(&fill("add.u32 %r1,%r1,%r2;", MIB)),
        entry(&fill("a,", MIB)),
        entry(&format!(".reg .b32 %q<4294967295>; add.u32 {}", fill("%q4294967294,", MIB))),
        entry(&format!("{labels} T: .branchtargets {names} L0; {}", fill("brx.idx %r1,T;", MIB / 4))),
        entry(&fill("{.param .b64 a;st.param.b64 [a],1;}", MIB)),
        entry(&fill(".loc 1 2 3\n", MIB)),
        entry(&(0..30_000).map(|k| format!("mov.u32 %r1,{k};L{k}:@%p bra L{};", k / 2)).collect::<String>()),
    ] {
        let before = HELD.load(Ordering::Relaxed);
        MOST.store(before, Ordering::Relaxed);
        let read = Module::parse(&text).is_ok();
        let most = MOST.load(Ordering::Relaxed) - before;
        let name: String = text.chars().skip(60).take(60).collect();
        assert!(most < 128 * MIB, "{most} bytes for {} of `{name}`, accepted: {read}", text.len());
        try_all(&text);
        let most = MOST.load(Ordering::Relaxed) - before;
        assert!(most < 256 * MIB, "{most} bytes to decode {} of `{name}`", text.len());
    }
}
