//! The conformance suite that every store must pass.

use std::sync::Arc;

use bytes::Bytes;

use super::{Entry, EntryKind, Vfs, VfsExt, join};
use crate::error::{Error, Result};

/// The files that [`check_reading`] expects: names that need care in URLs, an empty file and a large one.
pub fn sample() -> Vec<(&'static str, Vec<u8>)> {
    let long = (0..300_000_u32)
        .flat_map(|i| (i.wrapping_mul(2_654_435_761)).to_le_bytes())
        .collect();
    vec![
        ("__commits/__1_2_00ff_22.wrt", Vec::new()),
        ("__fragments/__1_2_00ff_22/a0.tdb", long),
        ("__fragments/__1_2_00ff_22/a1.tdb", b"0123456789".to_vec()),
        ("__schema/__1_1_0a", b"schema".to_vec()),
        ("strange/50% off & more+.bin", b"percent".to_vec()),
        ("strange/sea é 海.bin", b"unicode".to_vec()),
    ]
}

/// Runs all checks on an empty, writable store, including the read checks on [`sample`].
///
/// # Errors
/// The first check that fails.
pub async fn check(vfs: &dyn Vfs) -> Result<()> {
    for (path, bytes) in sample() {
        // Two parts, to check that they are joined.
        let (head, tail) = bytes.split_at(bytes.len() / 3);
        vfs.put(path, vec![Bytes::copy_from_slice(head), Bytes::copy_from_slice(tail)])
            .await?;
    }
    check_reading(vfs).await?;
    check_put(vfs).await?;
    check_create(vfs).await?;
    check_remove(vfs).await
}

/// Runs all read checks on a store that holds exactly the files of [`sample`].
///
/// # Errors
/// The first check that fails.
pub async fn check_reading(vfs: &dyn Vfs) -> Result<()> {
    for (path, bytes) in sample() {
        same(path, &vfs.read_all(path).await?, &bytes)?;
        equal("size", vfs.size(path).await?, bytes.len() as u64)?;
        for wanted in [0, 4, bytes.len() as u64, 1 << 40] {
            let (size, tail) = vfs.read_tail(path, wanted).await?;
            equal("size of a tail's file", size, bytes.len() as u64)?;
            let start = bytes
                .len()
                .saturating_sub(usize::try_from(wanted).unwrap_or(usize::MAX));
            same(
                &format!("last {wanted} bytes of {path}"),
                &tail,
                bytes.get(start..).unwrap_or_default(),
            )?;
        }
    }
    check_ranges(vfs).await?;
    check_listing(vfs).await?;

    let absent = "__fragments/absent.tdb";
    expect("the end of an absent file", "NotFound", vfs.read_tail(absent, 9).await)?;
    expect(
        "reading an absent file",
        "NotFound",
        vfs.read(absent, &[0..1, 5..9]).await,
    )?;
    expect("reading all of an absent file", "NotFound", vfs.read_all(absent).await)?;
    expect("the size of an absent file", "NotFound", vfs.size(absent).await)?;
    for outside in ["../x", "a/../../x", "/etc/passwd"] {
        if vfs.read_all(outside).await.is_ok() {
            return Err(Error::invalid(format!("{outside} was read, outside the store")));
        }
    }
    Ok(())
}

