//! Pictures: bars and lines as plain SVG that reads by day and by night.

use super::text::{Lang, Text};
use std::fmt::{self, Write};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 66.0;
const BOTTOM: f64 = 48.0;

/// Colours that people who see red and green alike can tell apart (Okabe and Ito).
const COLOURS: [&str; 5] = ["#d55e00", "#0072b2", "#e69f00", "#009e73", "#cc79a7"];

const STYLE: &str = "svg{font:13px system-ui,sans-serif;background:#fff}text{fill:#222}\
.grid{stroke:#ddd}.axis{stroke:#777}.title{font-weight:600;font-size:15px}\
@media(prefers-color-scheme:dark){svg{background:#14171c}text{fill:#ddd}.grid{stroke:#333}}";

/// What is drawn. The first series is the one without the guard.
#[derive(Debug)]
pub enum Chart {
    /// Groups of bars, one of each series.
    Bars(Plot, Vec<Text>, Vec<(Text, Vec<f64>)>),
    /// A line for each series.
    Lines(Plot, Vec<(Text, Vec<(f64, f64)>)>),
}

/// The frame.
#[derive(Debug)]
pub struct Plot {
    /// What is seen.
    pub title: Text,
    /// Along.
    pub x: Text,
    /// Up.
    pub y: Text,
    /// Whether each step up is ten times more.
    pub logarithmic: bool,
}

impl Chart {
    /// As the text of an SVG file.
    #[must_use]
    pub fn svg(&self, lang: Lang) -> String {
        let mut out = String::new();
        self.write(&mut out, lang).expect("a string takes everything");
        out
    }

