//! One contract, three stores: every fact below is checked on memory, on SQLite and on PostgreSQL.
//! PostgreSQL takes part when `TEST_DATABASE_URL` names a throw-away server.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod archiving;
mod changing;
mod claiming;
mod delivering;
mod keeping;
mod listing;
mod placing;
mod queueing;
mod refunding;
mod refusing;
mod telling;

mod newer_version;
mod postgres_alone;
mod proxy;
mod sqlite_alone;
mod upgrading;

mod world;

/// Makes a test of each fact for each store.
macro_rules! contract {
    ($($room:ident { $($fact:ident),+ $(,)? })+) => {
        mod memory {
            $($(#[tokio::test] async fn $fact() {
                crate::$room::$fact(crate::world::World::memory()).await;
            })+)+
        }
        mod sqlite {
            $($(#[tokio::test(flavor = "multi_thread", worker_threads = 2)] async fn $fact() {
                crate::$room::$fact(crate::world::World::sqlite().await).await;
            })+)+
        }
        mod postgres {
            $($(#[tokio::test(flavor = "multi_thread", worker_threads = 2)] async fn $fact() {
                let Some(world) = crate::world::World::postgres().await else { return };
                let ending = world.ending();
                crate::$room::$fact(world).await;
                ending.await;
            })+)+
        }
    };
}

contract! {
    placing {
        a_placed_order_carries_the_databases_time_and_reads_back,
        an_order_id_is_placed_once,
        a_key_places_one_order,
        of_many_with_one_key_one_is_placed,
        all_that_was_placed_at_once_is_there,
        hostile_text_reads_back_without_nul,
        what_a_shop_says_of_an_order_reads_back_and_a_guest_is_nobody,
        an_external_id_names_one_order_of_its_owner,
        of_many_with_one_external_id_one_is_placed,
    }
    changing {
        no_order_no_decision,
        a_decision_that_changes_nothing_writes_nothing,
        only_what_differs_is_raised,
        everything_of_a_registration_and_a_task_reads_back,
        a_finished_task_leaves_the_aggregate_and_stays_readable,
        a_live_registration_may_give_way_to_another_in_one_decision,
        a_task_may_give_way_to_another_of_its_kind_in_one_decision,
        a_registration_that_was_forgotten_is_adopted_beside_the_index_or_in_it,
        no_update_is_lost_when_many_change_one_order,
        a_caller_that_goes_away_leaves_all_or_nothing,
    }
    refunding {
        a_refund_is_committed_with_its_task_and_reads_back,
        a_refund_moves_on_and_its_neighbours_stay_as_they_are,
        every_word_about_a_refund_is_one_of_the_schema,
        a_refund_outlives_its_task,
        an_accepted_cancel_is_kept_and_its_task_tells_of_the_refund,
    }
    refusing {
        a_second_registration_that_may_be_alive_is_refused,
        a_number_is_never_given_twice,
        an_id_of_the_provider_names_one_registration,
        refunds_of_an_order_may_each_have_their_task,
        a_second_unfinished_task_of_a_kind_is_refused,
        a_running_task_without_a_lease_is_refused,
        a_refund_of_no_registration_is_refused,
        nothing_is_ever_taken_away,
        what_a_refund_gives_back_never_changes,
        what_was_bought_never_changes,
        a_wrong_decision_harms_no_neighbour,
    }
    queueing {
        the_queue_counts_what_waits_for_a_provider,
        counting_stops_at_the_limit,
        what_waited_keeps_its_place_while_it_is_tried_again,
        the_length_of_the_queue_is_true_after_anything,
        a_queue_of_five_takes_five_of_many_at_once,
        a_queue_of_hundreds_takes_no_more_than_that_of_many_at_once,
    }
    claiming {
        the_longest_due_of_each_lane_are_taken,
        what_only_a_breaker_holds_back_is_brought_forward_a_few_at_a_time,
        routine_polls_are_taken_last_however_long_they_are_due,
        what_is_not_due_is_left_alone,
        a_lease_that_ran_out_is_taken_over_and_counted,
        no_task_is_ever_claimed_twice,
        leases_are_handed_back_due_and_free_of_charge,
        a_due_task_and_a_finished_one_wake_who_waits,
    }
    listing {
        orders_are_listed_newest_first_page_by_page,
        orders_are_listed_by_customer_and_status,
        orders_are_listed_by_time_by_id_and_in_another_order,
        a_scope_hides_what_belongs_to_others,
        tasks_are_listed_by_state_page_by_page,
        a_number_leads_to_its_order,
        stats_count_what_is_unfinished_and_what_waits_for_a_person,
    }
    telling {
        every_change_that_a_shop_may_care_about_is_told_with_it,
        a_change_that_is_refused_or_tells_nothing_leaves_no_event,
        a_reader_of_everything_misses_nothing_while_others_write,
        events_are_read_on_from_a_position_or_an_event_within_the_scope,
    }
    keeping {
        the_first_outcome_of_a_key_stays,
        every_outcome_reads_back,
        a_decision_whose_key_is_taken_is_undone,
        an_event_is_kept_once,
        an_order_is_found_by_whatever_it_is_called,
        callbacks_are_found_by_the_numbers_of_their_order,
        the_time_is_the_databases,
        what_an_operator_did_is_committed_with_it,
        the_newest_word_about_the_mode_is_in_force_for_its_time,
        a_review_that_a_person_closed_leaves_the_list,
        what_is_older_than_it_is_kept_goes,
        each_is_kept_for_its_own_time,
        a_buyer_is_forgotten_and_the_order_is_not,
        a_healthy_store_answers_a_ping,
        its_connections_are_counted,
    }
    delivering {
        an_endpoint_reads_back_and_is_its_owners_alone,
        an_endpoint_is_told_of_what_happens_from_then_on_and_only_of_what_it_wants,
        later_events_of_an_order_wait_for_the_earlier_ones,
        an_endpoint_is_one_instances_until_its_lease_is_over,
        a_pause_holds_and_a_disabled_endpoint_rests_until_it_is_enabled,
        what_was_sent_is_sent_once_more_when_its_shop_asks,
    }
    archiving {
        an_order_of_which_nothing_is_open_goes_with_all_that_hangs_on_it,
        what_is_open_keeps_its_order,
        a_review_keeps_its_order_until_a_person_closes_it,
    }
}
