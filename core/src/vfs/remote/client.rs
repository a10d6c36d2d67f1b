//! The HTTP client of object stores. The library's own client follows redirects to any host with all headers, including
//! session tokens, and accepts bodies of any length.

use std::time::Duration;

use futures_util::future::BoxFuture;
use http_body_util::{BodyExt, Limited};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use object_store::{ClientConfigKey as Key, ClientOptions};
use reqwest::header::{HeaderName, LOCATION, RANGE};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, Method, NoProxy, Proxy, StatusCode, Url};

use crate::limits::WHOLE_FILE_BYTES_MAX;

/// The maximum number of redirects per request.
const REDIRECTS_MAX: usize = 10;
/// Headers that do not identify the client. Only these are sent to another host.
const FOR_ANYBODY: [&str; 8] = [
    "accept",
    "content-length",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-unmodified-since",
    "range",
    "user-agent",
];

/// Creates clients that protect secrets and limit body sizes, with the settings of a store.
#[derive(Debug)]
pub(super) struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = client(options).map_err(|source| object_store::Error::Generic {
            store: "HTTP client",
            source,
        })?;
        Ok(HttpClient::new(RedirectingClient(HttpClient::new(client))))
    }
}

/// A client with the settings of the environment, such as `AWS_TIMEOUT` and `AWS_PROXY_URL`. It does not follow
/// redirects.
fn client(options: &ClientOptions) -> Result<Client, Box<dyn std::error::Error + Send + Sync>> {
    let told = |key: Key| options.get_config_value(&key);
    let is = |key| told(key).is_some_and(|v| ["1", "true", "on", "yes", "y"].contains(&&*v.to_ascii_lowercase()));
    let duration = |key| -> Result<Option<Duration>, humantime::DurationError> {
        told(key).map(|text| humantime::parse_duration(&text)).transpose()
    };
    let agent = told(Key::UserAgent).unwrap_or_else(|| concat!("hyperslab/", env!("CARGO_PKG_VERSION")).to_owned());
    let mut builder = Client::builder()
        .user_agent(agent)
        .redirect(Policy::none())
        .referer(false)
        .https_only(!is(Key::AllowHttp))
        .tls_danger_accept_invalid_certs(is(Key::AllowInvalidCertificates));
    if let Some(url) = told(Key::ProxyUrl) {
        let mut proxy = Proxy::all(url)?;
        if let Some(excludes) = told(Key::ProxyExcludes) {
            proxy = proxy.no_proxy(NoProxy::from_string(&excludes));
        }
        builder = builder.proxy(proxy);
    }
    if let Some(pem) = told(Key::ProxyCaCertificate) {
        builder = builder.tls_certs_merge([Certificate::from_pem(pem.as_bytes())?]);
    }
    if let Some(timeout) = duration(Key::Timeout)? {
        builder = builder.timeout(timeout);
    }
    if let Some(timeout) = duration(Key::ConnectTimeout)? {
        builder = builder.connect_timeout(timeout);
    }
    if let Some(timeout) = duration(Key::ReadTimeout)? {
        builder = builder.read_timeout(timeout);
    }
    if let Some(timeout) = duration(Key::PoolIdleTimeout)? {
        builder = builder.pool_idle_timeout(timeout);
    }
    if is(Key::Http2Only) {
        builder = builder.http2_prior_knowledge();
    } else if is(Key::Http1Only) {
        builder = builder.http1_only();
    }
    Ok(builder.build()?)
}

/// A client that follows redirects itself, and fails bodies that are longer than requested.
#[derive(Debug)]
struct RedirectingClient(HttpClient);

impl RedirectingClient {
    async fn answer(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        for _ in 0..REDIRECTS_MAX {
            let response = self.0.execute(request.clone()).await?;
            match redirected(&request, &response) {
                Some(next) => request = next,
                None => return Ok(limited(&request, response)),
            }
        }
        let why = std::io::Error::other("the server redirects too often");
        Err(HttpError::new(HttpErrorKind::Unknown, why))
    }
}

impl HttpService for RedirectingClient {
    // Expanded form of the library's `async_trait` macro.
    fn call<'a, 'b>(&'a self, request: HttpRequest) -> BoxFuture<'b, Result<HttpResponse, HttpError>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(self.answer(request))
    }
}

/// The request for a redirect, without headers that another host must not receive. `None` if `response` is not a
/// redirect or must not be followed: bodies are not sent to other hosts.
fn redirected(request: &HttpRequest, response: &HttpResponse) -> Option<HttpRequest> {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let follows = match response.status() {
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER => reads,
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        _ => false,
    };
    let location = response.headers().get(LOCATION).filter(|_| follows)?.to_str().ok()?;
    let from = Url::parse(&request.uri().to_string()).ok()?;
    let to = from.join(location).ok()?;
    let mut next = request.clone();
    *next.uri_mut() = to.as_str().parse().ok()?;
    if from.origin() != to.origin() {
        if !reads || (from.scheme() == "https" && to.scheme() != "https") {
            return None;
        }
        let headers = next.headers_mut();
        let names: Vec<HeaderName> = headers.keys().cloned().collect();
        for name in names.iter().filter(|name| !FOR_ANYBODY.contains(&name.as_str())) {
            headers.remove(name);
        }
    }
    Some(next)
}

/// Wraps the body so that it fails once it is longer than the requested range or the largest allowed file.
fn limited(request: &HttpRequest, response: HttpResponse) -> HttpResponse {
    let asked = request.headers().get(RANGE).and_then(|range| range.to_str().ok());
    let part = asked.filter(|_| response.status() == StatusCode::PARTIAL_CONTENT);
    let most = part.and_then(range_bytes).unwrap_or(WHOLE_FILE_BYTES_MAX);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    response.map(|body| {
        let body = Limited::new(body, most);
        HttpResponseBody::new(body.map_err(move |e| match e.downcast::<HttpError>() {
            Ok(e) => *e,
            Err(e) => {
                let why = format!("the server sent more than the {most} bytes requested ({e})");
                HttpError::new(HttpErrorKind::Decode, std::io::Error::other(why))
            }
        }))
    })
}

/// The bytes requested by `bytes=7-9`.
fn range_bytes(range: &str) -> Option<u64> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    last.parse::<u64>()
        .ok()?
        .checked_sub(first.parse().ok()?)?
        .checked_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_say_how_much_may_come() {
        assert_eq!(range_bytes("bytes=7-9"), Some(3));
        assert_eq!(range_bytes("bytes=7-"), None);
        assert_eq!(range_bytes("bytes=9-7"), None);
    }
}