    fn write(&self, out: &mut String, lang: Lang) -> fmt::Result {
        let (plot, names): (&Plot, Vec<&Text>) = match self {
            Self::Bars(plot, _, series) => (plot, series.iter().map(|(name, _)| name).collect()),
            Self::Lines(plot, series) => (plot, series.iter().map(|(name, _)| name).collect()),
        };
        let axis = Axis::over(&self.heights(), plot.logarithmic);
        let title = escape(plot.title.of(lang));
        writeln!(
            out,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">"#
        )?;
        writeln!(out, "<style>{STYLE}</style>")?;
        writeln!(out, r#"<text class="title" x="{LEFT}" y="22">{title}</text>"#)?;
        legend(out, &names, lang)?;
        axis.grid(out)?;
        writeln!(out, r#"<text x="{LEFT}" y="{}">{}</text>"#, TOP - 8.0, escape(plot.y.of(lang)))?;
        let (end, foot) = (WIDTH - RIGHT, HEIGHT - 8.0);
        let x = escape(plot.x.of(lang));
        writeln!(out, r#"<text x="{end}" y="{foot}" text-anchor="end">{x}</text>"#)?;
        match self {
            Self::Bars(_, groups, series) => bars(out, &axis, groups, series, lang)?,
            Self::Lines(_, series) => lines(out, &axis, series)?,
        }
        writeln!(out, "</svg>")
    }

    fn heights(&self) -> Vec<f64> {
        match self {
            Self::Bars(_, _, series) => series.iter().flat_map(|(_, ys)| ys.clone()).collect(),
            Self::Lines(_, series) => {
                series.iter().flat_map(|(_, points)| points.iter().map(|(_, y)| *y)).collect()
            }
        }
    }
}

/// From a value to its place above the foot.
struct Axis {
    logarithmic: bool,
    steps: Vec<f64>,
}

impl Axis {
    fn over(values: &[f64], logarithmic: bool) -> Self {
        let most = values.iter().copied().fold(0.0, f64::max);
        let steps = if logarithmic {
            let least = values.iter().copied().filter(|value| *value > 0.0).fold(most, f64::min);
            let first = [0.001, 0.01, 0.1].into_iter().find(|decade| *decade * 10.0 > least);
            let first = first.filter(|_| least < 1.0).unwrap_or(1.0);
            let mut steps = vec![first];
            while steps[steps.len() - 1] < most || steps.len() == 1 {
                steps.push(steps[steps.len() - 1] * 10.0);
            }
            steps
        } else {
            let step = even_step(most / 4.0);
            (0..=5).map(|n| step * f64::from(n)).take_while(|at| *at < most + step).collect()
        };
        Self { logarithmic, steps }
    }

    fn y(&self, value: f64) -> f64 {
        let (low, high) = (self.steps[0], self.steps[self.steps.len() - 1]);
        let part = if self.logarithmic {
            (value.max(low) / low).log10() / (high / low).log10()
        } else {
            value / high
        };
        HEIGHT - BOTTOM - part.clamp(0.0, 1.0) * (HEIGHT - BOTTOM - TOP)
    }

    fn grid(&self, out: &mut String) -> fmt::Result {
        for step in &self.steps {
            let y = self.y(*step);
            let (end, text, low) = (WIDTH - RIGHT, LEFT - 8.0, y + 4.0);
            writeln!(out, r#"<path class="grid" d="M{LEFT} {y:.1}H{end}"/>"#)?;
            let word = short(*step);
            writeln!(out, r#"<text x="{text}" y="{low:.1}" text-anchor="end">{word}</text>"#)?;
        }
        let (foot, end) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        writeln!(out, r#"<path class="axis" d="M{LEFT} {foot}H{end}"/>"#)
    }
}

/// 1, 2 or 5 of some power of ten, at least so much.
fn even_step(least: f64) -> f64 {
    if least <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|n| *n >= least).unwrap_or(least)
}

fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

fn legend(out: &mut String, names: &[&Text], lang: Lang) -> fmt::Result {
    let mut x = LEFT;
    for (name, colour) in names.iter().zip(COLOURS) {
        let name = name.of(lang);
        writeln!(out, r#"<rect x="{x:.0}" y="32" width="12" height="12" fill="{colour}"/>"#)?;
        writeln!(out, r#"<text x="{:.0}" y="43">{}</text>"#, x + 17.0, escape(name))?;
        x += 34.0 + width(name);
    }
    Ok(())
}

fn bars(
    out: &mut String,
    axis: &Axis,
    groups: &[Text],
    series: &[(Text, Vec<f64>)],
    lang: Lang,
) -> fmt::Result {
    let number = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let room = (WIDTH - LEFT - RIGHT) / number(groups.len());
    let bar = (room * 0.7 / number(series.len())).min(70.0);
    let foot = HEIGHT - BOTTOM;
    let crowded = groups.iter().any(|group| width(group.of(lang)) > room);
    for (g, group) in groups.iter().enumerate() {
        let middle = LEFT + room * (number(g) + 0.5);
        for (s, ((_, values), colour)) in series.iter().zip(COLOURS).enumerate() {
            let x = middle + bar * (number(s) - number(series.len()) / 2.0);
            let y = axis.y(values[g]);
            let (height, width) = (foot - y, bar - 3.0);
            writeln!(
                out,
                r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{colour}"><title>{}</title></rect>"#,
                short(values[g])
            )?;
        }
        // Words that would run into one another stand on two lines by turns.
        let drop = if crowded && g % 2 == 1 { 33.0 } else { 18.0 };
        let (y, word) = (foot + drop, escape(group.of(lang)));
        writeln!(out, r#"<text x="{middle:.1}" y="{y}" text-anchor="middle">{word}</text>"#)?;
    }
    Ok(())
}

fn lines(out: &mut String, axis: &Axis, series: &[(Text, Vec<(f64, f64)>)]) -> fmt::Result {
    let points = series.iter().flat_map(|(_, points)| points);
    let most = points.map(|(x, _)| *x).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let place = |x: f64| LEFT + x / most * (WIDTH - LEFT - RIGHT);
    let step = even_step(most / 8.0);
    let mut at = 0.0;
    while at <= most {
        let (x, y) = (place(at), HEIGHT - BOTTOM + 18.0);
        writeln!(out, r#"<text x="{x:.1}" y="{y}" text-anchor="middle">{}</text>"#, short(at))?;
        at += step;
    }
    for ((_, points), colour) in series.iter().zip(COLOURS) {
        let path = points.iter().map(|(x, y)| format!("{:.1} {:.1}", place(*x), axis.y(*y)));
        let path = path.collect::<Vec<_>>().join("L");
        writeln!(out, r#"<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>"#)?;
    }
    Ok(())
}

/// About as wide as the words are drawn.
fn width(words: &str) -> f64 {
    7.2 * f64::from(u32::try_from(words.chars().count()).unwrap_or(u32::MAX))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
