//! The access rules of a server: the host names that it answers, and the origins whose pages may read the answers.
//!
//! A server on a network serves everyone. A server on a loopback address serves this machine, but any web page that its
//! user opens can send requests to it. The page uses the address, or a host name of the page that resolves to 127.0.0.1
//! (DNS rebinding). So the server answers only the names of this machine, and only pages of this machine may read its
//! answers.

use std::net::IpAddr;

/// The rules of a server.
#[derive(Debug)]
pub(super) struct Access {
    everyone: bool,
    /// Whether only the server's own pages may read the answers.
    own_pages: bool,
    origins: Vec<String>,
}

impl Access {
    /// The rules of a server that listens on this address. Pages of `origins` may read its answers too; `*` allows all.
    pub(super) fn new(listens: IpAddr, origins: &[String]) -> Self {
        Self {
            everyone: !listens.to_canonical().is_loopback() || origins.iter().any(|o| o == "*"),
            own_pages: false,
            origins: origins.to_vec(),
        }
    }

    /// The rules of a server on a loopback address whose answers only its own pages may read.
    pub(super) fn own_pages() -> Self {
        Self {
            everyone: false,
            own_pages: true,
            origins: Vec::new(),
        }
    }

    /// Whether only the server's own pages may read the answers.
    pub(super) fn is_private(&self) -> bool {
        self.own_pages
    }

    /// Whether a page of this origin may send requests to the server at `host`. Requests of the server's own pages have no
    /// origin, or that of the server.
    pub(super) fn accepts(&self, origin: Option<&str>, host: Option<&str>) -> bool {
        !self.own_pages || origin.is_none_or(|origin| of_origin(origin) == host)
    }

    /// Which pages may load the answers without reading them, as the policy of browsers calls them.
    pub(super) fn loaders(&self) -> &'static str {
        if self.own_pages { "same-origin" } else { "same-site" }
    }

    /// Whether a request for this host, which may have a port, is answered.
    pub(super) fn answers(&self, host: &str) -> bool {
        let same = |origin: &String| of_origin(origin).is_some_and(|own| name(own).eq_ignore_ascii_case(name(host)));
        self.everyone || is_this_machine(host) || self.origins.iter().any(same)
    }

    /// The origin whose pages may read the answer, given the origin of the requesting page.
    pub(super) fn readers<'a>(&self, asks: Option<&'a str>) -> Option<&'a str> {
        if self.everyone {
            return Some("*");
        }
        let local = |origin: &str| of_origin(origin).is_some_and(is_this_machine);
        asks.filter(|_| !self.own_pages)
            .filter(|asks| local(asks) || self.origins.iter().any(|o| o == asks))
    }
}

/// Parses an origin: `*`, or a scheme, a host and an optional port, as browsers send them.
pub(crate) fn origin(text: &str) -> Result<String, String> {
    let origin = text.trim_end_matches('/').to_ascii_lowercase();
    let plain =
        |host: &str| !host.is_empty() && !host.contains(['/', '?', '#', '@']) && !host.contains(char::is_whitespace);
    if origin == "*" || of_origin(&origin).is_some_and(plain) {
        Ok(origin)
    } else {
        Err("an origin is a scheme and a host, such as https://example.org, or * for all".to_owned())
    }
}

/// The host and port of an origin.
fn of_origin(origin: &str) -> Option<&str> {
    origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"))
}

/// A host without its port.
fn name(host: &str) -> &str {
    match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.split_once(':').map_or(host, |(name, _)| name),
    }
}

fn is_this_machine(host: &str) -> bool {
    let name = name(host).trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(listens: &str, origins: &[&str]) -> Access {
        let origins: Vec<String> = origins.iter().map(|o| origin(o).unwrap()).collect();
        Access::new(listens.parse().unwrap(), &origins)
    }

    #[test]
    fn a_loopback_server_serves_this_machine_only() {
        let own = access("127.0.0.1", &["https://Viewer.example/"]);
        for host in [
            "127.0.0.1:8000",
            "localhost",
            "LOCALHOST:1",
            "a.localhost:80",
            "[::1]:8000",
            "viewer.example",
        ] {
            assert!(own.answers(host), "{host}");
        }
        for host in [
            "evil.example:8000",
            "localhost.evil.example",
            "0.0.0.0:8000",
            "192.0.2.1",
            "",
            "[::2]",
            "127.0.0.1.evil",
        ] {
            assert!(!own.answers(host), "{host}");
        }
        for origin in [
            "http://localhost:3000",
            "http://127.0.0.1:8001",
            "http://[::1]:1",
            "https://viewer.example",
        ] {
            assert_eq!(own.readers(Some(origin)), Some(origin));
        }
        for origin in [
            "https://evil.example",
            "null",
            "http://localhost.evil.example",
            "ftp://localhost",
            "https://viewer.example:8443",
        ] {
            assert_eq!(own.readers(Some(origin)), None, "{origin}");
        }
        assert_eq!(own.readers(None), None);
    }

    #[test]
    fn a_server_on_a_network_serves_everyone() {
        for everyone in [access("0.0.0.0", &[]), access("192.0.2.1", &[]), access("::1", &["*"])] {
            assert!(everyone.answers("any.example"));
            assert_eq!(everyone.readers(Some("https://any.example")), Some("*"));
            assert_eq!(everyone.readers(None), Some("*"));
        }
    }

    #[test]
    fn other_pages_of_this_machine_read_nothing_of_own_pages() {
        let own = Access::own_pages();
        assert!(own.answers("127.0.0.1:4000") && !own.answers("evil.example:4000"));
        assert_eq!(own.readers(Some("http://localhost:3000")), None);
        assert_eq!(own.readers(None), None);
        assert!(own.accepts(None, Some("127.0.0.1:4000")));
        assert!(own.accepts(Some("http://127.0.0.1:4000"), Some("127.0.0.1:4000")));
        for other in [
            "http://127.0.0.1:4001",
            "http://localhost:4000",
            "null",
            "https://evil.example",
        ] {
            assert!(!own.accepts(Some(other), Some("127.0.0.1:4000")), "{other}");
        }
        assert_eq!(own.loaders(), "same-origin");
        assert_eq!(access("127.0.0.1", &[]).loaders(), "same-site");
    }

    #[test]
    fn an_origin_is_not_a_page_address() {
        for bad in [
            "example.org",
            "https://",
            "https://example.org/page",
            "https://a b",
            "file:///x",
        ] {
            assert!(origin(bad).is_err(), "{bad}");
        }
    }
}
