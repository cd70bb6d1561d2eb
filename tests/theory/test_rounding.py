"""Numbers for people: rounded to the side that claims less, whatever their size."""

import math
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from statveil.rounding import shown_down, shown_up

ANY = st.floats(allow_nan=False, allow_infinity=False)
DIGITS = st.integers(1, 15)


@given(ANY, DIGITS)
@example(0.22680412371134018, 6)
@example(5e-324, 3)
@example(2.2250738585072014e-308, 4)
@example(math.nextafter(0.2, 1), 6)
@example(9.9999999e22, 6)
@example(1.7976931348623157e308, 6)
def test_what_is_read_is_never_below_or_above(value, digits):
    up, down = shown_up(value, digits), shown_down(value, digits)
    assert float(down) <= value <= float(up)
    # and close: at most one unit of the last digit away
    if 1e-300 < abs(value) < 1e300:
        unit = Decimal(10) ** (Decimal(repr(value)).adjusted() - digits + 1)
        assert Decimal(up) - Decimal(repr(value)) < unit
        assert Decimal(repr(value)) - Decimal(down) < unit


@given(st.integers(-99_999, 99_999), st.integers(-20, 15))
def test_what_needs_no_rounding_stays(whole, exponent):
    value = float(f"{whole}e{exponent}")
    assert float(shown_up(value)) == value == float(shown_down(value))


def test_examples():
    assert shown_up(0.22680412371134018) == "0.226805"  # was printed as 0.226804, and called exact
    assert shown_down(0.22680412371134018) == "0.226804"
    assert [shown_up(value) for value in (0, 1, 0.2, 5000, 1234567, 1e-9)] == [
        "0",
        "1",
        "0.2",
        "5000",
        "1.23457e+06",
        "1e-09",
    ]
    assert shown_up(math.nextafter(0.2, 1)) == "0.200001"
    assert shown_up(math.inf) == "inf"
    assert shown_down(-math.inf) == "-inf"
    assert shown_up(1.7976931348623157e308) == "inf"


def test_too_many_digits_are_refused():
    for digits in (0, 16):
        with pytest.raises(ValueError, match="1 to 15"):
            shown_up(0.5, digits)
