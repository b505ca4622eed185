//! What people read, in the guide's two languages.

use std::borrow::Cow;

/// Which language a table and a picture speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lang {
    /// English.
    En,
    /// Russian.
    Ru,
}

/// The same words in both.
#[derive(Debug, Clone)]
pub struct Text {
    en: Cow<'static, str>,
    ru: Cow<'static, str>,
}

impl Text {
    /// As it is read in one language.
    #[must_use]
    pub fn of(&self, lang: Lang) -> &str {
        match lang {
            Lang::En => &self.en,
            Lang::Ru => &self.ru,
        }
    }
}

/// English and Russian.
pub const fn text(en: &'static str, ru: &'static str) -> Text {
    Text { en: Cow::Borrowed(en), ru: Cow::Borrowed(ru) }
}

/// What reads the same in both languages: a number, a setting.
pub fn same(word: impl Into<String>) -> Text {
    let word = word.into();
    Text { en: Cow::Owned(word.clone()), ru: Cow::Owned(word) }
}
