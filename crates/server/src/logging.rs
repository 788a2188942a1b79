//! The log: lines on standard error, as text or JSON, filtered by `RUST_LOG`.

use tracing_subscriber::EnvFilter;

use crate::LogFormat;

/// What is logged where `RUST_LOG` says nothing: our own lines and others' warnings, but for Lance's at each store that it has no client for.
const DEFAULT_FILTER: &str = "warn,lance_io::object_store=error,omnigraph_server=info,omnigraph_call=info,omnigraph_flight=info,omnigraph_engine=info,omnigraph_commit=info,omnigraph_catalog=info";

/// Sends the log of this process to standard error. A log that was set up before stays as it is.
pub fn init_logging(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(DEFAULT_FILTER));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let outcome = match format {
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    if outcome.is_err() {
        tracing::debug!("a log was set up before");
    }
}
