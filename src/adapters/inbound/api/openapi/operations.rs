//! The operations of a path, whichever methods it has.

use utoipa::openapi::path::{Operation, PathItem};

/// Each method that a path has.
pub fn operations(item: &mut PathItem) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    let methods = [
        ("GET", &mut item.get),
        ("PUT", &mut item.put),
        ("POST", &mut item.post),
        ("PATCH", &mut item.patch),
        ("DELETE", &mut item.delete),
    ];
    methods.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}
