"""The sentences that terminal, report, page and card share: each is written here, once."""
