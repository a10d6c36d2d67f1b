//! A file in `put/` and its state.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use hyperslab::blocking::block_on;
use hyperslab::view::View;
use hyperslab::{Array, OpenOptions, Window};
use hyperslab_cli::put::{Destination, renew_manifest};

use crate::errno::{FsError, Refusal};
use crate::filesystem::{lock, now_ms};
use crate::put::OpenMode;
use crate::put_state::Folder;
use crate::staged::{Staged, StagingArea};

/// The largest header of an `.npy` file that is checked before the file is complete, in bytes.
const HEADER_BYTES_MAX: u64 = 1 << 20;

/// A file that a program writes.
#[derive(Debug)]
pub(crate) struct PutFile {
    pub(crate) folder: Arc<Folder>,
    content: Mutex<Content>,
    /// Apart from the content, which is locked during a write to the array.
    facts: Mutex<Facts>,
}

#[derive(Debug, Clone, Copy)]
struct Facts {
    size: u64,
    modified_ms: u64,
    is_written: bool,
}

#[derive(Debug)]
struct Content {
    phase: Phase,
    /// The selected cells; `None` for a temporary name.
    destination: Option<Destination>,
    /// The number of bytes at the start that were written without a gap.
    start: u64,
    /// The size that the header of an `.npy` file states.
    stated: Option<u64>,
}

#[derive(Debug)]
enum Phase {
    Receiving(Staged),
    Written,
    Failed(Refusal),
}

/// Why a file may be complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closing {
    /// The process that opened it closes it, or asks to sync it.
    ByOpener,
    /// A process that inherited it closes it.
    ByOther,
}

/// The result of an attempt to write a file to its array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// More bytes are expected.
    Waiting,
    /// The cells are in the array.
    Written,
    /// The file was empty, so nothing is lost.
    Dropped,
}

impl PutFile {
    /// An empty file.
    pub(crate) fn new(
        folder: Arc<Folder>,
        area: &Arc<StagingArea>,
        destination: Option<Destination>,
    ) -> Result<Self, FsError> {
        Ok(Self {
            folder,
            content: Mutex::new(Content {
                phase: Phase::Receiving(staged(area)?),
                destination,
                start: 0,
                stated: None,
            }),
            facts: Mutex::new(Facts {
                size: 0,
                modified_ms: now_ms(),
                is_written: false,
            }),
        })
    }

    /// The size in bytes, and the time of the last change in milliseconds since 1970.
    pub(crate) fn size_and_time(&self) -> (u64, u64) {
        let facts = lock(&self.facts);
        (facts.size, facts.modified_ms)
    }

    /// Sets the time of the last change.
    pub(crate) fn set_modified(&self, time_ms: u64) {
        lock(&self.facts).modified_ms = time_ms;
    }

    /// Whether its cells are in the array.
    pub(crate) fn is_written(&self) -> bool {
        lock(&self.facts).is_written
    }

    /// Prepares the file for a program that opens it. Files that were written can only be replaced.
    pub(crate) fn open(&self, area: &Arc<StagingArea>, mode: OpenMode) -> Result<(), FsError> {
        if !mode.write {
            return Ok(());
        }
        let mut content = lock(&self.content);
        if mode.truncate {
            content.phase = Phase::Receiving(staged(area)?);
            (content.start, content.stated) = (0, None);
            *lock(&self.facts) = Facts {
                size: 0,
                modified_ms: now_ms(),
                is_written: false,
            };
            return Ok(());
        }
        match &content.phase {
            Phase::Written => Err(changed_in_place().into()),
            Phase::Failed(refusal) => Err(refusal.clone().into()),
            Phase::Receiving(_) => Ok(()),
        }
    }

    /// Reads a byte range of a file that is not written yet.
    pub(crate) fn read(&self, offset: u64, size: u32) -> Result<Bytes, FsError> {
        match &lock(&self.content).phase {
            Phase::Receiving(staged) => staged
                .read(offset, u64::from(size))
                .map_err(|e| Refusal::of_disk(&e).into()),
            Phase::Written => {
                Err(Refusal::not_permitted("its cells are in the array now; read them in slices/").into())
            }
            Phase::Failed(refusal) => Err(refusal.clone().into()),
        }
    }

