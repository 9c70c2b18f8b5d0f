"""What a count of parameters collects, by what they are for."""

from dataclasses import dataclass

from kvcourse.memory.fields import Fields

Shape = dict[str, object]  # facts about the model by name, as its cache's reader noted them


@dataclass
class Tally:
    """Numbers of each purpose; the output projection is 0 where it is the embedding table itself."""

    embeddings: int = 0
    attention: int = 0
    mlp: int = 0
    norms: int = 0
    output: int = 0


def tables(tally: Tally, fields: Fields, hidden: int) -> Tally:
    """The embedding table, and the output projection where it is not the same one."""
    table = fields.count("vocab_size", "vocab_size") * hidden
    tally.embeddings, tally.output = table, 0 if fields.flag("tie_word_embeddings") else table
    return tally


def widths(shape: Shape) -> tuple[int, int]:
    """Numbers of a token's queries, and of its keys (or values), in one layer."""
    return shape["num_heads"] * shape["head_dim"], shape["num_kv_heads"] * shape["head_dim"]
