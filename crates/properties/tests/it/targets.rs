//! One test for each target.

use properties::check_for_a_second;

#[test]
fn any_arguments_get_a_bounded_result_in_both_dialects() {
    check_for_a_second(&properties::arguments::TARGET);
}

#[test]
fn setup_keeps_everything_else_in_any_config_file() {
    check_for_a_second(&properties::client_files::TARGET);
}

#[test]
fn decoded_pages_equal_the_naive_result() {
    check_for_a_second(&properties::encodings::TARGET);
}

#[test]
fn any_stream_is_split_into_messages_and_refused_lines() {
    check_for_a_second(&properties::frames::TARGET);
}

#[test]
fn ignore_files_exclude_what_they_exclude_for_rg() {
    check_for_a_second(&properties::ignore_files::TARGET);
}

#[test]
fn any_image_file_is_an_error_or_an_image_within_the_limits() {
    check_for_a_second(&properties::images::TARGET);
}

#[test]
fn pages_of_any_file_equal_the_naive_result_and_join_to_the_file() {
    check_for_a_second(&properties::pages::TARGET);
}

#[test]
fn any_pattern_and_glob_has_a_consistent_result() {
    check_for_a_second(&properties::patterns::TARGET);
}

#[test]
fn saved_output_is_the_whole_stream() {
    check_for_a_second(&properties::saved_output::TARGET);
}

#[test]
fn each_request_of_any_stream_is_answered_once() {
    check_for_a_second(&properties::sessions::TARGET);
}

#[test]
fn terminal_output_is_folded_like_the_naive_model() {
    check_for_a_second(&properties::terminal::TARGET);
}

#[test]
fn listings_of_any_tree_equal_the_naive_result_and_pages_join() {
    check_for_a_second(&properties::trees::TARGET);
}
