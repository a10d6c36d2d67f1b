//! Arrays in an Azure container behave as on disk.

use std::path::Path;

use bytes::Bytes;
use hyperslab::blocking::block_on;
use hyperslab::vfs::{VfsExt, conformance};
use hyperslab::{Array, OpenOptions};
use hyperslab_tests::oracle::Oracle;

use crate::azurite::{Azurite, CONTAINER};
use crate::program;
use crate::sequences::run_sequences;

#[test]
fn a_container_is_a_store() {
    let azurite = Azurite::start();
    block_on(conformance::check(&*azurite.context("deep/prefix").vfs)).unwrap();
}

#[test]
fn large_files_are_uploaded_in_blocks() {
    let azurite = Azurite::start();
    let vfs = azurite.context("").vfs;
    let part = Bytes::from((0..7_u32 << 18).flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
    let write = |name: &'static str| {
        let (vfs, part) = (&vfs, &part);
        async move {
            let mut writer = vfs.create(name).await?;
            for _ in 0..6 {
                writer.append(part.clone()).await?;
            }
            writer.finish().await
        }
    };
    block_on(write("large")).unwrap();
    let whole = block_on(vfs.read_all("large")).unwrap();
    assert!(whole == part.repeat(6), "{} bytes", whole.len());
    let tail = block_on(vfs.read_tail("large", 5 << 20)).unwrap();
    assert_eq!(tail.0, whole.len() as u64);
    assert!(tail.1 == whole.slice(whole.len() - (5 << 20)..));
    let again = block_on(write("large")).unwrap_err();
    assert_eq!(again.code(), "AlreadyExists", "{again}");
}

#[test]
fn random_operations_give_the_same_cells_in_a_container() {
    let azurite = Azurite::start();
    let mut oracle = Oracle::start_with(azurite.environment_of_libtiledb()).unwrap();
    let container = Path::new("azure://").join(CONTAINER);
    let (ours, theirs) = (container.join("ours"), container.join("theirs"));
    run_sequences("azure", &azurite.context("ours"), &mut oracle, &ours, &theirs);
}

#[test]
fn the_program_works_on_an_array_in_a_container() {
    let azurite = Azurite::start();
    program::keeps_an_array(&format!("az://{CONTAINER}/deep"), &azurite.environment());
}

#[test]
fn missing_and_forbidden_objects_are_errors() {
    let azurite = Azurite::start();
    let mut context = azurite.context("");
    let error = block_on(Array::open(&context, "nothing", &OpenOptions::default())).unwrap_err();
    assert_eq!(error.code(), "NotFound", "{error}");
    context.vfs = azurite.stranger();
    let error = block_on(context.vfs.read_all("nothing")).unwrap_err();
    assert_eq!(error.code(), "Io", "{error}");
    assert!(error.to_string().contains("403"), "{error}");
}