    /// Writes bytes. If they complete the header of an `.npy` file, the header is checked.
    pub(crate) fn write(&self, view: &View, offset: u64, data: &[u8]) -> Result<(), FsError> {
        let mut content = lock(&self.content);
        let content = &mut *content;
        let staged = content.phase.staged()?;
        let end = offset.saturating_add(data.len() as u64);
        if let Some(stated) = content.stated.filter(|stated| end > *stated) {
            let why = format!("the .npy file has more bytes than its header states, which is {stated}");
            return Err(content.fail(Refusal::invalid(why)).into());
        }
        if let Err(error) = staged.write(offset, data) {
            // Without these bytes, the file must not be written when it is closed.
            return Err(content.fail(Refusal::of_disk(&error)).into());
        }
        let size = staged.size();
        if offset <= content.start {
            content.start = content.start.max(end);
        }
        {
            let mut facts = lock(&self.facts);
            (facts.size, facts.modified_ms) = (size, now_ms());
        }
        if content.stated.is_none() {
            self.check(view, content)?;
        }
        Ok(())
    }

    /// Checks the header of an `.npy` file if all of it is there.
    fn check(&self, view: &View, content: &mut Content) -> Result<(), FsError> {
        let (Some(destination), Phase::Receiving(staged)) = (&content.destination, &content.phase) else {
            return Ok(());
        };
        if !destination.states_size() {
            return Ok(());
        }
        let start = staged.read(0, content.start.min(HEADER_BYTES_MAX));
        let start = start.map_err(|e| Refusal::of_disk(&e))?;
        let array = self.folder.array(view)?;
        match block_on(destination.check(&array, &start)) {
            Ok(Some(stated)) if staged.size() > stated => {
                let why = format!("the .npy file has more bytes than its header states, which is {stated}");
                Err(content.fail(Refusal::invalid(why)).into())
            }
            Ok(stated) => {
                content.stated = stated;
                Ok(())
            }
            Err(error) => Err(content.fail(Refusal::of_write(&error)).into()),
        }
    }

    /// Cuts the file off, or extends it with zeros.
    pub(crate) fn set_size(&self, size: u64) -> Result<(), FsError> {
        let mut content = lock(&self.content);
        let mut facts = lock(&self.facts);
        if size == facts.size {
            return Ok(());
        }
        let staged = content.phase.staged()?;
        staged.set_size(size).map_err(|e| Refusal::of_disk(&e))?;
        content.start = content.start.min(size);
        content.stated = None;
        (facts.size, facts.modified_ms) = (size, now_ms());
        Ok(())
    }

    /// Writes the file to its array if it is complete. A failure stays until the file is replaced.
    pub(crate) fn finish(&self, view: &View, closing: Closing) -> Result<Outcome, FsError> {
        let mut content = lock(&self.content);
        let staged = match &content.phase {
            Phase::Written => return Ok(Outcome::Written),
            Phase::Failed(refusal) => return Err(refusal.clone().into()),
            Phase::Receiving(staged) => staged,
        };
        let Some(destination) = &content.destination else {
            return Ok(Outcome::Waiting);
        };
        let is_complete = if destination.states_size() {
            content.stated == Some(staged.size())
        } else {
            staged.size() > 0 && closing == Closing::ByOpener
        };
        if !is_complete {
            return Ok(Outcome::Waiting);
        }
        match self.write_cells(view, destination, staged) {
            Ok(()) => {
                self.written(&mut content);
                Ok(Outcome::Written)
            }
            Err(refusal) => Err(content.fail(refusal).into()),
        }
    }

