//! Brings the loads of a block together, so that one wait serves them all, as the card's own compiler does.
//!
//! Between two instructions that must stay where they are (stores, barriers, atomics), each instruction gets a level:
//! how many loads it depends on, one after the other. All of a level's arithmetic comes first, then its loads.

use ptx::{Instruction, Reg};

use super::usage;

/// Sorts the instructions of one block.
pub(super) fn arrange(code: &mut [Instruction], registers: &mut Scratch) {
    for run in code.chunk_by_mut(|a, b| usage::is_movable(&a.action) && usage::is_movable(&b.action)) {
        if run.iter().filter(|instruction| usage::is_access(&instruction.action)).count() > 1 {
            arrange_run(run, registers);
        }
    }
}

/// The last reader and writer of each register, kept between runs so that a run costs no more than its length.
pub(super) struct Scratch {
    /// The level of the last write, and the highest level of a read since.
    levels: Vec<(u32, u32)>,
}

impl Scratch {
    pub fn new(registers: usize) -> Self {
        Self { levels: vec![(0, 0); registers] }
    }
}

/// A level's arithmetic has an even number, its loads the odd one after it.
fn arrange_run(run: &mut [Instruction], scratch: &mut Scratch) {
    let levels = &mut scratch.levels;
    let mut keyed: Vec<(u32, Instruction)> = Vec::with_capacity(run.len());
    for instruction in run.iter() {
        let mut least = 0;
        // What is read was written before.
        usage::reads(instruction, |Reg(reg)| least = least.max(levels[reg as usize].0));
        // What is written was written and read before.
        usage::writes(instruction, |Reg(reg)| {
            let (written, read) = levels[reg as usize];
            least = least.max(written).max(read);
        });
        let is_load = usage::is_access(&instruction.action);
        let key = if is_load { least | 1 } else { least.next_multiple_of(2) };
        usage::reads(instruction, |Reg(reg)| {
            let read = &mut levels[reg as usize].1;
            *read = (*read).max(key);
        });
        // A load's result is there one level later.
        usage::writes(instruction, |Reg(reg)| levels[reg as usize] = (key + u32::from(is_load), 0));
        keyed.push((key, instruction.clone()));
    }
    for (_, instruction) in &keyed {
        usage::reads(instruction, |Reg(reg)| levels[reg as usize] = (0, 0));
        usage::writes(instruction, |Reg(reg)| levels[reg as usize] = (0, 0));
    }
    keyed.sort_by_key(|(key, _)| *key);
    for (place, (_, instruction)) in run.iter_mut().zip(keyed) {
        *place = instruction;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx::Module;

    fn lines(body: &str) -> Vec<u32> {
        let text = format!(
            ".version 7.8\n.target sm_75\n.entry k() {{ .reg .b32 %r<9>; .reg .b64 %d<9>;\n{body}\n}}"
        );
        let mut module = Module::parse(&text).unwrap();
        let body = &mut module.functions[0].body;
        arrange(&mut body.code, &mut Scratch::new(body.registers.len()));
        body.code.iter().map(|instruction| instruction.line - 3).collect()
    }

    #[test]
    fn independent_loads_come_together() {
        let order = lines(
            "ld.global.b32 %r1, [%d1];\nadd.s32 %r2, %r1, 1;\nadd.s64 %d2, %d1, 4;\nld.global.b32 %r3, [%d2];\n\
             add.s32 %r4, %r2, %r3;\nst.global.b32 [%d1], %r4;\nret;",
        );
        assert_eq!(order, [3, 1, 4, 2, 5, 6, 7]);
    }

    #[test]
    fn a_load_waits_for_the_load_of_its_address() {
        let order =
            lines("ld.global.b64 %d2, [%d1];\nld.global.b32 %r1, [%d2];\nld.global.b32 %r2, [%d1];\nret;");
        assert_eq!(order, [1, 3, 2, 4]);
    }

    #[test]
    fn nothing_passes_a_store_or_what_writes_its_operands() {
        let store =
            lines("ld.global.b32 %r1, [%d1];\nst.global.b32 [%d1], %r2;\nld.global.b32 %r3, [%d1];\nret;");
        assert_eq!(store, [1, 2, 3, 4]);
        // The second address is made in the register of the first.
        let reuse = lines(
            "ld.global.b32 %r1, [%d1];\nadd.s64 %d1, %d1, 4;\nld.global.b32 %r2, [%d1];\nadd.s32 %r1, %r1, %r2;\nret;",
        );
        assert_eq!(reuse, [1, 2, 3, 4, 5]);
    }
}
