//! Paged listings of object stores, with limits: a faulty service may return endless pages or repeat them.

use std::borrow::Cow;
use std::collections::HashSet;

use object_store::ListResult;
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::path::{DELIMITER, Path};

use super::object::failed;
use crate::error::{Error, Result};
use crate::limits::{ENTRIES_MAX, LISTING_PAGES_MAX};

/// The remaining pages of a listing.
pub(super) struct Pages<'a> {
    store: &'a dyn PaginatedListStore,
    /// The folder, for messages.
    dir: &'a str,
    prefix: Option<String>,
    /// Whether to list folders as entries instead of listing their contents.
    is_flat: bool,
    /// The tokens of the pages so far and of the next page.
    tokens: HashSet<String>,
    next: Next,
    names: usize,
}

/// The position in a listing.
enum Next {
    First,
    After(String),
    None,
}

impl<'a> Pages<'a> {
    /// Lists the objects below `key`. The caller knows the folder as `dir`.
    pub(super) fn of(store: &'a dyn PaginatedListStore, dir: &'a str, key: &Path, is_flat: bool) -> Self {
        let prefix = Some(key.as_ref()).filter(|key| !key.is_empty());
        Self {
            store,
            dir,
            prefix: prefix.map(|key| format!("{key}{DELIMITER}")),
            is_flat,
            tokens: HashSet::new(),
            next: Next::First,
            names: 0,
        }
    }

    /// Requests the next page. Returns `None` after the last.
    ///
    /// # Errors
    /// `Io` if a request fails or the service repeats a page; `LimitExceeded` for more than [`LISTING_PAGES_MAX`] pages
    /// or [`ENTRIES_MAX`] names.
    pub(super) async fn next(&mut self) -> Result<Option<ListResult>> {
        let page_token = match std::mem::replace(&mut self.next, Next::None) {
            Next::First => None,
            Next::After(token) => Some(token),
            Next::None => return Ok(None),
        };
        let options = PaginatedListOptions {
            delimiter: self.is_flat.then_some(Cow::Borrowed(DELIMITER)),
            page_token,
            ..PaginatedListOptions::default()
        };
        let page = self.store.list_paginated(self.prefix.as_deref(), options).await;
        let page = page.map_err(failed(self.dir))?;
        self.names += page.result.objects.len() + page.result.common_prefixes.len();
        self.bounded("files and folders", self.names, ENTRIES_MAX)?;
        if let Some(token) = page.page_token {
            if !self.tokens.insert(token.clone()) {
                let why = "the server's list of this folder repeats without end; check the server, or read a copy";
                return Err(Error::io(self.dir, why));
            }
            self.bounded("pages of a list", self.tokens.len() + 1, LISTING_PAGES_MAX)?;
            self.next = Next::After(token);
        }
        Ok(Some(page.result))
    }

    fn bounded(&self, what: &str, found: usize, limit: usize) -> Result<()> {
        if found <= limit {
            return Ok(());
        }
        Err(Error::LimitExceeded {
            what: format!("{what} in the folder {:?}", self.dir),
            found: found as u64,
            limit: limit as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use object_store::ClientOptions;
    use object_store::aws::AmazonS3Builder;
    use object_store::gcp::GoogleCloudStorageBuilder;

    use crate::blocking::block_on;
    use crate::vfs::{ObjectVfs, Vfs};

    /// A server that answers every request with a page of a listing, followed by the page `token`. Counts its requests.
    fn listing(token: fn(usize) -> String) -> (String, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let count = Arc::clone(&count);
                std::thread::spawn(move || answer(stream.unwrap(), token, &count));
            }
        });
        (format!("http://{address}"), asked)
    }

    fn answer(mut stream: TcpStream, token: fn(usize) -> String, count: &AtomicUsize) {
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        while let Some(Ok(line)) = lines.next() {
            if !line.is_empty() {
                continue;
            }
            let number = count.fetch_add(1, Relaxed);
            let body = format!(
                "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>{}</NextContinuationToken>\
                 <Contents><Key>x/{number}</Key><LastModified>2020-01-01T00:00:00.000Z</LastModified><Size>1</Size>\
                 <ETag>e</ETag></Contents></ListBucketResult>",
                token(number)
            );
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            if stream.write_all((head + &body).as_bytes()).is_err() {
                return;
            }
        }
    }

    fn of_each_kind(url: &str) -> [ObjectVfs; 2] {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let s3 = AmazonS3Builder::new()
            .with_endpoint(url)
            .with_allow_http(true)
            .with_bucket_name("b")
            .with_skip_signature(true);
        let options = ClientOptions::new().with_allow_http(true);
        let gcs = GoogleCloudStorageBuilder::new()
            .with_base_url(url)
            .with_client_options(options)
            .with_bucket_name("b")
            .with_bearer_token("t");
        [
            ObjectVfs::new(Arc::new(s3.build().unwrap()), ""),
            ObjectVfs::new(Arc::new(gcs.build().unwrap()), ""),
        ]
    }

    #[test]
    fn a_list_that_starts_over_is_refused() {
        // In one case the second page names itself as the next, in the other the first page.
        for token in [|_| "again".to_owned(), |n| ["b", "c", "b"][n % 3].to_owned()] as [fn(usize) -> String; 2] {
            let (url, asked) = listing(token);
            for vfs in of_each_kind(&url) {
                asked.store(0, Relaxed);
                let error = block_on(vfs.list("x")).unwrap_err().to_string();
                assert!(error.contains("repeats without end"), "{error}");
                assert!(asked.load(Relaxed) <= 3, "{asked:?}");
            }
        }
    }

    #[test]
    fn a_list_without_end_is_refused() {
        let (url, asked) = listing(|n| n.to_string());
        for vfs in of_each_kind(&url) {
            asked.store(0, Relaxed);
            let error = block_on(vfs.list("x")).unwrap_err();
            assert_eq!(error.code(), "LimitExceeded", "{error}");
            assert_eq!(asked.load(Relaxed), 4096);
        }
    }
}
