"""One folder per storey of ``src/statveil``, run by ``make test-STOREY``; what several of them use stands here."""
