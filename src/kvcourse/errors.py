"""Errors that a person can act on: one sentence saying what came and what was expected.

Command-line tools print these on stderr without a traceback and exit 2. A bug of ours is any other exception.
"""

from collections.abc import Iterator


class UserError(ValueError):
    """Bad input from outside: the message is one clear sentence."""


class ConfigError(UserError):
    """A model configuration that cannot be read, or that lacks or contradicts what the cache needs."""


class UnitError(UserError):
    """A size or a dtype that has no single meaning in bytes."""


class ModelFileError(UserError):
    """Model weights that are absent, damaged, or of a kind this decoder does not run."""


class CacheError(UserError):
    """Keys and values that do not fit a cache. The cache is as it was before the call."""


def shown(value: object, limit: int = 60) -> str:
    """`value` as it may stand in a message: printable ASCII, at most `limit` characters."""
    text = ""
    try:
        for piece in _pieces(value, limit):
            text += piece
            if len(text) > limit:  # of ten megabytes nobody reads more
                break
    except Exception:  # a repr that raises must not hide the error being reported
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _pieces(value: object, limit: int) -> Iterator[str]:
    """`ascii(value)` bit by bit."""
    if type(value) is str:
        yield ascii(value[:limit])
    elif type(value) is list:
        for i, item in enumerate(value):
            yield ", " if i else "["
            yield from _pieces(item, limit)
        yield "]" if value else "[]"
    elif type(value) is dict:
        for i, (key, item) in enumerate(value.items()):
            yield f"{', ' if i else '{'}{key!a}: "
            yield from _pieces(item, limit)
        yield "}" if value else "{}"
    else:
        yield ascii(value)
