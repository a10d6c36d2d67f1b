//! Azurite, Microsoft's emulator of Azure Blob Storage, in a separate process.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use hyperslab::Context;
use hyperslab::vfs::{ObjectVfs, Vfs};
use hyperslab_tests::here;
use object_store::azure::MicrosoftAzureBuilder;

/// The container, Azure's name for a bucket.
pub(crate) const CONTAINER: &str = "arrays";
/// The default account of Azurite.
const ACCOUNT: &str = "devstoreaccount1";
/// The account's key, which is public and always the same.
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
/// A signature that permits creating containers, made with that key.
const SIGNATURE: &str = "sv=2018-11-09&ss=b&srt=sco&sp=rwdlac&se=2999-01-01T00%3A00%3A00Z\
    &sig=xDYB2IOEEkT6K94IFO9tt6KbqcJl6ccpekvy8eAoyWg%3D";

/// A server with one container in memory. It stops when this value is dropped.
pub(crate) struct Azurite {
    address: SocketAddr,
    process: Child,
}

impl Azurite {
    /// Starts a server with a new, empty container.
    pub(crate) fn start() -> Self {
        // Fails if another test already did this.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let program = here().join("azurite/node_modules/azurite/dist/src/blob/main.js");
        assert!(program.exists(), "Azurite is missing: run `cargo xtask setup`");
        // libtiledb's client sends a later API version, which Azurite does not know but can serve.
        let loose = "--skipApiVersionCheck";
        let mut command = Command::new("node");
        command
            .arg(program)
            .args(["--inMemoryPersistence", "--silent", loose, "--blobPort", "0"]);
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(process.stdout.take().unwrap());
        let address = loop {
            let mut line = String::new();
            assert!(
                said.read_line(&mut line).unwrap() > 0,
                "Azurite ended: {:?}",
                process.wait()
            );
            if let Some((_, address)) = line.split_once("successfully listens on http://") {
                break address.trim().parse().unwrap();
            }
        };
        // The server would block if nobody read its output.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        let azurite = Self { address, process };
        azurite.make_container();
        azurite
    }

    /// Creates the container, because neither the engine nor its client does.
    fn make_container(&self) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let path = format!("/{ACCOUNT}/{CONTAINER}?restype=container&{SIGNATURE}");
        let head = format!("Host: {}\r\nContent-Length: 0\r\nConnection: close", self.address);
        write!(stream, "PUT {path} HTTP/1.1\r\n{head}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    }

    fn endpoint(&self) -> String {
        format!("http://{}/{ACCOUNT}", self.address)
    }

    /// The blobs below a prefix, as a store.
    pub(crate) fn context(&self, prefix: &str) -> Context {
        Context::new(Arc::new(self.store(KEY, prefix)))
    }

    /// The container as seen without the key.
    pub(crate) fn stranger(&self) -> Arc<dyn Vfs> {
        Arc::new(self.store("YSBndWVzcw==", ""))
    }

    fn store(&self, key: &str, prefix: &str) -> ObjectVfs {
        let store = MicrosoftAzureBuilder::new()
            .with_endpoint(self.endpoint())
            .with_allow_http(true)
            .with_account(ACCOUNT)
            .with_access_key(key)
            .with_container_name(CONTAINER)
            .build()
            .unwrap();
        ObjectVfs::new(Arc::new(store), prefix)
    }

    /// The environment variables with which a program reaches the container at `az://arrays/`.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AZURE_STORAGE_USE_EMULATOR", "true".to_owned()),
            ("AZURITE_BLOB_STORAGE_URL", format!("http://{}", self.address)),
        ]
    }

    /// The environment variables with which libtiledb reaches it at `azure://arrays/`.
    pub(crate) fn environment_of_libtiledb(&self) -> Vec<(&'static str, String)> {
        vec![
            ("TILEDB_VFS_AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT.to_owned()),
            ("TILEDB_VFS_AZURE_STORAGE_ACCOUNT_KEY", KEY.to_owned()),
            ("TILEDB_VFS_AZURE_BLOB_ENDPOINT", self.endpoint()),
        ]
    }
}

impl Drop for Azurite {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
