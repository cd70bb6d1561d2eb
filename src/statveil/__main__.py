"""``python -m statveil`` is ``statveil``."""

from statveil.cli.main import run

if __name__ == "__main__":
    run()
