//! `serve`.

use omnigraph_server::{ServeArgs, ServeError, init_logging, serve, shutdown_signal};

use crate::error::CliError;

/// Shown below the help.
pub(super) const EXAMPLES: &str = "\
Examples:
  omnigraph serve --root ./graphs                      graphs in a folder, for this machine only
  omnigraph serve --root ./graphs --listen 127.0.0.1:0 a free port; the first line of output names it

The server ends at Control-C or SIGTERM, after its running requests.";

/// Runs a server until a signal stops it.
pub(crate) async fn run(arguments: ServeArgs) -> Result<(), CliError> {
    let config = arguments.resolve().map_err(ServeError::from)?;
    init_logging(config.log_format);
    serve(config, shutdown_signal()).await?;
    Ok(())
}
