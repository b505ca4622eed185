// The shop's own tests, against the sandbox: API and CONTROL say where it is.
import assert from "node:assert/strict";
import { Refused, Shop, type Order } from "./shop.js";

const { API = "http://127.0.0.1:8080", CONTROL = "http://127.0.0.1:9100/control" } = process.env;
const shop = new Shop(API);
let count = 0;
const number = () => `TS-${process.pid}-${++count}`;

async function control(method: string, path: string, body?: unknown): Promise<void> {
  const answer = await fetch(`${CONTROL}${path}`, { method, body: body ? JSON.stringify(body) : undefined });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${await answer.text()}`);
}
const mode = (system: string, mode: string) => control("PUT", `/${system}/mode`, { mode });
/** As the payer would on the form. */
const payer = (order: string, deed: string) => control("POST", `/orders/${order}/${deed}`);

async function becomes(order: string, status: Order["status"]): Promise<Order> {
  for (let tries = 0; tries < 300; tries++) {
    const shown = await shop.show(order);
    if (shown.status === status) return shown;
    await new Promise((later) => setTimeout(later, 100));
  }
  throw new Error(`${order} never becomes ${status}`);
}

async function refused(code: string, what: Promise<unknown>): Promise<Refused> {
  const error = await what.then(() => undefined, (error: unknown) => error);
  assert.ok(error instanceof Refused && error.problem.code === code, `${code}, not ${error}`);
  return error;
}

async function paid(): Promise<Order> {
  const order = await shop.place(number(), "p-1", 2);
  await shop.form(order.id);
  await payer(order.id, "pay");
  return becomes(order.id, "paid");
}

const stories: Record<string, () => Promise<unknown>> = {
  "an order is paid": paid,
  "one payment system is down": async () => {
    await mode("sber", "down");
    const order = await shop.place(number(), "p-1", 1);
    await shop.form(order.id);
    assert.equal((await shop.show(order.id)).payment?.provider, "odnakassa");
  },
  "both are down for a moment": async () => {
    await Promise.all([mode("sber", "down"), mode("odnakassa", "down")]);
    const order = await shop.place(number(), "p-1", 1);
    const form = shop.form(order.id);
    await becomes(order.id, "registering");
    await Promise.all([mode("sber", "ok"), mode("odnakassa", "ok")]);
    assert.ok(await form);
  },
  "the answer is lost and the outcome found out": async () => {
    await mode("sber", "hang_after_commit");
    const order = await shop.place(number(), "p-1", 1);
    const form = shop.form(order.id);
    await new Promise((later) => setTimeout(later, 1_500));
    await mode("sber", "ok");
    assert.ok(await form);
  },
  "the buyer's bank says no": async () => {
    const order = await shop.place(number(), "p-1", 1);
    await shop.form(order.id);
    await payer(order.id, "decline");
    const failed = await becomes(order.id, "payment_failed");
    assert.ok(failed.payment?.decline_code);
    assert.ok(await shop.form(order.id), "another attempt");
  },
  "a part of the money goes back, once": async () => {
    const order = await paid();
    const key = `refund-${order.id}`;
    await shop.refund(order.id, 100, key);
    await shop.refund(order.id, 100, key);
    assert.equal((await shop.show(order.id)).payment?.refunded.amount, 100);
  },
  "a cancelled order cannot be paid": async () => {
    const order = await shop.place(number(), "p-1", 1);
    await shop.form(order.id);
    await shop.cancel(order.id);
    await becomes(order.id, "cancelled");
    await refused("order_not_confirmable", shop.form(order.id));
  },
  "an order is placed once": async () => {
    const [mine, key] = [number(), `key-${process.pid}-${count}`];
    const order = await shop.place(mine, "p-1", 1, key);
    assert.equal((await shop.place(mine, "p-1", 1, key)).id, order.id);
    await refused("idempotency_key_reused", shop.place(mine, "p-1", 2, key));
    const { problem } = await refused("external_id_taken", shop.place(mine, "p-1", 1));
    assert.equal((problem as { order_id?: string }).order_id, order.id);
    assert.equal((await shop.find(mine))?.id, order.id);
  },
  "orders are read page by page": async () => {
    const seen = new Set<string>();
    for (let cursor: string | undefined; ; ) {
      const page = await shop.list(3, cursor);
      page.items.forEach((order) => seen.add(order.id));
      if (!page.next_cursor) break;
      cursor = page.next_cursor;
    }
    assert.ok(seen.size >= 8, `${seen.size}`);
  },
};

for (const [name, story] of Object.entries(stories)) {
  await control("POST", "/reset");
  await story();
  console.log(`ok: ${name}`);
}
console.log(`all ${Object.keys(stories).length} stories end well`);