    /// Finishes a file that no program has open. An incomplete one is an error, but one with a temporary name waits for
    /// its rename.
    pub(crate) fn finish_closed(&self, view: &View) -> Result<Outcome, FsError> {
        let outcome = self.finish(view, Closing::ByOpener)?;
        let mut content = lock(&self.content);
        let (Phase::Receiving(staged), Some(_)) = (&content.phase, &content.destination) else {
            return Ok(outcome);
        };
        if staged.size() == 0 {
            return Ok(Outcome::Dropped);
        }
        let size = staged.size();
        let why = match content.stated {
            Some(stated) => format!("the file was closed after {size} of {stated} bytes, so nothing was written"),
            None => format!("the file was closed after {size} bytes, within its header, so nothing was written"),
        };
        Err(content.fail(Refusal::invalid(why)).into())
    }

    /// Gives the file another name. If that name selects cells, they are written. On failure the file is unchanged.
    pub(crate) fn renamed(&self, view: &View, destination: Option<Destination>) -> Result<(), FsError> {
        let mut content = lock(&self.content);
        let staged = match (&content.phase, &destination) {
            (Phase::Written, Some(_)) => return Err(changed_in_place().into()),
            (Phase::Failed(refusal), _) => return Err(refusal.clone().into()),
            (Phase::Written, None) => return Ok(()),
            (Phase::Receiving(staged), _) => staged,
        };
        if let Some(new) = &destination {
            self.check_whole(view, new, staged)?;
            self.write_cells(view, new, staged)?;
            self.written(&mut content);
        }
        content.destination = destination;
        Ok(())
    }

    /// Checks a file that must be complete.
    fn check_whole(&self, view: &View, destination: &Destination, staged: &Staged) -> Result<(), FsError> {
        if !destination.states_size() {
            return Ok(());
        }
        let start = staged.read(0, HEADER_BYTES_MAX);
        let start = start.map_err(|e| Refusal::of_disk(&e))?;
        let array = self.folder.array(view)?;
        let stated = block_on(destination.check(&array, &start)).map_err(|e| Refusal::of_write(&e))?;
        if stated == Some(staged.size()) {
            return Ok(());
        }
        let why = match stated {
            Some(stated) => format!(
                "the .npy file has {} bytes, but its header states {stated}",
                staged.size()
            ),
            None => format!("the .npy file ends after {} bytes, within its header", staged.size()),
        };
        Err(Refusal::invalid(why).into())
    }

    fn written(&self, content: &mut Content) {
        content.phase = Phase::Written;
        lock(&self.facts).is_written = true;
    }

    /// Writes the cells as one fragment, and shows them in the view.
    fn write_cells(&self, view: &View, destination: &Destination, staged: &Staged) -> Result<(), Refusal> {
        let _alone = lock(&self.folder.writes);
        let shown = self.folder.array(view).map_err(|e| Refusal::of(&e))?;
        let options = OpenOptions {
            window: Window::ALL,
            key: shown.key().cloned(),
        };
        let written = block_on(async {
            let array = Array::open(shown.context(), shown.path(), &options).await?;
            destination.write(&array, staged.file()).await?;
            renew_manifest(&array).await
        });
        written.map_err(|e| Refusal::of_write(&e))?;
        // Lookups that started before the write may still store what they found as the state of this millisecond.
        std::thread::sleep(Duration::from_millis(1));
        view.refresh(now_ms());
        Ok(())
    }
}

impl Content {
    /// Records a failure, and frees the staged bytes.
    fn fail(&mut self, refusal: Refusal) -> Refusal {
        self.phase = Phase::Failed(refusal.clone());
        refusal
    }
}

impl Phase {
    fn staged(&mut self) -> Result<&mut Staged, Refusal> {
        match self {
            Self::Receiving(staged) => Ok(staged),
            Self::Written => Err(changed_in_place()),
            Self::Failed(refusal) => Err(refusal.clone()),
        }
    }
}

fn changed_in_place() -> Refusal {
    Refusal::not_permitted(
        "its cells are in the array now, and cannot be changed in place; write a new file with this name",
    )
}

fn staged(area: &Arc<StagingArea>) -> Result<Staged, Refusal> {
    Staged::new(area).map_err(|e| Refusal::of_disk(&e))
}
