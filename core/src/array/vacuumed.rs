//! Opens an array whose consolidated commits file lists vacuumed fragments, because a vacuum ran while the file was
//! written.

use std::collections::HashSet;

use super::directory::{Committed, Listing, is_covered};
use super::fetch::fetch;
use super::open_mode::OpenMode;
use super::snapshot::Array;
use super::window::OpenOptions;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::format::commits::FRAGMENTS_DIR;
use crate::vfs::{Entry, join};

impl Array {
    /// Opens the array without fragments that were vacuumed during a consolidation of commits. The commits file lists
    /// them until the next vacuum. `opened` is the result of opening the array with them.
    pub(super) async fn open_without_vacuumed(
        context: &Context,
        path: &str,
        options: &OpenOptions,
        (mut listing, which): (Listing, OpenMode<'_>),
        opened: Result<Self>,
    ) -> Result<Self> {
        listing.vacuumed = vacuumed(context, path, &listing).await?;
        if listing.vacuumed.is_empty() {
            return opened;
        }
        let opened = Self::open_listed(context, path, options, &listing, which).await?;
        for commit in &listing.vacuumed {
            let why = "a consolidated commits file lists it, but its fragment was vacuumed, and a consolidated fragment \
                       covers its time; run `hyperslab vacuum` to repair the list, or if the array was never vacuumed, \
                       restore the fragment's folder from a backup";
            which.report(Error::not_found(join(path, commit), why));
        }
        Ok(opened)
    }
}

/// Commits that only consolidated files list, whose fragment is missing and whose time a consolidated fragment covers.
async fn vacuumed(context: &Context, path: &str, listing: &Listing) -> Result<Vec<String>> {
    let lists = fetch(context, path, &listing.to_fetch()).await?;
    let committed = Committed::read(listing, &lists)?;
    let below = |dir: &str, entries: &[Entry]| -> Vec<String> { entries.iter().map(|e| join(dir, &e.name)).collect() };
    let mut folders: HashSet<String> = below("", &listing.root).into_iter().collect();
    folders.extend(below(
        FRAGMENTS_DIR,
        &context.vfs.list(&join(path, FRAGMENTS_DIR)).await?,
    ));
    let others = committed.names(|folder| folders.contains(folder));
    let gone = committed
        .listed_only()
        .filter(|(_, folder, _)| !folders.contains(folder));
    let vacuumed = gone.filter(|(_, _, name)| is_covered(name, &others));
    Ok(vacuumed.map(|(commit, ..)| commit.to_owned()).collect())
}
