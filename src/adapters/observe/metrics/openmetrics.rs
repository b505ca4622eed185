//! The page of a scrape in OpenMetrics 1.0, which the `prometheus` crate does not write: it knows
//! neither exemplars nor the rules of its names.

use super::exemplars::{Exemplar, Exemplars};
use prometheus::proto::{LabelPair, Metric, MetricFamily, MetricType};
use std::fmt::{self, Display, Write};
use std::sync::Arc;

/// What [`Metrics::render_openmetrics`](super::Metrics::render_openmetrics) returns.
pub const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The units of this service. One is told of a family only when it is the last word of its name.
const UNITS: [&str; 4] = ["seconds", "bytes", "ratio", "rub"];

pub(super) fn encode(families: &[MetricFamily], exemplars: &[Arc<Exemplars>]) -> String {
    let mut page = String::new();
    for family in families {
        let exemplars = exemplars.iter().find(|of| of.name() == family.name());
        write(&mut page, family, exemplars.map(Arc::as_ref)).expect("a String takes everything");
    }
    page.push_str("# EOF\n");
    page
}

fn write(page: &mut String, family: &MetricFamily, exemplars: Option<&Exemplars>) -> fmt::Result {
    let Told { name, kind } = Told::of(family);
    writeln!(page, "# TYPE {name} {kind}")?;
    if let Some(unit) = UNITS.into_iter().find(|unit| is_unit_of(name, unit)) {
        writeln!(page, "# UNIT {name} {unit}")?;
    }
    writeln!(page, "# HELP {name} {}", Escaped(family.help()))?;
    for metric in family.get_metric() {
        let labels = metric.get_label();
        match family.get_field_type() {
            // The sample keeps the whole name, with its `_total`, or `_info`.
            MetricType::COUNTER => {
                sample(page, family.name(), labels, metric.get_counter().get_value())?;
            }
            MetricType::GAUGE => {
                sample(page, family.name(), labels, metric.get_gauge().get_value())?;
            }
            MetricType::HISTOGRAM => histogram(page, name, metric, exemplars)?,
            MetricType::SUMMARY | MetricType::UNTYPED => {}
        }
    }
    Ok(())
}

/// What OpenMetrics calls a family: a counter without `_total`, an info without `_info`.
struct Told<'a> {
    name: &'a str,
    kind: &'static str,
}

impl<'a> Told<'a> {
    fn of(family: &'a MetricFamily) -> Self {
        let name = family.name();
        match family.get_field_type() {
            MetricType::COUNTER => {
                Self { name: name.strip_suffix("_total").unwrap_or(name), kind: "counter" }
            }
            MetricType::GAUGE => match name.strip_suffix("_info").filter(|_| is_info(family)) {
                Some(name) => Self { name, kind: "info" },
                None => Self { name, kind: "gauge" },
            },
            MetricType::HISTOGRAM => Self { name, kind: "histogram" },
            MetricType::SUMMARY | MetricType::UNTYPED => Self { name, kind: "unknown" },
        }
    }
}

/// An info says what is so, and is always 1; a gauge that tells which of several states holds is not.
fn is_info(family: &MetricFamily) -> bool {
    let metrics = family.get_metric();
    metrics.len() == 1 && metrics.iter().all(|metric| metric.get_gauge().get_value() == 1.0)
}

fn is_unit_of(name: &str, unit: &str) -> bool {
    name.strip_suffix(unit).is_some_and(|rest| rest.ends_with('_'))
}

fn sample(page: &mut String, name: &str, labels: &[LabelPair], value: f64) -> fmt::Result {
    writeln!(page, "{name}{} {}", Labels(labels, None), Number(value))
}

fn histogram(
    page: &mut String,
    name: &str,
    metric: &Metric,
    exemplars: Option<&Exemplars>,
) -> fmt::Result {
    let (labels, histogram) = (metric.get_label(), metric.get_histogram());
    let value_of =
        |label: &str| labels.iter().find(|pair| pair.name() == label).map_or("", LabelPair::value);
    let exemplars = exemplars.map(|family| family.of(value_of)).unwrap_or_default();
    let edges = histogram.get_bucket().iter().map(|b| (b.upper_bound(), b.cumulative_count()));
    let beyond = (f64::INFINITY, histogram.get_sample_count());
    for (place, (edge, count)) in
        edges.filter(|(edge, _)| edge.is_finite()).chain([beyond]).enumerate()
    {
        write!(page, "{name}_bucket{} {count}", Labels(labels, Some(edge)))?;
        if let Some(Some(Exemplar { trace_id, value, at })) = exemplars.get(place) {
            write!(page, " # {{trace_id=\"{trace_id:032x}\"}} {} {at:.3}", Number(*value))?;
        }
        page.push('\n');
    }
    sample(page, &format!("{name}_count"), labels, whole(histogram.get_sample_count()))?;
    sample(page, &format!("{name}_sum"), labels, histogram.get_sample_sum())
}

#[expect(clippy::cast_precision_loss, reason = "a count is far below 2^53")]
fn whole(count: u64) -> f64 {
    count as f64
}

/// Labels in braces, a bucket's edge last.
struct Labels<'a>(&'a [LabelPair], Option<f64>);

