//! Limits the number of open connections, and closes one of them to admit a new one.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// How long a client is observed before it counts as slow.
const WATCH: Duration = Duration::from_secs(4);
/// A client that accepts fewer bytes in that time is slow.
const WATCH_BYTES: u64 = 32 << 10;

/// The open connections.
#[derive(Debug)]
pub(super) struct Connections {
    most: usize,
    watch: Duration,
    /// The clients, and the number of the latest one.
    open: Mutex<(BTreeMap<u64, Arc<Client>>, u64)>,
    /// Signals that a connection has ended.
    ended: Notify,
}

/// The other side of a connection.
#[derive(Debug)]
pub(super) struct Client {
    task: OnceLock<AbortHandle>,
    activity: Mutex<Activity>,
}

#[derive(Debug)]
struct Activity {
    /// Whether an answer is being made or sent.
    answering: bool,
    /// Whether the client has not accepted the last bytes yet.
    unsent: bool,
    /// When the connection became idle, or was last checked.
    since: Instant,
    /// Bytes that the client has accepted, and those at the last check.
    taken: u64,
    seen: u64,
    closing: bool,
}

impl Client {
    fn activity(&self) -> MutexGuard<'_, Activity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the connection as busy until the result is dropped.
    pub(super) fn answering(self: &Arc<Self>) -> Answering {
        let mut activity = self.activity();
        (activity.answering, activity.seen) = (true, activity.taken);
        activity.since = Instant::now();
        drop(activity);
        Answering(Arc::clone(self))
    }

    /// Since when the client is idle.
    fn idle_since(&self) -> Option<Instant> {
        let activity = self.activity();
        (!activity.answering && !activity.unsent).then_some(activity.since)
    }

    /// Whether the client has accepted few bytes since the last check.
    fn is_slow(&self, watch: Duration) -> bool {
        let mut activity = self.activity();
        if activity.since.elapsed() < watch {
            return false;
        }
        let slow = activity.taken - activity.seen < WATCH_BYTES;
        (activity.seen, activity.since) = (activity.taken, Instant::now());
        slow
    }

    fn close(&self) {
        self.activity().closing = true;
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }
}

/// An answer that is being made or sent.
#[derive(Debug)]
pub(super) struct Answering(Arc<Client>);

impl Drop for Answering {
    fn drop(&mut self) {
        let mut activity = self.0.activity();
        activity.answering = false;
        activity.since = Instant::now();
    }
}

impl Connections {
    /// Admits up to `most` connections at a time.
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            watch: WATCH,
            open: Mutex::default(),
            ended: Notify::new(),
        })
    }

    /// Waits until there is room for a connection. If there is no room, it closes the connection that has been idle
    /// longest, or one with a slow client if none is idle. Both clients can connect again.
    pub(super) async fn admit(self: &Arc<Self>, stream: TcpStream) -> Connection {
        loop {
            if let Some((number, client)) = self.enter() {
                let all = Arc::clone(self);
                return Connection {
                    all,
                    number,
                    client,
                    stream,
                };
            }
            // A slow client sends no signal, so check again after a while.
            let _ = tokio::time::timeout(self.watch / 4, self.ended.notified()).await;
        }
    }

    /// Adds a client if there is room for it, else makes room.
    fn enter(&self) -> Option<(u64, Arc<Client>)> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (clients, latest) = &mut *open;
        if clients.len() >= self.most {
            if !clients.values().any(|client| client.activity().closing) {
                let idle = clients.values().filter_map(|c| Some((c.idle_since()?, c)));
                let idle = idle.min_by_key(|(since, _)| *since).map(|(_, client)| client);
                let slow = || clients.values().find(|client| client.is_slow(self.watch));
                idle.or_else(slow).into_iter().for_each(|client| client.close());
            }
            return None;
        }
        *latest += 1;
        let client = Arc::new(Client {
            task: OnceLock::new(),
            activity: Mutex::new(Activity {
                answering: false,
                unsent: false,
                since: Instant::now(),
                taken: 0,
                seen: 0,
                closing: false,
            }),
        });
        clients.insert(*latest, Arc::clone(&client));
        Some((*latest, client))
    }
}

/// An open connection. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Connection {
    all: Arc<Connections>,
    number: u64,
    client: Arc<Client>,
    stream: TcpStream,
}

impl Connection {
    pub(super) fn client(&self) -> Arc<Client> {
        Arc::clone(&self.client)
    }

    /// Runs the task that serves this connection. It is aborted to make room for others.
    pub(super) fn run<T: Future<Output = ()> + Send + 'static>(self, serve: impl FnOnce(Self) -> T) {
        let client = self.client();
        let task = tokio::spawn(serve(self)).abort_handle();
        // It is set once.
        let _ = client.task.set(task.clone());
        if client.activity().closing {
            task.abort();
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut open = self.all.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.0.remove(&self.number);
        drop(open);
        self.all.ended.notify_one();
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

/// Writes to the client, and counts the bytes.
impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.client.activity().unsent = written.is_pending();
        let taken = ready!(written)?;
        self.client.activity().taken += taken as u64;
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::net::TcpListener;

    use super::*;

    async fn write(connection: &mut Connection) -> io::Result<usize> {
        poll_fn(|cx| Pin::new(&mut *connection).poll_write(cx, &[0; 4096])).await
    }

    /// Clients that never read their answers do not block others.
    #[test]
    fn a_stalled_client_is_disconnected_for_a_new_one() {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().unwrap().block_on(stall());
    }

    async fn stall() {
        let all = Arc::new(Connections {
            most: 1,
            watch: Duration::from_millis(40),
            open: Mutex::default(),
            ended: Notify::new(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let connect = || TcpStream::connect(listener.local_addr().unwrap());
        let stalled = connect().await.unwrap();
        let slow = all.admit(listener.accept().await.unwrap().0).await;
        slow.run(|mut slow| async move {
            let _answering = slow.client().answering();
            while write(&mut slow).await.is_ok() {}
        });
        let _client = connect().await.unwrap();
        let admitted = all.admit(listener.accept().await.unwrap().0);
        let admitted = tokio::time::timeout(Duration::from_secs(20), admitted).await;
        let mut next = admitted.expect("the slow client is disconnected");
        assert!(write(&mut next).await.is_ok());
        drop(stalled);
    }
}
