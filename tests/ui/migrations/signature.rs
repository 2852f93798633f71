//! The functions of a step have one form, and a step has `up`.

mod m0001_no_future {
    pub fn up(_: &odm::migrate::Step) -> i32 {
        0
    }
}

fn main() {
    let _ = odm::migrations![m0001_no_future];
}
