//! `serve`.

use std::time::Duration;

use omnigraph_server::{ServeArgs, ServeError, init_logging, serve, shutdown_signal};

use super::Global;
use crate::error::CliError;

/// Shown below the help.
pub(super) const EXAMPLES: &str = "\
Examples:
  omnigraph serve --root ./graphs --init               makes the folder a root, for this machine only
  omnigraph serve --root ./graphs --listen 127.0.0.1:0 a free port; the first line of output names it

The server ends at Control-C or SIGTERM, after its running writes; reads are cancelled. If it still runs after --shutdown-timeout-ms, it is
ended with exit code 70.";

/// Runs a server until a signal stops it.
pub(crate) async fn run(global: &Global, arguments: ServeArgs) -> Result<(), CliError> {
    let config = arguments.resolve(global.expect_root).map_err(ServeError::from)?;
    init_logging(config.log_format);
    let shutdown = shutdown_signal(Duration::from_millis(config.limits.shutdown_timeout_ms));
    serve(config, shutdown).await?;
    Ok(())
}
