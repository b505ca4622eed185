// What a shop does: place, confirm, wait, cancel, give back. Types come from the OpenAPI document.
import { randomUUID } from "node:crypto";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

export type Order = components["schemas"]["Order"];
export type Task = components["schemas"]["Task"];

/** A refusal that a program can act on: see `code` in the shop's guide. */
export class Refused extends Error {
  constructor(readonly problem: components["schemas"]["Problem"]) {
    super(`${problem.code}: ${problem.detail}`);
  }
}

export class Shop {
  private readonly api;

  constructor(url: string, token?: string) {
    this.api = createClient<paths>({ baseUrl: url, headers: token ? { Authorization: `Bearer ${token}` } : {} });
  }

  /** Safe to repeat with the same key, whatever became of the first request. */
  async place(number: string, product: string, quantity: number, key: string = randomUUID()): Promise<Order> {
    return told(await this.api.POST("/v1/orders", {
      params: { header: { "Idempotency-Key": key } },
      body: { customer_id: null, external_id: number, items: [{ product_id: product, quantity }] },
    }));
  }

  /** Where the buyer pays, however long it takes to find a payment system. */
  async form(order: string): Promise<string> {
    const answer = told(await this.api.POST("/v1/orders/{id}/confirm", { params: { path: { id: order } } }));
    if ("form_url" in answer) return answer.form_url;
    const task = await this.finished(answer.task_id);
    const form = task.result && "form_url" in task.result ? task.result.form_url : null;
    if (!form) throw new Error(`no form: the task is ${task.status} (${task.error?.code ?? "no error"})`);
    return form;
  }

  async show(order: string): Promise<Order> {
    return told(await this.api.GET("/v1/orders/{id}", { params: { path: { id: order } } }));
  }

  async find(number: string): Promise<Order | undefined> {
    const page = told(await this.api.GET("/v1/orders", { params: { query: { external_id: number } } }));
    return page.items[0];
  }

  async list(limit: number, cursor?: string): Promise<components["schemas"]["OrderPage"]> {
    return told(await this.api.GET("/v1/orders", { params: { query: { limit, cursor, sort: "created_at" } } }));
  }

  async cancel(order: string): Promise<void> {
    const answer = told(await this.api.POST("/v1/orders/{id}/cancel", { params: { path: { id: order } } }));
    if ("task_id" in answer && answer.task_id && answer.status === "queued") await this.finished(answer.task_id);
  }

  /** The key is kept before the first try: a refund without an answer is repeated under it. */
  async refund(order: string, kopecks: number, key: string): Promise<void> {
    const answer = told(await this.api.POST("/v1/orders/{id}/refund", {
      params: { path: { id: order }, header: { "Idempotency-Key": key } },
      body: { amount: { amount: kopecks, currency: "RUB" } },
    }));
    if ("task_id" in answer && answer.task_id && answer.status === "queued") await this.finished(answer.task_id);
  }

  private async finished(id: number): Promise<Task> {
    for (;;) {
      const task = told(await this.api.GET("/v1/tasks/{task_id}", {
        params: { path: { task_id: id }, query: { wait: "25s" } },
      }));
      if (task.status !== "queued" && task.status !== "running") return task;
    }
  }
}

function told<T>({ data, error }: { data?: T; error?: unknown }): T {
  if (error) throw new Refused(error as components["schemas"]["Problem"]);
  return data as T;
}
