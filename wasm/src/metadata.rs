//! Writes metadata of arrays and groups, and members of groups.

use hyperslab::group::{
    GroupChange, GroupMember, MemberKind, ObjectType, change_group, create_group, group_metadata_time, group_time,
    object_type, write_group_metadata,
};
use hyperslab::metadata::{Entry, MetaValue};
use hyperslab::vfs::join;
use hyperslab::{Array, Context, Datatype, Error, OpenOptions, Result, WriteOptions};
use js_sys::{Reflect, Uint8Array};
use serde_json::Value;
use wasm_bindgen::prelude::*;

use crate::error::to_js;
use crate::maintain::refresh_manifest;
use crate::store::{RawStore, milliseconds, parse_key, seed_of};

#[wasm_bindgen]
impl RawStore {
    /// Sets and removes metadata of the array or group at `path`: `[{key, type?, data?}]`. Entries without data are
    /// removed. Without `at`, the time is `now` or just after the latest change. Returns the time of the change.
    #[wasm_bindgen(js_name = putMetadata)]
    pub async fn put_metadata(
        &self,
        path: String,
        entries: js_sys::Array,
        at: Option<f64>,
        now: f64,
        seed: Vec<u8>,
        key: Option<Vec<u8>>,
    ) -> Result<f64, JsValue> {
        let work = async {
            let context = &self.context;
            let key = parse_key(key)?;
            let time = ChangeTime::new(at, now, &seed)?;
            let entries = entries.iter().map(|e| entry(&e)).collect::<Result<Vec<_>>>()?;
            context.vfs.invalidate().await?;
            let options = match object_type(context, &path).await? {
                Some(ObjectType::Group) => {
                    let options = time
                        .options(async |now| group_metadata_time(context, &path, now).await)
                        .await?;
                    write_group_metadata(context, &path, &entries, key.as_ref(), &options).await?;
                    options
                }
                _ => {
                    let window = OpenOptions {
                        key,
                        ..OpenOptions::default()
                    };
                    let array = Array::open(context, &path, &window).await?;
                    let options = time.options(async |now| array.metadata_time(now).await).await?;
                    array.write_metadata(&entries, &options).await?;
                    options
                }
            };
            changed(context, &path, options).await
        };
        work.await.map_err(|e: Error| to_js(&e))
    }

    /// Creates an empty group.
    #[wasm_bindgen(js_name = createGroup)]
    pub async fn create_group(&self, path: String) -> Result<(), JsValue> {
        create_group(&self.context, &path).await.map_err(|e| to_js(&e))
    }

    /// Adds and removes members of the group at `path`, as JSON: `{name: {uri, type?} | null}`. URIs without a scheme are
    /// paths in the group's folder. Returns the time of the change.
    #[wasm_bindgen(js_name = putMembers)]
    pub async fn put_members(
        &self,
        path: String,
        members: String,
        at: Option<f64>,
        now: f64,
        seed: Vec<u8>,
        key: Option<Vec<u8>>,
    ) -> Result<f64, JsValue> {
        let work = async {
            let context = &self.context;
            let key = parse_key(key)?;
            let time = ChangeTime::new(at, now, &seed)?;
            let members: serde_json::Map<String, Value> = serde_json::from_str(&members)
                .map_err(|e| Error::invalid(format!("the members are not valid JSON: {e}")))?;
            context.vfs.invalidate().await?;
            let mut changes = Vec::new();
            for (name, member) in &members {
                changes.push(match member {
                    Value::Null => GroupChange::Remove(name.clone()),
                    member => GroupChange::Add(new_member(context, &path, name, member).await?),
                });
            }
            let options = time.options(async |now| group_time(context, &path, now).await).await?;
            change_group(context, &path, &changes, key.as_ref(), &options).await?;
            changed(context, &path, options).await
        };
        work.await.map_err(|e: Error| to_js(&e))
    }
}

/// When a change is made, and the seed of its names.
struct ChangeTime {
    /// The given time.
    at: Option<u64>,
    /// The time by the page's clock.
    now: u64,
    seed: [u8; 32],
}

impl ChangeTime {
    fn new(at: Option<f64>, now: f64, seed: &[u8]) -> Result<Self> {
        Ok(Self {
            at: at.map(milliseconds),
            now: milliseconds(now),
            seed: seed_of(seed)?,
        })
    }

    /// The options of a change at the given time, or at `after_latest(now)`.
    async fn options(&self, after_latest: impl AsyncFnOnce(u64) -> Result<u64>) -> Result<WriteOptions> {
        let timestamp_ms = match self.at {
            Some(at) => at,
            None => after_latest(self.now).await?,
        };
        Ok(WriteOptions {
            timestamp_ms,
            seed: self.seed,
            sync: false,
        })
    }
}

/// Updates the manifests that list a changed array or group. Returns the time of the change.
async fn changed(context: &Context, path: &str, options: WriteOptions) -> Result<f64> {
    refresh_manifest(context, path).await?;
    // Far below 2^53, unless the caller gave such a time.
    Ok(options.timestamp_ms as f64)
}

fn entry(value: &JsValue) -> Result<Entry> {
    let get = |name: &str| Reflect::get(value, &name.into()).unwrap_or(JsValue::UNDEFINED);
    let key = get("key").as_string().unwrap_or_default();
    let Ok(data) = get("data").dyn_into::<Uint8Array>() else {
        return Ok(Entry { key, value: None });
    };
    let datatype = Datatype::from_name(&get("type").as_string().unwrap_or_default());
    let datatype = datatype.map_err(|why| Error::invalid(format!("'{key}': {why}")))?;
    let value = Some(MetaValue::bytes(datatype, &data.to_vec()));
    Ok(Entry { key, value })
}

async fn new_member(context: &Context, group: &str, name: &str, member: &Value) -> Result<GroupMember> {
    if name.is_empty() || name == "." || name == ".." || name.contains('/') {
        let why = "names of members are not empty, . or .., and have no /";
        return Err(Error::invalid(format!("'{name}' is not a valid name; {why}")));
    }
    let text = |entry: &str| member.get(entry).and_then(Value::as_str);
    let uri = text("uri").unwrap_or_default().trim_end_matches('/');
    let relative = !uri.contains("://");
    let kind = match text("type") {
        Some("array") => MemberKind::Array,
        Some("group") => MemberKind::Group,
        Some(other) => {
            return Err(Error::invalid(format!(
                "'{name}': the type is array or group, not '{other}'"
            )));
        }
        None if relative => match object_type(context, &join(group, uri)).await? {
            Some(ObjectType::Array) => MemberKind::Array,
            Some(ObjectType::Group) => MemberKind::Group,
            None => {
                let why = format!("cannot add '{name}': no array or group is there; create it first, or give its type");
                return Err(Error::not_found(join(group, uri), why));
            }
        },
        None => MemberKind::Unknown,
    };
    Ok(GroupMember {
        kind,
        relative,
        uri: uri.to_owned(),
        name: Some(name.to_owned()),
        deleted: false,
    })
}
