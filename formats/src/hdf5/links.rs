//! The links of a group.
//!
//! The library lists the members of a group all at once: one that it cannot read hides all others, and links that lead
//! nowhere are missing.

use hdf5_reader::Hdf5File;
use hdf5_reader::btree_v1::collect_btree_v1_leaves_storage;
use hdf5_reader::btree_v2::{BTreeV2Header, BTreeV2Record, collect_btree_v2_records_storage};
use hdf5_reader::error::Result;
use hdf5_reader::fractal_heap::{FractalHeap, FractalHeapDirectBlockCache};
use hdf5_reader::group::Group;
use hdf5_reader::io::Cursor;
use hdf5_reader::local_heap::LocalHeap;
use hdf5_reader::messages::HdfMessage;
use hdf5_reader::messages::link::{self, LinkMessage, LinkTarget};
use hdf5_reader::messages::link_info::LinkInfoMessage;
use hdf5_reader::messages::symbol_table_msg::SymbolTableMessage;
use hdf5_reader::symbol_table::SymbolTableNode;

/// The kind of an entry of a symbol table that is a soft link.
const SOFT: u32 = 2;
/// Bytes of a symbol table before its entries, and of an entry besides its two addresses.
const NODE_BYTES: usize = 8;
const ENTRY_BYTES: usize = 24;

/// The links of a group, in the order of their creation if the file has it.
pub(super) fn of(file: &Hdf5File, group: &Group) -> Result<Vec<LinkMessage>> {
    let mut links = Vec::new();
    let header = file.get_or_parse_header(group.address())?;
    for message in &header.messages {
        match message {
            HdfMessage::SymbolTable(table) => return old(group, table),
            HdfMessage::Link(link) => links.push(link.clone()),
            HdfMessage::LinkInfo(info) => dense(group, info, &mut links)?,
            _ => {}
        }
    }
    if links.iter().all(|link| link.creation_order.is_some()) {
        links.sort_by_key(|link| link.creation_order);
    }
    Ok(links)
}

/// The links of a large group, which are in a heap.
fn dense(group: &Group, info: &LinkInfoMessage, links: &mut Vec<LinkMessage>) -> Result<()> {
    let (storage, offset, length) = (group.storage(), group.offset_size(), group.length_size());
    if Cursor::is_undefined_offset(info.fractal_heap_address, offset) {
        return Ok(());
    }
    let heap = FractalHeap::parse_at_storage(storage, info.fractal_heap_address, offset, length)?;
    let index = BTreeV2Header::parse_at_storage(storage, info.btree_name_index_address, offset, length)?;
    let records = collect_btree_v2_records_storage(storage, &index, offset, length, None, &[], None)?;
    let mut cache = FractalHeapDirectBlockCache::default();
    for record in &records {
        if let BTreeV2Record::LinkNameHash { heap_id, .. } | BTreeV2Record::CreationOrder { heap_id, .. } = record {
            let bytes = heap.get_object_storage_cached(heap_id, storage, offset, length, &mut cache)?;
            links.push(link::parse(&mut Cursor::new(&bytes), offset, length, bytes.len())?);
        }
    }
    Ok(())
}

/// The links of a group in the format of HDF5 before 1.8.
fn old(group: &Group, table: &SymbolTableMessage) -> Result<Vec<LinkMessage>> {
    let (storage, offset, length) = (group.storage(), group.offset_size(), group.length_size());
    let heap = LocalHeap::parse_at_storage(storage, table.heap_address, offset, length)?;
    let leaves = collect_btree_v1_leaves_storage(storage, table.btree_address, offset, length, None, &[], None)?;
    let mut links = Vec::new();
    for (_, address) in leaves {
        let head = storage.read_range(address, NODE_BYTES)?;
        let mut count = Cursor::new(head.as_ref());
        count.skip(NODE_BYTES - 2)?;
        let entries = usize::from(count.read_u16_le()?);
        let node = NODE_BYTES + entries * (2 * usize::from(offset) + ENTRY_BYTES);
        let node = storage.read_range(address, node)?;
        let node = SymbolTableNode::parse(&mut Cursor::new(node.as_ref()), offset, length)?;
        for entry in &node.entries {
            let target = if entry.cache_type == SOFT {
                let at = Cursor::new(&entry.scratch).read_u32_le()?;
                let path = heap.get_string_storage(u64::from(at), storage)?;
                LinkTarget::Soft { path }
            } else {
                let address = entry.object_header_address;
                LinkTarget::Hard { address }
            };
            links.push(LinkMessage {
                name: heap.get_string_storage(entry.link_name_offset, storage)?,
                target,
                creation_order: None,
            });
        }
    }
    Ok(links)
}
