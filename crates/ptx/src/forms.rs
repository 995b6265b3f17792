//! The table of instruction forms: what is in it runs, what is not is refused when the text is loaded.
//!
//! A pattern is an instruction with its modifiers; `{a,b}` stands for either, `{,.x}` for an optional part. The first
//! form that matches decides. Approximations (`sin.approx` and its like) are absent on purpose: their bits are the
//! hardware's own. So is `.ftz`: the compiler keeps denormals.

use super::action::{Shuffle, Vote};
use super::op::{Alu, FloatOp, FloatType, IntOp, PermuteMode, PredicateOp};

/// One row of the table.
#[derive(Debug)]
pub struct Form {
    /// The instructions it stands for.
    pub pattern: &'static str,
    pub(super) make: Make,
}

/// How an instruction of a form is read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Make {
    /// An operation that the pattern determines.
    Alu(Alu),
    /// An integer operation; the last modifier is its type.
    Int(IntOp),
    /// A floating-point operation; the last modifier is its type.
    Float(FloatOp),
    Compare,
    Test,
    Select,
    SelectSign,
    Move,
    Convert,
    ConvertAddress,
    Permute(PermuteMode),
    Logic3,
    Carry {
        subtract: bool,
        reads: bool,
    },
    Load,
    Store,
    Atomic,
    Reduction,
    Shuffle(Shuffle),
    Vote(Vote),
    ActiveMask,
    Barrier,
    BarrierArrive,
    BarrierReduce(Option<Vote>),
    WarpBarrier,
    Fence,
    Branch,
    BranchIndexed,
    Call,
    Return,
    Exit,
    Trap,
    Trigger,
    Wait,
}

const fn form(pattern: &'static str, make: Make) -> Form {
    Form { pattern, make }
}

use IntOp as I;
use Make::{Alu as A, Float as F, Int as N};

