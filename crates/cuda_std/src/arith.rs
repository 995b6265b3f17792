//! Arithmetic whose shape in the PTX matters: one rounding for a multiply-add, and a chain that nobody folds.

/// `a * b + c` with one rounding: a single `fma.rn` (PTX ISA, "Floating-Point Instructions: fma").
///
/// The host half gives the same bits, so that a reference can be written with the same call.
#[inline(always)]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        core::intrinsics::fmaf32(a, b, c)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        a.mul_add(b, c)
    }
}

/// Returns `value` as one that the compiler knows nothing about.
///
/// LLVM folds repeated steps of a linear recurrence into fewer: 64 steps of a linear congruential generator become one
/// multiply-add, and a kernel that should be busy ends 64 times too soon. An empty `asm!` on the register stops that
/// and costs no instruction. `core::hint::black_box` is wrong here: on this target it goes through local memory.
#[inline(always)]
pub fn opaque<T: Register>(value: T) -> T {
    value.opaque()
}

/// A value that fits one machine register, for [`opaque`].
pub trait Register: Copy + sealed::Sealed {
    #[doc(hidden)]
    fn opaque(self) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! register {
    ($class:ident: $($type:ty),*) => {$(
        impl sealed::Sealed for $type {}
        impl Register for $type {
            #[inline(always)]
            fn opaque(self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                {
                    let mut value = self;
                    // SAFETY: no instruction is emitted; the value stays in the register it came in.
                    unsafe { core::arch::asm!("/* {0} */", inout($class) value, options(pure, nomem, nostack, preserves_flags)) };
                    value
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    core::hint::black_box(self)
                }
            }
        }
    )*};
}

register!(reg32: u32, i32, f32);
register!(reg64: u64, i64, f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fma_rounds_once() {
        let x = 1.0 + 2.0_f32.powi(-12);
        assert_eq!(fma(x, x, -1.0), 2.0_f32.powi(-11) + 2.0_f32.powi(-24));
        assert_eq!(x * x - 1.0, 2.0_f32.powi(-11));
    }

    #[test]
    fn opaque_keeps_the_value() {
        assert_eq!(opaque(7_u32), 7);
        assert_eq!(opaque(-7_i64), -7);
        assert_eq!(opaque(-0.0_f32).to_bits(), (-0.0_f32).to_bits());
    }
}
