//! Answers the requests of a description from a store.

use std::sync::Arc;

use super::driver::{Answer, Description, Request, Step};
use super::members::resolve;
use super::model::Dataset;
use super::object::{Content, Member, Object};
use crate::array::{Array, Group, ObjectType, OpenOptions, object_type};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::query::{Query, Region};
use crate::scalar::{Scalar, ScalarRange};
use crate::vfs::{VfsExt, check_path, join, path_within, side_by_side};

/// The most requests that are answered at the same time.
const AT_ONCE: usize = 32;

/// Describes the array or group at `path`.
///
/// Damaged or missing parts of a group become notes of the dataset.
///
/// ```
/// # use hyperslab::schema::{ArrayType, Attribute, Dimension, Schema};
/// # use hyperslab::*;
/// # fn main() -> hyperslab::Result<()> { hyperslab::blocking::block_on(async {
/// # let context = Context::memory();
/// let lat = Dimension::new("lat", Datatype::Int32, 0, 7, 4);
/// let mut temp = Attribute::new("temp", Datatype::Int16, CellCount::ONE);
/// temp.fill = (-9999_i16).to_le_bytes().to_vec();
/// let schema = Schema::new(ArrayType::Dense, vec![lat], vec![temp]);
/// # let options = CreateOptions { timestamp_ms: 1, seed: [1; 32], key: None };
/// # Array::create(&context, "map", &schema, &[], &options).await?;
///
/// let dataset = conventions::of(&context, "map", &OpenOptions::default()).await?;
/// let variable = &dataset.variables[0];
/// assert_eq!(variable.axes[0].role, conventions::Role::Y);
/// assert_eq!(variable.missing.values, [-9999]);
/// # Ok(()) }) }
/// ```
///
/// # Errors
/// The errors of opening the array or group itself.
pub async fn of(context: &Context, path: &str, options: &OpenOptions) -> Result<Dataset> {
    described(context, path, options, Unreadable::LeftOut).await
}

/// Same as [`of`], but complete: a failed request inside of a group is an error.
///
/// # Errors
/// The errors of opening the array or group, and [`Error::Io`] of its parts.
pub(crate) async fn of_complete(context: &Context, path: &str, options: &OpenOptions) -> Result<Dataset> {
    described(context, path, options, Unreadable::Fails).await
}

/// How to treat a request that fails inside of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unreadable {
    LeftOut,
    Fails,
}

async fn described(context: &Context, path: &str, options: &OpenOptions, unreadable: Unreadable) -> Result<Dataset> {
    let own = object(context, path, options, unreadable).await?;
    describe(context, path, options, own, unreadable).await
}

/// Describes an open array. Same as [`of`], without opening the array again.
///
/// # Errors
/// The errors of reading the array's metadata.
pub async fn of_array(array: &Array) -> Result<Dataset> {
    let own = object_of(array).await?;
    let options = OpenOptions {
        window: array.window(),
        key: array.key().cloned(),
    };
    describe(array.context(), array.path(), &options, own, Unreadable::LeftOut).await
}

async fn describe(
    context: &Context,
    path: &str,
    options: &OpenOptions,
    own: Object,
    unreadable: Unreadable,
) -> Result<Dataset> {
    let mut description = Description::default();
    description.answer(Request::Object(String::new()), Answer::Object(Box::new(own)));
    loop {
        let requests = match description.step() {
            Step::Done(dataset) => return Ok(*dataset),
            Step::Need(requests) => requests,
        };
        for some in requests.chunks(AT_ONCE) {
            let answers = some.iter().map(|r| answer(context, path, options, r, unreadable));
            for (request, answer) in some.iter().zip(side_by_side(answers).await?) {
                description.answer(request.clone(), answer);
            }
        }
    }
}

async fn answer(
    context: &Context,
    root: &str,
    options: &OpenOptions,
    request: &Request,
    unreadable: Unreadable,
) -> Result<Answer> {
    let relative = match request {
        Request::Object(path) | Request::Numbers { path, .. } => path,
    };
    let Some((context, path)) = place(context, root, relative) else {
        return Ok(Answer::Outside);
    };
    let context = &context;
    let found = match request {
        Request::Object(_) => object(context, &path, options, unreadable)
            .await
            .map(|o| Answer::Object(Box::new(o))),
        Request::Numbers {
            attribute,
            first,
            count,
            ..
        } => numbers(context, &path, options, (attribute, *first, *count))
            .await
            .map(Answer::Numbers),
    };
    // This reader may have no access to the neighbours of the described object.
    let is_inside = !relative.starts_with("..");
    match found {
        Err(error @ Error::Io { .. }) if unreadable == Unreadable::Fails && is_inside => Err(error),
        found => Ok(found.unwrap_or_else(|e| Answer::Missing(e.to_string()))),
    }
}

