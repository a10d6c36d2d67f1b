//! Images and stacks without a place on earth, in the layout of TileDB-BioImaging.

use anyhow::{Context as _, Result};
use hyperslab::schema::{ArrayType, Schema};

use super::directory::{Directory, tag};
use super::grid::{Grid, Plane};
use super::ome::{self, Stack};
use super::page::Page;
use super::{Made, Pages, pixels};
use crate::bioimg::{self, Channel, INTENSITY, Meaning};
use crate::{Length, NewArray, NewGroup, Plan};

/// By how much the ratios of the sides of a smaller copy may differ.
const RATIO_ERROR_MAX: f64 = 0.05;

/// The pages of an image: one for each plane, of each level.
struct Levels {
    /// Pages of the full size.
    full: Vec<usize>,
    /// Pages of each smaller size, in the order of `full`.
    smaller: Vec<Vec<usize>>,
    notes: Vec<String>,
}

/// The arrays and groups of an image.
pub(super) fn plan(pages: &mut Pages<'_>, directories: Vec<Directory>) -> Result<Made> {
    let levels = Levels::read(pages, directories)?;
    let first = pages
        .get(*levels.full.first().context("the TIFF has no image")?)?
        .clone();
    let description = pages.file.text(&first.directory, tag::DESCRIPTION)?.unwrap_or_default();
    let count = levels.full.len();
    let ome = ome::ome(&description, first.samples, count)?;
    let ome_xml = ome.is_some().then(|| description.clone());
    let stack = match ome {
        Some(stack) => stack,
        None => ome::imagej(&description, count).unwrap_or_else(|| ome::plain(count)),
    };
    let mut plan = Plan::default();
    plan.notes.extend(levels.notes.iter().chain(&stack.notes).cloned());
    let mut grids = Vec::new();
    let mut shapes = Vec::new();
    let mut stored = String::new();
    let all = std::iter::once(&levels.full).chain(&levels.smaller);
    for (level, numbers) in all.enumerate() {
        let page = pages.get(numbers[0])?;
        let (axes, shape) = axes(&stack, page, &first);
        let attribute = pixels(INTENSITY, page.datatype, None);
        let fill = vec![0; page.datatype.size()];
        let schema = Schema::new(ArrayType::Dense, bioimg::dimensions(&axes, &shape), vec![attribute]);
        schema.check()?;
        plan.arrays.push(NewArray {
            path: bioimg::level_name(level),
            schema,
            enumerations: Vec::new(),
            metadata: bioimg::level_metadata(level),
            length: Length::Box(shape.clone()),
        });
        let lead = shape[..shape.len() - 2].to_vec();
        let planes = planes(&stack, numbers, first.samples);
        grids.push(Grid { lead, planes, fill });
        shapes.push(shape);
        stored = axes;
    }
    let meaning = Meaning {
        source_axes: stored.clone(),
        source_shape: shapes[0].clone(),
        channels: channels(&stack, &first),
        sizes: stack.sizes.clone(),
        ome_xml,
    };
    plan.groups = vec![NewGroup {
        path: String::new(),
        metadata: bioimg::metadata(&meaning, &stored, &shapes),
    }];
    Ok(Made {
        plan,
        grids,
        unpack: None,
    })
}

impl Levels {
    fn read(pages: &mut Pages<'_>, directories: Vec<Directory>) -> Result<Self> {
        let mut levels = Self {
            full: Vec::new(),
            smaller: Vec::new(),
            notes: Vec::new(),
        };
        for directory in directories {
            let number = pages.add(directory)?;
            levels.place(pages, number)?;
        }
        levels.below(pages)?;
        Ok(levels)
    }

