//! `GET /docs/postman.json`: the OpenAPI document as a collection of Postman's format (v2.1), which other
//! clients read as well. Made from the document at each call, so that the two cannot differ.

use crate::adapters::inbound::api::openapi::openapi_json;
use serde_json::{Map, Value, json};

const SCHEMA: &str = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json";

/// Schemas that name each other end somewhere.
const DEEPEST: u8 = 6;

pub(super) fn collection() -> String {
    let document: Value = serde_json::from_str(&openapi_json()).expect("it is made as JSON");
    let tags = document["tags"].as_array().into_iter().flatten();
    let folders = tags
        .filter_map(|tag| tag["name"].as_str())
        .map(|tag| json!({ "name": tag, "item": items(&document, tag) }));
    let collection = json!({
        "info": { "name": document["info"]["title"], "schema": SCHEMA },
        "auth": { "type": "bearer", "bearer": [{ "key": "token", "value": "{{token}}", "type": "string" }] },
        "variable": [
            { "key": "api", "value": "http://127.0.0.1:8080" },
            { "key": "token", "value": "" },
        ],
        "item": folders.collect::<Vec<_>>(),
    });
    collection.to_string()
}

fn items(document: &Value, tag: &str) -> Vec<Value> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let all = paths.flat_map(|(path, item)| {
        item.as_object().into_iter().flatten().map(move |(method, it)| (path, method, it))
    });
    let tagged = all
        .filter(|(_, _, it)| it["tags"].as_array().is_some_and(|tags| tags.contains(&tag.into())));
    tagged.map(|(path, method, operation)| item(document, path, method, operation)).collect()
}

fn item(document: &Value, path: &str, method: &str, operation: &Value) -> Value {
    let parameters = |place: &str| -> Vec<Value> {
        let all = operation["parameters"].as_array().into_iter().flatten();
        let here = all.filter(|parameter| parameter["in"] == place);
        here.map(|parameter| {
            json!({
                "key": parameter["name"], "value": "", "description": parameter["description"],
                // What is not needed is there to be switched on.
                "disabled": parameter["required"] != true,
            })
        })
        .collect()
    };
    let path = path.replace('{', ":").replace('}', "");
    let mut request = json!({
        "method": method.to_uppercase(),
        "description": operation["description"],
        "header": parameters("header"),
        "url": {
            "raw": format!("{{{{api}}}}{path}"), "host": ["{{api}}"],
            "path": path.trim_start_matches('/').split('/').collect::<Vec<_>>(),
            "query": parameters("query"), "variable": parameters("path"),
        },
    });
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    if !schema.is_null() {
        let body = sample(document, schema, 0);
        let raw = serde_json::to_string_pretty(&body).expect("text keys");
        let options = json!({ "raw": { "language": "json" } });
        request["body"] = json!({ "mode": "raw", "raw": raw, "options": options });
    }
    json!({ "name": operation["summary"], "request": request })
}

/// A value that fits the schema: what must be there, by its examples.
fn sample(document: &Value, schema: &Value, depth: u8) -> Value {
    if let Some(place) = schema["$ref"].as_str() {
        return document
            .pointer(&place[1..])
            .map_or(Value::Null, |of| sample(document, of, depth + 1));
    }
    if let Some(example) = schema.get("example") {
        return example.clone();
    }
    if let Some(one) =
        schema["oneOf"].as_array().and_then(|all| all.iter().find(|one| one["type"] != "null"))
    {
        return sample(document, one, depth + 1);
    }
    match (&schema["properties"], &schema["items"]) {
        (Value::Object(members), _) if depth < DEEPEST => {
            let required = schema["required"].as_array();
            let needed =
                |name: &String| required.is_some_and(|all| all.contains(&name.as_str().into()));
            let told = members.iter().filter(|(name, _)| needed(name));
            let told = told.map(|(name, of)| (name.clone(), sample(document, of, depth + 1)));
            Value::Object(told.collect::<Map<_, _>>())
        }
        (_, of) if of.is_object() && depth < DEEPEST => json!([sample(document, of, depth + 1)]),
        _ => Value::Null,
    }
}
