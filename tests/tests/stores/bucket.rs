//! An S3 server on loopback that keeps objects as files in a folder and records requests. It also speaks the XML API of
//! Google Cloud Storage, which differs in how requests are signed and in how they say "only if it does not exist".

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use hyper::header::{HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyperslab::Context;
use hyperslab::vfs::{ObjectVfs, PagedStore, Vfs};
use hyperslab_tests::fresh;
use object_store::ClientOptions;
use object_store::aws::AmazonS3Builder;
use object_store::gcp::GoogleCloudStorageBuilder;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};

const BUCKET: &str = "arrays";
const ACCESS_KEY: &str = "someone";
const SECRET_KEY: &str = "open-sesame";

/// A received request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// `GET`, `HEAD`, `PUT`, `POST`, `DELETE`; and `LIST` for the listing of a folder.
    pub(crate) kind: String,
    /// The key of the object in the bucket. Empty for requests about the bucket itself.
    pub(crate) key: String,
}

/// How the server mistreats requests.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fate {
    /// Never answers them.
    Held,
    /// Answers 403.
    Refused,
}

/// The requests received, and the mistreatment of keys that match.
#[derive(Default)]
struct Watch {
    seen: Mutex<Vec<Request>>,
    rule: Mutex<Option<(&'static str, Fate)>>,
}

/// The API that a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Amazon S3.
    S3,
    /// Google Cloud Storage.
    Gcs,
}

/// A server with one bucket.
pub(crate) struct Bucket {
    dialect: Dialect,
    folder: PathBuf,
    address: SocketAddr,
    watch: Arc<Watch>,
}

impl Bucket {
    /// Serves a new, empty S3 bucket until the process ends. `name` is the name of its folder.
    pub(crate) fn start(name: &str) -> Self {
        Self::speaking(Dialect::S3, name)
    }

    /// One bucket per kind of store.
    pub(crate) fn of_each_kind(name: &str) -> [Self; 2] {
        [
            Self::speaking(Dialect::S3, &format!("s3-{name}")),
            Self::speaking(Dialect::Gcs, &format!("gs-{name}")),
        ]
    }

    fn speaking(dialect: Dialect, name: &str) -> Self {
        // Fails if another test already did this.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = fresh(name);
        std::fs::create_dir(folder.join(BUCKET)).unwrap();
        let mut builder = S3ServiceBuilder::new(s3s_fs::FileSystem::new(&folder).unwrap());
        if dialect == Dialect::S3 {
            builder.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        }
        let service = builder.build();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let watch = Arc::new(Watch::default());
        let watcher = Arc::clone(&watch);
        std::thread::spawn(move || serve(listener, &service, &watcher, dialect));
        Self {
            dialect,
            folder,
            address,
            watch,
        }
    }

    /// The folder whose files are the bucket's objects.
    pub(crate) fn objects(&self) -> PathBuf {
        self.folder.join(BUCKET)
    }

    /// The objects below a prefix, as a store.
    pub(crate) fn context(&self, prefix: &str) -> Context {
        Context::new(Arc::new(self.store(SECRET_KEY, prefix)))
    }

    /// The bucket as seen without the key.
    pub(crate) fn stranger(&self) -> Arc<dyn Vfs> {
        Arc::new(self.store("a guess", ""))
    }

    fn store(&self, secret: &str, prefix: &str) -> ObjectVfs {
        let url = format!("http://{}", self.address);
        let store: Arc<dyn PagedStore> = match self.dialect {
            Dialect::S3 => Arc::new(
                AmazonS3Builder::new()
                    .with_endpoint(url)
                    .with_allow_http(true)
                    .with_bucket_name(BUCKET)
                    .with_access_key_id(ACCESS_KEY)
                    .with_secret_access_key(secret)
                    .build()
                    .unwrap(),
            ),
            Dialect::Gcs => Arc::new(
                GoogleCloudStorageBuilder::new()
                    .with_base_url(&url)
                    .with_client_options(ClientOptions::new().with_allow_http(true))
                    .with_bucket_name(BUCKET)
                    .with_bearer_token(secret)
                    .build()
                    .unwrap(),
            ),
        };
        ObjectVfs::new(store, prefix)
    }

    /// The bucket's URL for a program in its [`environment`](Self::environment).
    pub(crate) fn url(&self) -> String {
        let scheme = match self.dialect {
            Dialect::S3 => "s3",
            Dialect::Gcs => "gs",
        };
        format!("{scheme}://{BUCKET}")
    }

    /// The environment variables with which a program reaches the bucket.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let url = format!("http://{}", self.address);
        match self.dialect {
            Dialect::S3 => vec![
                ("AWS_ENDPOINT", url),
                ("AWS_ALLOW_HTTP", "true".to_owned()),
                ("AWS_REGION", "us-east-1".to_owned()),
                ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
                ("AWS_SECRET_ACCESS_KEY", SECRET_KEY.to_owned()),
            ],
            Dialect::Gcs => vec![
                ("GOOGLE_BASE_URL", url),
                ("GOOGLE_ALLOW_HTTP", "true".to_owned()),
                ("GOOGLE_BEARER_TOKEN", SECRET_KEY.to_owned()),
            ],
        }
    }

    /// The requests since the last call.
    pub(crate) fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut *self.watch.seen.lock().unwrap())
    }

    /// From now on, mistreats requests that put an object whose key contains this text.
    pub(crate) fn when_put(&self, part: &'static str, fate: Fate) {
        *self.watch.rule.lock().unwrap() = Some((part, fate));
    }
}

fn serve(listener: std::net::TcpListener, service: &S3Service, watch: &Arc<Watch>, dialect: Dialect) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async move {
        listener.set_nonblocking(true).unwrap();
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (service, watch) = (service.clone(), Arc::clone(watch));
            let answer = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
                let seen = seen(&request);
                let is_known = dialect == Dialect::S3 || translate(request.headers_mut());
                let rule = *watch.rule.lock().unwrap();
                let rule = rule.filter(|(part, _)| seen.kind == "PUT" && seen.key.contains(part));
                let fate = if is_known {
                    rule.map(|r| r.1)
                } else {
                    Some(Fate::Refused)
                };
                watch.seen.lock().unwrap().push(seen);
                let service = service.clone();
                async move {
                    match fate {
                        Some(Fate::Held) => std::future::pending().await,
                        Some(Fate::Refused) => {
                            let mut answer = hyper::Response::new(s3s::Body::empty());
                            *answer.status_mut() = hyper::StatusCode::FORBIDDEN;
                            Ok(answer)
                        }
                        None => service.call(request.map(s3s::Body::from)).await,
                    }
                }
            });
            // It does not matter if a client hangs up.
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
        }
    });
}

/// Translates Google's headers to those of S3. Returns whether they authenticate the request.
fn translate(headers: &mut HeaderMap) -> bool {
    if headers.remove("x-goog-if-generation-match").is_some_and(|v| v == "0") {
        headers.insert("if-none-match", HeaderValue::from_static("*"));
    }
    headers
        .remove("authorization")
        .is_some_and(|v| v.as_bytes() == format!("Bearer {SECRET_KEY}").as_bytes())
}

fn seen<T>(request: &hyper::Request<T>) -> Request {
    let path = Path::new(request.uri().path().trim_start_matches('/'));
    let key = path.strip_prefix(BUCKET).unwrap().to_str().unwrap();
    let lists = request.uri().query().is_some_and(|q| q.contains("list-type"));
    Request {
        kind: if lists { "LIST" } else { request.method().as_str() }.to_owned(),
        key: key.to_owned(),
    }
}
