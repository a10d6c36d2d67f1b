//! Asks for what a description needs, and builds it from the answers. Does no I/O.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::model::{Axis, Dataset};
use super::object::Object;
use super::{recognise, value};

/// The most arrays and groups that are looked at.
const OBJECTS_MAX: usize = 1 << 10;
/// The most coordinates that are read of an array, to see whether they are evenly spaced.
const NUMBERS_MAX: u64 = 1 << 16;
/// The most arrays whose coordinates are read.
const NUMBER_ARRAYS_MAX: usize = 64;
/// The most notes.
const NOTES_MAX: usize = 64;

/// What a description needs. Paths are relative to the described object; they may begin with `../`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Request {
    /// The array or group at this path.
    Object(String),
    /// Cells of a one-dimensional dense array, as numbers.
    Numbers {
        /// Path of the array.
        path: String,
        /// The attribute.
        attribute: String,
        /// The first cell.
        first: i64,
        /// Number of cells.
        count: u64,
    },
}

/// What the caller found.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The array or group.
    Object(Box<Object>),
    /// The cells.
    Numbers(Vec<f64>),
    /// Nothing, and why.
    Missing(String),
    /// Unknown: the caller cannot look there.
    Outside,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Answer these requests, which may be fetched at the same time.
    Need(Vec<Request>),
    /// The description is complete.
    Done(Box<Dataset>),
}

/// A description in the making: asks for metadata in few rounds, so that a caller can fetch what a round needs at the
/// same time. [`of`](super::of) is such a caller.
///
/// ```
/// use hyperslab::conventions::{Answer, Description, Step};
///
/// let mut description = Description::default();
/// let dataset = loop {
///     match description.step() {
///         Step::Done(dataset) => break dataset,
///         // A caller with a store would look there.
///         Step::Need(requests) => {
///             for request in requests {
///                 description.answer(request, Answer::Missing("there is nothing".into()));
///             }
///         }
///     }
/// };
/// assert_eq!(dataset.notes, ["there is nothing"]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Description {
    known: BTreeMap<Request, Answer>,
}

impl Description {
    /// Builds the description, or says what it still needs. Answer every request before the next step.
    pub fn step(&self) -> Step {
        let scope = Scope {
            known: &self.known,
            wanted: RefCell::default(),
            notes: RefCell::default(),
            number_arrays: RefCell::default(),
        };
        let found = recognise::dataset(&scope);
        let wanted = scope.wanted.into_inner();
        if !wanted.is_empty() {
            return Step::Need(wanted.into_iter().collect());
        }
        let mut dataset = found.unwrap_or_default();
        dataset.notes = scope.notes.into_inner();
        Step::Done(Box::new(dataset))
    }

    /// Takes the answer to a request.
    pub fn answer(&mut self, request: Request, answer: Answer) {
        self.known.insert(request, answer);
    }
}

/// The answers so far. A builder that lacks one asks for it and goes on without: its result is then thrown away.
pub(super) struct Scope<'a> {
    known: &'a BTreeMap<Request, Answer>,
    wanted: RefCell<BTreeSet<Request>>,
    notes: RefCell<Vec<String>>,
    number_arrays: RefCell<BTreeSet<Request>>,
}

impl<'a> Scope<'a> {
    /// The object at this path; `None` if there is none, or none yet.
    pub(super) fn object(&self, path: &str) -> Option<&'a Object> {
        match self.ask(Request::Object(path.to_owned())) {
            Some(Answer::Object(object)) => Some(object),
            _ => None,
        }
    }

    /// Why there is no object at this path, if that is known.
    pub(super) fn why_missing(&self, path: &str) -> Option<&'a str> {
        match self.known.get(&Request::Object(path.to_owned()))? {
            Answer::Missing(why) => Some(why),
            Answer::Outside => Some("it is outside of the store"),
            _ => None,
        }
    }

    /// Whether the caller cannot look at this path.
    pub(super) fn is_outside(&self, path: &str) -> bool {
        let answer = self.known.get(&Request::Object(path.to_owned()));
        matches!(answer, Some(Answer::Outside))
    }

    /// The values of a short one-dimensional array, which tell whether they are evenly spaced.
    pub(super) fn numbers(&self, path: &str, attribute: &str, axis: &Axis) -> Option<&'a [f64]> {
        let count = axis.length.filter(|n| (2..=NUMBERS_MAX).contains(n))?;
        let request = Request::Numbers {
            path: path.to_owned(),
            attribute: attribute.to_owned(),
            first: axis.first?,
            count,
        };
        let mut arrays = self.number_arrays.borrow_mut();
        if arrays.len() >= NUMBER_ARRAYS_MAX && !arrays.contains(&request) {
            return None;
        }
        arrays.insert(request.clone());
        match self.ask(request)? {
            Answer::Numbers(values) => Some(values),
            _ => None,
        }
    }

    fn ask(&self, request: Request) -> Option<&'a Answer> {
        if let Some(answer) = self.known.get(&request) {
            return Some(answer);
        }
        let mut wanted = self.wanted.borrow_mut();
        if self.known.len() + wanted.len() >= OBJECTS_MAX {
            drop(wanted);
            self.note(format!("only {OBJECTS_MAX} arrays and groups were looked at"));
            return None;
        }
        wanted.insert(request);
        None
    }

    /// Notes what is odd, once.
    pub(super) fn note(&self, text: impl Into<String>) {
        let text = value::shortened(&text.into());
        let mut notes = self.notes.borrow_mut();
        if notes.len() < NOTES_MAX && !notes.contains(&text) {
            notes.push(text);
        }
    }

    /// Notes what is odd about the object at `path`.
    pub(super) fn note_at(&self, path: &str, text: &str) {
        match path {
            "" => self.note(text),
            _ => self.note(format!("{path}: {text}")),
        }
    }
}
