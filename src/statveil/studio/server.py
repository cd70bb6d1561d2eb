"""The application: which request asks what of the study. Words and numbers as JSON, never HTML."""

from __future__ import annotations

import json
import shutil
from collections.abc import Awaitable, Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from statveil.errors import StatveilError
from statveil.studio.answers import answer_bytes
from statveil.studio.choice import TEXTS, risk
from statveil.studio.commands import commands
from statveil.studio.deciding import check
from statveil.studio.gate import App, Gate, new_token
from statveil.studio.joining import joined
from statveil.studio.ledger_view import ledger_view
from statveil.studio.refining import Refiner
from statveil.studio.refusal import Refusal
from statveil.studio.runs import (
    Files,
    comparison_of,
    findings_of,
    start_audit,
    start_inspect,
    start_plan,
    start_release,
)
from statveil.studio.study import DEFAULT_RISK, Study
from statveil.studio.table import suffix_of
from statveil.studio.uploading import receive, safe_name
from statveil.tables.verification import LEAKS

__all__ = ["studio_app"]

_LARGEST = 1 << 20
"""Bytes of a request that is no upload."""
_TICKETS = 50  # that wait for their download
_OF_ROWS = ("row-numbers", "timestamps", "panels", "running", "totals", "ranks", "references")
"""Leaks of the number of rows, which is no statistic of a column."""
_STATIC = Path(str(resources.files("statveil.studio") / "static"))


def studio_app(study: Study, refiner: Refiner, *, token: str, port: int) -> App:
    """The application behind its gate."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    _pages(app, study, token)
    _tables(app, study)
    _choices(app, study, refiner)
    _jobs(app, study)
    _results(app, study)
    _errors(app)
    return Gate(app, token=token, port=port)


# --- what every route uses -------------------------------------------------------------------------
def _answer(value: Any, status: int = 200) -> Response:
    return Response(answer_bytes(value), status_code=status, media_type="application/json")


async def _given(request: Request) -> dict[str, Any]:
    """The body, a JSON object."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST:
            raise Refusal(f"a request has at most {_LARGEST:,} bytes.", status=413)
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise Refusal("the request is no JSON.") from None
    if not isinstance(value, dict):
        raise Refusal("the request is no JSON object.")
    return value


async def _done(work: Callable[..., Any], *given: Any) -> Any:
    """Work that may take a moment, beside the loop that answers others."""
    return await run_in_threadpool(work, *given)


def _whole(request: Request, name: str, default: int | None = None) -> int:
    text = request.query_params.get(name, "")
    if not text and default is not None:
        return default
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise Refusal(f"{name!r} is a whole number.", status=422)
    return int(text)


def _errors(app: FastAPI) -> None:
    @app.exception_handler(Refusal)
    async def refused(request: Request, error: Refusal) -> Response:
        return _answer(error.to_json(), error.status)

    @app.exception_handler(StatveilError)
    async def wrong(request: Request, error: StatveilError) -> Response:
        return _answer(Refusal(str(error)).to_json(), 400)

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> Response:
        said = {404: "there is nothing at this address.", 405: "this cannot be done at this address."}
        refusal = Refusal(said.get(error.status_code, "this request cannot be answered."), status=error.status_code)
        return _answer(refusal.to_json(), refusal.status)

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> Response:
        says = f"an unexpected error, {type(error).__name__}; nothing was changed. Please report it."
        return _answer(Refusal(says).to_json(), 500)


# --- routes ----------------------------------------------------------------------------------------
def _pages(app: FastAPI, study: Study, token: str) -> None:
    # what is not listed here is not served, whatever a path says; small files, read once
    known = {
        "studio.css": ("text/css", (_STATIC / "studio.css").read_bytes()),
        "icon.svg": ("image/svg+xml", (_STATIC / "icon.svg").read_bytes()),
        "studio.js": ("text/javascript", joined(_STATIC / "js", "main").encode()),
    }
    frame = (_STATIC / "index.html").read_text(encoding="utf-8").replace("{{token}}", token)

    @app.get("/")
    async def page() -> Response:
        # with the study, for which the page would else ask when it has been read
        text = frame.replace("{{study}}", answer_bytes(await _done(study.to_json)).decode())
        return Response(text, media_type="text/html; charset=utf-8")

    @app.get("/static/{name:path}")
    async def static(name: str) -> Response:
        if name not in known:
            raise Refusal("there is nothing at this address.", status=404)
        kind, content = known[name]
        return Response(content, media_type=kind)


def _tables(app: FastAPI, study: Study) -> None:
    @app.get("/api/study")
    async def state() -> Response:
        return _answer(await _done(study.to_json))

    @app.post("/api/table/path")
    async def by_path(request: Request) -> Response:
        given = await _given(request)
        await _done(study.open_path, given.get("revision"), given.get("path"))
        return _answer(await _done(study.to_json))

    @app.post("/api/table/upload")
    async def upload(request: Request) -> Response:
        name, revision = safe_name(request.query_params.get("name", "")), _whole(request, "revision")
        with study.lock:
            study.check(revision)
            place = study.new_place()
        stated = request.headers.get("content-length")
        try:
            path = await receive(request.stream(), place, suffix_of(name), stated=stated, most=study.max_upload)
            await _done(study.take_upload, revision, name, path)
        except ClientDisconnect:
            return Response(status_code=400)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        return _answer(await _done(study.to_json))

    @app.get("/api/table/preview")
    async def preview(request: Request) -> Response:
        rows = _whole(request, "rows", 20)
        with study.lock:
            return _answer(study.need_table().preview(rows))


