"""Whole numbers from outside: checked once, at the door, with a sentence that names the argument."""

import operator

from kvcourse.errors import ConfigError, shown

# Far above any real model or server, so that a slip such as bytes for tokens is caught and nobody's model is.
MOST = 10**15


def whole(name: str, value: object, least: int = 0, most: int = MOST) -> int:
    """`value` as an int from `least` to `most`; NumPy integers pass, booleans and fractions do not."""
    expected = f"expected a whole number of {least} or more"
    if isinstance(value, (bool, float)):
        raise ConfigError(f"{name} is {shown(value)}; {expected}.")
    try:
        number = operator.index(value)
    except TypeError:
        raise ConfigError(f"{name} is {shown(value)}; {expected}.") from None
    if not least <= number <= most:
        wanted = expected if number < least else f"expected at most {most}"
        raise ConfigError(f"{name} is {shown(number)}; {wanted}.")
    return number
