"""The studio: a local page that edits a specification, plans, releases and audits, as the command line does."""
