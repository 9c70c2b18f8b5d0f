"""`--assume FIELD=VALUE`: a field of a configuration set by hand, where the file leaves it open."""

import json
from collections.abc import Iterable
from dataclasses import replace

from kvcourse.errors import UserError, shown
from kvcourse.memory import CacheModel
from kvcourse.memory.fields import Fields


def parse(texts: Iterable[str]) -> dict[str, object]:
    """ "sliding_window=4096" as a field and its value in JSON; what is no JSON is a string. UserError."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name or len(text) > 10_000:
            raise UserError(
                f"--assume {shown(text)}: expected FIELD=VALUE, such as sliding_window=4096 or FIELD=null."
            )
        try:
            found[name] = json.loads(value)
        except (ValueError, RecursionError):
            found[name] = value.strip()
    return found


def apply(raw: dict, assumed: dict[str, object]) -> dict:
    """The configuration with these fields in place of its own, in the part that describes the decoder."""
    if not assumed:
        return raw
    part = Fields(raw).raw
    changed = part | assumed
    dropped = {name for name, value in assumed.items() if value is None}
    if part is raw:
        return changed
    return _with(raw, part, changed, dropped)


def _with(raw: dict, part: dict, changed: dict, dropped: set[str]) -> dict:
    """`raw` with the nested `part` changed; a field set to null must not come back from further out."""
    return {
        name: changed if value is part else _with(value, part, changed, dropped)
        if isinstance(value, dict) and any(inner is part for inner in value.values()) else value
        for name, value in raw.items() if name not in dropped
    }  # fmt: skip


def mark(model: CacheModel, assumed: dict[str, object]) -> CacheModel:
    """The model with those of its facts that rest on an assumption saying so."""
    facts = tuple(
        replace(fact, source=f"{fact.source} (assumed)") if fact.source in assumed else fact
        for fact in model.facts
    )
    return replace(model, facts=facts)
