//! A request and its response, with retries and with limits on time and memory. The server may send anything, so no
//! body may be longer than requested or take forever.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::header::HeaderMap;
use reqwest::{RequestBuilder, Response, StatusCode};
use tokio::time::{Instant, sleep, timeout_at};

use super::headers::{as_stored, content_type, is_refusal, refusal};
use crate::error::{Error, Result};
use crate::vfs::listing::is_page;
use crate::vfs::redact;

/// Attempts per request.
const TRIES: u32 = 4;
/// Bytes to reserve for a body before they have arrived.
const ROOM_BYTES: u64 = 4 << 20;

/// The time limits of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Patience {
    /// The time until a response begins, over all attempts. Also the time until its body must keep to the rate.
    pub start: Duration,
    /// The minimum average rate of a body, in bytes per second.
    pub bytes_per_second: f64,
}

impl Default for Patience {
    /// 60 seconds, then 16 KiB per second.
    fn default() -> Self {
        Self {
            start: Duration::from_secs(60),
            bytes_per_second: 16384.0,
        }
    }
}

/// A request for a file or a folder at `path`.
pub(super) struct Exchange<'a> {
    pub(super) path: &'a str,
    pub(super) request: RequestBuilder,
    pub(super) patience: Patience,
    /// Whether a refusal (such as 403) counts as "not found".
    pub(super) absent_if_refused: bool,
}

/// The head of a response.
pub(super) struct Head {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
}

impl Exchange<'_> {
    /// Requests a file. Any unsuccessful status is an error, except "range not satisfiable".
    pub(super) async fn send(&self) -> Result<Response> {
        let response = self.answer().await?;
        match response.status() {
            status if status.is_success() || status == StatusCode::RANGE_NOT_SATISFIABLE => {
                as_stored(self.path, response)
            }
            StatusCode::NOT_FOUND | StatusCode::GONE => Err(Error::not_found(self.path, "")),
            status if self.absent_if_refused && is_refusal(status) => {
                Err(Error::not_found(self.path, format!("the server answers {status}")))
            }
            status => Err(Error::io(self.path, refusal(status))),
        }
    }

    /// Requests a file with its body. `most` returns the limit on the body's bytes for a response head; if it returns
    /// `None`, the body is not received. Interrupted bodies are requested again.
    pub(super) async fn receive(&self, most: impl Fn(&Response) -> Result<Option<u64>>) -> Result<(Head, Bytes)> {
        let mut tried = 0;
        loop {
            tried += 1;
            let response = self.send().await?;
            let most = most(&response)?;
            let head = Head {
                status: response.status(),
                headers: response.headers().clone(),
            };
            let Some(most) = most else {
                return Ok((head, Bytes::new()));
            };
            match self.body(response, most).await? {
                Ok(body) if is_page(content_type(&head.headers), &body) => {
                    let why = "the server answers with a web page, as sites do for files that they do not have";
                    return Err(Error::not_found(self.path, why));
                }
                Ok(body) => return Ok((head, body)),
                Err(e) if tried == TRIES => {
                    let why =
                        format!("the answer broke off {TRIES} times ({e}); try again, or look at the server's log");
                    return Err(Error::io(self.path, why));
                }
                Err(_) => pause(tried).await,
            }
        }
    }

    /// Sends the request, and retries after a delay if the failure may be temporary.
    pub(super) async fn answer(&self) -> Result<Response> {
        let deadline = Instant::now() + self.patience.start;
        let mut failed = None;
        for tried in 1..=TRIES {
            let Ok(sent) = timeout_at(deadline, self.again()?.send()).await else {
                break;
            };
            failed = Some(match sent.map_err(reqwest::Error::without_url) {
                Ok(response) => match response.status() {
                    status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => refusal(status),
                    _ => return Ok(response),
                },
                Err(e) if e.is_redirect() => {
                    let why = format!("{e}; the server redirects too often: open the address where the files are");
                    return Err(Error::io(self.path, why));
                }
                Err(e) => unanswered(&e),
            });
            if tried < TRIES {
                pause(tried).await;
            }
        }
        let late = || {
            let seconds = self.patience.start.as_secs_f32();
            format!("no answer came within {seconds} seconds; try again, or look at the server's log")
        };
        Err(Error::io(self.path, failed.unwrap_or_else(late)))
    }

    /// Makes one attempt.
    fn again(&self) -> Result<RequestBuilder> {
        let once = self.request.try_clone();
        once.ok_or_else(|| Error::invalid("a request that cannot be repeated"))
    }

    /// Receives the body, of at most `most` bytes. Fails if it is interrupted.
    pub(super) async fn body(&self, mut response: Response, most: u64) -> Result<Result<Bytes, reqwest::Error>> {
        let announced = response.content_length();
        if announced.is_some_and(|length| length > most) {
            return Err(self.too_long(most));
        }
        let room = announced.unwrap_or(0).min(ROOM_BYTES);
        let mut body = BytesMut::with_capacity(usize::try_from(room).unwrap_or_default());
        let begun = Instant::now();
        loop {
            let due = Duration::try_from_secs_f64(body.len() as f64 / self.patience.bytes_per_second);
            let deadline = begun + self.patience.start + due.unwrap_or_default();
            let chunk = match timeout_at(deadline, response.chunk()).await {
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Ok(None)) => return Ok(Ok(body.freeze())),
                Ok(Err(e)) => return Ok(Err(e.without_url())),
                Err(_) => return Err(self.too_slow(body.len())),
            };
            if (body.len() as u64).saturating_add(chunk.len() as u64) > most {
                return Err(self.too_long(most));
            }
            body.extend_from_slice(&chunk);
        }
    }

    fn too_long(&self, most: u64) -> Error {
        let why = format!(
            "the server sends more than {most} bytes, the most that was asked for or that such a file has; check the \
             address, and what is served there"
        );
        Error::io(self.path, why)
    }

    fn too_slow(&self, came: usize) -> Error {
        let Patience {
            start,
            bytes_per_second,
        } = self.patience;
        let why = format!(
            "the answer came too slowly: {came} bytes, where {bytes_per_second} a second are the least after {} \
             seconds; try again, or look at the server's log",
            start.as_secs_f32()
        );
        Error::io(self.path, why)
    }
}

/// The delay before a retry. It grows with the number of attempts.
async fn pause(tried: u32) {
    sleep(Duration::from_millis(50 << (2 * tried))).await;
}

/// Why there is no response, and what to do.
fn unanswered(error: &reqwest::Error) -> String {
    let advice = if error.is_connect() {
        "check the address, and that its server runs"
    } else if error.is_timeout() {
        "the server takes too long; try again"
    } else {
        "try again, or look at the server's log"
    };
    // The error names the action that failed, its innermost cause the reason.
    let causes = std::iter::successors(std::error::Error::source(error), |e| e.source());
    let cause = causes.last().map_or_else(String::new, |e| format!(": {e}"));
    redact(&format!("{error}{cause}; {advice}")).into_owned()
}
