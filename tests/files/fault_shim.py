"""Runs statveil's command line again and again in forked processes, each stopped at another step.

A step is a call that makes, writes, syncs, renames or removes something; what the engine writes by itself is not seen.
Usage: python fault_shim.py, with one JSON object per
line on stdin (arguments, at, fault, where, exchange) and on stdout (code, steps, err). Everything is imported once, and
the engine's threads start only after a fork.
"""

from __future__ import annotations

import builtins
import errno
import importlib
import io
import json
import os
import pkgutil
import signal
import sys
import tempfile
import traceback

import statveil
from statveil import disk
from statveil.cli.main import run

ERRORS = {"EIO": errno.EIO, "ENOSPC": errno.ENOSPC}
NAMES = ("rename", "replace", "link", "unlink", "remove", "mkdir", "rmdir", "fsync", "write", "chmod", "ftruncate")


class Steps:
    """Counts the steps, keeps what they were, and makes one of them fail."""

    def __init__(self, at, fault, where):
        self.at, self.fault, self.where, self.log = at, fault, where, []

    def __call__(self, name, *paths):
        paths = [self._path(path) for path in paths]
        if not any(path.startswith(self.where) for path in paths):
            return
        self.log.append([name, *paths])
        if len(self.log) != self.at:
            return
        if self.fault == "KILL":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault in ("INT", "TERM"):
            os.kill(os.getpid(), getattr(signal, "SIG" + self.fault))
            return
        raise OSError(ERRORS[self.fault], os.strerror(ERRORS[self.fault]))

    @staticmethod
    def _path(path):
        if isinstance(path, int):
            return os.readlink(f"/proc/self/fd/{path}")
        return os.path.abspath(os.fsdecode(path))


def wrap(steps, *, exchange):
    """Every such call of Python's tells the steps first."""
    for name in NAMES:
        plain = getattr(os, name)

        def call(*arguments, plain=plain, name=name, **named):
            if named.get("dir_fd") is not None:  # as shutil.rmtree asks
                folder = os.readlink(f"/proc/self/fd/{named['dir_fd']}")
                steps(name, os.path.join(folder, os.fsdecode(arguments[0])))
            else:
                steps(name, *arguments[: 2 if name in ("rename", "replace", "link") else 1])
            return plain(*arguments, **named)

        setattr(os, name, call)
    opened = os.open

    def open_(path, flags, *rest, **named):
        if flags & os.O_CREAT:
            steps("create", path)
        return opened(path, flags, *rest, **named)

    os.open = open_
    plain_open = io.open

    class Watched(io.FileIO):
        """What a Python file hands to the system, piece by piece."""

        def write(self, data):
            steps("write", self.fileno())
            return super().write(data)

    def io_open(file, mode="r", *rest, **named):
        if not set(mode) & set("wxa+"):
            return plain_open(file, mode, *rest, **named)
        if not isinstance(file, int):
            steps("create", file)
        if mode in ("wb", "xb"):
            return io.BufferedWriter(Watched(file, mode))
        return plain_open(file, mode, *rest, **named)

    io.open = builtins.open = io_open
    renameat2 = disk._renameat2

    def rename(path, target, flags):
        if not exchange:
            return False
        steps("exchange" if flags == 2 else "rename", path, target)
        return renameat2(path, target, flags)

    disk._renameat2 = rename
    sync = disk.sync

    def synced(path):
        sync(path)
        steps("synced", path)

    disk.sync = synced


def trial(task, answer):
    steps = Steps(task["at"], task["fault"], task["where"])
    code, said = None, io.StringIO()
    sys.argv = ["statveil", *task["arguments"]]
    sys.stdout, sys.stderr = io.StringIO(), said
    wrap(steps, exchange=task["exchange"])
    try:
        run()
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        traceback.print_exc(file=said)
        code = 99
    steps.at = 0
    os.pwrite(answer, json.dumps({"code": code, "steps": steps.log, "err": said.getvalue()}).encode(), 0)
    os._exit(0)


def main():
    for module in pkgutil.walk_packages(statveil.__path__, "statveil."):
        if ".reproducing" not in module.name and ".datasets" not in module.name and ".__main__" not in module.name:
            importlib.import_module(module.name)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for line in sys.stdin:
        task = json.loads(line)
        with tempfile.TemporaryFile() as answer:
            child = os.fork()
            if not child:
                trial(task, answer.fileno())
            _, status = os.waitpid(child, 0)
            answer.seek(0)
            said = answer.read()
        found = json.loads(said) if said else {"code": -os.WTERMSIG(status), "steps": [], "err": ""}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
