"""One start of the studio: a port on this machine, a token, a private folder, and their end."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import uvicorn

from statveil.errors import FileError
from statveil.studio.gate import App, new_token
from statveil.studio.place import private_folder
from statveil.studio.refining import Refiner
from statveil.studio.refusal import Refusal
from statveil.studio.server import studio_app
from statveil.studio.study import Study

__all__ = ["listening", "run_studio", "settings"]

_HOST = "127.0.0.1"


def run_studio(
    *,
    table: Path | None,
    folder: Path,
    port: int,
    browser: bool,
    ledger: str | None,
    dataset: str | None,
    max_upload: int,
    say: Callable[[str], None],
) -> None:
    """Serve until it is told to end; then all work is stopped and the private folder removed."""
    os.umask(0o077)  # what is written here is its owner's alone
    with listening(port) as listener, private_folder() as work:
        token, number = new_token(), listener.getsockname()[1]
        study = Study(folder=folder, work=work, ledger=ledger, dataset=dataset, max_upload=max_upload)
        refiner = Refiner()
        try:
            if table is not None:
                try:
                    study.open_path(study.revision, str(table.absolute()))
                except Refusal as refusal:
                    raise FileError(str(refusal)) from None
            app = studio_app(study, refiner, token=token, port=number)
            server = uvicorn.Server(settings(app))
            address = f"http://{_HOST}:{number}/?token={token}"
            say(f"The studio is at {address}")
            say("It is for this machine and this start alone. Ctrl-C ends it and removes what was not downloaded.")
            threading.Thread(target=refiner.warm, daemon=True).start()
            if browser:
                threading.Thread(target=_open, args=(address,), daemon=True).start()
            with contextlib.suppress(KeyboardInterrupt):  # which is how it is meant to end
                server.run(sockets=[listener])
        finally:
            refiner.close()
            study.close()


def listening(port: int) -> socket.socket:
    """A socket that only this machine reaches."""
    # the protocol by its name: only then asyncio sends small packets at once, without which the body of each answer
    # waits 40 ms for an acknowledgement of its head
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_HOST, port))
        listener.listen(512)
    except OSError as error:
        listener.close()
        raise FileError(f"cannot listen on port {port}: {error.strerror or error}; give another --port.") from None
    return listener


def settings(app: App) -> uvicorn.Config:
    """How the application is served: nothing is logged, for addresses hold names of files."""
    return uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        lifespan="off",
        server_header=False,
        date_header=False,
        ws="none",
        timeout_graceful_shutdown=2,
    )


def _open(address: str) -> None:
    import webbrowser

    with contextlib.suppress(Exception):
        webbrowser.open(address)
