//! Text in an SVG: escaped, and measured without a font.

use crate::words;

/// Width of a character, as a part of the font's size; of one that is not ASCII, twice that. Few fonts are wider.
const CHARACTER: f64 = 0.6;

/// `text` as the content of an element. A character that XML does not allow becomes the replacement character.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push('\n'),
            '\u{fffe}' | '\u{ffff}' => out.push(char::REPLACEMENT_CHARACTER),
            _ if letter.is_control() => out.push(char::REPLACEMENT_CHARACTER),
            _ => out.push(letter),
        }
    }
    out
}

fn units(letter: char) -> usize {
    if letter.is_ascii() { 1 } else { 2 }
}

/// How wide `text` is at most in a font of this size.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(units).sum::<usize>() as f64 * size * CHARACTER
}

/// `text`, or as much of it as fits in `room`.
pub(super) fn clipped(text: &str, size: f64, room: f64) -> String {
    words::clipped(text, (room / size / CHARACTER) as usize, units)
}

/// `text` in lines that fit in `room`.
pub(super) fn wrapped(text: &str, size: f64, room: f64) -> Vec<String> {
    words::wrapped(text, (room / size / CHARACTER) as usize)
}

/// A coordinate with at most two decimals.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}
