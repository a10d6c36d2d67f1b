//! How the pages of an image are ordered: by OME-XML, or by the description that ImageJ writes.

use anyhow::{Context as _, Result, ensure};

use crate::bioimg::Channel;
use hyperslab::internals::xml::Element;

/// The most planes of an image.
const PLANES_MAX: u64 = 1 << 20;

/// The axes besides rows and columns, and which page holds each plane.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Stack {
    /// The lengths of T, C and Z. Samples of a pixel are not counted in C.
    pub(super) lengths: [u64; 3],
    /// The page of each plane, in the order T, C, Z.
    pub(super) pages: Vec<Option<usize>>,
    pub(super) channels: Vec<Channel>,
    /// Sizes of a voxel and the step of time, by the name of BioImaging.
    pub(super) sizes: Vec<(&'static str, f64, Option<String>)>,
    pub(super) notes: Vec<String>,
}

/// The letters of the lengths of a stack.
const AXES: [char; 3] = ['T', 'C', 'Z'];

impl Stack {
    /// Pages as planes, in this order of axes, the first of which changes fastest.
    fn in_order(lengths: [u64; 3], fastest_first: &str) -> Self {
        let mut stack = Self {
            lengths,
            ..Self::default()
        };
        let count = lengths.iter().product::<u64>() as usize;
        stack.pages = vec![None; count];
        for page in 0..count {
            let place = stack.place(page as u64, fastest_first);
            stack.pages[place] = Some(page);
        }
        stack
    }

    /// The place in `pages` of the plane with this number in an order of axes.
    fn place(&self, number: u64, fastest_first: &str) -> usize {
        let (mut at, mut rest) = ([0; 3], number);
        for letter in fastest_first.chars() {
            if let Some(axis) = AXES.iter().position(|a| *a == letter) {
                at[axis] = rest % self.lengths[axis];
                rest /= self.lengths[axis];
            }
        }
        self.place_of(at)
    }

    fn place_of(&self, [t, c, z]: [u64; 3]) -> usize {
        let [_, channels, depth] = self.lengths;
        ((t * channels + c) * depth + z) as usize
    }
}

/// A stack of this many pages along Z.
pub(super) fn plain(pages: usize) -> Stack {
    Stack::in_order([1, 1, pages as u64], "Z")
}

/// The stack that a description by ImageJ stands for.
pub(super) fn imagej(description: &str, pages: usize) -> Option<Stack> {
    let lines = description.strip_prefix("ImageJ=")?.lines();
    let pairs: Vec<(&str, &str)> = lines.filter_map(|l| l.split_once('=')).collect();
    let value = |name: &str| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| v.trim());
    let length = |name: &str| {
        value(name)
            .and_then(|v| v.parse::<u64>().ok())
            .unwrap_or(1)
            .clamp(1, PLANES_MAX)
    };
    let lengths = [length("frames"), length("channels"), length("slices")];
    let planes = lengths.iter().try_fold(1_u64, |n, l| n.checked_mul(*l))?;
    if planes != pages as u64 {
        return None;
    }
    let mut stack = Stack::in_order(lengths, "CZT");
    let unit = value("unit").map(|u| {
        if matches!(u, "micron" | "um" | "\\u00B5m") {
            "µm"
        } else {
            u
        }
    });
    let number = |name: &str| value(name).and_then(|v| v.parse::<f64>().ok());
    if let Some(spacing) = number("spacing") {
        stack.sizes.push(("physicalSizeZ", spacing, unit.map(str::to_owned)));
    }
    if let Some(step) = number("finterval").filter(|s| *s > 0.0) {
        stack.sizes.push(("timeIncrement", step, Some("s".to_owned())));
    }
    Some(stack)
}

/// The stack that OME-XML stands for; `None` if the text is no OME-XML.
pub(super) fn ome(description: &str, samples: u64, pages: usize) -> Result<Option<Stack>> {
    let head = description.get(..description.len().min(4096)).unwrap_or(description);
    if !description.trim_start().starts_with('<') || !head.contains("OME") {
        return Ok(None);
    }
    let root = Element::parse(description)
        .map_err(anyhow::Error::msg)
        .context("the OME-XML of the file is damaged")?;
    let mut images = root.all("Image");
    let Some(pixels) = images.next().and_then(|image| image.child("Pixels")) else {
        return Ok(None);
    };
    let size = |name: &str| pixels.number::<u64>(name).unwrap_or(1).max(1);
    let (size_t, size_c, size_z) = (size("SizeT"), size("SizeC"), size("SizeZ"));
    ensure!(
        size_c.is_multiple_of(samples),
        "the OME-XML has {size_c} channels, the pages {samples} samples a pixel"
    );
    let lengths = [size_t, size_c / samples, size_z];
    let planes = lengths.iter().try_fold(1_u64, |n, l| n.checked_mul(*l));
    ensure!(
        planes.is_some_and(|n| n <= PLANES_MAX),
        "the OME-XML has more than {PLANES_MAX} planes"
    );
    let order = pixels.attribute("DimensionOrder").unwrap_or("XYZCT");
    let mut stack = match pixels.child("TiffData") {
        Some(_) => placed(pixels, lengths, order, pages)?,
        None => Stack::in_order(lengths, order),
    };
    for page in &mut stack.pages {
        *page = page.filter(|p| *p < pages);
    }
    let further = images.count();
    if further > 0 {
        stack
            .notes
            .push(format!("{further} further images of the file do not carry over"));
    }
    let missing = stack.pages.iter().filter(|p| p.is_none()).count();
    if missing > 0 {
        stack.notes.push(format!(
            "{missing} planes are in other files or missing, and have the fill value"
        ));
    }
    stack.channels = pixels.all("Channel").map(channel).collect();
    stack.sizes = sizes(pixels);
    Ok(Some(stack))
}

