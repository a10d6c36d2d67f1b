//! Files that are encoded from the first cell to the last, because their blocks of cells cannot be encoded separately:
//! text, images, and all files of sparse arrays. A reader that goes on continues the encoding where it ended.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use hashlink::LinkedHashMap;

use super::parts::PART_BYTES;
use crate::error::Result;
use crate::query::{Batches, Query};
use crate::view::encode::Encode;
use crate::view::slice::Slice;

/// Target size of a batch of cells, in bytes.
const BATCH_BYTES: u64 = 4 << 20;
/// The most files with unfinished encodings. Each has a batch of cells in memory.
const FILES_MAX: usize = 4;
/// The most unfinished encodings of a file, for readers at different places.
const STREAMS_MAX: usize = 2;

/// An unfinished encoding of a file.
#[derive(Debug)]
pub(super) struct Stream {
    batches: Batches,
    encoder: Box<dyn Encode>,
    /// Encoded bytes that were not returned yet.
    waiting: BytesMut,
    /// The place in the file of the first of these bytes.
    at: u64,
    /// The bytes before them and their place, if no cache keeps them.
    last: Option<(u64, Bytes)>,
    ended: bool,
}

impl Stream {
    /// An encoding at the start of the file.
    pub(super) fn new(slice: &Slice) -> Result<Self> {
        let mut encoder = slice.encoder()?;
        let query = Query {
            batch_bytes: BATCH_BYTES,
            ..slice.query()?
        };
        Ok(Self {
            waiting: BytesMut::from(&encoder.start()[..]),
            batches: slice.array().batches(query),
            encoder,
            at: 0,
            last: None,
            ended: false,
        })
    }

    /// Keeps the last bytes, because no cache does.
    pub(super) fn keep_last(&mut self, at: u64, bytes: Bytes) {
        if !self.encoder.is_buffered() {
            self.last = Some((at, bytes));
        }
    }

    /// The first place that can be read without another encoding.
    fn start(&self) -> u64 {
        self.last.as_ref().map_or(self.at, |(at, _)| *at)
    }

    /// The next bytes and their place in the file: one part or more, each whole except for the last one of the file.
    /// `None` at the end.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`](crate::Error::LimitExceeded) if the encoder keeps more than `kept_max` bytes until the end;
    /// errors of reading the array. The stream cannot be used after an error.
    pub(super) async fn next(&mut self, slice: &Slice, kept_max: u64) -> Result<Option<(u64, Bytes)>> {
        if let Some(last) = self.last.take() {
            return Ok(Some(last));
        }
        loop {
            let waiting = self.waiting.len() as u64;
            let ready = if self.ended {
                waiting
            } else {
                waiting - waiting % PART_BYTES
            };
            if ready > 0 {
                let bytes = self
                    .waiting
                    .split_to(usize::try_from(ready).unwrap_or(usize::MAX))
                    .freeze();
                let at = self.at;
                self.at += ready;
                return Ok(Some((at, bytes)));
            }
            if self.ended {
                return Ok(None);
            }
            let next = if self.encoder.is_full() {
                None
            } else {
                self.batches.next().await?
            };
            match next {
                Some(batch) => {
                    self.waiting
                        .extend_from_slice(&self.encoder.cells(batch.into_columns())?);
                    let kept = self.encoder.kept_bytes();
                    if kept > kept_max {
                        return Err(slice.too_large(kept, kept_max));
                    }
                }
                None => {
                    self.waiting.extend_from_slice(&self.encoder.finish()?);
                    self.ended = true;
                }
            }
        }
    }
}

/// Unfinished encodings, by the id of the file.
#[derive(Debug, Default)]
pub(super) struct Streams(Mutex<LinkedHashMap<u64, Vec<Stream>>>);

impl Streams {
    /// Takes the encoding that is closest before byte `start` of a file.
    pub(super) fn take(&self, id: u64, start: u64) -> Option<Stream> {
        let mut files = self.lock();
        let streams = files.get_mut(&id)?;
        let before = streams.iter().enumerate().filter(|(_, stream)| stream.start() <= start);
        let (closest, _) = before.max_by_key(|(_, stream)| stream.start())?;
        Some(streams.remove(closest))
    }

    /// Keeps an encoding for later, unless it has ended.
    pub(super) fn keep(&self, id: u64, stream: Stream) {
        if stream.ended && stream.waiting.is_empty() && stream.last.is_none() {
            return;
        }
        let mut files = self.lock();
        let mut streams = files.remove(&id).unwrap_or_default();
        if streams.len() >= STREAMS_MAX {
            streams.remove(0);
        }
        streams.push(stream);
        files.insert(id, streams);
        while files.len() > FILES_MAX {
            files.pop_front();
        }
    }

    fn lock(&self) -> MutexGuard<'_, LinkedHashMap<u64, Vec<Stream>>> {
        // Code under the lock does not panic, so the map is consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
