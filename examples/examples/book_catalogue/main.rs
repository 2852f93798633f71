//! A book catalogue: the program is `odm_examples::book_catalogue`, in `examples/src/book_catalogue.rs`.

fn main() -> std::process::ExitCode {
    odm_examples::book_catalogue::start()
}
