//! Clients of stores that are reached by requests, and how Lance gets them.
//!
//! One client for everything, as with folders: Lance asks its registry for a store of the root's scheme, and gets ours. So Lance needs no clients of
//! its own, and every call goes through one set of credentials, retries and hooks.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lance_io::object_store::{
    DEFAULT_CLOUD_IO_PARALLELISM, DEFAULT_DOWNLOAD_RETRY_COUNT, ObjectStore as LanceStore, ObjectStoreParams,
    ObjectStoreProvider,
};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::{BackoffConfig, ObjectStore, RetryConfig};
use url::Url;

use crate::StorageError;
use crate::root::{RemoteKind, RemoteRoot, StoreKind};

/// Tries of one request after the first, for answers that promise that another may succeed. The client does not repeat a put-if-absent
/// whose answer is lost: its caller reads the object.
const RETRIES_MAX: usize = 3;
/// No retry begins after this time.
const RETRY_TIMEOUT: Duration = Duration::from_secs(20);

/// Reads of one file that are closer than this become one request: what Lance takes for such stores.
const BLOCK_BYTES: usize = 64 * 1024;

/// Opens a client. Settings are taken from `variables`, and from the process's environment where it has none of that name: for S3 `AWS_*`, for Azure
/// `AZURE_*`.
pub(crate) fn client(
    root: &RemoteRoot,
    variables: &HashMap<String, String>,
) -> Result<Arc<dyn ObjectStore>, object_store::Error> {
    let retry =
        RetryConfig { backoff: BackoffConfig::default(), max_retries: RETRIES_MAX, retry_timeout: RETRY_TIMEOUT };
    match root.kind {
        RemoteKind::S3 => {
            let settings: Vec<_> = settings("AWS_", variables).collect();
            let endpoints = settings.iter().filter(|(name, _)| name.starts_with("aws_endpoint"));
            for (name, value) in endpoints {
                check_url(name, value)?;
            }
            let known = settings.into_iter().filter_map(|(name, value)| Some((name.parse().ok()?, value)));
            let builder = known.fold(AmazonS3Builder::new(), |builder, (key, value)| builder.with_config(key, value));
            Ok(Arc::new(builder.with_bucket_name(&root.bucket).with_retry(retry).build()?))
        }
        RemoteKind::Azure => {
            let settings = settings("AZURE_", variables);
            let known = settings.filter_map(|(name, value)| Some((name.parse().ok()?, value)));
            let builder =
                known.fold(MicrosoftAzureBuilder::new(), |builder, (key, value)| builder.with_config(key, value));
            Ok(Arc::new(builder.with_container_name(&root.bucket).with_retry(retry).build()?))
        }
    }
}

/// An endpoint that is no URL: the client would take it, and panic when it sends a request.
fn check_url(name: &str, value: &str) -> Result<(), object_store::Error> {
    let legal = Url::parse(value).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    if legal && value.trim() == value {
        return Ok(());
    }
    let source = format!("{} is {value:?}, and must be a URL like https://host:port", name.to_ascii_uppercase());
    Err(object_store::Error::Generic { store: "S3", source: source.into() })
}

/// Settings of one family, by their names in lower case.
fn settings(prefix: &'static str, variables: &HashMap<String, String>) -> impl Iterator<Item = (String, String)> {
    let mut all: HashMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    all.extend(variables.iter().map(|(name, value)| (name.clone(), value.clone())));
    all.into_iter()
        .filter(move |(name, _)| name.starts_with(prefix))
        .map(|(name, value)| (name.to_ascii_lowercase(), value))
}

/// What to do about a store that answered with an error when it was first asked.
pub(crate) fn unusable(kind: StoreKind, error: StorageError) -> StorageError {
    let StorageError::Store { source, .. } = &error else { return error };
    let Some(reason) = source.downcast_ref::<object_store::Error>().and_then(|cause| reason(kind, cause)) else {
        return error;
    };
    StorageError::StoreUnusable { reason, source: Box::new(error) }
}

/// What is wrong with a store that failed so, or whose client cannot be made, and what to do.
pub(crate) fn reason(kind: StoreKind, cause: &object_store::Error) -> Option<&'static str> {
    use object_store::Error as Failed;
    match (kind, cause) {
        (StoreKind::Local, _) => None,
        (StoreKind::S3, Failed::PermissionDenied { .. } | Failed::Unauthenticated { .. }) => Some(
            "it refuses these credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give this machine a role that may read, write, list \
             and delete below the root; see that AWS_REGION is the bucket's",
        ),
        (StoreKind::Azure, Failed::PermissionDenied { .. } | Failed::Unauthenticated { .. }) => Some(
            "it refuses these credentials: set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or give this machine an identity that may \
             read, write, list and delete below the root",
        ),
        (_, Failed::NotFound { .. }) => Some("there is no such bucket or container: make it first"),
        (StoreKind::S3, _) => Some(
            "it cannot be used as it is set up, or not be reached: check AWS_REGION, AWS_ENDPOINT_URL (http://host:port or https://host:port; with \
             AWS_ALLOW_HTTP=true for http), the credentials and the network",
        ),
        (StoreKind::Azure, _) => Some(
            "it cannot be used as it is set up, or not be reached: check AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_ENDPOINT (with AZURE_ALLOW_HTTP=true for http), the credentials and \
             the network",
        ),
    }
}

/// Gives Lance the one client, whatever it asks for.
#[derive(Debug)]
pub(crate) struct OneClient(pub(crate) Arc<dyn ObjectStore>);

#[async_trait]
impl ObjectStoreProvider for OneClient {
    async fn new_store(&self, base_path: Url, params: &ObjectStoreParams) -> lance_core::Result<LanceStore> {
        Ok(LanceStore::new(
            Arc::clone(&self.0),
            base_path,
            Some(params.block_size.unwrap_or(BLOCK_BYTES)),
            None,
            false,
            true,
            DEFAULT_CLOUD_IO_PARALLELISM,
            DEFAULT_DOWNLOAD_RETRY_COUNT,
            None,
        ))
    }
}
