//! A server from its start to its end.
//!
//! Order of the start: the address is checked and bound, the root is opened, the services answer, every branch is examined, and only then
//! health reports SERVING. Order of the end: health reports NOT_SERVING, no new connection is accepted, reads are cancelled, other running calls get
//! nearly `shutdown_timeout_ms`. `shutdown` ends the process after that, whatever runs.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use omnigraph_call::CallLayer;
use omnigraph_engine::{Engine, EngineOptions, NewRoot, RootOrigin};
use omnigraph_types::{Failure, RootId, SystemClock, quiet_contained_panics};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic_health::ServingStatus;
use tonic_health::server::{HealthReporter, HealthService};
use tracing::{info, warn};

use crate::config::{ConfigError, ExpectedRoot, ServeConfig};
use crate::{health, routes};

/// Bytes that a client may send on one stream before the server has read them.
const STREAM_WINDOW_BYTES: u32 = 4 * 1024 * 1024;
/// Bytes that a client may send on one connection before the server has read them.
const CONNECTION_WINDOW_BYTES: u32 = 16 * 1024 * 1024;
/// Streams of one connection at once.
const CONNECTION_STREAMS_MAX: u32 = 1_024;
/// Silence on a connection after which the server pings its client, and how long it waits for the answer.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);

/// The last part of `shutdown_timeout_ms`, which is kept for ending the process, and its longest.
const END_PART: u32 = 10;
const END_MAX: Duration = Duration::from_millis(500);

/// Why a server did not start, or did not end as it should.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The address cannot be bound.
    #[error("listen on {listen}: {source}; give another address with --listen, or end the process that holds it")]
    Listen {
        /// The address.
        listen: SocketAddr,
        /// The operating system's error.
        source: io::Error,
    },
    /// The root cannot be opened.
    #[error("open root {root}: {failure}")]
    Open {
        /// The root.
        root: String,
        /// The engine's failure.
        #[source]
        failure: Failure,
    },
    /// The place holds another root than the one that was asked for.
    #[error(
        "{root} holds the root {found}, and --expect-root (OMNIGRAPH_ROOT_ID) asks for {expected}: nothing is served"
    )]
    OtherRoot {
        /// The place.
        root: String,
        /// The id of the root there.
        found: RootId,
        /// The id that was asked for.
        expected: RootId,
    },
    /// The contract's own descriptors cannot be read.
    #[error("read the contract's descriptors: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
    /// The transport ended with an error.
    #[error("serve: {0}")]
    Transport(#[from] tonic::transport::Error),
}

/// A server whose address is bound and whose root is open, and that answers no call yet.
pub struct BoundServer {
    listener: TcpListener,
    address: SocketAddr,
    engine: Engine,
}

impl BoundServer {
    /// Checks the configuration, binds the address and opens the root. Sets the process's panic hook, which calls the one before it.
    pub async fn bind(config: ServeConfig) -> Result<Self, ServeError> {
        config.check_exposure()?;
        quiet_contained_panics();
        let listen = config.listen;
        let bind_error = |source| ServeError::Listen { listen, source };
        let listener = TcpListener::bind(listen).await.map_err(bind_error)?;
        let address = listener.local_addr().map_err(bind_error)?;
        let options = EngineOptions {
            limits: config.limits,
            clock: Arc::new(SystemClock),
            durability: config.durability,
            spill_directory: config.spill_directory,
            new_root: match config.expected_root {
                ExpectedRoot::Any(new) => new,
                ExpectedRoot::Id(_) => NewRoot::Never,
            },
            store_hooks: Vec::new(),
        };
        let opened = Engine::open(&config.root, options).await;
        let engine = opened.map_err(|failure| ServeError::Open { root: config.root, failure })?;
        match config.expected_root {
            ExpectedRoot::Id(expected) if expected != engine.root_id() => {
                Err(ServeError::OtherRoot { root: engine.root().to_owned(), found: engine.root_id(), expected })
            }
            ExpectedRoot::Id(_) | ExpectedRoot::Any(_) => Ok(Self { listener, address, engine }),
        }
    }

    /// The address that clients call, with its real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers calls until `shutdown` resolves, and then until running calls are done or `shutdown_timeout_ms` has passed.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), ServeError> {
        let limits = self.engine.limits().clone();
        let reporter = HealthReporter::new();
        health::report(&reporter, ServingStatus::NotServing).await;
        let health_service = HealthService::from_health_reporter(reporter.clone());
        let stopping = CancellationToken::new();
        let routes = routes::routes(&self.engine, health_service)?;

        let server = Server::builder()
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_concurrent_streams(CONNECTION_STREAMS_MAX)
            .http2_keepalive_interval(Some(KEEPALIVE_INTERVAL))
            .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
            .layer(CallLayer::new(&limits, stopping.clone()))
            .add_routes(routes);
        let incoming = TcpIncoming::from(self.listener).with_nodelay(Some(true));
        let serving = server.serve_with_incoming_shutdown(incoming, stopping.clone().cancelled_owned());
        let mut serving = std::pin::pin!(serving);

        let engine = self.engine.clone();
        let starting = async {
            health::settle_and_report(&engine, &reporter).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            outcome = &mut serving => return Ok(outcome?),
            () = starting => {}
            () = shutdown => {}
        }
        info!("stopping: no new connections; running requests have shutdown_timeout_ms");
        health::report(&reporter, ServingStatus::NotServing).await;
        stopping.cancel();
        engine.stop_reads();
        match tokio::time::timeout(graceful(limits.shutdown_timeout_ms), serving).await {
            Ok(outcome) => outcome?,
            Err(_) => {
                warn!(shutdown_timeout_ms = limits.shutdown_timeout_ms, "requests still ran at the end and were ended")
            }
        }
        Ok(())
    }
}

/// Serves until `shutdown` resolves, which may be during startup. Writes its address to the log and to standard output, for the process that
/// started it with port 0.
pub async fn serve(config: ServeConfig, shutdown: impl Future<Output = ()>) -> Result<(), ServeError> {
    let mut shutdown = std::pin::pin!(shutdown);
    let server = tokio::select! {
        bound = BoundServer::bind(config) => bound?,
        () = &mut shutdown => {
            info!("shutdown requested during startup");
            return Ok(());
        }
    };
    let address = server.address();
    info!("listening on {address}");
    announce(address, &server.engine);
    server.run(shutdown).await
}

/// How long running requests have, so that the process ends by itself before `shutdown_timeout_ms` ends it.
fn graceful(shutdown_timeout_ms: u64) -> Duration {
    let whole = Duration::from_millis(shutdown_timeout_ms);
    whole - (whole / END_PART).min(END_MAX)
}

/// Writes the line that the starting process waits for, and one that names the root. A closed standard output does not stop the server.
fn announce(address: SocketAddr, engine: &Engine) {
    use std::io::Write;
    let (root, root_id) = (engine.root(), engine.root_id());
    let origin = match engine.root_origin() {
        RootOrigin::Made => {
            info!(root, %root_id, "made a new root");
            "new root"
        }
        RootOrigin::Found => {
            info!(root, %root_id, "opened the root");
            "root"
        }
    };
    // In one write, since the starting process may read one line and close.
    let lines = format!("listening grpc://{address}\n{origin} {root_id} at {root}\n");
    let mut out = io::stdout().lock();
    if let Err(error) = out.write_all(lines.as_bytes()).and_then(|()| out.flush()) {
        warn!(%error, "write the address to standard output");
    }
}
