"""The command line: parse, call, render. No mathematics."""
