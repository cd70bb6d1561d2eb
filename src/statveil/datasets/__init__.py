"""The data sets of the paper's evaluation: read from files that the user has, or generated stand-ins that say so."""

from statveil.datasets.dataset import Dataset
from statveil.datasets.mba import read_mba
from statveil.datasets.salary import read_salary
from statveil.datasets.stand_ins import mba_stand_in, salary_stand_in, wwt_stand_in
from statveil.datasets.wwt import read_wwt

__all__ = ["Dataset", "mba_stand_in", "read_mba", "read_salary", "read_wwt", "salary_stand_in", "wwt_stand_in"]
