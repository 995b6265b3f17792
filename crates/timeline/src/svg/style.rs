//! Colours and type of an SVG, for light and for dark surroundings.

/// What is drawn in one colour, with that colour in light and in dark surroundings.
const COLOURS: [(&str, [&str; 2]); 6] = [
    ("ink", ["#1b1f24", "#e8eaed"]),
    ("paper", ["#ffffff", "#15181c"]),
    ("faint", ["#555d66", "#a3abb5"]),
    ("row", ["#f1f3f5", "#20252b"]),
    ("grid", ["#d3d8dd", "#39414a"]),
    ("missing", ["#c4001d", "#ff6b6b"]),
];

/// Bars and the text on them, in light and in dark surroundings: the hues of Okabe and Ito, which the colour-blind tell
/// apart, each of a brightness that stands out from what is around it.
const KINDS: [[[&str; 2]; 2]; 8] = [
    [["#0063a0", "#ffffff"], ["#4ba3e3", "#15181c"]],
    [["#b97f00", "#15181c"], ["#e69f00", "#15181c"]],
    [["#007a59", "#ffffff"], ["#1fb58a", "#15181c"]],
    [["#a8527f", "#ffffff"], ["#d98bb5", "#15181c"]],
    [["#2e93cf", "#15181c"], ["#8fd0f7", "#15181c"]],
    [["#b34a00", "#ffffff"], ["#e0703a", "#15181c"]],
    [["#948900", "#15181c"], ["#e6da4a", "#15181c"]],
    [["#626b75", "#ffffff"], ["#9aa3ad", "#15181c"]],
];

/// Looks that a kernel on a stream can have: each colour plain, then with stripes of one slant, then of the other.
const LOOKS: usize = 3 * KINDS.len();

const RULES: &str = "\
text{font-family:system-ui,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:13px;fill:var(--ink)}
.title{font-size:24px;font-weight:600}
.part{font-size:19px;font-weight:600}
.band{font-size:16px;font-weight:600}
.faint,.tick{fill:var(--faint)}
.tick{font-size:11px}
.kind{font-size:10px;fill:var(--faint)}
.inside{font-size:12px}
.inside,.beside,.missing-name{pointer-events:none}
.beside{font-size:12px;paint-order:stroke;stroke:var(--paper);stroke-width:3px}
.paper{fill:var(--paper)}
.row{fill:var(--row)}
.grid{stroke:var(--grid);fill:none}
.range{stroke:var(--faint);fill:none}
.stripe{fill:var(--paper);opacity:.5}
.edge{fill:none;stroke-width:1.6}
.halo{fill:none;stroke:var(--paper);stroke-width:4;opacity:.75}
.event{stroke:var(--ink)}
.empty{stroke:var(--faint);stroke-width:1.4;stroke-dasharray:1.5 3}
.missing{stroke:var(--missing);stroke-width:2;stroke-dasharray:7 4}
.event-head{fill:var(--ink)}
.empty-head{fill:var(--faint)}
.missing-head{fill:var(--missing)}
.missing-name{font-weight:600;fill:var(--missing);paint-order:stroke;stroke:var(--paper);stroke-width:3px}
";

/// The class that gives a kernel on a stream its fill.
pub(super) fn fill(kind: usize) -> String {
    format!("k{}", kind % LOOKS)
}

/// The class of text on that fill.
pub(super) fn on_fill(kind: usize) -> String {
    format!("inside t{}", kind % KINDS.len())
}

/// The elements that what is drawn refers to: the style, and the stripes of kinds that have no colour of their own.
pub(super) fn definitions(kinds: usize) -> String {
    let looks = kinds.min(LOOKS);
    let [light, dark] = [0, 1].map(|surroundings| {
        let named = COLOURS.iter().map(|(name, colour)| format!("--{name}:{};", colour[surroundings]));
        let of_kinds = KINDS.iter().take(kinds).map(|look| look[surroundings]).enumerate();
        let of_kinds = of_kinds.map(|(index, [fill, text])| format!("--c{index}:{fill};--t{index}:{text};"));
        named.chain(of_kinds).collect::<String>()
    });
    let mut out = format!(
        "<style>\nsvg{{{light}color-scheme:light dark}}\n@media (prefers-color-scheme:dark){{svg{{{dark}}}}}\n{RULES}"
    );
    for look in 0..looks {
        let colour = look % KINDS.len();
        out += &if look == colour {
            format!(".k{look}{{fill:var(--c{look})}}.t{look}{{fill:var(--t{look})}}\n")
        } else {
            format!(".k{look}{{fill:url(#stripes{look})}}\n")
        };
    }
    out += "</style>\n<defs>\n";
    for kind in ["event", "empty", "missing"] {
        out += &format!(
            "<marker id=\"{kind}\" viewBox=\"0 0 9 8\" refX=\"8.5\" refY=\"4\" markerWidth=\"9\" markerHeight=\"8\" \
             markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"{kind}-head\" d=\"M0 0L9 4L0 8z\"/></marker>\n"
        );
    }
    for look in KINDS.len()..looks {
        let slant = if look < 2 * KINDS.len() { 45 } else { 135 };
        out += &format!(
            "<pattern id=\"stripes{look}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
             patternTransform=\"rotate({slant})\"><rect class=\"k{}\" width=\"6\" height=\"6\"/>\
             <rect class=\"stripe\" width=\"1.5\" height=\"6\"/></pattern>\n",
            look % KINDS.len()
        );
    }
    out + "</defs>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance, by the definition of the Web Content Accessibility Guidelines.
    fn luminance(colour: &str) -> f64 {
        let part = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let [one, other] = [one, other].map(luminance);
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    fn named(name: &str) -> [&'static str; 2] {
        COLOURS.iter().find(|(its, _)| *its == name).unwrap().1
    }

    #[test]
    fn everything_stands_out_in_both_surroundings() {
        for surroundings in [0, 1] {
            let [paper, row] = ["paper", "row"].map(|name| named(name)[surroundings]);
            for behind in [paper, row] {
                for text in ["ink", "faint", "missing"] {
                    assert!(contrast(named(text)[surroundings], behind) >= 4.5, "{text} on {behind}");
                }
                for [fill, text] in KINDS.map(|look| look[surroundings]) {
                    assert!(contrast(fill, behind) >= 3.0, "{fill} on {behind}");
                    assert!(contrast(text, fill) >= 4.5, "{text} on {fill}");
                }
            }
        }
    }

    #[test]
    fn a_kind_beyond_the_colours_looks_different_from_all_before_it() {
        let looks: std::collections::BTreeSet<_> = (0..LOOKS).map(fill).collect();
        assert_eq!(looks.len(), LOOKS);
        for look in 0..LOOKS {
            assert!(definitions(LOOKS).contains(&format!(".k{look}{{")), "{look}");
        }
    }
}
