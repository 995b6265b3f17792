//! What ran when on a card, drawn.
//!
//! [`model`] is the input: bands of kernels on streams, the blocks that were resident on each multiprocessor, the edges that
//! events made, and those that are missing. Every drawing is a pure function from it to text. Nothing here reads a clock,
//! a file or a device.

pub mod chrome;
pub mod html;
mod layout;
pub mod model;
pub mod svg;
pub mod terminal;
mod words;

use std::path::Path;

use model::Timeline;

/// The formats of a timeline's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A picture.
    Svg,
    /// A page.
    Html,
    /// Chrome's trace format.
    Json,
}

impl Format {
    /// Returns the format that a file's name asks for.
    ///
    /// # Errors
    ///
    /// Words for a name that ends in none of the three.
    pub fn of(path: &Path) -> Result<Format, &'static str> {
        let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_lowercase);
        match extension.as_deref() {
            Some("svg") => Ok(Format::Svg),
            Some("html") => Ok(Format::Html),
            Some("json") => Ok(Format::Json),
            _ => Err("the file name must end in .svg, .html or .json"),
        }
    }

    /// Draws a timeline in this format.
    pub fn draw(self, timeline: &Timeline) -> String {
        match self {
            Format::Svg => svg::draw(timeline),
            Format::Html => html::page(timeline),
            Format::Json => chrome::trace(timeline),
        }
    }
}

/// Returns a whole number with its thousands set apart: `1,048,576`.
pub fn thousands(number: impl Into<u64>) -> String {
    let digits = number.into().to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        for (number, text) in
            [(0_u64, "0"), (999, "999"), (1000, "1,000"), (1_048_576, "1,048,576"), (100_000, "100,000")]
        {
            assert_eq!(thousands(number), text);
        }
    }
}
