//! What does not compile, and what the compiler says about it.

use crate::show::Show;

/// A program that is refused, why, and the words of the compiler.
struct Refusal {
    why: &'static str,
    program: &'static str,
    message: &'static str,
}

const REFUSALS: &[Refusal] = &[];

pub fn show(show: &mut Show) {
    show.heading("What does not compile");
    for refusal in REFUSALS {
        show.text(refusal.why);
        println!();
        show.block(refusal.program);
        show.block(refusal.message);
    }
}
