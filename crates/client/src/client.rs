//! The connection, and how a call of one request and one answer is made.

use std::future::Future;
use std::sync::Arc;

use omnigraph_types::{Effect, OperationId, ServerInfo};
use omnigraph_wire::{AnswerCodec, RequestCodec};
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Response, Status};

use crate::deadline::Deadline;
use crate::endpoint;
use crate::error::ClientError;
use crate::options::ClientOptions;

/// Bytes of one stream's answers that may be in flight.
const STREAM_WINDOW_BYTES: u32 = 4 * 1024 * 1024;
/// Bytes of all streams' answers that may be in flight.
const CONNECTION_WINDOW_BYTES: u32 = 16 * 1024 * 1024;

/// A connection to a server. Cheap to clone; clones share the connection.
#[derive(Debug, Clone)]
pub struct Client {
    channel: Channel,
    options: Arc<ClientOptions>,
}

impl Client {
    /// Connects to `grpc://host:port`. `grpcs://` is refused as unimplemented.
    pub async fn connect(url: &str) -> Result<Self, ClientError> {
        Self::connect_with(url, ClientOptions::default()).await
    }

    /// Connects with these options. With `expect_root` the server is asked for its root first, and refused as `OtherRoot` if that is another.
    pub async fn connect_with(url: &str, options: ClientOptions) -> Result<Self, ClientError> {
        let connect = |source| ClientError::Connect { url: url.to_owned(), source };
        let endpoint = Endpoint::from_shared(endpoint::http_url(url)?)
            .map_err(connect)?
            .user_agent(concat!("omnigraph-rust/", env!("CARGO_PKG_VERSION")))
            .map_err(connect)?
            .connect_timeout(options.connect_timeout)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES);
        let channel = endpoint.connect().await.map_err(connect)?;
        let client = Self { channel, options: Arc::new(options) };
        client.require_root(url).await?;
        Ok(client)
    }

    async fn require_root(&self, url: &str) -> Result<(), ClientError> {
        let Some(expected) = self.options.expect_root else { return Ok(()) };
        let ServerInfo { root_id: found, root, .. } = self.server_info().await?;
        if found == expected {
            return Ok(());
        }
        Err(ClientError::OtherRoot { url: url.to_owned(), expected, found, root })
    }

    /// A fresh idempotency key of this moment.
    pub fn mint_operation_id() -> OperationId {
        OperationId(ulid::Ulid::new())
    }

    pub(crate) fn channel(&self) -> Channel {
        self.channel.clone()
    }

    pub(crate) fn options(&self) -> &ClientOptions {
        &self.options
    }

    /// Makes a call of one request and one answer, again where its failure says that helps. `effect` is what a call without an answer may
    /// have had.
    pub(crate) async fn unary<M, A, F, Fut>(
        &self,
        value: M::Value,
        effect: Effect,
        call: F,
    ) -> Result<A::Value, ClientError>
    where
        M: RequestCodec + Clone,
        A: AnswerCodec,
        F: Fn(Request<M>) -> Fut,
        Fut: Future<Output = Result<Response<A>, Status>>,
    {
        let message = M::to_wire(value);
        let deadline = Deadline::after(self.options.timeout);
        self.retrying(deadline, || {
            let call = call(deadline.request(message.clone()));
            async move {
                let response = call.await.map_err(|status| ClientError::from_status(status, effect, deadline))?;
                Ok(A::from_wire(response.into_inner())?)
            }
        })
        .await
    }

    /// Runs `attempt` until it succeeds, its failure is final, or attempts or time are used up.
    pub(crate) async fn retrying<R, F, Fut>(&self, deadline: Deadline, attempt: F) -> Result<R, ClientError>
    where
        F: Fn() -> Fut,
        Fut: Future<Output = Result<R, ClientError>>,
    {
        let mut attempts = 0;
        let mut effect = Effect::None;
        loop {
            attempts += 1;
            let error = match attempt().await {
                Ok(answer) => return Ok(answer),
                Err(error) => error.after(effect),
            };
            effect = error.effect();
            match self.options.retry.pause(attempts, &error, rand::random()) {
                Some(pause) if deadline.left().is_none_or(|left| pause < left) => tokio::time::sleep(pause).await,
                Some(_) | None => return Err(error),
            }
        }
    }
}