def _choices(app: FastAPI, study: Study, refiner: Refiner) -> None:
    @app.put("/api/columns/{index}")
    async def column(index: str, request: Request) -> Response:
        given = await _given(request)
        await _done(study.change_column, _index(index), given)
        return _answer(await _done(study.to_json))

    @app.put("/api/table/options")
    async def options(request: Request) -> Response:
        await _done(study.change_options, await _given(request))
        return _answer(await _done(study.to_json))

    @app.post("/api/check")
    async def checked(request: Request) -> Response:
        return _answer(await _done(check, await _given(request)))

    @app.get("/api/leaks")
    async def leaks() -> Response:
        return _answer([{"name": name, "says": LEAKS[name]} for name in LEAKS if name not in _OF_ROWS])

    @app.post("/api/tradeoff")
    async def tradeoff(request: Request) -> Response:
        given = await _given(request)
        return _answer(await _done(_tradeoff, study, refiner, given))

    @app.post("/api/unfreeze")
    async def unfreeze(request: Request) -> Response:
        await _done(study.unfreeze, await _given(request))
        return _answer(await _done(study.to_json))


def _index(text: str) -> int:
    if not text.isascii() or not text.isdecimal():
        raise Refusal("a column is named by its place, a whole number from 0.", status=404)
    if len(text) > 9:  # more than any table has
        raise Refusal(f"there is no column {text[:20]}.", status=404)
    return int(text)


def _tradeoff(study: Study, refiner: Refiner, given: Mapping[str, Any]) -> dict[str, Any]:
    """Only the texts of the choice go on from here: the trade-off is decided without the table."""
    place = given.get("column")
    if isinstance(place, bool) or not isinstance(place, int):
        raise Refusal("a column is named by its place, a whole number from 0.", status=422)
    asked = risk("max_risk", given.get("max_risk"))
    with study.lock:
        choice, standing, options = study.choices[study.column(place)], study.standing, study.options
    wrong = [one for one in standing.checks[place] if one["field"] != "max_risk"]
    if choice.action != "hide" or wrong:
        said = wrong[0] if wrong else {"field": "action", "message": "this column is not hidden."}
        raise Refusal(said["message"], field=said["field"], column=place)
    texts = tuple(str(getattr(choice, name)) for name in TEXTS)
    return refiner.answer(texts, asked or choice.max_risk or options.joint_risk or DEFAULT_RISK)


def _jobs(app: FastAPI, study: Study) -> None:
    starts = {"inspect": start_inspect, "plan": start_plan, "release": start_release, "audit": start_audit}

    def starting(kind: str) -> Callable[[Request], Awaitable[Response]]:
        async def start(request: Request) -> Response:
            job = await _done(starts[kind], study, await _given(request))
            return _answer({"job": job.id})

        return start

    for kind in starts:
        app.post(f"/api/{kind}")(starting(kind))

    @app.get("/api/jobs/{name}")
    async def job(name: str) -> Response:
        return _answer(_job(study, name).to_json())

    @app.post("/api/jobs/{name}/cancel")
    async def cancel(name: str) -> Response:
        found = _job(study, name)
        await _done(found.cancel)
        await _done(found.wait, 12)
        return _answer(found.to_json())


def _job(study: Study, name: str) -> Any:
    with study.lock:
        found = study.jobs.get(name)
    if found is None:
        raise Refusal("there is no such job.", status=404)
    return found


def _results(app: FastAPI, study: Study) -> None:
    @app.get("/api/comparison/{index}")
    async def comparison(index: str) -> Response:
        return _answer(await _done(comparison_of, study, _index(index)))

    @app.get("/api/findings")
    async def findings() -> Response:
        return _answer(await _done(findings_of, study))

    @app.get("/api/commands")
    async def same() -> Response:
        return _answer(await _done(commands, study))

    @app.get("/api/ledger")
    async def ledger() -> Response:
        return _answer(await _done(ledger_view, study.ledger, study.dataset))

    tickets: dict[str, tuple[str, Path, str]] = {}

    @app.get("/api/download/{what}")
    async def download(what: str) -> Response:
        return _attached(what, *_there(study, what))

    @app.post("/api/download/{what}")
    async def ticket(what: str) -> Response:
        """An address for one download that the browser makes itself: a page would have to hold the whole file."""
        made = new_token()
        tickets[made] = (what, *_there(study, what))
        for old in list(tickets)[:-_TICKETS]:
            del tickets[old]
        return _answer({"address": f"/download/{made}"})

    @app.get("/download/{made}")
    async def by_ticket(made: str) -> Response:
        found = tickets.pop(made, None)
        if found is None:
            raise Refusal("this address was for one download; go back and press the button again.", status=404)
        return _attached(*found)


def _there(study: Study, what: str) -> tuple[Path, str]:
    """A file to download and its name; refused where it was not made yet."""
    with study.lock:
        path, name = Files(study).named(what)
        needed = study.plan if what in ("plan", "specification") else study.release
        there = path.is_file() and (study.audit if what == "audit" else needed) is not None
    if not there:
        raise Refusal(f"there is no {what} yet.", status=404)
    return path, name


def _attached(what: str, path: Path, name: str) -> Response:
    if not path.is_file():
        raise Refusal(f"there is no {what} any more.", status=404)
    # ASCII alone in the plain form, everything in the encoded one; no name can end the header
    encoded = quote(name.encode("utf-8", "replace"), safe="")
    disposition = f"attachment; filename=\"statveil-{what}\"; filename*=UTF-8''{encoded}"
    return FileResponse(path, media_type="application/octet-stream", headers={"content-disposition": disposition})
