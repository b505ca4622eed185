//! Which language people are spoken to in: Russian when the client prefers it, else English.

use http::HeaderMap;
use http::header::ACCEPT_LANGUAGE;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lang {
    #[default]
    En,
    Ru,
}

/// The same sentence in both languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text {
    en: &'static str,
    ru: &'static str,
}

impl Text {
    pub const fn new(en: &'static str, ru: &'static str) -> Self {
        Self { en, ru }
    }

    pub const fn in_lang(self, lang: Lang) -> &'static str {
        match lang {
            Lang::En => self.en,
            Lang::Ru => self.ru,
        }
    }
}

impl Lang {
    /// The preference of `Accept-Language` (RFC 9110, section 12.5.4): the range with the highest
    /// weight wins, at equal weights the first. `*` stands for English.
    pub fn of(headers: &HeaderMap) -> Self {
        let ranges = headers
            .get_all(ACCEPT_LANGUAGE)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','));
        let (mut best, mut best_weight) = (Self::En, 0);
        for range in ranges {
            if let Some((lang, weight)) = weighted(range)
                && weight > best_weight
            {
                (best, best_weight) = (lang, weight);
            }
        }
        best
    }
}

/// The language of a range that we speak, with its weight in thousandths.
fn weighted(range: &str) -> Option<(Lang, u16)> {
    let mut parts = range.split(';').map(str::trim);
    let tag = parts.next()?;
    let primary = tag.split('-').next().unwrap_or(tag);
    let lang = if primary.eq_ignore_ascii_case("ru") {
        Lang::Ru
    } else if primary.eq_ignore_ascii_case("en") || tag == "*" {
        Lang::En
    } else {
        return None;
    };
    let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
    Some((lang, weight.map_or(Some(1_000), thousandths)?))
}

fn thousandths(weight: &str) -> Option<u16> {
    let (whole, fraction) = weight.split_once('.').unwrap_or((weight, ""));
    let valid = matches!(whole, "0" | "1")
        && fraction.len() <= 3
        && fraction.bytes().all(|digit| digit.is_ascii_digit());
    let number: u16 = format!("{whole}{fraction:0<3}").parse().ok()?;
    (valid && number <= 1_000).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preferred(header: &str) -> Lang {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_LANGUAGE, header.parse().unwrap());
        Lang::of(&headers)
    }

    #[test]
    fn the_heaviest_language_that_we_speak_wins() {
        assert_eq!(Lang::of(&HeaderMap::new()), Lang::En);
        for russian in ["ru", "RU", "ru-RU,ru;q=0.9,en;q=0.8", "de, ru;q=0.2", "en;q=0.5,ru;q=0.51"]
        {
            assert_eq!(preferred(russian), Lang::Ru, "{russian}");
        }
        for english in ["en", "en,ru", "ru;q=0", "*", "ru;q=0.1,*;q=0.5", "de", "ru;q=high", ""] {
            assert_eq!(preferred(english), Lang::En, "{english}");
        }
    }
}
