"""Published models as facts with their sources: `find("llama-2-7b")`. `models.toml` is read at first use.

Knows nothing about caches: a model's `config` is what its publisher's `config.json` says, in the same fields.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kvcourse.errors import UserError, shown


class UnknownModelError(UserError):
    """A name that the registry does not hold; the message lists near ones."""


@dataclass(frozen=True)
class Model:
    """One published model. `parameters` is None where nobody has counted them."""

    name: str
    organization: str
    config: dict
    source: str
    source_kind: str
    aliases: tuple[str, ...] = ()
    parameters: int | None = None


def find(name: str) -> Model:
    """The model called `name`, with or without its organization, in any case. Raises UnknownModelError."""
    if not isinstance(name, str) or not name.strip():
        raise UnknownModelError(f'a model\'s name is a string such as "Llama-2-7B"; got {shown(name)}.')
    known = _index()
    model = known.get(_key(name))
    if model is None:
        raise UnknownModelError(f"no published model {shown(name)} in the registry{_near(name)}.")
    return model


def models() -> tuple[Model, ...]:
    """All models, by organization and name."""
    return _load()


@cache
def _load() -> tuple[Model, ...]:
    import tomllib

    text = Path(__file__).with_name("models.toml").read_text(encoding="utf-8")
    return tuple(_model(entry) for entry in tomllib.loads(text)["model"])


def _model(entry: dict) -> Model:
    absent = dict.fromkeys(entry.get("absent", ()))
    return Model(
        name=entry["name"],
        organization=entry["organization"],
        config=entry["config"] | absent,
        source=entry["source"],
        source_kind=entry["source_kind"],
        aliases=tuple(entry.get("aliases", ())),
        parameters=entry.get("parameters"),
    )


@cache
def _index() -> dict[str, Model]:
    return {_key(name): model for model in _load() for name in (model.name, *model.aliases)}


# Endings that name a fine-tuned or converted copy of the same shape.
_SAME_SHAPE = re.compile(r"-(?:hf|instruct|chat|it|base|pt|bf16|fp16)$")


def _key(name: str) -> str:
    """One spelling of a name: no organization, no case, one separator, none between a letter and a digit."""
    key = re.sub(r"[\s_-]+", "-", name.strip().lower().rsplit("/", 1)[-1]).removeprefix("meta-").strip("-")
    while _SAME_SHAPE.search(key):
        key = _SAME_SHAPE.sub("", key)
    return re.sub(r"(?<=[a-z])-(?=\d)", "", key)


def _near(name: str) -> str:
    """A clause that lists near names in the spelling of the registry, or nothing."""
    from difflib import get_close_matches

    known, key = _index(), _key(name)
    close = get_close_matches(key, known, n=4, cutoff=0.5)
    close += [other for other in known if len(key) > 2 and key in other and other not in close]
    names = list(dict.fromkeys(known[other].name for other in close))[:4]
    if not names:
        return ""
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
    return f"; the nearest names are {listed}" if len(names) > 1 else f"; the nearest name is {listed}"
