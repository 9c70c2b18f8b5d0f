"""The product behind a size, factor by factor, with where each factor came from."""

from typing import TYPE_CHECKING

from kvcourse.memory import FullAttention, Part, part_bytes
from kvcourse.memory.formats import parse_weight_format
from kvcourse.units import both

if TYPE_CHECKING:
    from kvcourse.commands.size import Sizes


def text(sizes: "Sizes") -> str:
    """Every factor of the cache of one token or one sequence, then the batch and the weights."""
    plain = len(sizes.model.groups()) == 1 and isinstance(sizes.model.layers[0], FullAttention)
    simple = plain and sizes.model.layers[0].value_dim is None and sizes.storage.key == sizes.storage.value
    body = _one_product(sizes) if simple else _by_layer(sizes)
    return "\n".join(
        [f"{sizes.subject.name}, cache in {sizes.storage.name}", *body, *_whole(sizes), *_sources(sizes)]
    )


def _one_product(sizes: "Sizes") -> list[str]:
    """2 x layers x KV heads x head_dim x bytes: a model whose layers are all alike."""
    layer = sizes.model.layers[0]
    factors = [
        (2, "K and V", ""),
        (len(sizes.model.layers), "layers", _source(sizes, "num_layers")),
        (
            layer.kv_heads,
            "KV heads",
            _source(sizes, "num_kv_heads") if sizes.ranks == 1 else f"of each of {sizes.ranks} devices",
        ),
        (layer.head_dim, "numbers a head", _source(sizes, "head_dim")),
    ]
    lines = [
        f"  {'x' if i else ' '} {value:<9,} {name:15} {source}".rstrip()
        for i, (value, name, source) in enumerate(factors)
    ]
    lines.append(f"  x {_bytes_of(sizes.storage.key):<9} {'bytes a number':15} {sizes.storage.key.name}")
    lines.append(f"  = {sizes.first_token:,} bytes a token = {both(sizes.first_token)}")
    beams = "" if sizes.beams == 1 else f" x {sizes.beams} beams"
    lines.append(
        f"  x {sizes.stored:,} tokens{beams} = {sizes.sequence:,} bytes a sequence = {both(sizes.sequence)}"
    )
    return lines


def _by_layer(sizes: "Sizes") -> list[str]:
    """One line a cached tensor, for layers of different kinds or formats."""
    lines = [f"  one sequence of {sizes.tokens:,} tokens:"]
    for layer, number in sizes.model.groups():
        lines.append(f"  {number} x {layer.describe()}")
        for part in layer.parts(sizes.stored):
            size = part_bytes(part, sizes.storage)
            lines.append(f"      {part.role}: {_product(part)} = {part.elements:,} numbers = {size:,} bytes")
    beams = "" if sizes.beams == 1 else f" with {sizes.beams} beams, which share what is read of the source"
    lines.append(f"  = {sizes.sequence:,} bytes a sequence{beams} = {both(sizes.sequence)}")
    lines.append(
        f"    {sizes.first_token:,} bytes for the first token, {sizes.next_token:,} for the next one"
    )
    return lines


def _product(part: Part) -> str:
    heads = f" x {part.heads} heads" if part.heads > 1 else ""
    return f"{part.rows:,} rows{heads} x {part.width}"


def _whole(sizes: "Sizes") -> list[str]:
    lines = []
    if sizes.batch != 1:
        lines.append(f"  x {sizes.batch:,} sequences = {sizes.total:,} bytes = {both(sizes.total)}")
    if sizes.weights is not None:
        share = f" / {sizes.ranks} devices" if sizes.ranks != 1 else ""
        width = f"{_bytes_of(parse_weight_format(sizes.weights_dtype))} bytes each ({sizes.weights_dtype})"
        lines.append("weights")
        lines.append(f"    {sizes.subject.parameters:,} parameters ({sizes.subject.parameters_source})")
        lines.append(f"  x {width}{share} = {sizes.weights:,} bytes = {both(sizes.weights)}")
    if sizes.sequences_to_exceed is not None:
        whole = sizes.weights / sizes.sequence
        lines.append(
            f"  {sizes.weights:,} / {sizes.sequence:,} = {whole:.2f} sequences: number "
            f"{sizes.sequences_to_exceed:,} passes the weights"
        )
    return lines


def _sources(sizes: "Sizes") -> list[str]:
    lines = [f"facts from {sizes.subject.source}"]
    lines += [f"    {fact.name} = {_number(fact.value)}: {fact.source}" for fact in sizes.model.facts]
    return lines


def _source(sizes: "Sizes", name: str) -> str:
    return next((fact.source for fact in sizes.model.facts if fact.name == name), "")


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _bytes_of(stored) -> str:
    """Bytes a number with its share of the scales: "2", "1.0625"."""
    bits = stored.bits_per_element
    return f"{bits / 8:g}" if bits is not None else f"{stored.bits / 8:g}+"
