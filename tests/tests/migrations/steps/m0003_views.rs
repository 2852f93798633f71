pub async fn up(_: &odm::migrate::Step) -> odm::Result<()> {
    Ok(())
}
