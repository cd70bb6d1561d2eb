"""The modes, one file each: which maps of a column there are, and all that must be known of one to decide for it."""

from statveil.modes.mode import MODES, Mode, known_point, mode_of
from statveil.problem.autoload import load_folder

__all__ = ["MODES", "Mode", "known_point", "mode_of"]

load_folder(__name__, __path__)