/// Every form, in reading order.
pub static FORMS: &[Form] = &[
    // Integers.
    form("add.{u16,s16,u32,s32,u64,s64}", N(I::Add)),
    form("sub.{u16,s16,u32,s32,u64,s64}", N(I::Sub)),
    form("{add,sub}.cc.{u32,s32,u64,s64}", Make::Carry { subtract: false, reads: false }),
    form("{addc,subc}{,.cc}.{u32,s32,u64,s64}", Make::Carry { subtract: false, reads: true }),
    form("mul.lo.{u16,s16,u32,s32,u64,s64}", N(I::Mul)),
    form("mul.hi.{u16,s16,u32,s32,u64,s64}", N(I::MulHigh)),
    form("mul.wide.{u16,s16,u32,s32}", N(I::MulWide)),
    form("mad.lo.{u16,s16,u32,s32,u64,s64}", N(I::MulAdd)),
    form("mad.hi.{u16,s16,u32,s32,u64,s64}", N(I::MulHighAdd)),
    form("mad.wide.{u16,s16,u32,s32}", N(I::MulWideAdd)),
    form("div.{u16,s16,u32,s32,u64,s64}", N(I::Div)),
    form("rem.{u16,s16,u32,s32,u64,s64}", N(I::Rem)),
    form("min.{u16,s16,u32,s32,u64,s64}", N(I::Min)),
    form("max.{u16,s16,u32,s32,u64,s64}", N(I::Max)),
    form("abs.{s16,s32,s64}", N(I::Abs)),
    form("neg.{s16,s32,s64}", N(I::Neg)),
    // Bits.
    form("and.pred", A(Alu::Predicate(PredicateOp::And))),
    form("or.pred", A(Alu::Predicate(PredicateOp::Or))),
    form("xor.pred", A(Alu::Predicate(PredicateOp::Xor))),
    form("not.pred", A(Alu::Predicate(PredicateOp::Not))),
    form("and.{b16,b32,b64}", N(I::And)),
    form("or.{b16,b32,b64}", N(I::Or)),
    form("xor.{b16,b32,b64}", N(I::Xor)),
    form("not.{b16,b32,b64}", N(I::Not)),
    form("shl.{b16,b32,b64}", N(I::ShiftLeft)),
    form("shr.{b16,b32,b64,u16,u32,u64,s16,s32,s64}", N(I::ShiftRight)),
    form("shf.l.wrap.b32", A(Alu::Funnel { left: true, clamp: false })),
    form("shf.l.clamp.b32", A(Alu::Funnel { left: true, clamp: true })),
    form("shf.r.wrap.b32", A(Alu::Funnel { left: false, clamp: false })),
    form("shf.r.clamp.b32", A(Alu::Funnel { left: false, clamp: true })),
    form("popc.{b32,b64}", N(I::PopCount)),
    form("clz.{b32,b64}", N(I::LeadingZeros)),
    form("brev.{b32,b64}", N(I::ReverseBits)),
    form("bfind.{u32,s32,u64,s64}", N(I::FindBit)),
    form("bfe.{u32,s32,u64,s64}", N(I::Extract)),
    form("bfi.{b32,b64}", N(I::Insert)),
    form("prmt.b32", Make::Permute(PermuteMode::Index)),
    form("prmt.b32.f4e", Make::Permute(PermuteMode::Forward4)),
    form("prmt.b32.b4e", Make::Permute(PermuteMode::Backward4)),
    form("prmt.b32.rc8", Make::Permute(PermuteMode::Replicate8)),
    form("prmt.b32.ecl", Make::Permute(PermuteMode::EdgeLeft)),
    form("prmt.b32.ecr", Make::Permute(PermuteMode::EdgeRight)),
    form("prmt.b32.rc16", Make::Permute(PermuteMode::Replicate16)),
    form("lop3.b32", Make::Logic3),
    // Floats, IEEE, rounded once to nearest.
    form("add{,.rn}.{f32,f64}", F(FloatOp::Add)),
    form("sub{,.rn}.{f32,f64}", F(FloatOp::Sub)),
    form("mul{,.rn}.{f32,f64}", F(FloatOp::Mul)),
    form("{fma,mad}.rn.{f32,f64}", F(FloatOp::MulAdd)),
    form("div.rn.{f32,f64}", F(FloatOp::Div)),
    form("rcp.rn.{f32,f64}", F(FloatOp::Reciprocal)),
    form("sqrt.rn.{f32,f64}", F(FloatOp::Sqrt)),
    form("min.{f32,f64}", F(FloatOp::Min)),
    form("max.{f32,f64}", F(FloatOp::Max)),
    form("min.NaN.f32", F(FloatOp::MinNan)),
    form("max.NaN.f32", F(FloatOp::MaxNan)),
    form("abs.{f32,f64}", F(FloatOp::Abs)),
    form("neg.{f32,f64}", F(FloatOp::Neg)),
    form("copysign.{f32,f64}", F(FloatOp::CopySign)),
    form("testp.{finite,infinite,number,notanumber,normal,subnormal}.{f32,f64}", Make::Test),
    // Comparison and selection.
    form("setp.{eq,ne}{,.and,.or,.xor}.{b16,b32,b64}", Make::Compare),
    form("setp.{eq,ne,lt,le,gt,ge}{,.and,.or,.xor}.{u16,s16,u32,s32,u64,s64}", Make::Compare),
    form("setp.{lo,ls,hi,hs}{,.and,.or,.xor}.{u16,u32,u64}", Make::Compare),
    form("setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{,.and,.or,.xor}.{f32,f64}", Make::Compare),
    form("selp.{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}", Make::Select),
    form("slct.{b32,b64,u32,u64,s32,s64,f32,f64}.s32", Make::SelectSign),
    // Moves and conversions.
    form("mov.{pred,b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}", Make::Move),
    form("cvt{,.sat}.{u8,u16,u32,u64,s8,s16,s32,s64}.{u8,u16,u32,u64,s8,s16,s32,s64}", Make::Convert),
    form("cvt.rn.{f32,f64}.{u8,u16,u32,u64,s8,s16,s32,s64}", Make::Convert),
    form("cvt.{rni,rzi,rmi,rpi}{,.sat}.{u8,u16,u32,u64,s8,s16,s32,s64}.{f32,f64}", Make::Convert),
    form("cvt.{rni,rzi,rmi,rpi}.{f32.f32,f64.f64}", Make::Convert),
    form("cvt.{rn,rz,rm,rp}.f32.f64", Make::Convert),
    form("cvt.f64.f32", A(Alu::Widen)),
    form("cvt.f32.f16", A(Alu::HalfToSingle)),
    form("cvt.rn.f16.f32", A(Alu::SingleToHalf)),
    form("cvta{,.to}.{global,shared,local,const,param}.u64", Make::ConvertAddress),
    // Memory.
    form(
        "ld{,.weak,.volatile,.relaxed.{cta,cluster,gpu,sys},.acquire.{cta,cluster,gpu,sys}}{,.global,.shared{,::cta},.local,.const,.param{,::entry,::func}}{,.ca,.cg,.cs,.lu,.cv}{,.nc}{,.L1::{evict_normal,evict_unchanged,evict_first,evict_last,no_allocate}}{,.v2,.v4}.{b8,b16,b32,b64,u8,u16,u32,u64,s8,s16,s32,s64,f32,f64}",
        Make::Load,
    ),
    form(
        "st{,.weak,.volatile,.relaxed.{cta,cluster,gpu,sys},.release.{cta,cluster,gpu,sys}}{,.global,.shared{,::cta},.local,.param{,::func}}{,.wb,.cg,.cs,.wt}{,.v2,.v4}.{b8,b16,b32,b64,u8,u16,u32,u64,s8,s16,s32,s64,f32,f64}",
        Make::Store,
    ),
    form(
        "atom{,.relaxed,.acquire,.release,.acq_rel}{,.cta,.cluster,.gpu,.sys}{,.global,.shared{,::cta}}.{{and,or,xor,exch}.{b32,b64},cas.{b16,b32,b64},add.{u32,s32,u64,f32,f64},{inc,dec}.u32,{min,max}.{u32,s32,u64,s64}}",
        Make::Atomic,
    ),
    form(
        "red{,.relaxed,.release}{,.cta,.cluster,.gpu,.sys}{,.global,.shared{,::cta}}.{{and,or,xor}.{b32,b64},add.{u32,s32,u64,f32,f64},{inc,dec}.u32,{min,max}.{u32,s32,u64,s64}}",
        Make::Reduction,
    ),
    form("membar.{cta,gl,sys}", Make::Fence),
    form("fence{,.sc,.acq_rel,.acquire,.release}.{cta,cluster,gpu,sys}", Make::Fence),
    // The warp and the block.
    form("shfl.sync.up.b32", Make::Shuffle(Shuffle::Up)),
    form("shfl.sync.down.b32", Make::Shuffle(Shuffle::Down)),
    form("shfl.sync.bfly.b32", Make::Shuffle(Shuffle::Butterfly)),
    form("shfl.sync.idx.b32", Make::Shuffle(Shuffle::Index)),
    form("vote.sync.all.pred", Make::Vote(Vote::All)),
    form("vote.sync.any.pred", Make::Vote(Vote::Any)),
    form("vote.sync.uni.pred", Make::Vote(Vote::Uniform)),
    form("vote.sync.ballot.b32", Make::Vote(Vote::Ballot)),
    form("activemask.b32", Make::ActiveMask),
    form("{bar,barrier}{,.cta}.sync{,.aligned}", Make::Barrier),
    form("{bar,barrier}{,.cta}.arrive{,.aligned}", Make::BarrierArrive),
    form("{bar,barrier}{,.cta}.red.popc{,.aligned}.u32", Make::BarrierReduce(None)),
    form("{bar,barrier}{,.cta}.red.and{,.aligned}.pred", Make::BarrierReduce(Some(Vote::All))),
    form("{bar,barrier}{,.cta}.red.or{,.aligned}.pred", Make::BarrierReduce(Some(Vote::Any))),
    form("bar.warp.sync", Make::WarpBarrier),
    // Control.
    form("bra{,.uni}", Make::Branch),
    form("brx.idx{,.uni}", Make::BranchIndexed),
    form("call{,.uni}", Make::Call),
    form("ret{,.uni}", Make::Return),
    form("exit", Make::Exit),
    form("trap", Make::Trap),
    form("griddepcontrol.launch_dependents", Make::Trigger),
    form("griddepcontrol.wait", Make::Wait),
];

