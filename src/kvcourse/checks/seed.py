"""The class seed: hidden tests draw their sizes and weights from it, so that published answers do not fit.

Looked for in this order: the environment's KVCOURSE_CLASS_SEED; the nearest `class.toml` from the current
folder upwards (`seed = "spring-2027"`; the course's .gitignore names it); a fixed default, open to anyone.
"""

import hashlib
import hmac
import os
import random
import tomllib
from pathlib import Path

from kvcourse.errors import UserError, shown

ENVIRONMENT = "KVCOURSE_CLASS_SEED"
FILE = "class.toml"
DEFAULT_SEED = "kvcourse open seed"
MAX_LENGTH = 1000


class SeedError(UserError):
    """A class seed that cannot be read. No hidden test runs with a seed that its author did not mean."""


def class_seed() -> str:
    """The seed of this class, as text. Raises SeedError, one sentence that names the file or the variable."""
    given = os.environ.get(ENVIRONMENT)
    if given is not None:
        return _usable(given, f"the environment variable {ENVIRONMENT}")
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / FILE).is_file():
            return _from_file(folder / FILE)
    return DEFAULT_SEED


def class_rng(name: str) -> random.Random:
    """A generator for the test called `name`: HMAC-SHA256 of the name under the class seed (RFC 2104).

    One name gives one stream in one class; other names and other classes give unrelated streams. For torch:
    `torch.Generator().manual_seed(class_rng("q5-past").getrandbits(63))`.
    """
    if not isinstance(name, str) or not name:
        raise SeedError(f"a test's name is a text that is not empty; got {shown(name)}.")
    digest = hmac.digest(class_seed().encode(), name.encode(), hashlib.sha256)
    return random.Random(int.from_bytes(digest, "big"))


def _from_file(path: Path) -> str:
    try:
        data = path.read_bytes()
        table = tomllib.loads(data.decode("utf-8-sig"))
    except OSError as error:
        raise SeedError(f"cannot read the class seed in {path}: {error.strerror or error}.") from None
    except (ValueError, RecursionError) as error:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        raise SeedError(
            f'{path} is not TOML ({error}); expected one line such as seed = "spring-2027".'
        ) from None
    if "seed" not in table:
        raise SeedError(f'{path} has no seed; expected one line such as seed = "spring-2027".')
    return _usable(table["seed"], f"seed in {path}")


def _usable(value: object, where: str) -> str:
    """Text of 1 to 1000 characters, or a whole number (the same seed as its digits in quotes)."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**MAX_LENGTH:
        value = str(value)
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_LENGTH:
        raise SeedError(
            f"{where} is {shown(value)}; expected 1 to {MAX_LENGTH} characters or a whole number."
        )
    return value.strip()
