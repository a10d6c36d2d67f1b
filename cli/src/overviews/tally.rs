//! How the cells of an array that belong to one cell of an overview become its value: their mean, or the most frequent one.

use std::collections::HashMap;

/// Values that are compared one by one before a table of them is worth it.
const COMPARED: usize = 16;

/// A type of values that overviews hold.
pub(super) trait Number: Copy + PartialEq + bytemuck::Pod {
    /// The nearest double.
    fn double(self) -> f64;

    /// The value of the type that is nearest to a mean.
    fn nearest(mean: f64) -> Self;
}

macro_rules! integers {
    ($($T:ty),*) => {$(
        impl Number for $T {
            fn double(self) -> f64 {
                self as f64
            }

            fn nearest(mean: f64) -> Self {
                mean.round() as Self
            }
        }
    )*};
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! floats {
    ($($T:ty),*) => {$(
        impl Number for $T {
            fn double(self) -> f64 {
                f64::from(self)
            }

            fn nearest(mean: f64) -> Self {
                mean as Self
            }
        }
    )*};
}
floats!(f32, f64);

/// The values that were seen for one cell of an overview.
pub(super) trait Tally<T>: Clone + Default {
    /// Adds values.
    fn add(&mut self, values: impl Iterator<Item = T>);

    /// Returns the value of the cell and resets the tally; `None` if nothing was added.
    fn take(&mut self) -> Option<T>;
}

/// The mean of all values.
#[derive(Clone, Default)]
pub(super) struct Mean {
    sum: f64,
    count: u64,
}

impl<T: Number> Tally<T> for Mean {
    fn add(&mut self, values: impl Iterator<Item = T>) {
        let (mut sum, mut count) = (self.sum, self.count);
        for value in values {
            sum += value.double();
            count += 1;
        }
        (self.sum, self.count) = (sum, count);
    }

    fn take(&mut self) -> Option<T> {
        let Self { sum, count } = std::mem::take(self);
        (count > 0).then(|| T::nearest(sum / count as f64))
    }
}

/// The most frequent value. Of several, the one that reached the number first, as in GDAL.
#[derive(Clone)]
pub(super) struct Mode<T> {
    seen: Vec<(T, u64)>,
    /// Indexes in `seen`, once there are many values.
    indexes: HashMap<Vec<u8>, usize>,
    best: usize,
}

impl<T> Default for Mode<T> {
    fn default() -> Self {
        Self {
            seen: Vec::new(),
            indexes: HashMap::new(),
            best: 0,
        }
    }
}

impl<T: Number> Mode<T> {
    /// The index of a value in `seen`, to which it is added if it is new.
    fn index_of(&mut self, value: T) -> usize {
        if self.indexes.is_empty() {
            if let Some(at) = self.seen.iter().position(|(v, _)| *v == value) {
                return at;
            }
            if self.seen.len() >= COMPARED {
                let key = |(at, (v, _)): (usize, &(T, u64))| (bytemuck::bytes_of(v).to_vec(), at);
                self.indexes = self.seen.iter().enumerate().map(key).collect();
            }
        }
        let new = self.seen.len();
        let at = match self.seen.len() < COMPARED {
            true => new,
            false => *self.indexes.entry(bytemuck::bytes_of(&value).to_vec()).or_insert(new),
        };
        if at == new {
            self.seen.push((value, 0));
        }
        at
    }
}

impl<T: Number> Tally<T> for Mode<T> {
    fn add(&mut self, values: impl Iterator<Item = T>) {
        for value in values {
            let at = self.index_of(value);
            let most = self.seen.get(self.best).map_or(0, |(_, n)| *n);
            if let Some((_, n)) = self.seen.get_mut(at) {
                *n += 1;
                if *n > most {
                    self.best = at;
                }
            }
        }
    }

    fn take(&mut self) -> Option<T> {
        let value = self.seen.get(self.best).map(|(v, _)| *v);
        self.seen.clear();
        self.indexes.clear();
        self.best = 0;
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_rounded_to_the_type() {
        let mut mean = Mean::default();
        mean.add([1_i16, 2, 2].into_iter());
        assert_eq!(Tally::<i16>::take(&mut mean), Some(2));
        assert_eq!(Tally::<i16>::take(&mut mean), None);
        mean.add([0.5_f32, 1.0].into_iter());
        assert_eq!(mean.take(), Some(0.75_f32));
    }

    #[test]
    fn the_first_to_reach_the_highest_number_wins() {
        let mut mode = Mode::default();
        mode.add([7_u8, 9, 9, 7].into_iter());
        assert_eq!(mode.take(), Some(9));
        assert_eq!(mode.take(), None);
        let many: Vec<i32> = (0..1000).chain([40, 40, 3]).collect();
        mode_of(&many, 40);
        mode_of(&[5, 5, 6, 6, 6], 6);
    }

    fn mode_of(values: &[i32], expected: i32) {
        let mut mode = Mode::default();
        mode.add(values.iter().copied());
        assert_eq!(mode.take(), Some(expected), "of {values:?}");
    }
}
