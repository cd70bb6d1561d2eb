"""A PostgreSQL of our own for the tests. One rule: where it is missing they are skipped, and under CI they fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from tests.missing import missing

PASSWORD = "pw:with/ev@ry#thing"
"""Of the superuser, who has no other way in."""


def _programs() -> Path:
    """The folder of Debian's newest server; its programs are not on the path of users."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    plain = shutil.which("initdb")
    if not found and plain is None:
        missing("needs PostgreSQL (Debian: apt-get install postgresql)")
    return found[-1].parent if found else Path(str(plain)).parent


@contextmanager
def cluster() -> Iterator[str]:
    """A server that listens at a socket in a temporary folder; the folder."""
    programs = _programs()
    try:
        import psycopg  # noqa: F401
        import sqlalchemy  # noqa: F401
    except ImportError:
        missing("needs SQLAlchemy and psycopg (pip install 'statveil[database]')")
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as folder:
        Path(folder, "pw").write_text(PASSWORD)
        shell = {"cwd": folder, "check": True, "stdout": subprocess.DEVNULL}
        as_user = []
        if os.geteuid() == 0:  # which may not run a server
            as_user = ["runuser", "-u", "postgres", "--"]
            shutil.chown(folder, "postgres")
            shutil.chown(Path(folder, "pw"), "postgres")
        run = [
            *as_user,
            str(programs / "initdb"),
            "-D",
            "data",
            "-U",
            "holder",
            "-A",
            "scram-sha-256",
            "--pwfile",
            "pw",
        ]
        subprocess.run([*run, "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"], **shell)
        settings = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        control = [*as_user, str(programs / "pg_ctl"), "-D", "data", "-w", "-s"]
        subprocess.run([*control, "-l", "log", "-o", settings, "start"], **shell)
        try:
            yield folder
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **shell)


def address(folder: str, table: str, **more: str) -> str:
    """The address of a table, with the password."""
    rest = "".join(f"&{key}={quote(value, safe='')}" for key, value in more.items())
    return f"postgresql://holder:{quote(PASSWORD, safe='')}@/postgres?host={folder}&table={quote(table, safe='')}{rest}"
