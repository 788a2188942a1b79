//! From the reading thread to the server, until the end, a failure, or Control-C.

use std::pin::pin;

use arrow::array::RecordBatch;
use bytes::Bytes;
use omnigraph_client::{ClientError, Loader, NdjsonLoader, WriteReceipt};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::input::InputError;
use crate::progress::Progress;

/// Items that the reading thread may be ahead.
const READ_AHEAD_MAX: usize = 2;

/// Why a transfer did not end in a receipt.
#[derive(Debug)]
pub(super) enum Error {
    /// The server refused, or the call broke off.
    Client(ClientError),
    /// The files cannot be read as rows. Nothing is stored.
    Input(InputError),
    /// Control-C while rows were sent. Nothing is stored.
    Interrupted,
    /// Control-C while the server was committing.
    InterruptedCommit,
}

impl From<ClientError> for Error {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

/// A load that takes items.
pub(super) trait Sink {
    /// What it takes.
    type Item;
    /// Sends an item.
    async fn write(&mut self, item: Self::Item) -> Result<(), ClientError>;
    /// Ends the load.
    async fn finish(self) -> Result<WriteReceipt, ClientError>;
    /// Gives the load up.
    async fn abort(self);
}

impl Sink for Loader {
    type Item = RecordBatch;

    async fn write(&mut self, item: RecordBatch) -> Result<(), ClientError> {
        Self::write(self, item).await
    }

    async fn finish(self) -> Result<WriteReceipt, ClientError> {
        Self::finish(self).await
    }

    async fn abort(self) {
        Self::abort(self).await;
    }
}

impl Sink for NdjsonLoader {
    type Item = Bytes;

    async fn write(&mut self, item: Bytes) -> Result<(), ClientError> {
        Self::write(self, item).await
    }

    async fn finish(self) -> Result<WriteReceipt, ClientError> {
        Self::finish(self).await
    }

    async fn abort(self) {
        Self::abort(self).await;
    }
}

/// Items that a thread reads.
pub(super) struct Items<T> {
    items: mpsc::Receiver<Result<T, InputError>>,
    reader: JoinHandle<()>,
}

/// Reads `source` in a thread of its own, a few items ahead.
pub(super) fn read_ahead<T: Send + 'static>(
    source: impl Iterator<Item = Result<T, InputError>> + Send + 'static,
) -> Items<T> {
    let (sender, items) = mpsc::channel(READ_AHEAD_MAX);
    let reader = tokio::task::spawn_blocking(move || {
        for item in source {
            let failed = item.is_err();
            // The receiver is closed, or nothing follows an error.
            if sender.blocking_send(item).is_err() || failed {
                break;
            }
        }
    });
    Items { items, reader }
}

impl<T> Items<T> {
    /// The next item; none at the end of the files. A reader that died is an error, and never looks like the end.
    async fn next(&mut self) -> Result<Option<T>, InputError> {
        match self.items.recv().await {
            Some(item) => item.map(Some),
            None => match (&mut self.reader).await {
                Ok(()) => Ok(None),
                Err(_) => Err(InputError::ReaderDied),
            },
        }
    }
}

/// A load under way.
pub(super) struct Transfer<S: Sink> {
    pub(super) sink: S,
    pub(super) items: Items<S::Item>,
    pub(super) progress: Progress,
}

impl<S: Sink> Transfer<S> {
    /// Sends everything and ends the load.
    pub(super) async fn run(self) -> Result<WriteReceipt, Error> {
        let Self { mut sink, mut items, progress } = self;
        let mut interrupt = pin!(tokio::signal::ctrl_c());
        let sent = tokio::select! {
            biased;
            _ = &mut interrupt => Err(Error::Interrupted),
            sent = send(&mut sink, &mut items, &progress) => sent,
        };
        if let Err(error) = sent {
            progress.end();
            sink.abort().await;
            return Err(error);
        }
        progress.committing();
        let receipt = tokio::select! {
            biased;
            _ = &mut interrupt => Err(Error::InterruptedCommit),
            receipt = sink.finish() => receipt.map_err(Error::Client),
        };
        let summary = progress.end();
        let receipt = receipt?;
        eprintln!("{}", summary.text());
        Ok(receipt)
    }
}

async fn send<S: Sink>(sink: &mut S, items: &mut Items<S::Item>, progress: &Progress) -> Result<(), Error> {
    let mut ticks = tokio::time::interval(Progress::interval());
    loop {
        let next = tokio::select! {
            biased;
            _ = ticks.tick() => {
                progress.show();
                continue;
            }
            next = items.next() => next?,
        };
        match next {
            Some(item) => sink.write(item).await?,
            None => return Ok(()),
        }
    }
}
