"""Places that a column lies in, within one process: what is handed to them is pickled, as on its way to machines."""

from __future__ import annotations

from statveil.tables.blocks import Spread

try:
    from pyspark import cloudpickle
except ImportError:  # an extra
    cloudpickle = None


class HerePlaces:
    """Parts of given numbers of blocks; ``asked`` keeps what was handed out."""

    def __init__(self, folder, blocks, sizes):
        self.folder, self._blocks, self._sizes = folder, blocks, sizes
        self.rows = sum(map(len, blocks()))
        self.asked = []

    def by_parts(self, do):
        blocks, start, told = list(enumerate(self._blocks())), 0, []
        for size in (*self._sizes, len(blocks)):
            told += self.each(do, [blocks[start : start + size]])
            start += size
        return told

    def each(self, do, items):
        self.asked.append(do)
        there = _travelled(do)
        return [_travelled(there(item)) for item in items]


def _travelled(what):
    return what if cloudpickle is None else cloudpickle.loads(cloudpickle.dumps(what))


def spread_out(folder, blocks, sizes=(1, 0, 2)):
    """The column in parts of so many blocks, and the rest; nobody reads it as a whole."""

    def never():
        raise AssertionError("the parts are read where they lie")

    return Spread(never, HerePlaces(folder, blocks, sizes))
