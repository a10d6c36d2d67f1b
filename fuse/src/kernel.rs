//! Converts between the kernel's requests and values of this program.

use std::time::SystemTime;

use fuser::{OpenFlags, ReplyXattr, Request};

use crate::writing::OpenMode;

/// How a program opens a file.
pub(crate) fn open_mode(request: &Request, flags: OpenFlags) -> OpenMode {
    let truncate = rustix::fs::OFlags::TRUNC.bits();
    OpenMode {
        write: flags.acc_mode() != fuser::OpenAccMode::O_RDONLY,
        truncate: u32::try_from(flags.0).unwrap_or(0) & truncate != 0,
        process: process(request),
    }
}

/// Whether writes go to the end of the file.
pub(crate) fn appends(flags: OpenFlags) -> bool {
    u32::try_from(flags.0).unwrap_or(0) & rustix::fs::OFlags::APPEND.bits() != 0
}

/// The process of a request. The kernel gives the thread, which may be another one at the close of a file.
pub(crate) fn process(request: &Request) -> u32 {
    let thread = request.pid();
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok();
    let process = status.and_then(|text| text.lines().find_map(|l| l.strip_prefix("Tgid:")?.trim().parse().ok()));
    process.unwrap_or(thread)
}

/// Milliseconds since 1970; 0 before.
pub(crate) fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).ok();
    since.and_then(|t| u64::try_from(t.as_millis()).ok()).unwrap_or(0)
}

/// Replies with a value, or with its length if the kernel requested that.
pub(crate) fn sized(reply: ReplyXattr, size: u32, value: &[u8]) {
    let length = u32::try_from(value.len()).unwrap_or(u32::MAX);
    match size {
        0 => reply.size(length),
        n if n >= length => reply.data(value),
        _ => reply.error(fuser::Errno::ERANGE),
    }
}
