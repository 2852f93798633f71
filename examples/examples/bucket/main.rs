//! Buckets: the program is `odm_examples::bucket`, in `examples/src/bucket.rs`.

fn main() -> std::process::ExitCode {
    odm_examples::start::bucket()
}