/// How an instruction is read, or `None` when no form has it.
pub(super) fn find(opcode: &str) -> Option<Make> {
    let form = FORMS.iter().find(|form| matches(form.pattern.as_bytes(), opcode.as_bytes()))?;
    Some(match form.make {
        Make::Carry { reads, .. } => Make::Carry { subtract: opcode.starts_with("sub"), reads },
        make => make,
    })
}

/// Whether the pattern stands for the text.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let Some(open) = pattern.iter().position(|&byte| byte == b'{') else { return pattern == text };
    if text.len() < open || pattern[..open] != text[..open] {
        return false;
    }
    let close = open + closing(&pattern[open..]);
    let (rest, text) = (&pattern[close + 1..], &text[open..]);
    alternatives(&pattern[open + 1..close]).any(|choice| {
        // Where a choice has choices of its own, the end of what it takes is searched.
        if choice.contains(&b'{') {
            (0..=text.len()).any(|length| matches(choice, &text[..length]) && matches(rest, &text[length..]))
        } else {
            text.starts_with(choice) && matches(rest, &text[choice.len()..])
        }
    })
}

/// Where the brace that opens the pattern closes.
fn closing(pattern: &[u8]) -> usize {
    let mut depth = 0;
    let end = pattern.iter().position(|byte| {
        depth += i32::from(*byte == b'{') - i32::from(*byte == b'}');
        depth == 0
    });
    end.unwrap_or(pattern.len() - 1)
}

