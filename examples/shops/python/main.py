"""The shop's own tests, against the sandbox: API and CONTROL say where it is."""

import os
import threading
import time

import httpx

from shop import Refused, Shop

API = os.environ.get("API", "http://127.0.0.1:8080")
CONTROL = os.environ.get("CONTROL", "http://127.0.0.1:9100/control")
shop = Shop(API)
bank = httpx.Client(trust_env=False, timeout=40)
count = 0


def number() -> str:
    global count
    count += 1
    return f"PY-{os.getpid()}-{count}"


def control(method: str, path: str, body: dict | None = None) -> None:
    bank.request(method, f"{CONTROL}{path}", json=body).raise_for_status()


def mode(system: str, word: str) -> None:
    control("PUT", f"/{system}/mode", {"mode": word})


def payer(order: str, deed: str) -> None:
    """As the payer would on the form."""
    control("POST", f"/orders/{order}/{deed}")


def becomes(order: str, status: str) -> dict:
    for _ in range(300):
        shown = shop.show(order)
        if shown["status"] == status:
            return shown
        time.sleep(0.1)
    raise AssertionError(f"{order} never becomes {status}")


def refused(code: str, ask) -> dict:
    try:
        ask()
    except Refused as error:
        assert error.code == code, f"{code}, not {error}"
        return error.problem
    raise AssertionError(f"not refused with {code}")


def paid() -> dict:
    order = shop.place(number(), "p-1", 2)
    shop.form(order["id"])
    payer(order["id"], "pay")
    return becomes(order["id"], "paid")


def one_payment_system_is_down():
    mode("sber", "down")
    order = shop.place(number(), "p-1", 1)
    shop.form(order["id"])
    assert shop.show(order["id"])["payment"]["provider"] == "odnakassa"


def later(seconds: float, systems: list[str]) -> None:
    """The payment systems are well again while the shop waits."""
    threading.Timer(seconds, lambda: [mode(system, "ok") for system in systems]).start()


def both_are_down_for_a_moment():
    mode("sber", "down")
    mode("odnakassa", "down")
    order = shop.place(number(), "p-1", 1)
    later(1, ["sber", "odnakassa"])
    assert shop.form(order["id"])


def the_answer_is_lost_and_the_outcome_found_out():
    mode("sber", "hang_after_commit")
    order = shop.place(number(), "p-1", 1)
    later(1.5, ["sber"])
    assert shop.form(order["id"])


def the_buyers_bank_says_no():
    order = shop.place(number(), "p-1", 1)
    shop.form(order["id"])
    payer(order["id"], "decline")
    assert becomes(order["id"], "payment_failed")["payment"]["decline_code"]
    assert shop.form(order["id"]), "another attempt"


def a_part_of_the_money_goes_back_once():
    order = paid()
    for _ in range(2):
        shop.refund(order["id"], 100, f"refund-{order['id']}")
    assert shop.show(order["id"])["payment"]["refunded"]["amount"] == 100


def a_cancelled_order_cannot_be_paid():
    order = shop.place(number(), "p-1", 1)
    shop.form(order["id"])
    shop.cancel(order["id"])
    becomes(order["id"], "cancelled")
    refused("order_not_confirmable", lambda: shop.form(order["id"]))


def an_order_is_placed_once():
    mine, key = number(), f"key-{os.getpid()}-{count}"
    order = shop.place(mine, "p-1", 1, key)
    assert shop.place(mine, "p-1", 1, key)["id"] == order["id"]
    refused("idempotency_key_reused", lambda: shop.place(mine, "p-1", 2, key))
    problem = refused("external_id_taken", lambda: shop.place(mine, "p-1", 1))
    assert problem["order_id"] == order["id"]
    assert shop.find(mine)["id"] == order["id"]


def orders_are_read_page_by_page():
    seen = {order["id"] for order in shop.orders(page=3)}
    assert len(seen) >= 8, len(seen)


STORIES = [
    paid,
    one_payment_system_is_down,
    both_are_down_for_a_moment,
    the_answer_is_lost_and_the_outcome_found_out,
    the_buyers_bank_says_no,
    a_part_of_the_money_goes_back_once,
    a_cancelled_order_cannot_be_paid,
    an_order_is_placed_once,
    orders_are_read_page_by_page,
]

if __name__ == "__main__":
    for story in STORIES:
        control("POST", "/reset")
        story()
        print(f"ok: {story.__name__}", flush=True)
    print(f"all {len(STORIES)} stories end well")
