//! The multiprocessors of a band: a thin row each, with the blocks that were resident there.

use std::collections::BTreeMap;

use super::text::{escaped, number};
use super::{Axis, Page, style};
use crate::layout::{self, Stay};
use crate::model::{Band, Kinds};
use crate::words;

/// The lowest row, on a card with many multiprocessors.
const LOWEST: f64 = 3.0;
/// The highest row.
const HIGHEST: f64 = 24.0;
/// Height of a row's part, as long as the row is not the highest.
const PART: f64 = 2.0;
/// What few multiprocessors share.
const SHARED: f64 = 96.0;
/// Between a row and the next.
const SEAM: f64 = 0.6;
/// Distance of the numbers at the left, at least.
const NUMBERS: f64 = 40.0;

/// Draws it below what the page has, if it is known where any block was.
pub(super) fn draw(page: &mut Page, axis: &Axis, band: &Band) {
    let stays = layout::stays(band, axis.pixel_ns());
    if stays.is_empty() {
        return;
    }
    let parts = stays.iter().map(|stay| stay.lanes).max().unwrap_or(1) as f64;
    let height = (parts * PART).max(SHARED / f64::from(band.sms)).clamp(LOWEST, HIGHEST);
    page.down(30.0);
    page.text("band", super::LEFT, &band.name);
    page.down(20.0);
    let kinds = band.kinds();
    legend(page, band, &kinds);
    page.down(10.0);
    let top = page.y;
    let all = height * f64::from(band.sms);
    page.put(&format!(
        "<rect class=\"row\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
        number(axis.left),
        number(top),
        number(axis.width),
        number(all)
    ));
    axis.grid(page, top, top + all);
    let most = (all / NUMBERS).clamp(1.0, 40.0) as u64;
    for sm in layout::ticks_ns(u64::from(band.sms.saturating_sub(1)), most) {
        let y = top + sm as f64 * height;
        page.put(&format!(
            "<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">SM {sm}</text>\n",
            number(axis.left - 6.0),
            number(y + height / 2.0 + 4.0)
        ));
    }
    let mut of_slices = BTreeMap::<usize, Vec<&Stay>>::new();
    for stay in &stays {
        of_slices.entry(stay.slice).or_default().push(stay);
    }
    for (index, stays) in of_slices {
        let slice = &band.slices[index];
        let path: String = stays.iter().map(|stay| rectangle(axis, stay, top, height)).collect();
        let blocks: usize = stays.iter().map(|stay| stay.blocks).sum();
        let most = stays.iter().map(|stay| stay.most).max().unwrap_or(0);
        let mut sms: Vec<u32> = stays.iter().map(|stay| stay.sm).collect();
        sms.dedup();
        page.put(&format!(
            "<path class=\"{}\" d=\"{path}\"><title>{}\n{blocks} blocks on {} multiprocessors, at most {most} at once on \
             one</title></path>\n",
            style::fill(kinds.of_slices[index]),
            escaped(&words::slice(band, slice)),
            sms.len()
        ));
    }
    page.y = top + all;
    axis.labels(page);
}

/// A stay as part of a path.
fn rectangle(axis: &Axis, stay: &Stay, top: f64, height: f64) -> String {
    let part = (height - SEAM) / stay.lanes as f64;
    let y = top + f64::from(stay.sm) * height + stay.lane as f64 * part;
    let (left, right) = axis.span(stay.start_ns, stay.end_ns, 1.0);
    let (width, part) = (number(right - left), number(part));
    format!("M{} {}h{width}v{part}h-{width}z", number(left), number(y))
}

/// Which colour is which kernel on which stream.
fn legend(page: &mut Page, band: &Band, kinds: &Kinds<'_>) {
    let mut x = super::LEFT;
    for (index, (kernel, stream)) in kinds.all.iter().enumerate() {
        let stream = band.streams.get(*stream).map_or("?", |stream| &stream.name);
        let name = super::text::clipped(&format!("{kernel} on {stream}"), 13.0, 240.0);
        let width = super::text::width(&name, 13.0) + 34.0;
        if x + width > super::WIDTH && x > super::LEFT {
            x = super::LEFT;
            page.down(20.0);
        }
        page.put(&format!(
            "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"12\" height=\"12\"/>\n",
            style::fill(index),
            number(x),
            number(page.y - 10.0)
        ));
        page.text("faint", x + 17.0, &name);
        x += width;
    }
}
