//! A `mongod` in a container, where this machine has Docker and no `mongod`.

use std::path::Path;

use anyhow::{Context, Result};
use tokio::process::Command;

/// The image that is run. It is pulled where this machine does not have it.
pub const IMAGE: &str = "mongo:8";

/// The command that runs the container with its data below `dir`. The container is removed when it stops.
///
/// # Errors
/// Where the folder of the data can't be created.
pub fn command(program: &Path, dir: &Path, port: u16) -> Result<Command> {
    let data = dir.join("data");
    std::fs::create_dir_all(&data).with_context(|| format!("{} cannot be created", data.display()))?;
    let mut command = Command::new(program);
    command.args(arguments(&data, port)?);
    Ok(command)
}

/// The port is the same inside and outside, so that the address of the member in the configuration of the set is right on both
/// sides.
fn arguments(data: &Path, port: u16) -> Result<Vec<String>> {
    let data = data
        .to_str()
        .with_context(|| format!("{} is no text that Docker takes", data.display()))?;
    let mut arguments: Vec<String> = ["run", "--rm", "--init"].map(str::to_owned).to_vec();
    // The files belong to the user that starts the container, who can then delete them.
    #[cfg(unix)]
    arguments.extend([
        "--user".to_owned(),
        format!("{}:{}", nix::unistd::getuid(), nix::unistd::getgid()),
    ]);
    arguments.extend([
        "--name".to_owned(),
        format!("odm-server-{port}"),
        "--publish".to_owned(),
        format!("127.0.0.1:{port}:{port}"),
        "--volume".to_owned(),
        format!("{data}:/data/db"),
        IMAGE.to_owned(),
    ]);
    arguments.extend(
        [
            "mongod",
            "--replSet",
            super::mongod::SET,
            "--bind_ip_all",
            "--port",
        ]
        .map(str::to_owned),
    );
    arguments.push(port.to_string());
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_container_listens_on_loopback_only_and_keeps_its_data_outside() -> Result<()> {
        let arguments = arguments(Path::new("/home/me/app/.odm/data"), 4321)?.join(" ");
        assert!(
            arguments.contains("--publish 127.0.0.1:4321:4321 "),
            "{arguments}"
        );
        assert!(
            arguments.contains("--volume /home/me/app/.odm/data:/data/db "),
            "{arguments}"
        );
        assert!(
            arguments.ends_with("mongo:8 mongod --replSet odm --bind_ip_all --port 4321"),
            "{arguments}"
        );
        Ok(())
    }
}
