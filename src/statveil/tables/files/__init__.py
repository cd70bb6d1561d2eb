"""Table files: one file a format, all with the same few questions."""

from statveil.tables.files.opening import open_table
from statveil.tables.files.table_file import TableFile

__all__ = ["TableFile", "open_table"]
