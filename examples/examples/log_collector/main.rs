//! A log collector: the program is `odm_examples::log_collector`, in `examples/src/log_collector.rs`.

fn main() -> std::process::ExitCode {
    odm_examples::log_collector::start()
}
