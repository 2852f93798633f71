//! The first snapshot of the models: nothing is changed.

use odm::migrate::Step;

pub async fn up(_step: &Step) -> odm::Result<()> {
    Ok(())
}
