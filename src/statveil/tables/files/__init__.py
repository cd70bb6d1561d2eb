"""Table files: one file per format, all with the same few questions."""

from statveil.problem.autoload import load_folder
from statveil.tables.files.opening import open_table
from statveil.tables.files.table_file import TableFile

__all__ = ["TableFile", "open_table"]

load_folder(__name__, __path__)