/// Planes at the pages that the elements `TiffData` say.
fn placed(pixels: &Element, lengths: [u64; 3], order: &str, pages: usize) -> Result<Stack> {
    let mut stack = Stack {
        lengths,
        ..Stack::default()
    };
    let count = lengths.iter().product::<u64>();
    stack.pages = vec![None; usize::try_from(count)?];
    let own = pixels
        .all("TiffData")
        .find_map(|d| d.child("UUID"))
        .and_then(|u| u.attribute("FileName"));
    for data in pixels.all("TiffData") {
        let file = data.child("UUID").and_then(|u| u.attribute("FileName"));
        if file.is_some() && file != own {
            continue;
        }
        let number = |name: &str| data.number::<u64>(name);
        let first = number("IFD").unwrap_or(0);
        let at = [number("FirstT"), number("FirstC"), number("FirstZ")].map(|n| n.unwrap_or(0));
        if at.iter().zip(lengths).any(|(at, length)| *at >= length) {
            continue;
        }
        let rest = pages as u64 - first.min(pages as u64);
        let planes = number("PlaneCount").unwrap_or(if number("IFD").is_some() { 1 } else { rest });
        let start = stack.place_of(at);
        // The number of the first plane in the order of the file.
        let Some(number) = (0..count).find(|n| stack.place(*n, order) == start) else {
            continue;
        };
        for step in 0..planes.min(count - number) {
            let place = stack.place(number + step, order);
            stack.pages[place] = usize::try_from(first + step).ok();
        }
    }
    Ok(stack)
}

fn channel(element: &Element) -> Channel {
    let text = |name: &str| element.attribute(name).unwrap_or_default().to_owned();
    let unit = element.attribute("EmissionWavelengthUnit").map(str::to_owned);
    Channel {
        id: text("ID"),
        name: text("Name"),
        color: element.number::<i64>("Color").map(|c| (c as u32).to_be_bytes()),
        wavelength: element.number::<f64>("EmissionWavelength").map(|w| (w, unit)),
        range: None,
    }
}

fn sizes(pixels: &Element) -> Vec<(&'static str, f64, Option<String>)> {
    let names = [
        ("physicalSizeX", "PhysicalSizeX", "µm"),
        ("physicalSizeY", "PhysicalSizeY", "µm"),
        ("physicalSizeZ", "PhysicalSizeZ", "µm"),
        ("timeIncrement", "TimeIncrement", "s"),
    ];
    let size = |(name, attribute, unit): &(&'static str, &str, &str)| {
        let size = pixels.number::<f64>(attribute)?;
        let unit = pixels.attribute(&format!("{attribute}Unit")).unwrap_or(unit);
        Some((*name, size, Some(unit.to_owned())))
    };
    names.iter().filter_map(size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_ordered_as_the_xml_says() {
        let xml = r#"<OME><Image><Pixels DimensionOrder="XYZCT" SizeX="4" SizeY="3" SizeZ="2" SizeC="3" SizeT="1"
            PhysicalSizeX="0.5"><Channel ID="c0" Name="DAPI" Color="65535"/><TiffData IFD="0" PlaneCount="6"/>
            </Pixels></Image></OME>"#;
        let stack = ome(xml, 1, 6).unwrap().unwrap();
        assert_eq!(stack.lengths, [1, 3, 2]);
        assert_eq!(stack.pages, (0..6).map(Some).collect::<Vec<_>>());
        assert_eq!(stack.channels[0].color, Some([0, 0, 255, 255]));
        assert_eq!(stack.sizes, [("physicalSizeX", 0.5, Some("µm".to_owned()))]);
        let stack = ome(&xml.replace("XYZCT", "XYCZT"), 1, 6).unwrap().unwrap();
        assert_eq!(stack.pages, [0, 3, 1, 4, 2, 5].map(Some));
        let xml = xml.replace(r#"IFD="0" PlaneCount="6""#, r#"IFD="1" FirstC="2" FirstZ="1""#);
        let stack = ome(&xml, 1, 6).unwrap().unwrap();
        assert_eq!(stack.pages, [None, None, None, None, None, Some(1)]);
        assert!(stack.notes[0].contains("5 planes"), "{:?}", stack.notes);
    }

    #[test]
    fn imagej_counts_channels_fastest() {
        let text = "ImageJ=1.53\nimages=6\nchannels=2\nslices=3\nspacing=2.5\nunit=micron\n";
        let stack = imagej(text, 6).unwrap();
        assert_eq!(stack.lengths, [1, 2, 3]);
        assert_eq!(stack.pages, [0, 2, 4, 1, 3, 5].map(Some));
        assert_eq!(stack.sizes, [("physicalSizeZ", 2.5, Some("µm".to_owned()))]);
        assert_eq!(imagej(text, 5), None);
    }
}
