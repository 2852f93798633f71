//! Buckets by time: the program is `odm_examples::bucket_by_time`, in `examples/src/bucket_by_time.rs`.

fn main() -> std::process::ExitCode {
    odm_examples::start::bucket_by_time()
}
