"""Who may ask: the browser that this start of the studio opened, and no other page, name or machine."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

from statveil.studio.answers import answer_bytes
from statveil.studio.refusal import Refusal

__all__ = ["HEADER", "Gate", "new_token"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADER = "x-statveil-token"
"""Every request of the page carries the token here too: another page can make a browser send cookies, never this."""

_POLICY = "; ".join(
    (
        "default-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
_ALWAYS = {
    "cache-control": "no-store",
    "content-security-policy": _POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""Of every answer, refusals too."""


def new_token() -> str:
    """128 random bits."""
    return secrets.token_urlsafe(16)


class Gate:
    """Lets through what comes from the page that this start opened; everything else is refused with a sentence.

    A request must name this machine as its host (a name that someone points at 127.0.0.1, "DNS rebinding", does not),
    come from no other origin, and carry the token: the page in a cookie, its requests in a header as well.
    """

    def __init__(self, app: App, *, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        if port == 80:  # then browsers leave it out
            self._hosts |= {"127.0.0.1", "localhost"}
        self._cookie = f"statveil-{port}"  # cookies do not know ports, and two studios may run

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # nothing here speaks over a socket that stays open
            await send({"type": "websocket.close", "code": 1008})
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower(): value for name, value in message.get("headers", ())}
                given |= {name.encode(): value.encode() for name, value in _ALWAYS.items()}
                message = {**message, "headers": list(given.items())}
            await send(message)

        try:
            entry = self._entry(scope)
            if entry is not None:
                await guarded({"type": "http.response.start", "status": 303, "headers": entry})
                await guarded({"type": "http.response.body", "body": b""})
                return
            self._check(scope)
        except Refusal as refusal:
            body = answer_bytes(refusal.to_json())
            headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
            await guarded({"type": "http.response.start", "status": refusal.status, "headers": headers})
            await guarded({"type": "http.response.body", "body": body})
            return
        await self._app(scope, receive, guarded)

    def _entry(self, scope: Scope) -> list[tuple[bytes, bytes]] | None:
        """The first visit brings the token in the address; it is put into a cookie and leaves the address."""
        from urllib.parse import parse_qs

        if scope["path"] != "/" or scope["method"] != "GET" or not scope.get("query_string"):
            return None
        self._check_place(scope)
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not self._same(given):
            raise _stranger()
        cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
        return [(b"location", b"/"), (b"set-cookie", cookie.encode()), (b"content-length", b"0")]

    def _check(self, scope: Scope) -> None:
        self._check_place(scope)
        given = _headers(scope)
        if not self._same(_cookies(given.get("cookie", "")).get(self._cookie, "")):
            raise _stranger()
        if scope["path"].startswith("/api/") and not self._same(given.get(HEADER, "")):
            raise Refusal(f"the request lacks the header {HEADER}; only the studio's own page is answered.", status=403)

    def _check_place(self, scope: Scope) -> None:
        given = _headers(scope)
        hosts = [value for name, value in scope["headers"] if name.lower() == b"host"]
        if len(hosts) != 1 or given["host"].lower() not in self._hosts:
            raise Refusal(
                "the studio answers to 127.0.0.1 and localhost alone; open the address it printed.", status=403
            )
        origin = given.get("origin")
        if origin is not None and origin.lower() not in {f"http://{host}" for host in self._hosts}:
            raise Refusal("the request comes from another page; only the studio's own page is answered.", status=403)

    def _same(self, given: str) -> bool:
        return secrets.compare_digest(given.encode("utf-8", "surrogatepass"), self._token.encode())


def _stranger() -> Refusal:
    return Refusal(
        "this is not the page that the studio opened; open the address it printed, with its token.", status=403
    )


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def _cookies(text: str) -> dict[str, str]:
    try:
        return {name: one.value for name, one in SimpleCookie(text).items()}
    except CookieError:
        return {}
