//! A part of an image, in pixels.

use std::fmt;

use image::metadata::Orientation;

/// A rectangle in an image, in pixels. `x` and `y` count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Region {
    /// The first column of pixels in the rectangle.
    pub x: u32,
    /// The first row of pixels in the rectangle.
    pub y: u32,
    /// The number of columns.
    pub width: u32,
    /// The number of rows.
    pub height: u32,
}

/// `x,y,w,h`, as in the argument.
impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{},{},{}", self.x, self.y, self.width, self.height)
    }
}

impl Region {
    /// Parses `x,y,w,h`. None if it is something else, or empty.
    pub(crate) fn parse(text: &str) -> Option<Region> {
        // Larger numbers are outside of every image.
        let number = |text: &str| {
            let number = text.trim().parse::<u64>().ok()?;
            Some(u32::try_from(number).unwrap_or(u32::MAX))
        };
        let numbers: Option<Vec<u32>> = text.split(',').map(number).collect();
        let [x, y, width, height] = numbers?.try_into().ok()?;
        (width > 0 && height > 0).then_some(Region { x, y, width, height })
    }

    /// The part of the region that is inside an image of this size.
    pub(crate) fn within(self, (width, height): (u32, u32)) -> Option<Region> {
        let inside = self.x < width && self.y < height;
        inside.then(|| Region {
            width: self.width.min(width - self.x),
            height: self.height.min(height - self.y),
            ..self
        })
    }

    /// Where the region of the upright image is in the image as stored, which has this size.
    pub(crate) fn as_stored(self, orientation: Orientation, (width, height): (u32, u32)) -> Region {
        let (is_turned, from_right, from_bottom) = match orientation {
            Orientation::NoTransforms => (false, false, false),
            Orientation::FlipHorizontal => (false, true, false),
            Orientation::FlipVertical => (false, false, true),
            Orientation::Rotate180 => (false, true, true),
            Orientation::Rotate90FlipH => (true, false, false),
            Orientation::Rotate270 => (true, true, false),
            Orientation::Rotate90 => (true, false, true),
            Orientation::Rotate270FlipH => (true, true, true),
        };
        let mut stored = match is_turned {
            true => Region { x: self.y, y: self.x, width: self.height, height: self.width },
            false => self,
        };
        if from_right {
            stored.x = width.saturating_sub(stored.x + stored.width);
        }
        if from_bottom {
            stored.y = height.saturating_sub(stored.y + stored.height);
        }
        stored
    }
}

/// Whether the orientation exchanges width and height.
pub(crate) fn is_turned(orientation: Orientation) -> bool {
    match orientation {
        Orientation::NoTransforms
        | Orientation::FlipHorizontal
        | Orientation::FlipVertical
        | Orientation::Rotate180 => false,
        Orientation::Rotate90
        | Orientation::Rotate270
        | Orientation::Rotate90FlipH
        | Orientation::Rotate270FlipH => true,
    }
}

#[cfg(test)]
#[path = "region_tests.rs"]
mod tests;
