//! The arrays and folders that a view has opened.

use std::collections::HashMap;
use std::sync::Arc;

use super::Source;
use crate::array::Window;
use crate::view::folder::Folder;
use crate::view::snapshot::Snapshot;

/// The largest number of cached arrays and folders in other time windows than the view's.
const OTHERS_MAX: usize = 64;

/// Objects opened since the last [`View::refresh`](super::View::refresh).
#[derive(Debug)]
pub(super) struct Seen {
    /// The window of names without a time.
    pub(super) window: Window,
    /// Arrays and folders by path and window.
    pub(super) objects: HashMap<(String, Window), Arc<Object>>,
    /// Whether the store was invalidated since the last refresh.
    pub(super) is_renewed: bool,
}

/// An array or folder in the store.
#[derive(Debug)]
pub(super) enum Object {
    Array(Snapshot),
    Folder(Arc<Folder>),
}

impl Seen {
    pub(super) fn new(source: &Source, now_ms: u64, is_renewed: bool) -> Self {
        let window = source.options.window;
        Self {
            window: if window == Window::ALL {
                Window::at(now_ms)
            } else {
                window
            },
            objects: HashMap::new(),
            is_renewed,
        }
    }

    /// Caches an object, and evicts other windows if there are too many.
    pub(super) fn keep(&mut self, key: (String, Window), object: Arc<Object>) {
        let own = self.window;
        if self.objects.keys().filter(|k| k.1 != own).count() >= OTHERS_MAX {
            self.objects.retain(|k, _| k.1 == own);
        }
        self.objects.insert(key, object);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::OpenOptions;
    use crate::context::Context;

    #[test]
    fn the_number_of_cached_windows_is_limited() {
        let source = Source {
            context: Context::memory(),
            url: String::new(),
            path: String::new(),
            options: OpenOptions::default(),
            name: String::new(),
        };
        let mut seen = Seen::new(&source, 5000, true);
        let folder = || Arc::new(Object::Folder(Arc::default()));
        let own = ("a".to_owned(), seen.window);
        seen.keep(own.clone(), folder());
        for time in 0..1000 {
            let other = ("a".to_owned(), Window::at(time));
            seen.keep(other.clone(), folder());
            assert!(seen.objects.contains_key(&other) && seen.objects.contains_key(&own));
            assert!(seen.objects.len() <= 1 + OTHERS_MAX);
        }
    }
}