impl Display for Labels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() && self.1.is_none() {
            return Ok(());
        }
        let mut separator = '{';
        for pair in self.0 {
            write!(f, "{separator}{}=\"{}\"", pair.name(), Escaped(pair.value()))?;
            separator = ',';
        }
        match self.1 {
            Some(edge) => write!(f, "{separator}le=\"{}\"}}", Edge(edge)),
            None => f.write_char('}'),
        }
    }
}

/// An edge in the canonical form, so that every exposer's `le` is the same text: `1.0`, not `1`.
struct Edge(f64);

impl Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_infinite() { f.write_str("+Inf") } else { write!(f, "{:?}", self.0) }
    }
}

struct Number(f64);

impl Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_infinite() {
            f.write_str(if self.0 > 0.0 { "+Inf" } else { "-Inf" })
        } else {
            write!(f, "{}", self.0)
        }
    }
}

struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for symbol in self.0.chars() {
            match symbol {
                '\\' => f.write_str("\\\\")?,
                '"' => f.write_str("\\\"")?,
                '\n' => f.write_str("\\n")?,
                _ => f.write_char(symbol)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::observe::metrics::exemplars::Traced;
    use crate::adapters::observe::metrics::families::Families;
    use prometheus::Registry;

    fn page(fill: impl FnOnce(&Families<'_>) -> Vec<Arc<Exemplars>>) -> String {
        let registry = Registry::new();
        let exemplars = fill(&Families(&registry));
        encode(&registry.gather(), &exemplars)
    }

    #[test]
    fn a_counter_is_called_by_what_it_counts_and_its_sample_by_the_whole_name() {
        let page = page(|families| {
            families.counter("calls_total", "Calls", &["to"]).with_label_values(&["a"]).inc();
            families
                .seconds_total("open_seconds_total", "Open", &[])
                .with_label_values::<&str>(&[]);
            vec![]
        });
        let expected = "# TYPE calls counter\n# HELP calls Calls\ncalls_total{to=\"a\"} 1\n\
            # TYPE open_seconds counter\n# UNIT open_seconds seconds\n# HELP open_seconds Open\n\
            open_seconds_total 0\n# EOF\n";
        assert_eq!(page, expected);
    }

    #[test]
    fn an_info_is_one_and_a_gauge_of_states_is_none() {
        let page = page(|families| {
            let build = families.gauge("build_info", "Built", &["version"]);
            build.with_label_values(&["1"]).set(1);
            let state = families.gauge("state_info", "State", &["state"]);
            state.with_label_values(&["open"]).set(1);
            state.with_label_values(&["closed"]).set(0);
            families
                .ratio("share_ratio", "Share", &[])
                .with_label_values::<&str>(&[])
                .set(f64::NAN);
            vec![]
        });
        for line in [
            "# TYPE build info\n# HELP build Built\nbuild_info{version=\"1\"} 1\n",
            "# TYPE state_info gauge\n",
            "# TYPE share_ratio gauge\n# UNIT share_ratio ratio\n# HELP share_ratio Share\nshare_ratio NaN\n",
        ] {
            assert!(page.contains(line), "{page}");
        }
        assert!(!page.contains("# UNIT state") && page.ends_with("\n# EOF\n"), "{page}");
    }

    #[test]
    fn each_bucket_names_the_latest_trace_that_fell_into_it() {
        let page = page(|families| {
            let family = Traced::new(families, "took_seconds", "Took", &["to"], &[0.5, 1.0]);
            for (value, trace) in
                [(0.5, Some(1)), (0.7, Some(2)), (0.8, Some(3)), (0.9, None), (9.0, Some(4))]
            {
                family.observe(&["a"], value, trace);
            }
            family.start_at_zero(&["b"]);
            vec![family.exemplars()]
        });
        let told = |bucket: &str| {
            let line = page.lines().find(|line| line.starts_with(bucket)).unwrap();
            line.split_once(" # ").map(|(sample, exemplar)| {
                let (exemplar, at) = exemplar.rsplit_once(' ').unwrap();
                assert!(at.parse::<f64>().unwrap() > 1.7e9);
                (sample.rsplit(' ').next().unwrap().to_owned(), exemplar.to_owned())
            })
        };
        for (edge, count, trace, value) in
            [("0.5", 1, 1, "0.5"), ("1.0", 4, 3, "0.8"), ("+Inf", 5, 4, "9")]
        {
            let exemplar = format!("{{trace_id=\"{trace:032x}\"}} {value}");
            let bucket = format!("took_seconds_bucket{{to=\"a\",le=\"{edge}\"}}");
            assert_eq!(told(&bucket), Some((count.to_string(), exemplar)), "{page}");
        }
        assert_eq!(told("took_seconds_bucket{to=\"b\",le=\"0.5\"}"), None);
        assert!(page.contains("took_seconds_count{to=\"a\"} 5\n"));
    }

    #[test]
    fn hostile_text_stays_inside_its_quotes() {
        let page = page(|families| {
            families.gauge("g", "a\\b \"c\"\nd", &["x"]).with_label_values(&["1\"\\\n2"]).set(3);
            vec![]
        });
        assert!(
            page.contains("# HELP g a\\\\b \\\"c\\\"\\nd\ng{x=\"1\\\"\\\\\\n2\"} 3\n"),
            "{page}"
        );
    }
}
