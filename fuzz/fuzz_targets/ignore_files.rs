#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| eyelet_fuzz::check(
    &properties::ignore_files::TARGET,
    input
));