/// The store and the path of the object at `relative`, seen from the path `root`. If the array is the root of its store,
/// its neighbours are in another store.
pub(crate) fn place(context: &Context, root: &str, relative: &str) -> Option<(Context, String)> {
    let path = resolve(root, relative)?;
    let Some(beside) = path.strip_prefix("../") else {
        return check_path(&path).is_ok().then(|| (context.clone(), path));
    };
    check_path(beside).ok()?;
    let (name, rest) = beside.split_once('/').unwrap_or((beside, ""));
    let (store, folder) = context.vfs.neighbour(name).ok()??;
    Some((Context::new(store).with_cpu(context.cpu), join(&folder, rest)))
}

async fn object(context: &Context, path: &str, options: &OpenOptions, unreadable: Unreadable) -> Result<Object> {
    match object_type(context, path).await? {
        Some(ObjectType::Group) => group(context, path, options, unreadable).await,
        _ => object_of(&Array::open(context, path, options).await?).await,
    }
}

async fn object_of(array: &Array) -> Result<Object> {
    Ok(Object {
        content: Content::Array {
            schema: Arc::clone(array.schema()),
            non_empty_domain: array.non_empty_domain(),
        },
        metadata: array.metadata().await?,
    })
}

async fn group(context: &Context, path: &str, options: &OpenOptions, unreadable: Unreadable) -> Result<Object> {
    let group = Group::open(context, path, options).await?;
    let location = context.vfs.location(path);
    let member = |m: &crate::array::Member| {
        let below = match m.relative {
            true => m
                .uri
                .strip_prefix(path)
                .map(|rest| rest.trim_start_matches('/').to_owned()),
            false => location.as_ref().and_then(|root| path_within(root, &m.uri)),
        };
        Member {
            name: m.name.clone(),
            relative: below.is_some(),
            uri: below.unwrap_or_else(|| m.uri.clone()),
            listed: true,
        }
    };
    let mut members: Vec<Member> = group.members.iter().map(member).collect();
    let others = match group.others().await {
        Err(error) if unreadable == Unreadable::Fails => return Err(error),
        // A store that cannot list has members only.
        others => others.unwrap_or_default(),
    };
    members.extend(others.into_iter().map(|name| Member {
        uri: name.clone(),
        name: Some(name),
        relative: true,
        listed: !group.listed,
    }));
    Ok(Object {
        content: Content::Group { members },
        metadata: group.metadata().await?,
    })
}

/// Cells of a one-dimensional dense array.
async fn numbers(
    context: &Context,
    path: &str,
    options: &OpenOptions,
    (attribute, first, count): (&str, i64, u64),
) -> Result<Vec<f64>> {
    let array = Array::open(context, path, options).await?;
    let wrong = || Error::invalid(format!("'{path}' has no numbers '{attribute}' along one axis"));
    let [dimension] = array.schema().dimensions.as_slice() else {
        return Err(wrong());
    };
    let found = array.schema().attribute(attribute).ok_or_else(wrong)?.1;
    if found.datatype.is_bytes() || found.cell.is_var() || !array.schema().is_dense() {
        return Err(wrong());
    }
    let last = i128::from(first) + i128::from(count) - 1;
    let end = |v: i128| Scalar::from_i128(dimension.datatype, v).ok_or_else(wrong);
    let query = Query {
        region: Region::from_box(vec![ScalarRange {
            lo: end(i128::from(first))?,
            hi: end(last)?,
        }]),
        fields: Some(vec![attribute.to_owned()]),
        ..Query::default()
    };
    let batch = array.read(&query).await?;
    let column = batch.column(attribute).ok_or_else(wrong)?;
    let cells = column.data.chunks_exact(column.datatype.size());
    let numbers = cells.map(|bytes| Scalar::from_le_bytes(column.datatype.physical(), bytes)?.as_f64());
    numbers.collect::<Option<Vec<f64>>>().ok_or_else(wrong)
}
