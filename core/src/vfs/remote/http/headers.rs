//! Interprets response headers and refusals.

use std::ops::Range;

use reqwest::header::{CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, HeaderMap};
use reqwest::{Response, StatusCode};

use crate::error::{Error, Result};
use crate::vfs::too_short;

/// The content type, or an empty string.
pub(super) fn content_type(headers: &HeaderMap) -> &str {
    headers
        .get(CONTENT_TYPE)
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default()
}

/// `Content-Range: bytes 7-9/123`, or `bytes */123`, or `bytes 7-9/*`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ContentRange {
    /// The byte range of the body in the file.
    pub(super) bytes: Option<Range<u64>>,
    /// The size of the file.
    pub(super) size: Option<u64>,
}

impl ContentRange {
    /// Parses the header. Fields are `None` if it is missing or invalid.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let header = headers.get(CONTENT_RANGE).and_then(|v| v.to_str().ok());
        Self::parse(header.unwrap_or_default()).unwrap_or_default()
    }

    fn parse(header: &str) -> Option<Self> {
        let (bytes, size) = header.strip_prefix("bytes")?.trim_start().rsplit_once('/')?;
        let range = || {
            let (first, last) = bytes.split_once('-')?;
            Some(first.trim().parse().ok()?..last.trim().parse::<u64>().ok()?.checked_add(1)?)
        };
        Some(Self {
            bytes: range(),
            size: size.trim().parse().ok(),
        })
    }

    /// Whether the body will be the requested bytes, according to the header.
    pub(super) fn check(&self, path: &str, asked: &Range<u64>) -> Result<()> {
        let Some(sent) = &self.bytes else { return Ok(()) };
        let last = |range: &Range<u64>| range.end.saturating_sub(1);
        let why = if sent.start != asked.start {
            format!(
                "the server answers with other bytes than were asked for, {}-{} instead of {}-{}",
                sent.start,
                last(sent),
                asked.start,
                last(asked)
            )
        } else if sent.end < asked.end {
            if let Some(size) = self.size.filter(|size| *size < asked.end) {
                return Err(too_short(path, asked, size));
            }
            format!(
                "the server sends bytes {}-{} of the {}-{} that were asked for; something in between may cut ranges short",
                sent.start,
                last(sent),
                asked.start,
                last(asked)
            )
        } else {
            return Ok(());
        };
        Err(Error::io(path, format!("{why}; {SERVE}")))
    }
}

/// Advice for servers with wrong or missing support for ranges.
pub(super) const SERVE: &str = "serve it with ranges, for instance by `hyperslab serve`";

/// Checks that the body consists of bytes of the file.
pub(super) fn as_stored(path: &str, response: Response) -> Result<Response> {
    match response.headers().get(CONTENT_ENCODING) {
        Some(coding) if coding != "identity" => {
            let why = format!(
                "the server sends it compressed ({}), although that was not asked for; turn compression off for this folder",
                String::from_utf8_lossy(coding.as_bytes())
            );
            Err(Error::io(path, why))
        }
        _ => Ok(response),
    }
}

/// Whether a status may mean that the file is private or that it does not exist.
pub(super) fn is_refusal(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

/// The error for a refused file.
pub(super) fn refusal(status: StatusCode) -> String {
    let advice = match status {
        status if is_refusal(status) => {
            ": the file is not public, or it is missing, which some hosts do not tell apart; make the folder public, or \
             open a bucket by its s3:, gs: or az: address with credentials; if it is public, upload the missing file"
        }
        StatusCode::TOO_MANY_REQUESTS => "; try again later",
        status if status.is_server_error() => "; try again, or look at the server's log",
        _ => "",
    };
    format!("the server answers {status}{advice}")
}

/// The error for a refused listing.
pub(super) fn refused_list(status: StatusCode) -> String {
    match status {
        status if is_refusal(status) => {
            format!(
                "the server answers {status}: it does not list this folder, or the folder is not public; {LISTED}; if it \
                 is not public, open a bucket by its s3:, gs: or az: address with credentials"
            )
        }
        _ => format!("{}; {LISTED}", refusal(status)),
    }
}

/// Advice for hosts that cannot list.
pub(super) const LISTED: &str =
    "where folders cannot be listed, run `hyperslab index` on the array and upload its `__manifest.json`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_ranges() {
        let parse = |header| ContentRange::parse(header).map(|found| (found.bytes, found.size));
        assert_eq!(parse("bytes 7-9/123"), Some((Some(7..10), Some(123))));
        assert_eq!(parse("bytes 7-9/*"), Some((Some(7..10), None)));
        assert_eq!(parse("bytes */0"), Some((None, Some(0))));
        for odd in ["", "bytes", "7-9/12", "bytes 7-18446744073709551615/9"] {
            assert!(parse(odd).is_none_or(|(bytes, _)| bytes.is_none()), "{odd}");
        }
    }
}