async fn check_ranges(vfs: &dyn Vfs) -> Result<()> {
    let (path, bytes) = ("__fragments/__1_2_00ff_22/a0.tdb", sample().swap_remove(1).1);
    let size = bytes.len() as u64;
    let absent = "__fragments/absent.tdb";
    let tails = vfs.read_tails(&[path.to_owned(), absent.to_owned()], 9).await;
    equal("number of ends", tails.len(), 2)?;
    let mut tails = tails.into_iter();
    let (found, end) = tails.next().unwrap_or_else(|| Err(Error::not_found(path, "")))?;
    equal("the size that comes with an end", found, size)?;
    same(
        "an end among others",
        &end,
        bytes.get(bytes.len() - 9..).unwrap_or_default(),
    )?;
    expect(
        "the end of an absent file among others",
        "NotFound",
        tails.next().unwrap_or(Ok((0, Bytes::new()))),
    )?;
    let two = [
        (Arc::from(path), vec![4..9, 0..2]),
        (Arc::from("__schema/__1_1_0a"), vec![0..6]),
    ];
    let read = vfs.read_files(&two).await?;
    let wanted = [vec![&bytes[4..9], &bytes[..2]], vec![b"schema"]];
    equal(
        "ranges of several files",
        read.iter()
            .map(|f| f.iter().map(|b| &b[..]).collect::<Vec<_>>())
            .collect::<Vec<_>>(),
        wanted.to_vec(),
    )?;
    let missing = [two[0].clone(), (Arc::from(absent), vec![0..1])];
    expect(
        "a range of an absent file among others",
        "NotFound",
        vfs.read_files(&missing).await,
    )?;
    // Out of order, adjacent, overlapping, empty, far apart, up to the last byte.
    let ranges = [
        700_000..700_008,
        0..4,
        4..9,
        2..6,
        5..5,
        100_000..300_000,
        size - 1..size,
        0..size,
    ];
    let read = vfs.read(path, &ranges).await?;
    equal("number of ranges", read.len(), ranges.len())?;
    for (range, got) in ranges.iter().zip(&read) {
        let wanted = bytes.get(range.start as usize..range.end as usize).unwrap_or_default();
        same(&format!("{path} {range:?}"), got, wanted)?;
    }
    equal("ranges of nothing", vfs.read(path, &[]).await?.len(), 0)?;
    expect(
        "reading past the end",
        "Io",
        vfs.read(path, &[0..4, size - 1..size + 1]).await,
    )?;
    expect(
        "reading beyond the end",
        "Io",
        vfs.read(path, &[size + 10..size + 20]).await,
    )
}

async fn check_listing(vfs: &dyn Vfs) -> Result<()> {
    let names = |entries: &[Entry]| entries.iter().map(|e| e.name.clone()).collect::<Vec<_>>().join("|");
    let root = vfs.list("").await?;
    equal(
        "names in the root",
        names(&root),
        "__commits|__fragments|__schema|strange".to_owned(),
    )?;
    equal("folders", root.iter().all(|e| e.kind == EntryKind::Dir), true)?;
    equal(
        "names",
        names(&vfs.list("strange").await?),
        "50% off & more+.bin|sea é 海.bin".to_owned(),
    )?;
    let files = vfs.list("__fragments/__1_2_00ff_22").await?;
    equal("names of files", names(&files), "a0.tdb|a1.tdb".to_owned())?;
    for file in &files {
        let path = join("__fragments/__1_2_00ff_22", &file.name);
        match file.kind {
            EntryKind::File(Some(size)) => equal("listed size", size, vfs.size(&path).await?)?,
            EntryKind::File(None) => {}
            EntryKind::Dir => return Err(Error::invalid(format!("{path} is listed as a folder"))),
        }
    }
    equal("an absent folder", vfs.list("absent/folder").await?, Vec::new())
}

async fn check_put(vfs: &dyn Vfs) -> Result<()> {
    for bytes in ["first", "and another"] {
        vfs.overwrite("listed.json", vec![Bytes::from(bytes)]).await?;
        equal(
            "a file put in place of another",
            &vfs.read_all("listed.json").await?[..],
            bytes.as_bytes(),
        )?;
        let part = vfs.read("listed.json", &[1..4]).await?;
        same("a part of it", &part.concat(), &bytes.as_bytes()[1..4])?;
    }
    vfs.remove("listed.json").await?;
    expect(
        "putting over a file",
        "AlreadyExists",
        vfs.put("__schema/__1_1_0a", vec![Bytes::from("x")]).await,
    )?;
    expect(
        "an empty file over a file",
        "AlreadyExists",
        vfs.put("__schema/__1_1_0a", vec![]).await,
    )?;
    same(
        "the file in the way",
        &vfs.read_all("__schema/__1_1_0a").await?,
        b"schema",
    )?;
    vfs.put("new/deep/er", vec![Bytes::from("x")]).await?;
    vfs.create_dir("new/empty").await?;
    vfs.create_dir("new/deep").await?;
    equal("a new folder", vfs.list("new/empty").await?, Vec::new())?;
    vfs.sync("new").await?;
    vfs.sync("new/deep/er").await?;
    for outside in ["../x", "a//b", "/tmp/x"] {
        expect(
            "putting outside the store",
            "InvalidArgument",
            vfs.put(outside, vec![Bytes::from("x")]).await,
        )?;
    }
    vfs.remove_dir("new").await
}

