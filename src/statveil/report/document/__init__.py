"""The report of a release: one page that opens offline and prints, for those who decide, with the evidence below."""
