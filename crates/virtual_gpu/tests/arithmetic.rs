//! Every form that computes, on special values and on values like chance: one lane alone, whose operands are scalars,
//! gives what all lanes together give. And, asked for by name, the same on a real GPU:
//! `cargo test -p virtual_gpu --test arithmetic -- --ignored`.

mod support;

use ptx::op::Kind;
use ptx::{Action, FORMS, Module};
use support::{Argument, Bytes, Card, Dice};

/// Values of each operand.
const VALUES: usize = 1024;

/// One instruction with the kinds of its registers.
struct Case {
    opcode: String,
    to: Kind,
    from: Vec<Kind>,
}

/// All that a pattern stands for.
fn expand(pattern: &str) -> Vec<String> {
    let Some(open) = pattern.find('{') else { return vec![pattern.to_owned()] };
    let mut depth = 0;
    let (mut parts, mut start) = (Vec::new(), open + 1);
    for (at, character) in pattern.char_indices().skip(open) {
        depth += i32::from(character == '{') - i32::from(character == '}');
        if (character == ',' && depth == 1) || depth == 0 {
            parts.push(&pattern[start..at]);
            start = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    let rest = &pattern[start..];
    let each = |part: &str| {
        expand(&format!("{part}{rest}")).into_iter().map(|end| format!("{}{end}", &pattern[..open]))
    };
    parts.into_iter().flat_map(each).collect()
}

fn prefix(kind: Kind) -> &'static str {
    match kind {
        Kind::Predicate => "p",
        Kind::Half => "h",
        Kind::Word => "r",
        Kind::Double => "d",
    }
}

const HEAD: &str = ".version 7.8\n.target sm_90\n.address_size 64\n";
const REGISTERS: &str = ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<30>;";

/// The instruction of a case, with its operands in registers 1 to 4 and its result in register 0 of their kinds.
fn line(opcode: &str, to: Kind, from: &[Kind]) -> String {
    let operands = from.iter().enumerate().map(|(k, kind)| format!(", %{}{}", prefix(*kind), k + 1));
    format!("{opcode} %{}0{};", prefix(to), operands.collect::<String>())
}

/// Finds out which registers an opcode takes by trying; only such count as become operations.
fn case(opcode: &str) -> Option<Case> {
    let kinds = [Kind::Word, Kind::Double, Kind::Half, Kind::Predicate];
    for count in 1..=4_u32 {
        for choice in 0..4_usize.pow(count + 1) {
            let kind = |k: u32| kinds[choice / 4_usize.pow(k) % 4];
            let (to, from): (Kind, Vec<Kind>) = (kind(0), (1..=count).map(kind).collect());
            let text = format!("{HEAD}.entry k() {{ {REGISTERS} {} ret; }}", line(opcode, to, &from));
            let Ok(module) = Module::parse(&text) else { continue };
            if let Action::Alu { .. } = module.functions[0].body.code[0].action {
                return Some(Case { opcode: opcode.to_owned(), to, from });
            }
            return None;
        }
    }
    None
}

/// Every operation; `cvt` takes wider registers too, of which the first that is found is tried.
fn cases() -> Vec<Case> {
    let opcodes = FORMS.iter().filter(|form| {
        let memory = ["ld", "st{", "atom", "red", "cvta", "bar", "{bar", "shfl", "vote", "call", "br"];
        !memory.iter().any(|start| form.pattern.starts_with(start)) || form.pattern.starts_with("brev")
    });
    let mut cases: Vec<Case> =
        opcodes.flat_map(|form| expand(form.pattern)).filter_map(|opcode| case(&opcode)).collect();
    // The table of `lop3` is a constant for the card's own compiler.
    cases.retain(|case| case.opcode != "lop3.b32");
    cases
}

/// A kernel that takes its operands from four arrays of 64-bit values, or from its parameters, and stores the result.
fn kernel(number: usize, case: &Case, uniform: bool) -> String {
    let operands = case.from.iter().enumerate().map(|(k, kind)| {
        let (k, register) = (k + 1, prefix(*kind));
        let load = if uniform {
            format!("ld.param.u64 %d{k}, [v{k}];")
        } else {
            format!("ld.param.u64 %d10, [v{k}]; add.u64 %d10, %d10, %d9; ld.global.u64 %d{k}, [%d10];")
        };
        let narrow = match kind {
            Kind::Double => String::new(),
            Kind::Word => format!("cvt.u32.u64 %{register}{k}, %d{k};"),
            Kind::Half => format!("cvt.u16.u64 %{register}{k}, %d{k};"),
            Kind::Predicate => format!("and.b64 %d11, %d{k}, 1; setp.ne.u64 %{register}{k}, %d11, 0;"),
        };
        load + &narrow
    });
    let widen = match case.to {
        Kind::Double => "mov.b64 %d20, %d0;",
        Kind::Word => "cvt.u64.u32 %d20, %r0;",
        Kind::Half => "cvt.u64.u16 %d20, %h0;",
        Kind::Predicate => "selp.b64 %d20, 1, 0, %p0;",
    };
    format!(
        ".visible .entry k{number}(.param .u64 out, .param .u64 v1, .param .u64 v2, .param .u64 v3, .param .u64 v4)\n\
         {{ {REGISTERS} mov.u32 %r8, %tid.x; mul.wide.u32 %d9, %r8, 8; ld.param.u64 %d8, [out]; add.u64 %d8, %d8, %d9;\n\
         {}\n{}\n{widen} st.global.u64 [%d8], %d20; ret; }}\n",
        operands.collect::<String>(),
        line(&case.opcode, case.to, &case.from),
    )
}

/// Four arrays of operands: everything special meets everything special.
fn values() -> [Vec<u64>; 4] {
    let single = |value: f32| u64::from(value.to_bits());
    let special: Vec<u64> =
        [0, 1, 2, 7, 8, 31, 32, 33, 63, 64, 255, 1 << 15, 1 << 31, u64::MAX, 1 << 63, i64::MAX as u64]
            .into_iter()
            .chain([
                0x7fff_ffff,
                0x8000_0001,
                0xffff_ff80,
                0x7fc0_0001,
                0xff80_0001,
                0x7f80_0000,
                0xff80_0000,
            ])
            .chain([1.0, -1.5, 2.5, 65520.0, -0.0, 1e-40, 3e38, 2147483648.0].map(single))
            .chain([1.0, -2.5, f64::NAN, f64::INFINITY, 5e-324, 1e300, 0.1, 4294967295.5].map(f64::to_bits))
            .chain([0x7ff8_0000_0000_0123, 0xfff0_0000_0000_0001, 0x3c00, 0x0001, 0x7e01])
            .collect();
    let mut dice = Dice(99);
    let mut any = |k: usize| match dice.roll() % 4 {
        0 => dice.roll(),
        1 => dice.roll() >> 32,
        _ => special[(dice.roll() as usize + k) % special.len()],
    };
    std::array::from_fn(|slot| {
        (0..VALUES)
            .map(|k| match slot {
                0 if k < 900 => special[k % special.len()],
                1 if k < 900 => special[k / special.len() * 2 % special.len()],
                _ => any(k),
            })
            .collect()
    })
}

/// What every case gives on a card, all values at once.
fn results(card: &mut Card, cases: &[Case]) -> Vec<Vec<u64>> {
    let inputs = values().map(|values| card.upload(&values).address());
    (0..cases.len())
        .map(|number| {
            let out = card.upload(&[0_u64; VALUES]);
            let [a, b, c, d] = &inputs;
            let arguments = [&out.address(), a, b, c, d];
            card.run(&format!("k{number}"), [1, 1, 1], [VALUES as u32, 1, 1], &arguments)
                .expect("the kernel runs");
            card.download(&out)
        })
        .collect()
}

fn module(cases: &[Case], uniform: bool) -> String {
    let kernels = cases.iter().enumerate().map(|(number, case)| kernel(number, case, uniform));
    HEAD.to_owned() + &kernels.collect::<String>()
}

#[test]
fn one_lane_gives_what_all_lanes_give() {
    let cases = cases();
    assert!(cases.len() > 400, "{} forms", cases.len());
    let all = results(&mut Card::virtual_only(&module(&cases, false)), &cases);
    let mut card = Card::virtual_only(&module(&cases, true));
    let inputs = values();
    let out = card.upload(&[0_u64]);
    for (number, case) in cases.iter().enumerate() {
        for at in (0..VALUES).step_by(37) {
            let [a, b, c, d] = std::array::from_fn(|slot| Argument::Number(inputs[slot][at].to_bytes()));
            card.run(&format!("k{number}"), [1, 1, 1], [1, 1, 1], &[&out.address(), &a, &b, &c, &d]).unwrap();
            let got = card.download::<u64>(&out)[0];
            let operands: Vec<u64> = inputs.iter().map(|input| input[at]).collect();
            assert_eq!(got, all[number][at], "{} of {operands:x?}", case.opcode);
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn a_gpu_gives_the_same() {
    let (mut cases, inputs) = (cases(), values());
    // Alone, these read a carry that nothing has set.
    cases.retain(|case| !case.opcode.starts_with("addc") && !case.opcode.starts_with("subc"));
    let mut wrong = Vec::new();
    for case in &cases {
        let one = std::slice::from_ref(case);
        let text = module(one, false);
        let ours = results(&mut Card::virtual_only(&text), one).remove(0);
        let theirs = match Card::gpu(&text) {
            Ok(mut card) => results(&mut card, one).remove(0),
            Err(code) => {
                wrong.push(format!(
                    "{}: the driver refuses it with {code}",
                    line(&case.opcode, case.to, &case.from)
                ));
                continue;
            }
        };
        let different: Vec<usize> = (0..VALUES).filter(|&at| ours[at] != theirs[at]).collect();
        let shown = different.len().div_ceil(3).max(1);
        for &at in different.iter().step_by(shown) {
            let operands: Vec<u64> = inputs[..case.from.len()].iter().map(|input| input[at]).collect();
            wrong.push(format!(
                "{}: {} of {VALUES} differ; of {operands:x?} the GPU makes {:x}, we {:x}",
                case.opcode,
                different.len(),
                theirs[at],
                ours[at]
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {} forms:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
