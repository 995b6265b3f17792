//! A timeline as a picture: one SVG file that stands alone, for a page and for a lecture.
//!
//! All bands lie one under another on one axis, first what ran on the streams, then what each multiprocessor held. The
//! picture is also told in words, for a reader who cannot see it.

mod band;
mod edges;
mod route;
mod sms;
mod style;
mod text;

use crate::layout;
use crate::model::{EdgeKind, Timeline};
use crate::words;
use text::{escaped, number};

/// Width of the page.
const WIDTH: f64 = 1280.0;
/// Where its text begins.
const LEFT: f64 = 24.0;
/// Width of the streams' names.
const NAMES: f64 = 116.0;
/// Room for edges before the axis begins.
const BEFORE: f64 = 44.0;
/// Room for a name beside the last bar.
const BEHIND: f64 = 134.0;
/// Ticks of the axis, at most.
const TICKS: u64 = 15;

/// Draws it as the text of an SVG file. The same timeline gives the same bytes.
pub fn draw(timeline: &Timeline) -> String {
    let axis = Axis {
        left: LEFT + NAMES + BEFORE,
        width: WIDTH - LEFT - NAMES - BEFORE - BEHIND,
        end_ns: timeline.end_ns(),
    };
    let mut page = Page { body: String::new(), y: 0.0 };
    heading(&mut page, timeline);
    for band in &timeline.bands {
        band::draw(&mut page, &axis, band);
    }
    if timeline.bands.iter().flat_map(|band| &band.slices).any(|slice| !slice.blocks.is_empty()) {
        page.down(54.0);
        page.text("part", LEFT, "Multiprocessors");
        page.down(20.0);
        page.text(
            "faint",
            LEFT,
            "Each has one thin row, coloured where blocks were resident. While blocks of several kernels are, they share it.",
        );
        for band in &timeline.bands {
            sms::draw(&mut page, &axis, band);
        }
    }
    footnote(&mut page, timeline);
    let kinds = timeline.bands.iter().map(|band| band.kinds().all.len()).max().unwrap_or(0);
    let Page { body, y: height } = page;
    let (width, height) = (number(WIDTH), number(height));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" aria-labelledby=\"title words\">\n<title id=\"title\">{}</title>\n<desc id=\"words\">{}</desc>\n{}\
         <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n{body}</svg>\n",
        escaped(&name(timeline)),
        escaped(&words::whole(timeline)),
        style::definitions(kinds),
    )
}

fn name(timeline: &Timeline) -> String {
    let times = if timeline.is_virtual { "virtual time" } else { "time" };
    format!("{} on {}, {times}", timeline.title, timeline.card)
}

fn heading(page: &mut Page, timeline: &Timeline) {
    page.down(44.0);
    page.text("title", LEFT, &timeline.title);
    page.down(24.0);
    let times = if timeline.is_virtual {
        "virtual time: what a model of the card says, not a measurement"
    } else {
        "measured"
    };
    page.text("faint", LEFT, &format!("{} · {times}", timeline.card));
    let is_drawn = |kind| timeline.bands.iter().flat_map(|band| &band.edges).any(|edge| edge.kind == kind);
    let kinds = [
        (EdgeKind::Event, "event: waits for the end"),
        (EdgeKind::Empty, "wait that orders nothing"),
        (EdgeKind::Missing, "missing: nothing makes it wait"),
    ];
    let mut x = LEFT;
    let used = kinds.into_iter().filter(|(kind, _)| is_drawn(*kind)).collect::<Vec<_>>();
    if !used.is_empty() {
        page.down(26.0);
    }
    for (kind, meaning) in used {
        let class = edges::class(kind);
        let y = number(page.y - 4.0);
        page.put(&format!(
            "<path class=\"edge {class}\" d=\"M{} {y}h44\" marker-end=\"url(#{class})\"/>\n",
            number(x)
        ));
        page.text("", x + 52.0, meaning);
        x += 52.0 + text::width(meaning, 13.0) + 24.0;
    }
}

fn footnote(page: &mut Page, timeline: &Timeline) {
    page.down(40.0);
    let virtual_times = if timeline.is_virtual { " The times are virtual." } else { "" };
    let note = format!(
        "Times are in microseconds (us), from a clock with steps of {} ns.{virtual_times} Each bar is from the first \
         warp's start to the last one's end.",
        timeline.step_ns
    );
    page.text("faint", LEFT, &note);
    if timeline.bands.iter().flat_map(|band| &band.slices).any(|slice| slice.blocks.is_empty()) {
        page.down(20.0);
        let note = "What has no blocks, as copies and fills, is from a reading of the clock before it to one behind it.";
        page.text("faint", LEFT, note);
    }
    page.down(24.0);
}

/// What was drawn so far, and how far down it reaches.
struct Page {
    body: String,
    y: f64,
}

impl Page {
    fn down(&mut self, by: f64) {
        self.y += by;
    }

    fn put(&mut self, elements: &str) {
        self.body += elements;
    }

    /// A line of text that stands at the present height.
    fn text(&mut self, class: &str, x: f64, text: &str) {
        let (x, y) = (number(x), number(self.y));
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        self.body += &format!("<text{class} x=\"{x}\" y=\"{y}\">{}</text>\n", escaped(text));
    }
}

/// The axis that all bands share.
struct Axis {
    left: f64,
    width: f64,
    end_ns: u64,
}

impl Axis {
    fn right(&self) -> f64 {
        self.left + self.width
    }

    /// Where a time is.
    fn x(&self, ns: u64) -> f64 {
        self.left + ns as f64 / self.end_ns.max(1) as f64 * self.width
    }

    /// From where to where a time lasts, at least so wide, and within the axis.
    fn span(&self, start_ns: u64, end_ns: u64, least: f64) -> (f64, f64) {
        let bar = (self.x(start_ns), self.x(end_ns));
        layout::widened(&[bar], least, self.right()).first().copied().unwrap_or(bar)
    }

    /// What no reader can tell apart, ns.
    fn pixel_ns(&self) -> u64 {
        (self.end_ns as f64 / self.width) as u64
    }

    /// The ticks as lines over some height.
    fn grid(&self, page: &mut Page, top: f64, bottom: f64) {
        let lines = layout::ticks_ns(self.end_ns, TICKS);
        let lines: String =
            lines.map(|ns| format!("M{} {}V{}", number(self.x(ns)), number(top), number(bottom))).collect();
        page.put(&format!("<path class=\"grid\" d=\"{lines}\"/>\n"));
    }

    /// The ticks' numbers below what the page has.
    fn labels(&self, page: &mut Page) {
        page.down(15.0);
        let y = number(page.y);
        let mut labels = String::new();
        for ns in layout::ticks_ns(self.end_ns, TICKS) {
            let (x, us) = (number(self.x(ns)), words::us(ns));
            labels += &format!("<text class=\"tick\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{us}</text>");
        }
        let x = number(self.right() + 40.0);
        page.put(&format!("{labels}<text class=\"tick\" x=\"{x}\" y=\"{y}\">us</text>\n"));
    }
}
