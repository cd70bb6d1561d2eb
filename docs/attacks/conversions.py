"""Numbers that were recorded in one unit and written in another."""

from __future__ import annotations

import numpy as np

from attacks.rounded import rounded_rule
from attacks.variants import Floats, NoTableError, Variant, belief, log_uniform, rows, shape

__all__ = ["UNITS", "conversion"]

FACTORS = """
lb kg 0.45359237; oz g 28.349523125; stone kg 6.35029318; troy_oz g 31.1034768; short_ton t 0.90718474;
grain mg 64.79891; carat grain 3.0864716706; inch cm 2.54; ft m 0.3048; yd m 0.9144; mile km 1.609344; nmi km 1.852;
fathom m 1.8288; us_gal l 3.785411784; uk_gal l 4.54609; fl_oz ml 29.5735295625; pint l 0.473176473;
bushel l 35.23907; barrel m3 0.158987294928; mph km/h 1.609344; knot km/h 1.852; knot m/s 0.514444444; m/s km/h 3.6;
mph m/s 0.44704; psi kPa 6.894757293; psi bar 0.06894757293; mmHg kPa 0.133322387415; inHg hPa 33.8638866667;
atm kPa 101.325; torr mbar 1.33322368421; kcal kJ 4.184; Btu kJ 1.05505585262; kWh MJ 3.6; therm kWh 29.3071;
hp kW 0.745699872; PS kW 0.73549875; acre ha 0.40468564224; ft2 m2 0.09290304; mi2 km2 2.589988110336;
pyeong m2 3.305785124; mu ha 0.0666666667; rai m2 1600; glucose_mmol/l mg/dl 18.0156; cholesterol_mmol/l mg/dl 38.67;
creatinine_mg/dl umol/l 88.4; urea_mg/dl mmol/l 0.3571; calcium_mg/dl mmol/l 0.2495; fats_mg/dl mmol/l 0.01129;
haemoglobin_g/dl mmol/l 0.6206; bilirubin_mg/dl umol/l 17.1; uric_acid_mg/dl umol/l 59.48; vitamin_d_ng/ml nmol/l 2.496;
EUR DEM 1.95583; EUR FRF 6.55957; EUR ATS 13.7603; EUR BEF 40.3399; EUR NLG 2.20371; EUR ITL 1936.27; EUR ESP 166.386;
EUR FIM 5.94573; EUR IEP 0.787564; EUR PTE 200.482; EUR GRD 340.750; EUR SIT 239.640; EUR SKK 30.1260;
EUR EEK 15.6466; EUR HRK 7.53450; h min 60; min s 60; week d 7; year month 12; year d 365.25; rad deg 57.29577951308;
gon deg 0.9; deg arcmin 60; MiB MB 1.048576; GiB GB 1.073741824; KiB kB 1.024; net vat_19 1.19; net vat_7 1.07;
net vat_20 1.2; net vat_25 1.25; net vat_8.1 1.081; net vat_21 1.21; net gst_15 1.15; net tip_18 1.18;
net sales_tax_8.875 1.08875; lbf N 4.4482216153; lbf_ft N_m 1.3558179483
"""
"""Units from and to, and the factor between them; each is used in both directions."""
OFFSETS = (
    *(("F C", 5 / 9, -160 / 9), ("C F", 1.8, 32.0), ("C K", 1.0, 273.15), ("F K", 5 / 9, 459.67 * 5 / 9)),
    ("HbA1c_% mmol/mol", 10.929, -23.5),
)
"""Units that begin elsewhere: from and to, factor, addend."""


def units() -> tuple[tuple[str, float, float], ...]:
    """Every pair of units, in both directions: names, factor, addend."""
    pairs = [line.split() for line in FACTORS.replace("\n", " ").split(";")]
    there = [(f"{a} {b}", float(factor), 0.0) for a, b, factor in pairs]
    back = [(f"{b} {a}", 1 / float(factor), 0.0) for a, b, factor in pairs]
    return (*there, *back, *OFFSETS, *OFFSETS)


UNITS = units()
FUELS = ("mpg l/100km", "uk mpg l/100km", "l/100km mpg", "pace min/km km/h", "km/h pace min/km", "dpi um", "ms Hz")
"""Units that turn over, with the numbers in :func:`turned`."""


def turned(name: str) -> float:
    """The number that is divided by a value in one unit to have it in the other."""
    numbers = (235.214583, 282.480936, 235.214583, 60.0, 60.0, 25_400.0, 1000.0)
    return dict(zip(FUELS, numbers, strict=True))[name]


def conversion(rng: np.random.Generator) -> Variant:
    """Numbers that were rounded in one unit and written in another."""
    name, factor, addend = "", 1.0, 0.0
    over = rng.random() < 0.1
    if over:
        name = str(rng.choice(FUELS))
        number = turned(name)

        def forward(units: Floats) -> Floats:
            with np.errstate(divide="ignore"):
                return np.asarray(number / units)
    else:
        name, factor, addend = UNITS[rng.integers(len(UNITS))]

        def forward(units: Floats) -> Floats:
            return np.asarray(units * factor + addend)

    source = float(rng.choice([1, 1, 1, 0.5, 0.1, 0.1, 0.25, 0.01, 5, 10]))
    spread = log_uniform(rng, 0.08, 0.8) if not over else log_uniform(rng, 0.05, 0.3)
    size = log_uniform(rng, 15, 3000) * source
    low = float(forward(np.array([size]))[0])
    if low <= 0:
        raise NoTableError("below 0")
    held = belief(rng, low, deviation=spread)
    count = rows(rng)
    if over:
        units = number / held.truth / shape(rng, count, spread=spread)
    else:
        units = (held.truth - addend) / factor * shape(rng, count, spread=spread)
    originals = np.stack([np.round(units / source) * source, units], axis=1)
    if originals.min() <= 0:
        raise NoTableError("below 0")
    every = np.arange(1, np.ceil(originals.max() / source * 2.5) + 2) * source
    if len(every) > 400_000:
        raise NoTableError("too fine")
    digits = int(rng.integers(0, 6))
    decimals = None if digits == 5 else digits
    share = 1.0 if rng.random() < 0.6 else rng.uniform(0.2, 1.0)
    fine = factor * source if not over else held.truth**2 * source / number
    if decimals is not None and not 0.02 < 10.0**-decimals / fine < 12:
        raise NoTableError("rounded away, or with all digits")
    kind = "turned over" if over else ("offset" if addend else "factor")
    coarse = "all digits" if decimals is None else ("coarser" if 10.0**-decimals > fine else "finer")
    family = f"{kind}, {coarse}{', a part' if share < 1 else ''}"
    return rounded_rule(
        rng, family, forward, originals, every, held, decimals=decimals, share=share, positive=addend >= 0
    )
