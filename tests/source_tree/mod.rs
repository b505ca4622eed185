//! The sources as a tree of modules, each with everything that it names: read from `mod` lines as
//! the compiler reads them, so that a file which belongs to no module shows as well.

mod graph;
mod words;

pub use graph::Graph;

use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use syn::visit::{self, Visit};

/// One file of the crate.
pub struct Module {
    /// `core::domain::money`; empty for `lib.rs`; `bin::order-service` for a program.
    pub path: String,
    pub file: PathBuf,
    pub lines: usize,
    /// It declares modules and does nothing else.
    pub hall: bool,
    pub names: Vec<Name>,
}

/// A path that the code spells out: imported, called, derived, or inside a macro.
pub struct Name {
    /// For what is ours, from the crate's root; otherwise beginning with the foreign crate.
    pub path: String,
    pub ours: bool,
    /// Under `#[cfg(test)]`.
    pub in_test: bool,
    pub line: usize,
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below `folder`, a path relative to the root.
pub fn files_below(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// The whole crate, read once.
pub fn modules() -> &'static [Module] {
    static MODULES: LazyLock<Vec<Module>> = LazyLock::new(read_all);
    &MODULES
}

fn read_all() -> Vec<Module> {
    let crates = foreign_crates();
    let src = root().join("src");
    let mut found = Vec::new();
    let mut waiting = vec![Found { path: vec![], file: src.join("lib.rs"), in_test: false }];
    for program in files_below("src/bin") {
        let name = program.file_stem().expect("a file name").to_string_lossy().into_owned();
        waiting.push(Found { path: vec!["bin".into(), name], file: program, in_test: false });
    }
    while let Some(next) = waiting.pop() {
        let (module, children) = read(&next, &crates);
        for (child, in_test) in children {
            let below = child.iter().fold(src.clone(), |folder, part| folder.join(part));
            let file = [below.with_extension("rs"), below.join("mod.rs")];
            let file = file.into_iter().find(|f| f.exists());
            let file = file.unwrap_or_else(|| panic!("no file for {}", child.join("::")));
            waiting.push(Found { path: child, file, in_test });
        }
        found.push(module);
    }
    found
}

struct Found {
    path: Vec<String>,
    file: PathBuf,
    in_test: bool,
}

fn read(found: &Found, crates: &BTreeSet<String>) -> (Module, Vec<(Vec<String>, bool)>) {
    let text = fs::read_to_string(&found.file).expect("a readable source");
    let syntax = syn::parse_file(&text).expect("valid Rust");
    let reader = Reader::run(&syntax, found.path.clone(), found.in_test, crates);
    let module = Module {
        path: found.path.join("::"),
        file: found.file.strip_prefix(root()).expect("below the root").to_owned(),
        lines: text.lines().count(),
        hall: syntax.items.iter().all(|i| matches!(i, syn::Item::Mod(m) if m.content.is_none())),
        names: reader.names,
    };
    (module, reader.children)
}

/// What `source` would name if it were the module `path`.
pub fn names_in(path: &str, source: &str) -> Vec<Name> {
    let path = path.split("::").map(str::to_owned).collect();
    Reader::run(&syn::parse_file(source).expect("valid Rust"), path, false, &foreign_crates()).names
}

/// The dependencies of Cargo.toml, as the code spells them.
fn foreign_crates() -> BTreeSet<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    let mut in_dependencies = false;
    let mut names = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            in_dependencies = line.contains("dependencies]");
        } else if let (true, Some((name, _))) = (in_dependencies, line.split_once('=')) {
            names.insert(name.trim().replace('-', "_"));
        }
    }
    names
}

/// What a file calls by a short name: what it imported, and the modules that it declares. Such a name
/// is not a crate's.
#[derive(Default)]
struct Aliases {
    imported: BTreeSet<String>,
    declared: BTreeSet<String>,
}

impl<'ast> Visit<'ast> for Aliases {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        for (path, alias) in flatten(&item.tree) {
            if path.len() > 1 {
                self.imported.insert(alias);
            }
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.declared.insert(plain(&item.ident));
        visit::visit_item_mod(self, item);
    }
}

struct Reader<'a> {
    module: Vec<String>,
    in_test: bool,
    crates: &'a BTreeSet<String>,
    aliases: Aliases,
    names: Vec<Name>,
    children: Vec<(Vec<String>, bool)>,
}

impl<'a> Reader<'a> {
    fn run(
        syntax: &syn::File,
        module: Vec<String>,
        in_test: bool,
        crates: &'a BTreeSet<String>,
    ) -> Self {
        let mut aliases = Aliases::default();
        aliases.visit_file(syntax);
        let (names, children) = (vec![], vec![]);
        let mut reader = Self { module, in_test, crates, aliases, names, children };
        reader.visit_file(syntax);
        reader
    }

