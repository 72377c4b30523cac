//! Draws a chart of horizontal bars as SVG. The style sheet in the image follows the reader's light or dark theme.

use std::fmt::Write as _;

use crate::target::{short_number, with_commas};

/// A chart of ratios. A bar starts at 1 and extends to the ratio, on a logarithmic axis.
pub(crate) struct Drawing {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    /// What a ratio below and above 1 means.
    pub(crate) directions: [&'static str; 2],
    pub(crate) groups: Vec<Group>,
    pub(crate) footer: Vec<String>,
}

/// The bars of one task.
pub(crate) struct Group {
    pub(crate) heading: String,
    /// The number that the ratios compare with.
    pub(crate) ours: String,
    pub(crate) bars: Vec<Bar>,
}

pub(crate) struct Bar {
    pub(crate) label: String,
    /// `None` if there is nothing to compare; `number` then says why.
    pub(crate) ratio: Option<f64>,
    pub(crate) number: String,
}

const STYLE: &str = "\
.back{fill:#ffffff;stroke:#d1d9e0}text{stroke:#ffffff}.text{fill:#1f2328}.muted{fill:#59636e}.grid{stroke:#d1d9e0}.one{stroke:#59636e}
.ahead{fill:#0969da}.behind{fill:#bc4c00}
@media (prefers-color-scheme:dark){
.back{fill:#0d1117;stroke:#3d444d}text{stroke:#0d1117}.text{fill:#f0f6fc}.muted{fill:#9198a1}.grid{stroke:#3d444d}.one{stroke:#9198a1}
.ahead{fill:#4493f8}.behind{fill:#f0883e}}
text{font-family:-apple-system,'Segoe UI','Noto Sans',Helvetica,Arial,sans-serif;font-size:12px;\
paint-order:stroke;stroke-width:4px;stroke-linejoin:round}
.title{font-size:17px;font-weight:600}.heading{font-size:13px;font-weight:600}.ratio{font-weight:600}.small{font-size:11px}";

const WIDTH: f64 = 820.0;
const MARGIN: f64 = 20.0;
/// The space for the labels of bars.
const LABELS: f64 = 235.0;
/// The space for the numbers after the longest bar.
const NUMBERS: f64 = 135.0;
const BAR: f64 = 14.0;
const BAR_PITCH: f64 = 20.0;
const LINE: f64 = 17.0;
/// The smallest space between two ticks of the axis.
const TICK_SPACE: f64 = 44.0;
/// Bounds and ticks of an axis.
const ROUND: [f64; 19] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0,
    2000.0, 5000.0, 10000.0,
];

/// Maps ratios to horizontal positions.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// An axis that contains all ratios, and some space on both sides of 1.
    fn new(ratios: impl Iterator<Item = f64> + Clone) -> Axis {
        let (least, most) = (ratios.clone().fold(0.8, f64::min), ratios.fold(1.25, f64::max));
        let below = ROUND.iter().rev().find(|round| **round <= least);
        let above = ROUND.iter().find(|round| **round >= most);
        Axis { low: below.copied().unwrap_or(least), high: above.copied().unwrap_or(most) }
    }

    fn position(&self, ratio: f64) -> f64 {
        let width = WIDTH - 2.0 * MARGIN - LABELS - NUMBERS;
        let share = (ratio / self.low).ln() / (self.high / self.low).ln();
        MARGIN + LABELS + share.clamp(0.0, 1.0) * width
    }

    /// The ticks: 1 first, then those that have enough space.
    fn ticks(&self) -> Vec<f64> {
        let powers_first = [1.0, 10.0, 100.0, 1000.0, 0.1, 0.01].into_iter().chain(ROUND);
        let mut ticks: Vec<f64> = Vec::new();
        for tick in powers_first.filter(|tick| (self.low..=self.high).contains(tick)) {
            let at = self.position(tick);
            if ticks.iter().all(|other| (self.position(*other) - at).abs() >= TICK_SPACE) {
                ticks.push(tick);
            }
        }
        ticks
    }
}

impl Drawing {
    pub(crate) fn svg(&self) -> String {
        let bars = self.groups.iter().flat_map(|group| &group.bars);
        let axis = Axis::new(bars.filter_map(|bar| bar.ratio));
        let mut body = String::new();
        let mut y = MARGIN + 14.0;
        label(&mut body, "title text", MARGIN, y, &self.title);
        y += 22.0;
        label(&mut body, "muted", MARGIN, y, &self.subtitle);
        y += 26.0;
        let one = axis.position(1.0);
        let [below, above] = self.directions;
        end_label(&mut body, "small muted", one - 10.0, y, &format!("← {below}"));
        label(&mut body, "small muted", one + 10.0, y, &format!("{above} →"));
        y += LINE;
        let ticks_at = y;
        y += 8.0;
        for tick in axis.ticks() {
            let (at, number) = (axis.position(tick), tick_number(tick));
            let _ = writeln!(
                body,
                r#"<text class="small muted" x="{at:.1}" y="{ticks_at:.1}" text-anchor="middle">{number}×</text>"#
            );
        }
        for group in &self.groups {
            y = group.draw(&axis, y, &mut body);
        }
        y += 12.0;
        for line in &self.footer {
            y += LINE;
            label(&mut body, "small muted", MARGIN, y, line);
        }
        let (height, title) = (y + MARGIN, escaped(&self.title));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
             height=\"{height}\" role=\"img\" aria-label=\"{title}\">\n<style>\n{STYLE}\n</style>\n\
             <rect class=\"back\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"6\"/>\n{body}</svg>\n",
            WIDTH - 1.0,
            height - 1.0
        )
    }
}

impl Group {
    /// Draws the group below `y` and returns its lower end.
    fn draw(&self, axis: &Axis, y: f64, rows: &mut String) -> f64 {
        let mut y = y + LINE + 4.0;
        let (heading, ours) = (escaped(&self.heading), escaped(&self.ours));
        let _ = writeln!(
            rows,
            r#"<text class="heading text" x="{MARGIN}" y="{y:.1}">{heading}<tspan class="small muted" font-weight="400" dx="10">{ours}</tspan></text>"#
        );
        y += 8.0;
        let bottom = y + BAR_PITCH * self.bars.len() as f64;
        for tick in axis.ticks() {
            let (at, is_one) = (axis.position(tick), (tick - 1.0).abs() < f64::EPSILON);
            let class = if is_one { "one" } else { "grid" };
            let _ = writeln!(
                rows,
                r#"<line class="{class}" x1="{at:.1}" x2="{at:.1}" y1="{:.1}" y2="{:.1}"/>"#,
                y - 3.0,
                bottom - 3.0
            );
        }
        for bar in &self.bars {
            let baseline = y + BAR - 3.0;
            end_label(rows, "text", MARGIN + LABELS - 10.0, baseline, &bar.label);
            let one = axis.position(1.0);
            let end = bar.ratio.map_or(one, |ratio| axis.position(ratio));
            if let Some(ratio) = bar.ratio {
                let class = if ratio < 1.0 { "behind" } else { "ahead" };
                let (from, width) = (one.min(end), (one - end).abs().max(1.0));
                let _ = writeln!(
                    rows,
                    r#"<rect class="{class}" x="{from:.1}" y="{y:.1}" width="{width:.1}" height="{BAR}" rx="2"/>"#
                );
            }
            let (x, number) = (one.max(end) + 7.0, escaped(&bar.number));
            let text = match bar.ratio {
                Some(ratio) => format!(
                    r#"<tspan class="ratio text">{}×</tspan><tspan dx="8">{number}</tspan>"#,
                    ratio_number(ratio)
                ),
                None => number,
            };
            let _ =
                writeln!(rows, r#"<text class="muted" x="{x:.1}" y="{baseline:.1}">{text}</text>"#);
            y += BAR_PITCH;
        }
        y
    }
}

fn label(svg: &mut String, class: &str, x: f64, y: f64, text: &str) {
    let _ =
        writeln!(svg, r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{}</text>"#, escaped(text));
}

/// A label that ends at `x`.
fn end_label(svg: &mut String, class: &str, x: f64, y: f64, text: &str) {
    let text = escaped(text);
    let _ = writeln!(
        svg,
        r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="end">{text}</text>"#
    );
}

fn ratio_number(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.2}") } else { short_number(ratio) }
}

fn tick_number(tick: f64) -> String {
    if tick < 1.0 { tick.to_string() } else { with_commas(tick) }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
