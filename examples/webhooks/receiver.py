"""Receives an order's events: verified, each once, in sequence. Needs `pip install standardwebhooks`."""

import json
import os
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook, WebhookVerificationError

webhook = Webhook(os.environ["WEBHOOK_SECRET"])
work: "queue.Queue[dict]" = queue.Queue(maxsize=10_000)
# A shop keeps these two in its database, in the transaction of what it does with the event.
last_sequence: dict[str, int] = {}


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            # The signature is over the bytes as they came: verify before parsing.
            event = webhook.verify(body, {k.lower(): v for k, v in self.headers.items()})
        except WebhookVerificationError:
            return self.answer(401)
        try:
            work.put_nowait(event)
        except queue.Full:
            # Not taken: it comes again.
            return self.answer(503)
        self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def apply(event: dict) -> None:
    if event["type"] == "webhook.test":
        print("test", flush=True)
        return
    order, sequence = event["order_id"], event["sequence"]
    # Told before: at least once means sometimes twice. A gap means that one was given up: read it by
    # GET /v1/orders/{id}/events.
    if sequence <= last_sequence.get(order, 0):
        return
    last_sequence[order] = sequence
    print(event["id"], event["type"], event["data"]["order"]["status"], flush=True)


def worker() -> None:
    while True:
        apply(work.get())


if __name__ == "__main__":
    threading.Thread(target=worker, daemon=True).start()
    ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9000"))), Receiver).serve_forever()
