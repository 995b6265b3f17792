//! Scenarios behind public bug reports, as programs: in each an order is missing, the checker has to say which and why, and of the
//! repaired programs it has to say nothing. What the device computes is compared too.
//!
//! Every case runs on the virtual H200 in both schedules, and with `cargo test -p host -- --ignored gpu` on a GPU.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod default_stream;
mod dependent;
mod host_memory;
mod images;
mod refused;
mod rig;
#[path = "../support/mod.rs"]
mod support;
mod timing;
mod waits;

macro_rules! cases {
    ($($name:ident: $test:expr,)*) => {$(
        mod $name {
            #[allow(unused_imports, reason = "each case uses its part of them")]
            use crate::{rig::*, *};

            #[test]
            fn on_the_virtual_device() {
                $test(On::Virtual);
            }

            #[test]
            fn on_the_virtual_device_as_late_as_may_be() {
                $test(On::Late);
            }

            #[test]
            #[ignore = "needs a GPU"]
            fn on_a_gpu() {
                $test(On::Gpu);
            }
        }
    )*};
}

cases! {
    case_1_a_wait_for_an_event_that_is_never_recorded: check(&waits::NEVER_RECORDED),
    case_2_one_event_for_two_streams: check(&waits::ONE_EVENT_FOR_TWO),
    case_2_one_event_for_two_streams_and_luck: check(&waits::ONE_EVENT_FOR_TWO_BY_LUCK),
    case_3a_a_record_before_the_work: check(&waits::RECORDED_TOO_EARLY),
    case_3b_a_wait_before_the_record: check(&waits::WAITED_TOO_EARLY),
    case_3_one_event_for_two_iterations_in_flight: check(&waits::ONE_EVENT_FOR_TWO_ITERATIONS),
    case_4_a_fan_out_with_a_wait_too_few: check(&waits::FAN_OUT),
    case_5_a_stop_event_on_a_stream_that_does_not_follow: check(&default_stream::STOP_ELSEWHERE),
    case_6_a_memset_and_a_kernel_that_counts_on_it: check(&default_stream::MEMSET_THEN_KERNEL),
    case_7_a_staging_buffer_refilled_too_soon: check(&host_memory::STAGING_REFILLED),
    case_7_a_result_read_too_soon: check(&host_memory::RESULT_READ_TOO_EARLY),
    case_8_a_stream_destroyed_with_work_in_it: check(&waits::HANDLE_REUSED),
    case_9_the_attribute_without_a_wait: check(&dependent::ATTRIBUTE_WITHOUT_WAIT),
    case_9_the_attribute_after_a_record: check(&dependent::ATTRIBUTE_AFTER_A_RECORD),
    case_10_a_normal_launch_after_a_pair: check(&dependent::NORMAL_AFTER_A_PAIR),
    case_11_a_time_asked_too_early_is_not_ready_and_later_a_value: timing::asked_too_early,
    case_12_a_time_asked_of_the_wrong_events_says_which_fault_it_is: timing::wrong_events,
    case_12_swapped_events_give_a_negative_time_and_one_event_none: timing::swapped_events,
    case_12_events_of_two_contexts_are_refused: timing::two_contexts,
    case_13_a_launch_beyond_a_limit_is_refused_with_the_limit_and_the_next_one_works: refused::beyond_a_limit,
    case_15_ptx_newer_than_the_driver_is_refused_with_both_versions: images::too_new,
    case_15_the_older_of_two_images_is_taken_where_the_driver_refuses_the_newer: images::older_instead,
    case_16_ptx_for_another_device_is_refused_with_both_numbers: images::for_another_device,
    case_16_what_is_no_instruction_and_what_is_no_ptx_have_codes_of_their_own: images::not_ptx,
    case_19_the_attribute_without_a_trigger: check(&dependent::ATTRIBUTE_WITHOUT_TRIGGER),
    case_21_a_record_on_the_other_stream: check(&waits::ARROW),
    pitfall_5_an_order_for_which_the_host_waited: check(&waits::ORDERED_BY_THE_HOST),
}
