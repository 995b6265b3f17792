//! Which registers are still needed at a block's beginning.

use ptx::Reg;

use super::flow::Flow;
use super::usage;

/// The sets, one for each block, over the registers that matter beyond a single block.
pub(super) struct Live {
    /// A register's place in the sets; `None` when it never leaves its block.
    places: Vec<Option<u32>>,
    shared: Vec<Reg>,
    words: usize,
    entry: Vec<u64>,
}

/// The most bits that all sets together may have.
const MAX_BITS: usize = 1 << 28;

impl Live {
    /// `None` when the function is too large to be looked at.
    pub fn new(flow: &Flow, registers: usize) -> Option<Self> {
        let places = beyond_a_block(flow, registers);
        let shared: Vec<Reg> =
            (0..registers).filter(|&reg| places[reg].is_some()).map(|reg| Reg(reg as u32)).collect();
        let words = shared.len().div_ceil(64);
        let blocks = flow.blocks.len();
        if words.checked_mul(64 * blocks)? > MAX_BITS {
            return None;
        }
        let mut live = Self { places, shared, words, entry: vec![0; words * blocks] };
        // For each block: what is read before it is written, and what is written for certain.
        let (mut read, mut written) = (vec![0; words * blocks], vec![0; words * blocks]);
        for (number, block) in flow.blocks.iter().enumerate() {
            let row = number * words;
            for instruction in &block.code {
                usage::reads(instruction, |reg| live.note(reg, &mut read, Some(&written), row));
                if instruction.guard.is_none() {
                    usage::writes(instruction, |reg| live.note(reg, &mut written, None, row));
                } else {
                    // Where the guard does not hold the old value stays, which is a read of it.
                    usage::writes(instruction, |reg| live.note(reg, &mut read, Some(&written), row));
                }
            }
            if let Some(reg) = block.end.read() {
                live.note(reg, &mut read, Some(&written), row);
            }
        }
        live.iterate(flow, &read, &written);
        Some(live)
    }

    fn note(&self, reg: Reg, set: &mut [u64], unless: Option<&Vec<u64>>, row: usize) {
        if let Some(place) = self.places[reg.0 as usize] {
            let (word, bit) = (row + place as usize / 64, 1 << (place % 64));
            if unless.is_none_or(|unless| unless[word] & bit == 0) {
                set[word] |= bit;
            }
        }
    }

    fn iterate(&mut self, flow: &Flow, read: &[u64], written: &[u64]) {
        let words = self.words;
        let successors: Vec<Vec<u32>> = flow.blocks.iter().map(|block| block.end.successors()).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for (number, next) in successors.iter().enumerate().rev() {
                for word in 0..words {
                    let at = number * words + word;
                    let after =
                        next.iter().fold(0, |set, next| set | self.entry[*next as usize * words + word]);
                    let now = read[at] | after & !written[at];
                    changed |= now != self.entry[at];
                    self.entry[at] = now;
                }
            }
        }
    }

    /// Whether the register never leaves its block.
    pub fn is_local(&self, reg: Reg) -> bool {
        self.places[reg.0 as usize].is_none()
    }

    /// Whether the register is needed at the block's beginning.
    pub fn contains(&self, block: u32, reg: Reg) -> bool {
        self.places[reg.0 as usize].is_some_and(|place| {
            self.entry[block as usize * self.words + place as usize / 64] & 1 << (place % 64) != 0
        })
    }

    /// The registers needed at the block's beginning.
    pub fn at_entry(&self, block: u32) -> impl Iterator<Item = Reg> + '_ {
        let row = &self.entry[block as usize * self.words..][..self.words];
        row.iter().enumerate().flat_map(move |(word, &set)| {
            (0..64).filter(move |bit| set & 1 << bit != 0).map(move |bit| self.shared[word * 64 + bit])
        })
    }
}

/// Numbers the registers that some block reads before it writes them, or that two blocks name.
fn beyond_a_block(flow: &Flow, registers: usize) -> Vec<Option<u32>> {
    // The one block that writes the register first, as far as is known.
    let mut home: Vec<Option<u32>> = vec![None; registers];
    let mut beyond = vec![false; registers];
    for (number, block) in flow.blocks.iter().enumerate() {
        let here = Some(number as u32);
        for instruction in &block.code {
            usage::reads(instruction, |Reg(reg)| beyond[reg as usize] |= home[reg as usize] != here);
            usage::writes(instruction, |Reg(reg)| {
                let place = &mut home[reg as usize];
                if instruction.guard.is_none() && place.is_none() {
                    *place = here;
                }
                beyond[reg as usize] |= *place != here;
            });
        }
        if let Some(Reg(reg)) = block.end.read() {
            beyond[reg as usize] |= home[reg as usize] != here;
        }
    }
    let mut count = 0..;
    beyond.iter().map(|&beyond| if beyond { count.next() } else { None }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx::Module;

    /// The names of registers needed at the beginning of each block, with `%r1` as 1.
    fn live(body: &str) -> (Flow, Live) {
        let declared: String = (0..8).map(|n| format!("mov.u32 %r{n}, %r{n};")).collect();
        let text = format!(
            ".version 7.8\n.target sm_75\n.func d() {{ .reg .b32 %r<9>; {declared} ret; }}\n\
             .entry k() {{ .reg .pred %p; .reg .b32 %r<9>;\n{body}\n}}"
        );
        let module = Module::parse(&text).unwrap();
        let body = &module.kernel("k").unwrap().body;
        let flow = Flow::new(body).unwrap();
        let live = Live::new(&flow, body.registers.len()).unwrap();
        (flow, live)
    }

    #[test]
    fn what_stays_in_a_block_is_local_and_what_goes_round_a_loop_is_not() {
        // In order of use: %r1 is 0, %r2 is 1, %p is 2.
        let (flow, live) = live(
            "mov.u32 %r1, 0;\nL: add.u32 %r2, %r1, 1;\nmov.u32 %r1, %r2;\nsetp.lt.u32 %p, %r1, 9;\n@%p bra L;\nret;",
        );
        assert_eq!(flow.blocks.len(), 3);
        assert!(live.contains(1, Reg(0)) && !live.contains(0, Reg(0)) && !live.contains(2, Reg(0)));
        assert!(live.is_local(Reg(1)) && live.is_local(Reg(2)) && !live.is_local(Reg(0)));
        assert_eq!(live.at_entry(1).collect::<Vec<_>>(), [Reg(0)]);
    }

    #[test]
    fn a_guarded_write_keeps_the_old_value_alive() {
        let (_, live) = live(
            "mov.u32 %r1, 0;\nbra N;\nN: setp.lt.u32 %p, 1, 2;\n@%p mov.u32 %r1, 1;\nst.global.u32 [0], %r1;\nret;",
        );
        assert!(live.contains(1, Reg(0)));
    }
}
