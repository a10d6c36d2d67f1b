//! The colors of images: a color map, and the values at its ends.

use colorous::Gradient;

use crate::error::{Error, Result};
use crate::suggest;

/// The colors of an image.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Colors {
    /// The color map. `None` shows gray.
    pub map: Option<Color>,
    /// The lowest and the highest value shown; `None` to find them in the image.
    pub range: Option<(f64, f64)>,
}

impl Colors {
    /// Sets the color map by its name.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] lists the known ones.
    pub fn set_map(&mut self, name: &str) -> Result<()> {
        self.map = Some(Color::named(name)?);
        Ok(())
    }

    /// Sets the values at the ends: `0:100` or `0..100`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] says what to write.
    pub fn set_range(&mut self, text: &str) -> Result<()> {
        let ends = text.split_once("..").or_else(|| text.split_once(':'));
        let number = |text: &str| text.parse().ok().filter(|v: &f64| v.is_finite());
        let range = ends.and_then(|(lo, hi)| Some((number(lo)?, number(hi)?)));
        let range = range.filter(|(lo, hi)| lo < hi).ok_or_else(|| {
            Error::invalid(format!(
                "'{text}' is not a range; give the lowest and the highest value, such as 0:100"
            ))
        })?;
        self.range = Some(range);
        Ok(())
    }
}

/// A color map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color(&'static str);

/// The color maps that people can tell apart in print and with color blindness, some that diverge, and gray.
const MAPS: [(&str, Gradient); 8] = [
    ("viridis", colorous::VIRIDIS),
    ("magma", colorous::MAGMA),
    ("inferno", colorous::INFERNO),
    ("plasma", colorous::PLASMA),
    ("cividis", colorous::CIVIDIS),
    ("turbo", colorous::TURBO),
    ("rdbu", colorous::RED_BLUE),
    ("gray", colorous::GREYS),
];

impl Color {
    /// The color map with this name.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] lists the known ones.
    fn named(name: &str) -> Result<Self> {
        let known = MAPS.map(|(name, _)| name);
        let found = known.into_iter().find(|known| *known == name);
        found
            .map(Self)
            .ok_or_else(|| Error::invalid(suggest::unknown("color map", name, &known)))
    }

    /// The color at a share between 0 and 1 of the range.
    pub(super) fn at(self, share: f64) -> [u8; 3] {
        let gradient = MAPS.iter().find(|(name, _)| *name == self.0);
        // This map runs from white to black.
        let share = if self.0 == "gray" { 1.0 - share } else { share };
        gradient.map_or([0; 3], |(_, g)| g.eval_continuous(share.clamp(0.0, 1.0)).into_array())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_run_from_the_lowest_to_the_highest_value() {
        let ends = |name: &str| [0.0, 1.0].map(|share| Color::named(name).unwrap().at(share));
        assert_eq!(ends("gray"), [[0; 3], [255; 3]]);
        assert_eq!(ends("viridis"), [[68, 1, 84], [253, 231, 37]]);
    }
}
