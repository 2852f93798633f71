//! A queue of jobs: the program is `odm_examples::job_queue`, in `examples/src/job_queue.rs`.

fn main() -> std::process::ExitCode {
    odm_examples::job_queue::start()
}
