//! The words of the house. One thing has one name, the trade's where the trade has one: a word that was
//! given up does not come back as the name of a type, a module or a function, and what the glossary of
//! ARCHITECTURE.md explains is there. Names of tests are sentences, and free.

use super::{files_below, plain, root};
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;
use syn::visit::{self, Visit};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Type,
    Module,
    Function,
}

/// Something that the sources give a name.
struct Item {
    kind: Kind,
    name: String,
    file: PathBuf,
    line: usize,
}

impl Item {
    fn is_below(&self, folder: &str) -> bool {
        self.file.strip_prefix(root()).is_ok_and(|file| file.starts_with(folder))
    }

    fn shown(&self) -> String {
        let file = self.file.strip_prefix(root()).unwrap_or(&self.file);
        format!("{}:{} names something {}", file.display(), self.line, self.name)
    }
}

/// Given up, with what is said instead. None of them is any word of a name.
#[rustfmt::skip]
const RETIRED: &[(&[&str], &str)] = &[
    (&["dossier", "dossiers"], "OrderAggregate"),
    (&["turn", "turns", "desk", "asker"], "DecisionContext; of a lock or a limit: that"),
    (&["begun", "rested", "round", "rounds"], "RunHistory and RunResult; of commits: a batch"),
    (&["scene", "also"], "TxContext, LoadOptions, SideWrites"),
    (&["learn", "learnt", "learned"], "evolve"),
    (&["hint", "hints", "hinted", "news"], "sync_requested; between instances: Wakeup"),
    (&["circumstances", "dress", "door", "doors"], "RequestContext and its layer; of a server: a listener"),
    (&["gate", "gates", "gated"], "ConcurrencyLimit, Permit; of a socket: its listener"),
    (&["waypoint", "waypoints"], "failpoint"),
    (&["flights", "landing", "landings"], "SingleFlight"),
    (&["errand", "errands", "diary"], "ClientSession, Recording…"),
    (&["fault", "faults"], "error; in tests: violation, failure"),
];

/// Given up as the whole name of a type or a module; right as a verb of a longer one (`PlaceOrder`).
const RETIRED_ALONE: &[&str] = &[
    "ask",
    "next_step",
    "note",
    "notes",
    "outcome",
    "performed",
    "place",
    "places",
    "reach",
    "stage",
    "step",
    "visit",
    "board",
    "action",
];

/// Each is the whole name of one type at most.
const HOMONYMS: &[&str] =
    &["Change", "Client", "Clock", "Exchange", "Fault", "Outcome", "Permit", "Place", "Reply"];

/// Where a word is another thing, and rightly called so: folder, word, why.
#[rustfmt::skip]
const LEGITIMATE: &[(&str, &str, &str)] = &[
    ("src/sandbox", "fault", "fault injection is the trade's word for what a sandbox is told to do, and its routes carry it"),
    ("src/sandbox", "faults", "the same"),
    ("tests/sandbox.rs", "faults", "the same"),
    ("tests/chaos", "fault", "the same"),
    ("tests/chaos", "faults", "the same"),
    ("tests/sber_adapter", "fault", "the same"),
    ("tests/simulation", "fault", "the same, in a simulated world"),
    ("tests/simulation", "faults", "the same"),
];

struct Reader {
    file: PathBuf,
    items: Vec<Item>,
}

impl Reader {
    fn found(&mut self, kind: Kind, ident: &syn::Ident) {
        let (name, line) = (plain(ident), ident.span().start().line);
        self.items.push(Item { kind, name, file: self.file.clone(), line });
    }

    fn function(&mut self, attributes: &[syn::Attribute], ident: &syn::Ident) {
        let tests =
            |a: &syn::Attribute| a.path().segments.last().is_some_and(|s| s.ident == "test");
        if !attributes.iter().any(tests) {
            self.found(Kind::Function, ident);
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.found(Kind::Type, &item.ident);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.found(Kind::Type, &item.ident);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.found(Kind::Type, &item.ident);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.found(Kind::Type, &item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.found(Kind::Module, &item.ident);
        visit::visit_item_mod(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.attrs, &item.sig.ident);
        visit::visit_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.function(&item.attrs, &item.sig.ident);
        visit::visit_trait_item_fn(self, item);
    }

    /// What a trait demands was named by the trait, which may be a foreign one.
    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if item.trait_.is_none() {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.attrs, &item.sig.ident);
        visit::visit_impl_item_fn(self, item);
    }
}

fn items_in(file: PathBuf, source: &str) -> Vec<Item> {
    let mut reader = Reader { file, items: vec![] };
    reader.visit_file(&syn::parse_file(source).expect("valid Rust"));
    reader.items
}

/// Everything that the sources and their tests name, read once.
fn items() -> &'static [Item] {
    static ITEMS: LazyLock<Vec<Item>> = LazyLock::new(|| {
        let files = ["src", "tests"].into_iter().flat_map(files_below);
        let sources = files.filter(|file| file.extension().is_some_and(|e| e == "rs"));
        let read = |file: PathBuf| {
            let source = fs::read_to_string(&file).expect("a readable source");
            items_in(file, &source)
        };
        sources.flat_map(read).collect()
    });
    &ITEMS
}