    /// Finds out whether a page is a plane, a smaller copy of the only plane, or another image.
    fn place(&mut self, pages: &Pages<'_>, number: usize) -> Result<()> {
        let page = pages.get(number)?;
        let Some(first) = self.full.first() else {
            self.full.push(number);
            return Ok(());
        };
        let first = pages.get(*first)?;
        let same_type = page.samples == first.samples && page.datatype == first.datatype;
        let ratio = (page.width as f64 / first.width as f64) / (page.height as f64 / first.height as f64);
        // Slide scanners keep smaller copies as tiled pages.
        let marked = page.subfile & 1 != 0 || (page.tiled && first.tiled && page.subfile == 0);
        if page.subfile & 4 != 0 {
            self.notes.push("a mask of valid pixels does not carry over".to_owned());
        } else if same_type && page.width == first.width && page.height == first.height && page.subfile & 1 == 0 {
            self.full.push(number);
        } else if same_type && marked && page.width < first.width && (ratio - 1.0).abs() < RATIO_ERROR_MAX {
            self.smaller.push(vec![number]);
        } else {
            self.notes.push(format!(
                "an image of {} × {} pixels does not carry over: it is no part of the first one",
                page.width, page.height
            ));
        }
        Ok(())
    }

    /// Adds the smaller copies that belong to each plane.
    fn below(&mut self, pages: &mut Pages<'_>) -> Result<()> {
        if self.full.len() > 1 && !self.smaller.is_empty() {
            let count = self.smaller.len();
            self.notes.push(format!(
                "{count} smaller copies do not carry over: it is unclear of which plane they are"
            ));
            self.smaller.clear();
        }
        if !self.smaller.is_empty() {
            return Ok(());
        }
        let mut copies: Vec<Vec<usize>> = Vec::new();
        for number in self.full.clone() {
            let directories = pages.below(number)?;
            let below: Result<Vec<usize>> = directories.into_iter().map(|d| pages.add(d)).collect();
            copies.push(below?);
        }
        let count = copies.iter().map(Vec::len).min().unwrap_or(0);
        for level in 0..count {
            let level: Vec<usize> = copies.iter().map(|c| c[level]).collect();
            let of = |number: &usize| pages.get(*number).map(|p| (p.width, p.height, p.samples, p.datatype));
            let all = level.iter().map(of).collect::<Result<Vec<_>>>()?;
            if all.windows(2).any(|w| w[0] != w[1]) {
                self.notes
                    .push("smaller copies of different sizes do not carry over".to_owned());
                break;
            }
            self.smaller.push(level);
        }
        Ok(())
    }
}

/// The axes and lengths of a level. Axes of length 1 are left out.
fn axes(stack: &Stack, page: &Page, first: &Page) -> (String, Vec<u64>) {
    let [t, c, z] = stack.lengths;
    let lead = [('T', t), ('C', c * first.samples), ('Z', z)];
    let kept = lead.into_iter().filter(|(_, n)| *n > 1);
    kept.chain([('Y', page.height), ('X', page.width)]).unzip()
}

/// The planes in the order T, C, Z, where the samples of a pixel are the fastest channels.
fn planes(stack: &Stack, pages: &[usize], samples: u64) -> Vec<Plane> {
    let [t, c, z] = stack.lengths.map(|n| n as usize);
    let mut planes = Vec::new();
    for time in 0..t {
        for channel in 0..c {
            for sample in 0..samples {
                for depth in 0..z {
                    let page = stack.pages[(time * c + channel) * z + depth];
                    planes.push(Plane {
                        page: page.and_then(|p| pages.get(p).copied()),
                        sample,
                    });
                }
            }
        }
    }
    planes
}

fn channels(stack: &Stack, page: &Page) -> Vec<Channel> {
    let count = stack.lengths[1] * page.samples;
    let range = (page.datatype == hyperslab::Datatype::Uint8).then_some([0.0, 255.0]);
    let colored = matches!(page.photometric, 2 | 6) && stack.lengths[1] == 1;
    let colors = [("Red", 0), ("Green", 1), ("Blue", 2)];
    let channel = |number: u64| {
        let known = stack
            .channels
            .get(number as usize)
            .filter(|_| stack.channels.len() as u64 == count);
        let mut channel = known.cloned().unwrap_or_default();
        if let Some((name, at)) = colors.get(number as usize).filter(|_| colored && known.is_none()) {
            let mut color = [0, 0, 0, 255];
            color[*at] = 255;
            channel.name = (*name).to_owned();
            channel.color = Some(color);
        }
        if channel.id.is_empty() {
            channel.id = format!("Channel:0:{number}");
        }
        if channel.name.is_empty() {
            channel.name = format!("Channel {number}");
        }
        channel.range = channel.range.or(range);
        channel
    };
    (0..count.min(4096)).map(channel).collect()
}
