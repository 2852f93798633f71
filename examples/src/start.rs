//! The `main` of each design. They are compiled here, once; the programs in `examples/examples` call them.

use crate::program;
use std::process::ExitCode;

macro_rules! designs {
    ($($name:ident),* $(,)?) => {
        /// The names of all designs, which are those of their programs.
        pub const DESIGNS: &[&str] = &[$(stringify!($name)),*];
        $(
            pub fn $name() -> ExitCode {
                program::start(stringify!($name), |db| Box::pin(async { Ok(crate::$name::run(db).await?) }))
            }
        )*
    };
}

designs![
    bucket,
    bucket_by_time,
    computed,
    copies,
    extended_reference,
    many_to_many,
    one_to_few,
    one_to_many,
    one_to_one,
    one_to_one_split,
    one_to_squillions,
    outlier,
    reference_in_child,
    subset,
    tree,
    two_way,
];
