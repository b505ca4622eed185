//! As much of the query language as it takes to find the names in it.

use std::collections::BTreeSet;

const LISTS: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];
/// Operators, and aggregations whose labels come first.
const WORDS: [&str; 10] =
    ["and", "or", "unless", "bool", "offset", "sum", "max", "min", "avg", "count"];

/// The names of the series that a query asks for.
pub fn names(query: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut rest = query;
    while let Some(first) = rest.chars().next() {
        let is_name = |symbol: char| symbol.is_ascii_alphanumeric() || "_:".contains(symbol);
        let length = rest.find(|symbol| !is_name(symbol)).unwrap_or(rest.len());
        if length == 0 {
            rest = match first {
                '"' => past(rest, '"'),
                '{' => past(rest, '}'),
                '[' => past(rest, ']'),
                _ => &rest[first.len_utf8()..],
            };
            continue;
        }
        let (word, after) = rest.split_at(length);
        let opens = after.trim_start().starts_with('(');
        rest = if LISTS.contains(&word) && opens { past(after, ')') } else { after };
        if !first.is_ascii_digit() && !opens && !WORDS.contains(&word) {
            names.insert(word.to_owned());
        }
    }
    names
}

/// What follows the next `end`; in braces, one inside a text does not count.
fn past(text: &str, end: char) -> &str {
    let mut quoted = false;
    for (at, symbol) in text.char_indices().skip(1) {
        if symbol == end && !quoted {
            return &text[at + end.len_utf8()..];
        }
        quoted ^= symbol == '"' && end != '"';
    }
    ""
}

/// The queries under `expr:` of a rules file, folded ones joined.
pub fn queries(yaml: &str) -> Vec<String> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = yaml.lines().collect();
    let mut queries = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(query) = line.trim_start().strip_prefix("expr: ") else { continue };
        let folded = || lines[at + 1..].iter().take_while(|next| indent(next) > indent(line));
        queries.push(match query {
            ">-" => folded().map(|next| next.trim()).collect::<Vec<_>>().join(" "),
            _ => query.to_owned(),
        });
    }
    queries
}

#[test]
fn names_are_found_wherever_they_stand() {
    let query = r#"histogram_quantile(0.5, sum by (le, x) (rate(a_bucket{y="}z"}[$__rate_interval])))
        and on (job) max by (job) (b:c) == bool 0 unless d{e=~"f|g"} offset 5m > 1.5 * 3"#;
    assert_eq!(names(query), ["a_bucket", "b:c", "d"].map(str::to_owned).into());
}