/// `PlaceOrderError` and `place_order` as their words, in small letters.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_small = false;
    for letter in name.chars() {
        if letter == '_' || (letter.is_uppercase() && after_small) {
            words.push(String::new());
        }
        after_small = letter.is_lowercase() || letter.is_ascii_digit();
        words.last_mut().expect("one at least").extend(letter.to_lowercase().filter(|l| *l != '_'));
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The retired word in an item's name, unless it is rightly there.
fn retired(item: &Item) -> Option<String> {
    let words = words(&item.name);
    let given_up = |word: &String| RETIRED.iter().any(|(words, _)| words.contains(&word.as_str()));
    let alone = words.join("_");
    let alone =
        (item.kind != Kind::Function && RETIRED_ALONE.contains(&alone.as_str())).then_some(alone);
    let found = alone.or_else(|| words.into_iter().find(given_up))?;
    let excused = |(folder, word, _): &(&str, &str, &str)| *word == found && item.is_below(folder);
    (!LEGITIMATE.iter().any(excused)).then_some(found)
}

#[test]
fn no_retired_word_names_a_type_a_module_or_a_function() {
    let say = |word: &str| {
        let instead = RETIRED.iter().find(|(words, _)| words.contains(&word));
        instead.map_or("a noun with its adjective", |(_, instead)| *instead)
    };
    let lost: Vec<_> = items()
        .iter()
        .filter_map(|item| {
            let word = retired(item)?;
            Some(format!("{}: `{word}` was given up for {}", item.shown(), say(&word)))
        })
        .collect();
    crate::assert_none(&lost);
}

#[test]
fn a_retired_word_is_seen_wherever_it_is_a_name() {
    let source = r#"
        mod door { pub struct AskerTurn; }
        enum Outcome { Turn }
        type OrderDossier = u8;
        trait Board { fn learn_more(&self); }
        struct PlaceOrder { hint: u8 }
        impl PlaceOrder { fn take_turn(&self) {} }
        impl serde::de::Visitor for PlaceOrder { fn gate(&self) {} }
        fn place_order() { fn next_round() {} }
        #[tokio::test]
        async fn the_news_of_a_fault_comes_in_turn() {}
    "#;
    let items = items_in(root().join("src/core/example.rs"), source);
    let found: Vec<_> = items.iter().filter_map(|i| Some((i.name.as_str(), retired(i)?))).collect();
    let expected = [
        ("door", "door"),
        ("AskerTurn", "asker"),
        ("Outcome", "outcome"),
        ("OrderDossier", "dossier"),
        ("Board", "board"),
        ("learn_more", "learn"),
        ("take_turn", "turn"),
        ("next_round", "round"),
    ];
    assert_eq!(found, expected.map(|(name, word)| (name, word.to_owned())));
}

#[test]
fn every_excuse_for_a_retired_word_is_needed() {
    let idle = LEGITIMATE.iter().filter(|(folder, word, _)| {
        let used =
            |item: &&Item| item.is_below(folder) && words(&item.name).iter().any(|w| w == word);
        !items().iter().any(|item| used(&item))
    });
    let idle: Vec<_> = idle.map(|(folder, word, _)| format!("{folder} has no {word}")).collect();
    crate::assert_none(&idle);
}

#[test]
fn a_word_of_many_meanings_is_the_whole_name_of_one_type_at_most() {
    let items = || items().iter().filter(|item| item.is_below("src"));
    let crowded = HOMONYMS.iter().flat_map(|word| {
        let same: Vec<_> = items().filter(|i| i.kind == Kind::Type && i.name == *word).collect();
        if same.len() > 1 { same } else { vec![] }
    });
    crate::assert_none(&crowded.map(Item::shown).collect::<Vec<_>>());
}

#[test]
fn every_name_of_the_glossary_is_a_type_a_module_or_a_function() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let glossary = page.split("## Glossary").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = glossary.lines().filter(|line| line.starts_with("| ")).skip(1);
    let names: Vec<_> = rows
        .filter_map(|row| row.split(" | ").next())
        .flat_map(|explained| explained.split('`').skip(1).step_by(2))
        .collect();
    assert!(names.len() > 12, "only {names:?}");
    let items = || items().iter().filter(|item| item.is_below("src"));
    let lost = names.iter().filter(|name| !items().any(|item| item.name == **name));
    crate::assert_none(&lost.map(|name| format!("there is no {name}")).collect::<Vec<_>>());
}
