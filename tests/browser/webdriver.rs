//! The few words of WebDriver (W3C) that are needed. A client from the shelf would turn on features
//! of serde_json for every test, and then the tests would run another program than production.

use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};

/// How an element is named in an answer, says the standard.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

#[derive(Clone)]
pub struct Session {
    http: Client,
    address: String,
}

impl Session {
    pub async fn begin(driver: &str, capabilities: Value) -> Self {
        let http = Client::builder().build().unwrap();
        let address = format!("{driver}/session");
        let body = json!({"capabilities": {"alwaysMatch": capabilities}});
        let begun = value(with(http.post(&address), &body)).await.unwrap();
        let id = begun["sessionId"].as_str().unwrap();
        Self { http, address: format!("{address}/{id}") }
    }

    pub async fn end(&self) {
        value(self.http.delete(&self.address)).await.unwrap();
    }

    pub async fn get(&self, command: &str) -> Result<Value, String> {
        value(self.http.get(format!("{}/{command}", self.address))).await
    }

    pub async fn post(&self, command: &str, body: Value) -> Result<Value, String> {
        value(with(self.http.post(format!("{}/{command}", self.address)), &body)).await
    }

    /// An element's id.
    pub async fn find(&self, selector: &str) -> Result<String, String> {
        let found = self.post("element", json!({"using": "css selector", "value": selector})).await;
        found.map(|element| element[ELEMENT].as_str().unwrap().to_owned())
    }
}

fn with(request: RequestBuilder, body: &Value) -> RequestBuilder {
    request.header("content-type", "application/json").body(body.to_string())
}

/// The answer's value, or what the driver says is wrong.
async fn value(request: RequestBuilder) -> Result<Value, String> {
    let response = request.send().await.map_err(|error| error.to_string())?;
    let status = response.status();
    let text = response.text().await.map_err(|error| error.to_string())?;
    let mut answer: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let value = answer["value"].take();
    if status.is_success() { Ok(value) } else { Err(value["message"].to_string()) }
}
