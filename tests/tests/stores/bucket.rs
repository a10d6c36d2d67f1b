//! An S3 server on loopback, whose objects are files in a folder, and a record of what it is asked.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyperslab::Context;
use hyperslab::vfs::{ObjectVfs, Vfs};
use hyperslab_tests::fresh;
use object_store::aws::AmazonS3Builder;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};

const BUCKET: &str = "arrays";
const ACCESS_KEY: &str = "someone";
const SECRET_KEY: &str = "open sesame";

/// One request, as it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// `GET`, `HEAD`, `PUT`, `POST`, `DELETE`; and `LIST` for the listing of a folder.
    pub(crate) kind: String,
    /// The key of the object below the bucket; empty where the request is about the bucket.
    pub(crate) key: String,
}

/// What becomes of requests that the server does not answer as they ask.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fate {
    /// They wait for ever.
    Held,
    /// They are forbidden.
    Refused,
}

/// What the server has seen, and what it does to requests for keys of some ending.
#[derive(Default)]
struct Watch {
    seen: Mutex<Vec<Request>>,
    rule: Mutex<Option<(&'static str, Fate)>>,
}

/// A server with one bucket.
pub(crate) struct Bucket {
    folder: PathBuf,
    address: SocketAddr,
    watch: Arc<Watch>,
}

impl Bucket {
    /// Serves a new, empty bucket until the process ends; `name` is that of its folder.
    pub(crate) fn start(name: &str) -> Self {
        // Fails where another test was first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = fresh(name);
        std::fs::create_dir(folder.join(BUCKET)).unwrap();
        let mut builder = S3ServiceBuilder::new(s3s_fs::FileSystem::new(&folder).unwrap());
        builder.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        let service = builder.build();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let watch = Arc::new(Watch::default());
        let watcher = Arc::clone(&watch);
        std::thread::spawn(move || serve(listener, &service, &watcher));
        Self { folder, address, watch }
    }

    /// The folder whose files are the bucket's objects.
    pub(crate) fn objects(&self) -> PathBuf {
        self.folder.join(BUCKET)
    }

    /// The objects below a prefix, as a store.
    pub(crate) fn context(&self, prefix: &str) -> Context {
        Context::new(Arc::new(self.store(SECRET_KEY, prefix)))
    }

    /// The bucket as somebody sees it who does not know the key.
    pub(crate) fn stranger(&self) -> Arc<dyn Vfs> {
        Arc::new(self.store("a guess", ""))
    }

    fn store(&self, secret: &str, prefix: &str) -> ObjectVfs {
        let store = AmazonS3Builder::new()
            .with_endpoint(format!("http://{}", self.address))
            .with_allow_http(true)
            .with_bucket_name(BUCKET)
            .with_access_key_id(ACCESS_KEY)
            .with_secret_access_key(secret)
            .build()
            .unwrap();
        ObjectVfs::new(Arc::new(store), prefix)
    }

    /// What a program needs in its environment to reach the bucket by `s3://arrays/`.
    pub(crate) fn environment(&self) -> [(&'static str, String); 5] {
        [
            ("AWS_ENDPOINT", format!("http://{}", self.address)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET_KEY.to_owned()),
        ]
    }

    /// The requests since the last call of this.
    pub(crate) fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut *self.watch.seen.lock().unwrap())
    }

    /// From now on this becomes of requests that put an object whose key ends so.
    pub(crate) fn when_put(&self, ending: &'static str, fate: Fate) {
        *self.watch.rule.lock().unwrap() = Some((ending, fate));
    }
}

fn serve(listener: std::net::TcpListener, service: &S3Service, watch: &Arc<Watch>) {
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
            let answer = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
                let seen = seen(&request);
                let rule = *watch.rule.lock().unwrap();
                let rule = rule.filter(|(ending, _)| seen.kind == "PUT" && seen.key.ends_with(ending));
                watch.seen.lock().unwrap().push(seen);
                let service = service.clone();
                async move {
                    match rule {
                        Some((_, Fate::Held)) => std::future::pending().await,
                        Some((_, Fate::Refused)) => {
                            let mut answer = hyper::Response::new(s3s::Body::empty());
                            *answer.status_mut() = hyper::StatusCode::FORBIDDEN;
                            Ok(answer)
                        }
                        None => service.call(request.map(s3s::Body::from)).await,
                    }
                }
            });
            // A client that hangs up is no concern of the server's.
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
        }
    });
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
