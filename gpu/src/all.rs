//! The list of all kernels, for whoever looks at each of them.

use cuda_std::abi::Kernel;

/// Every kernel of this crate.
pub const KERNELS: &[&Kernel] = &[
    crate::flag::wait_for_flag::KERNEL,
    crate::flag::set_flag::KERNEL,
    crate::errors::write_at::KERNEL,
    crate::forkjoin::grind_fma::KERNEL,
    crate::forkjoin::sum_four::KERNEL,
    crate::streams::spin_lcg::KERNEL,
    crate::streams::sweep_add::KERNEL,
    crate::streams::sweep_scale::KERNEL,
    crate::pdl::produce_stage::KERNEL,
    crate::pdl::produce_stage_early::KERNEL,
    crate::pdl::produce_stage_late::KERNEL,
    crate::pdl::produce_stage_never::KERNEL,
    crate::pdl::combine_stage::KERNEL,
    crate::timing::vec_add::KERNEL,
    crate::pipeline::add_chain::KERNEL,
];
