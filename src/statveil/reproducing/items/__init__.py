"""The figures and tables of the paper, one file each; every file in this folder is loaded."""

from statveil.problem.autoload import load_folder

load_folder(__name__, __path__)
