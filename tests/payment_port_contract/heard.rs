//! Hears the adapters' spans: their names, and the fields with their last values.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::{Layer, Registry};

type Fields = BTreeMap<String, String>;

/// Listens on this thread until dropped.
#[derive(Debug)]
pub struct Heard {
    spans: Arc<Mutex<BTreeMap<u64, (&'static Metadata<'static>, Fields)>>>,
    _guard: DefaultGuard,
}

pub fn listen() -> Heard {
    let spans = Arc::default();
    let layer = Listener(Arc::clone(&spans));
    let guard = tracing::subscriber::set_default(Registry::default().with(layer));
    Heard { spans, _guard: guard }
}

impl Heard {
    /// The only span of that name since the last look.
    pub fn span(&self, name: &str) -> Fields {
        let heard = std::mem::take(&mut *self.spans.lock().unwrap());
        let mut named = heard.into_values().filter(|(metadata, _)| metadata.name() == name);
        let (_, fields) = named.next().unwrap_or_else(|| panic!("no span {name}"));
        assert!(named.next().is_none(), "two spans {name}");
        fields
    }
}

struct Listener(Arc<Mutex<BTreeMap<u64, (&'static Metadata<'static>, Fields)>>>);

impl<S: Subscriber> Layer<S> for Listener {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        let mut fields = Fields::new();
        attributes.record(&mut Words(&mut fields));
        self.0.lock().unwrap().insert(id.into_u64(), (attributes.metadata(), fields));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        if let Some((_, fields)) = self.0.lock().unwrap().get_mut(&id.into_u64()) {
            values.record(&mut Words(fields));
        }
    }
}

struct Words<'a>(&'a mut Fields);

impl Visit for Words<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}