/// The parts between commas that stand in no inner braces.
fn alternatives(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut depth = 0;
    list.split(move |byte| {
        depth += i32::from(*byte == b'{') - i32::from(*byte == b'}');
        depth == 0 && *byte == b','
    })
}

/// The type of a floating-point instruction.
pub(super) fn float_type(name: &str) -> Option<FloatType> {
    match name {
        "f32" => Some(FloatType::F32),
        "f64" => Some(FloatType::F64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_stands_for_its_choices_and_nothing_else() {
        let pattern = b"ld{,.relaxed.{cta,sys}}{,.global}{,.v2}.{b8,b32}";
        for text in ["ld.b8", "ld.relaxed.sys.b32", "ld.global.v2.b8", "ld.relaxed.cta.global.v2.b32"] {
            assert!(matches(pattern, text.as_bytes()), "{text}");
        }
        for text in ["ld", "ld.b", "ld.relaxed.b8", "ld.v2.global.b8", "ld.b8.b8", "xld.b8", ""] {
            assert!(!matches(pattern, text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn what_the_compiler_writes_is_found_and_what_cannot_be_exact_is_not() {
        for opcode in [
            "fma.rn.f32",
            "ld.global.nc.v4.b32",
            "ld.relaxed.sys.global.b32",
            "atom.acq_rel.sys.global.cas.b32",
            "setp.ltu.f64",
            "cvt.rzi.s16.f32",
            "subc.cc.s64",
            "barrier.cta.sync.aligned",
        ] {
            assert!(find(opcode).is_some(), "{opcode}");
        }
        for opcode in ["foo.bar", "sin.approx.f32", "add.ftz.f32", "add.f16", "cvt.f32.f64", "ld.global", ""]
        {
            assert!(find(opcode).is_none(), "{opcode}");
        }
    }
}
