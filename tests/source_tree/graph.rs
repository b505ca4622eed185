//! Which file names which, and where that goes round in a circle.

use super::modules;
use std::collections::{BTreeMap, BTreeSet};

/// Which file names which, by the modules' paths; without tests.
pub struct Graph(BTreeMap<&'static str, BTreeSet<&'static str>>);

impl Graph {
    pub fn of_the_crate() -> Self {
        let edges = modules().iter().map(|module| {
            let names = module.names.iter().filter(|name| name.ours && !name.in_test);
            let others = names.filter_map(|name| home(&name.path));
            (module.path.as_str(), others.filter(|other| *other != module.path).collect())
        });
        Self(edges.collect())
    }

    /// Groups of files from each of which a way leads to each other and back, with the names that
    /// make the group.
    pub fn circles(&self) -> BTreeMap<BTreeSet<&'static str>, Vec<(&'static str, &'static str)>> {
        let reached: BTreeMap<_, _> =
            self.0.keys().map(|file| (*file, self.reachable(file))).collect();
        let groups = reached.iter().filter(|(file, reach)| reach.contains(*file));
        let groups = groups.map(|(file, reach)| {
            let back = reach.iter().copied().filter(|other| reached[other].contains(file));
            back.collect::<BTreeSet<_>>()
        });
        let with_edges = groups.map(|group| {
            let edges = group.iter().flat_map(|from| self.0[from].iter().map(|to| (*from, *to)));
            let edges = edges.filter(|(_, to)| group.contains(to)).collect();
            (group, edges)
        });
        with_edges.collect()
    }

    fn reachable(&self, from: &str) -> BTreeSet<&'static str> {
        let mut found = BTreeSet::new();
        let mut waiting: Vec<_> = self.0[from].iter().copied().collect();
        while let Some(next) = waiting.pop() {
            if found.insert(next) {
                waiting.extend(&self.0[next]);
            }
        }
        found
    }
}

/// The file in which a name stands: the module whose path is the longest that it begins with. What a
/// module passes on (`pub use`) stands there too.
fn home(name: &str) -> Option<&'static str> {
    let begins = |module: &str| {
        name.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let homes = modules().iter().map(|module| module.path.as_str());
    homes.filter(|path| !path.is_empty() && begins(path)).max_by_key(|path| path.len())
}
