"""``python -m statveil`` is ``statveil``."""

from statveil.cli.main import main

if __name__ == "__main__":
    main()