    fn record(&mut self, segments: &[String], line: usize) {
        let rest = |from: usize| segments[from..].to_vec();
        let Some(first) = segments.first() else { return };
        let (ours, path) = match first.as_str() {
            "crate" | "order_service" => (true, rest(1)),
            "self" | "super" => {
                let up = segments.iter().take_while(|s| *s == "super").count();
                let down = segments.iter().take_while(|s| *s == "super" || *s == "self").count();
                let kept = self.module.len().saturating_sub(up);
                (true, [self.module[..kept].to_vec(), rest(down)].concat())
            }
            name if self.aliases.declared.contains(name) => {
                (true, [self.module.clone(), rest(0)].concat())
            }
            name if self.aliases.imported.contains(name) => return,
            name if self.crates.contains(name) => (false, rest(0)),
            _ => return,
        };
        if !path.is_empty() {
            let path = path.join("::");
            self.names.push(Name { path, ours, in_test: self.in_test, line });
        }
    }

    /// Macros keep their tokens unparsed; a path in them is still `word::word`.
    fn scan(&mut self, tokens: TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let colon =
            |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == ':');
        let mut at = 0;
        while at < tokens.len() {
            if let TokenTree::Group(group) = &tokens[at] {
                self.scan(group.stream());
            }
            let mut segments = vec![];
            while let Some(TokenTree::Ident(word)) = tokens.get(at) {
                segments.push(word.to_string());
                if !(colon(at + 1) && colon(at + 2)) {
                    break;
                }
                at += 3;
            }
            if segments.len() > 1 {
                let line = tokens[at.min(tokens.len() - 1)].span().start().line;
                self.record(&segments, line);
                if matches!(tokens.get(at), Some(TokenTree::Group(_))) {
                    continue;
                }
            }
            at += 1;
        }
    }

    fn tested(&mut self, attributes: &[syn::Attribute], then: impl FnOnce(&mut Self)) {
        let outside = self.in_test;
        self.in_test |= attributes.iter().any(|a| {
            a.path().is_ident("cfg")
                && a.meta.require_list().is_ok_and(|l| l.tokens.to_string() == "test")
        });
        then(self);
        self.in_test = outside;
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "what else there is has no tests inside")]
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes: &[syn::Attribute] = match item {
            syn::Item::Mod(i) => &i.attrs,
            syn::Item::Fn(i) => &i.attrs,
            syn::Item::Impl(i) => &i.attrs,
            syn::Item::Use(i) => &i.attrs,
            syn::Item::Struct(i) => &i.attrs,
            _ => &[],
        };
        self.tested(attributes, |reader| visit::visit_item(reader, item));
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let name = item.ident.to_string().trim_start_matches("r#").to_owned();
        self.module.push(name);
        if item.content.is_none() {
            self.children.push((self.module.clone(), self.in_test));
        }
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let line = item.use_token.span.start().line;
        for (path, _) in flatten(&item.tree) {
            self.record(&path, line);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<_> = path.segments.iter().map(|s| plain(&s.ident)).collect();
        if segments.len() > 1 {
            self.record(&segments, path.segments[0].ident.span().start().line);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.scan(call.tokens.clone());
        visit::visit_macro(self, call);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            self.scan(list.tokens.clone());
        }
        visit::visit_attribute(self, attribute);
    }

    /// `pub(super)` names nobody.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}
}

fn plain(ident: &syn::Ident) -> String {
    ident.to_string().trim_start_matches("r#").to_owned()
}

/// Every path of a use tree, with the name under which the file knows it.
fn flatten(tree: &syn::UseTree) -> Vec<(Vec<String>, String)> {
    match tree {
        syn::UseTree::Path(path) => {
            let head = plain(&path.ident);
            let tails = flatten(&path.tree).into_iter();
            let joined = tails.map(|(tail, alias)| {
                let alias = if alias == "self" { head.clone() } else { alias };
                ([vec![head.clone()], tail].concat(), alias)
            });
            joined.collect()
        }
        syn::UseTree::Name(name) if name.ident == "self" => vec![(vec![], "self".into())],
        syn::UseTree::Name(name) => vec![(vec![plain(&name.ident)], plain(&name.ident))],
        syn::UseTree::Rename(name) if name.ident == "self" => vec![(vec![], plain(&name.rename))],
        syn::UseTree::Rename(name) => vec![(vec![plain(&name.ident)], plain(&name.rename))],
        syn::UseTree::Glob(_) => vec![(vec![], "*".into())],
        syn::UseTree::Group(group) => group.items.iter().flat_map(flatten).collect(),
    }
}