async fn check_create(vfs: &dyn Vfs) -> Result<()> {
    let mut writer = vfs.create("parts/whole").await?;
    let mut whole = Vec::new();
    for i in 0..40_u8 {
        let part = vec![i; 300_000];
        whole.extend_from_slice(&part);
        writer.append(Bytes::from(part)).await?;
    }
    expect(
        "a file before it is finished",
        "NotFound",
        vfs.size("parts/whole").await,
    )?;
    equal("its folder", vfs.list("parts").await?, Vec::new())?;
    writer.finish().await?;
    same("a file of many parts", &vfs.read_all("parts/whole").await?, &whole)?;

    let writer = vfs.create("parts/empty").await?;
    writer.finish().await?;
    equal("size of a file of no parts", vfs.size("parts/empty").await?, 0)?;

    let mut dropped = vfs.create("parts/dropped").await?;
    dropped.append(Bytes::from("x")).await?;
    drop(dropped);
    expect(
        "a file that was never finished",
        "NotFound",
        vfs.size("parts/dropped").await,
    )?;

    let taken = match vfs.create("parts/whole").await {
        Err(e) => Err(e),
        Ok(writer) => writer.finish().await,
    };
    expect("creating over a file", "AlreadyExists", taken)?;
    vfs.remove_dir("parts").await
}

async fn check_remove(vfs: &dyn Vfs) -> Result<()> {
    vfs.put("gone/f", vec![Bytes::from("1")]).await?;
    vfs.put("gone.also", vec![Bytes::from("2")]).await?;
    equal(
        "a range",
        vfs.read("gone/f", std::slice::from_ref(&(0..1))).await?,
        vec![Bytes::from("1")],
    )?;
    vfs.remove("gone/f").await?;
    expect(
        "reading what was removed",
        "NotFound",
        vfs.read("gone/f", std::slice::from_ref(&(0..1))).await,
    )?;
    vfs.remove("gone/f").await?;
    vfs.put("gone/f", vec![Bytes::from("3")]).await?;
    equal(
        "a range of the new file",
        vfs.read("gone/f", std::slice::from_ref(&(0..1))).await?,
        vec![Bytes::from("3")],
    )?;
    vfs.remove_dir("gone").await?;
    vfs.remove_dir("gone").await?;
    expect("a file of a removed folder", "NotFound", vfs.size("gone/f").await)?;
    same(
        "a file whose name begins alike",
        &vfs.read_all("gone.also").await?,
        b"2",
    )?;
    vfs.remove("gone.also").await
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, found: T, wanted: T) -> Result<()> {
    if found == wanted {
        Ok(())
    } else {
        Err(Error::invalid(format!("{what}: {found:?} instead of {wanted:?}")))
    }
}

fn same(what: &str, found: &[u8], wanted: &[u8]) -> Result<()> {
    if found == wanted {
        return Ok(());
    }
    let at = found.iter().zip(wanted).take_while(|(a, b)| a == b).count();
    let message = format!(
        "{what}: {} bytes instead of {}; they differ at {at}",
        found.len(),
        wanted.len()
    );
    Err(Error::invalid(message))
}

fn expect<T>(what: &str, code: &str, result: Result<T>) -> Result<()> {
    match result {
        Err(e) if e.code() == code => Ok(()),
        Err(e) => Err(Error::invalid(format!(
            "{what}: {code} expected, but: {} ({e})",
            e.code()
        ))),
        Ok(_) => Err(Error::invalid(format!("{what}: {code} expected, but it worked"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocking::block_on;

    #[test]
    fn memory() {
        block_on(check(&super::super::MemVfs::new())).unwrap();
    }

    #[cfg(feature = "fs")]
    #[test]
    fn local_disk() {
        let dir = tempfile::tempdir().unwrap();
        block_on(check(&super::super::LocalVfs::new(dir.path()))).unwrap();
    }
}
