// Reads /openapi.json, draws its operations, and sends what the reader fills in. Everything that
// comes from outside becomes text, never markup.
"use strict";

const byId = (id) => document.getElementById(id);

/** An element with properties and children; a string child is text. */
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

function resolve(api, node) {
  if (!node?.$ref) return node;
  return node.$ref.slice(2).split("/").reduce((found, key) => found[key], api);
}

/** A value that fits the schema, from its examples. */
function sample(api, schema, depth = 0) {
  schema = resolve(api, schema) ?? {};
  if (schema.example !== undefined) return schema.example;
  if (schema.examples?.length) return schema.examples[0];
  if (schema.enum) return schema.enum[0];
  if (schema.oneOf) return sample(api, schema.oneOf.find((one) => one.type !== "null"), depth);
  const type = [schema.type].flat()[0];
  if (type === "object" && depth < 6) {
    return Object.fromEntries(
      Object.entries(schema.properties ?? {}).map(([name, of]) => [name, sample(api, of, depth + 1)]),
    );
  }
  if (type === "array") return [sample(api, schema.items, depth + 1)];
  if (type === "integer" || type === "number") return schema.minimum ?? 0;
  if (type === "boolean") return false;
  if (schema.format === "uuid") return "0193b3c4-5d6e-7f80-91a2-b3c4d5e6f708";
  return "";
}

const pretty = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

function jsonOf(content) {
  return content?.["application/json"] ?? content?.["application/problem+json"];
}

function drawParameters(operation) {
  const fields = (operation.parameters ?? []).map((parameter) => ({
    parameter,
    input: make("input", { placeholder: parameter.required ? "required" : "", ariaLabel: parameter.name }),
  }));
  const rows = fields.map(({ parameter, input }) =>
    make("tr", {},
      make("td", {}, make("code", {}, parameter.name), make("br"), make("small", {}, parameter.in)),
      make("td", {}, parameter.description ?? ""),
      make("td", {}, input)));
  return { fields, table: rows.length ? make("table", {}, ...rows) : undefined };
}

function drawResponses(api, operation) {
  const rows = Object.entries(operation.responses ?? {}).map(([status, response]) => {
    const content = jsonOf(response.content);
    const examples = Object.entries(content?.examples ?? {}).map(([name, of]) => [name, of.value]);
    if (!examples.length && content?.schema) examples.push(["example", sample(api, content.schema)]);
    const shown = examples.map(([name, value]) =>
      make("details", {}, make("summary", {}, name), make("div", {}, make("pre", {}, pretty(value)))));
    return make("tr", {},
      make("td", {}, make("code", {}, status)), make("td", {}, response.description ?? "", ...shown));
  });
  return make("table", {}, ...rows);
}

function request(method, path, fields, body) {
  const headers = new Headers({ "Accept-Language": byId("language").value });
  const query = new URLSearchParams();
  if (byId("token").value) headers.set("Authorization", `Bearer ${byId("token").value}`);
  for (const { parameter, input } of fields) {
    const value = input.value.trim();
    if (parameter.in === "path") path = path.replace(`{${parameter.name}}`, encodeURIComponent(value));
    else if (value && parameter.in === "query") query.set(parameter.name, value);
    else if (value && parameter.in === "header") headers.set(parameter.name, value);
  }
  if (body?.value.trim()) headers.set("Content-Type", "application/json");
  const url = query.size ? `${path}?${query}` : path;
  return { url, method: method.toUpperCase(), headers, body: body?.value.trim() || undefined };
}

const send = ({ url, ...init }) => fetch(url, init);

/** In single quotes nothing means anything to a shell but the quote itself. */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function curl({ url, method, headers, body }) {
  const parts = ["curl", "-s", ...(method === "GET" ? [] : ["-X", method]), quoted(location.origin + url)];
  for (const [name, value] of headers) parts.push("-H", quoted(`${name}: ${value}`));
  if (body) parts.push("-d", quoted(body));
  return parts.join(" ");
}

async function show(output, sending) {
  output.textContent = "…";
  try {
    const began = performance.now();
    const response = await sending;
    const text = await response.text();
    const took = Math.round(performance.now() - began);
    const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    let body = text;
    try { body = pretty(JSON.parse(text)); } catch { /* not JSON: shown as it came */ }
    output.textContent = `${response.status} ${response.statusText} (${took} ms)\n${headers}\n\n${body}`;
  } catch (error) {
    output.textContent = String(error);
  }
}

function drawOperation(api, path, method, operation) {
  const { fields, table } = drawParameters(operation);
  const schema = jsonOf(operation.requestBody?.content)?.schema;
  const body = operation.requestBody
    ? make("textarea", { value: schema ? pretty(sample(api, schema)) : "", spellcheck: false, ariaLabel: "body" })
    : undefined;
  const output = make("pre", { hidden: true });
  const asked = () => request(method, path, fields, body);
  const sender = make("button", { type: "button" }, "Send");
  sender.addEventListener("click", () => {
    output.hidden = false;
    show(output, send(asked()));
  });
  const copier = make("button", { type: "button" }, "Copy as curl");
  copier.addEventListener("click", () => {
    // Shown as well: a page that is not served over TLS may not write to the clipboard.
    output.hidden = false;
    output.textContent = curl(asked());
    navigator.clipboard?.writeText(output.textContent).catch(() => {});
  });
  return make("details", { id: operation.operationId },
    make("summary", {},
      make("span", { className: `method ${method}` }, method.toUpperCase()),
      make("span", { className: "path" }, path),
      operation.summary ?? ""),
    make("div", {},
      make("p", {}, operation.description ?? ""),
      table,
      body && make("h3", {}, "Body"), body,
      sender, copier, output,
      make("h3", {}, "Answers"), drawResponses(api, operation)));
}

function draw(api) {
  byId("title").textContent = `${api.info.title} ${api.info.version}`;
  byId("about").textContent = api.info.description ?? "";
  const sections = (api.tags ?? []).map((tag) => {
    const operations = Object.entries(api.paths).flatMap(([path, item]) =>
      Object.entries(item)
        .filter(([, operation]) => operation.tags?.includes(tag.name))
        .map(([method, operation]) => drawOperation(api, path, method, operation)));
    return make("section", {}, make("h2", {}, tag.name), make("p", {}, tag.description ?? ""), ...operations);
  });
  byId("operations").replaceChildren(...sections);
}

fetch("/openapi.json")
  .then((response) => response.json())
  .then(draw)
  .catch((error) => { byId("operations").textContent = `The document cannot be read: ${error}`; });
