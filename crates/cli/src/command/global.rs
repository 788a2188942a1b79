//! What every client command takes from the command line.

use clap::Args;
use omnigraph_client::Timeout;
use omnigraph_types::RootId;

use super::values::{parse_id, parse_timeout};
use crate::output::Output;

/// Heading of the options that every command takes.
const EVERYWHERE: &str = "Options of every command";

/// What every client command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// The server
    #[arg(long, global = true, help_heading = EVERYWHERE, env = "OMNIGRAPH_URL", default_value = "grpc://127.0.0.1:50051", value_name = "URL")]
    pub(crate) url: String,
    /// How long the request may take, such as 500ms, 30s, 10m or 2h; without it the server decides
    #[arg(long, global = true, help_heading = EVERYWHERE, env = "OMNIGRAPH_TIMEOUT", value_name = "TIME", value_parser = parse_timeout, hide_env_values = true)]
    pub(crate) timeout: Option<Timeout>,
    /// Refuse a server of another root than the one with this id, before anything else is sent to it; with `serve`, refuse to serve another
    #[arg(long, global = true, help_heading = EVERYWHERE, env = "OMNIGRAPH_ROOT_ID", value_name = "ID", value_parser = parse_id::<RootId>)]
    pub(crate) expect_root: Option<RootId>,
    /// How results are printed
    #[arg(long, global = true, help_heading = EVERYWHERE, value_enum, default_value_t = Output::Table, value_name = "FORM")]
    pub(crate) output: Output,
}
