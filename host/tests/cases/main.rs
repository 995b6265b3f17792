//! Scenarios behind public bug reports, as programs that run through the submission layer: in each an order is missing, the
//! checker has to say which and why, and of its repaired twins it has to say nothing. What the card does is looked at too.
//!
//! Every case runs on the virtual H200 in both schedules, and with `cargo test -p host -- --ignored gpu` on a GPU.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod default_stream;
mod dependent;
mod host_memory;
mod images;
mod refused;
mod rig;
mod timing;
mod waits;

macro_rules! cases {
    ($($name:ident: $case:expr,)*) => {$(
        mod $name {
            #[test]
            fn on_the_virtual_card() {
                crate::rig::check(&$case, crate::rig::On::Virtual);
            }

            #[test]
            fn on_the_virtual_card_as_late_as_may_be() {
                crate::rig::check(&$case, crate::rig::On::Late);
            }

            #[test]
            #[ignore = "needs a GPU"]
            fn on_a_gpu() {
                crate::rig::check(&$case, crate::rig::On::Gpu);
            }
        }
    )*};
}

/// Tests that are no pair of programs: each says by itself what is right.
macro_rules! answers {
    ($($name:ident: $test:expr,)*) => {$(
        mod $name {
            #[test]
            fn on_the_virtual_card() {
                $test(crate::rig::On::Virtual);
            }

            #[test]
            fn on_the_virtual_card_as_late_as_may_be() {
                $test(crate::rig::On::Late);
            }

            #[test]
            #[ignore = "needs a GPU"]
            fn on_a_gpu() {
                $test(crate::rig::On::Gpu);
            }
        }
    )*};
}

answers! {
    case_11_a_time_asked_too_early_is_not_ready_and_later_a_value: crate::timing::asked_too_early,
    case_12_a_time_asked_of_the_wrong_events_says_which_fault_it_is: crate::timing::wrong_events,
    case_12_swapped_events_give_a_negative_time_and_one_event_none: crate::timing::swapped_events,
    case_12_events_of_two_contexts_have_no_time: crate::timing::two_contexts,
    case_13_a_launch_beyond_a_limit_is_refused_with_the_limit_and_the_next_one_works: crate::refused::beyond_a_limit,
    case_15_ptx_newer_than_the_driver_is_refused_with_both_versions: crate::images::too_new,
    case_15_the_older_of_two_images_is_taken_where_the_driver_refuses_the_newer: crate::images::older_instead,
    case_16_ptx_for_another_card_is_refused_with_both_numbers: crate::images::for_another_card,
    case_16_what_is_no_instruction_and_what_is_no_ptx_have_codes_of_their_own: crate::images::not_ptx,
}

cases! {
    case_1_a_wait_for_an_event_that_is_never_recorded: crate::waits::NEVER_RECORDED,
    case_2_one_event_for_two_streams: crate::waits::ONE_EVENT_FOR_TWO,
    case_2_one_event_for_two_streams_and_luck: crate::waits::ONE_EVENT_FOR_TWO_BY_LUCK,
    case_3a_a_record_before_the_work: crate::waits::RECORDED_TOO_EARLY,
    case_3b_a_wait_before_the_record: crate::waits::WAITED_TOO_EARLY,
    case_3_one_event_for_two_iterations_under_way: crate::waits::ONE_EVENT_FOR_TWO_ITERATIONS,
    case_4_a_fan_out_with_a_wait_too_few: crate::waits::FAN_OUT,
    case_5_a_stop_event_on_a_stream_that_does_not_follow: crate::default_stream::STOP_ELSEWHERE,
    case_6_a_memset_and_a_kernel_that_counts_on_it: crate::default_stream::MEMSET_THEN_KERNEL,
    case_7_a_staging_buffer_refilled_too_soon: crate::host_memory::STAGING_REFILLED,
    case_7_a_result_read_too_soon: crate::host_memory::RESULT_READ_TOO_EARLY,
    case_8_a_stream_destroyed_with_work_in_it: crate::waits::HANDLE_REUSED,
    case_9_the_attribute_without_a_wait: crate::dependent::ATTRIBUTE_WITHOUT_WAIT,
    case_9_the_attribute_behind_a_record: crate::dependent::ATTRIBUTE_BEHIND_A_RECORD,
    case_10_a_normal_launch_after_a_pair: crate::dependent::NORMAL_AFTER_A_PAIR,
    case_19_the_attribute_without_a_trigger: crate::dependent::ATTRIBUTE_WITHOUT_TRIGGER,
    pitfall_5_an_order_for_which_the_host_stood_still: crate::waits::ORDERED_BY_THE_HOST,
    case_21_a_record_on_the_other_stream: crate::waits::ARROW,
}
