"""What a shop does: place, confirm, wait, cancel, give back."""

from __future__ import annotations

import uuid

import httpx


class Refused(Exception):
    """A refusal that a program can act on: see `code` in the shop's guide."""

    def __init__(self, problem: dict):
        super().__init__(f"{problem['code']}: {problem['detail']}")
        self.problem = problem
        self.code = problem["code"]


class Shop:
    def __init__(self, url: str, token: str | None = None):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        # Longer than the longest wait for a task.
        self._http = httpx.Client(base_url=url, headers=headers, timeout=40, trust_env=False)

    def place(self, number: str, product: str, quantity: int, key: str | None = None) -> dict:
        """Safe to repeat with the same key, whatever became of the first request."""
        order = {
            "customer_id": None,
            "external_id": number,
            "items": [{"product_id": product, "quantity": quantity}],
        }
        return self._ask("POST", "/v1/orders", json=order, headers={"Idempotency-Key": key or str(uuid.uuid4())})

    def form(self, order: str) -> str:
        """Where the buyer pays, however long it takes to find a payment system."""
        answer = self._ask("POST", f"/v1/orders/{order}/confirm")
        if "form_url" in answer:
            return answer["form_url"]
        task = self._finished(answer["task_id"])
        form = (task["result"] or {}).get("form_url")
        if not form:
            raise RuntimeError(f"no form: the task is {task['status']} ({task['error']})")
        return form

    def show(self, order: str) -> dict:
        return self._ask("GET", f"/v1/orders/{order}")

    def find(self, number: str) -> dict | None:
        found = self._ask("GET", "/v1/orders", params={"external_id": number})["items"]
        return found[0] if found else None

    def orders(self, page: int = 100):
        """All of them, oldest first, page by page."""
        params = {"limit": page, "sort": "created_at"}
        while True:
            answer = self._ask("GET", "/v1/orders", params=params)
            yield from answer["items"]
            if not answer["next_cursor"]:
                return
            params["cursor"] = answer["next_cursor"]

    def cancel(self, order: str) -> None:
        self._settled(self._ask("POST", f"/v1/orders/{order}/cancel"))

    def refund(self, order: str, kopecks: int, key: str) -> None:
        """The key is kept before the first try: a refund without an answer is repeated under it."""
        amount = {"amount": {"amount": kopecks, "currency": "RUB"}}
        answer = self._ask("POST", f"/v1/orders/{order}/refund", json=amount, headers={"Idempotency-Key": key})
        self._settled(answer)

    def _settled(self, answer: dict) -> None:
        if answer["status"] == "queued":
            self._finished(answer["task_id"])

    def _finished(self, task: int) -> dict:
        while True:
            shown = self._ask("GET", f"/v1/tasks/{task}", params={"wait": "25s"})
            if shown["status"] not in ("queued", "running"):
                return shown

    def _ask(self, method: str, path: str, **parts) -> dict:
        answer = self._http.request(method, path, **parts)
        if answer.is_error:
            raise Refused(answer.json())
        return answer.json()
