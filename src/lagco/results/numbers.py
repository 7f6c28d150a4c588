"""Numbers as people read them."""

from __future__ import annotations


def significant(value: float, digits: int = 3) -> str:
    """A number with some significant digits, never in exponents between 0.001 and a million."""
    if value == 0:
        return "0"
    scientific = f"{value:.{digits - 1}e}"
    exponent = int(scientific.partition("e")[2])  # after rounding: 0.9996 has the one of 1
    if not -3 <= exponent < 6:
        return scientific
    return f"{value:.{max(0, digits - 1 - exponent)}f}"


def of_things(number: int, things: str) -> str:
    """A number with what it counts, in the singular for one: 1 instance, 2 instances.

    Args:
        number: of things.
        things: the plural; words before the last stay as they are.
    """
    if number == 1 and things.endswith("ies") and things != "series":
        return f"1 {things[:-3]}y"
    return f"{number} {things.removesuffix('s') if number == 1 else things}"
