"""Known mistakes about a model on a server: windows, latents, several GPUs, what a flag leaves, a log."""

from fractions import Fraction
from types import SimpleNamespace

from kvcourse.checks.catalog.kinds import Quantity, Slip, Value, Way

GIB, GB = 2**30, 10**9
BITS = "Eight times too much. Is the dtype's size given in bits or in bytes?"


def _ceil(tokens: int, block: int) -> int:
    return -(-tokens // block)


def _window_blocks(i: SimpleNamespace) -> int:
    first = max(i.tokens - i.window, 0)
    return _ceil(i.tokens, i.block) - first // i.block


RESERVED = Quantity(
    "reserved_cache",
    ("layers", "layer_bytes", "tokens", "used"),
    lambda i: i.layers * i.layer_bytes * i.tokens,
    ways=(
        Way("gives what is used", lambda i: i.used,
            "That is what later tokens read. What does a server set aside that makes all layers alike?"),
        Way("counts one layer", lambda i: i.layer_bytes * i.tokens, "That is one layer's share."),
        Way("counts one token", lambda i: i.layers * i.layer_bytes, "That is the size for each token."),
    ),
)  # fmt: skip

WINDOW_BLOCKS = Quantity(
    "window_blocks",
    ("tokens", "window", "block"),
    _window_blocks,
    ways=(
        Way("divides the window by the block, and rounds up",
            lambda i: _ceil(min(i.tokens, i.window), i.block),
            "The newest tokens need not begin where a block does. Where does the oldest of them lie?"),
        Way("divides the window by the block, and rounds down",
            lambda i: min(i.tokens, i.window) // i.block,
            "A block that holds one token of the window is held whole."),
        Way("adds a block always", lambda i: _ceil(min(i.tokens, i.window), i.block) + 1,
            "A block too many. When do the newest tokens begin where a block begins?"),
        Way("keeps the whole text", lambda i: _ceil(i.tokens, i.block),
            "All blocks of the text. Which of them hold no token of the window?"),
        Way("takes the window where the text is shorter", lambda i: _ceil(i.window, i.block),
            "The text may be shorter than the window."),
        Way("counts tokens", lambda i: min(i.tokens, i.window),
            "These are tokens. In how many blocks do they lie?"),
    ),
)  # fmt: skip

LATENT = Quantity(
    "latent_bytes",
    ("num_layers", "rank", "rope_dim", "dtype_bytes"),
    lambda i: i.num_layers * (i.rank + i.rope_dim) * i.dtype_bytes,
    optional=("num_heads",),
    ways=(
        Way("forgets the rotary part", lambda i: i.num_layers * i.rank * i.dtype_bytes,
            "The latent is not all that a token leaves behind."),
        Way("counts the latent alone twice",
            lambda i: i.num_layers * (2 * i.rank + i.rope_dim) * i.dtype_bytes,
            "Keys and values are made from one latent. How often is it stored?"),
        Way("keeps a latent for every head",
            lambda i: i.num_heads and i.num_layers * i.num_heads * (i.rank + i.rope_dim) * i.dtype_bytes,
            "All heads read the same vector."),
        Way("keeps a rotary key for every head",
            lambda i: i.num_heads and i.num_layers * (i.rank + i.num_heads * i.rope_dim) * i.dtype_bytes,
            "The rotary key is one, shared by all heads."),
    ),
    slips=(
        Slip("counts K and V", lambda i: 2.0, "Are K and V two vectors here?", "K and V"),
        Slip("counts one layer", lambda i: 1 / i.num_layers, "That is one layer's share.", "layers"),
        Slip("counts numbers, not bytes", lambda i: 1 / i.dtype_bytes if i.dtype_bytes > 1 else None,
             "How many bytes does one stored number take?", "element"),
        Slip("counts bits, not bytes", lambda i: 8.0, BITS, "element"),
    ),
)  # fmt: skip


def _of_heads(key: Value) -> Value:
    return lambda i: i.num_layers * i.num_heads * key(i) * i.dtype_bytes


EXPANDED = Quantity(
    "expanded_bytes",
    ("num_layers", "num_heads", "nope_dim", "rope_dim", "v_dim", "dtype_bytes"),
    _of_heads(lambda i: i.nope_dim + i.rope_dim + i.v_dim),
    ways=(
        Way("takes a value for as wide as a key", _of_heads(lambda i: 2 * (i.nope_dim + i.rope_dim)),
            "A key has a rotary part. Has a value?"),
        Way("forgets the rotary part of a key", _of_heads(lambda i: i.nope_dim + i.v_dim),
            "A key has two parts. Which one is missing?"),
        Way("counts keys alone", _of_heads(lambda i: i.nope_dim + i.rope_dim),
            "What is stored for each token beside its key?"),
        Way("counts values alone", _of_heads(lambda i: i.v_dim),
            "What is stored for each token beside its value?"),
    ),
    slips=(
        Slip("counts one head", lambda i: 1 / i.num_heads, "That is one head's share.", "heads"),
        Slip("counts one layer", lambda i: 1 / i.num_layers, "That is one layer's share.", "layers"),
        Slip("counts K and V twice", lambda i: 2.0, "Twice too much. Are both in there already?", "K and V"),
        Slip("counts bits, not bytes", lambda i: 8.0, BITS, "element"),
    ),
)  # fmt: skip

AS_HEADS = Quantity(
    "latent_as_heads",
    ("rank", "rope_dim", "head_dim"),
    lambda i: (i.rank + i.rope_dim) / (2 * i.head_dim),
    tolerance=0.005,
    ways=(
        Way("forgets that a head keeps K and V", lambda i: (i.rank + i.rope_dim) / i.head_dim,
            "What does one head keep of a token beside its key?"),
        Way("forgets the rotary part", lambda i: i.rank / (2 * i.head_dim),
            "The latent is not all that a token leaves behind."),
        Way("divides the head by the latent", lambda i: 2 * i.head_dim / (i.rank + i.rope_dim),
            "Upside down. Which of the two is divided by which?"),
        Way("rounds", lambda i: round((i.rank + i.rope_dim) / (2 * i.head_dim)),
            "It need not be whole: keep the fraction."),
    ),
)  # fmt: skip

LONGEST = Quantity(
    "longest_cache",
    ("kv_bytes", "one_token", "max_len"),
    lambda i: i.kv_bytes,
    ways=(
        Way("multiplies the first token's bytes", lambda i: i.one_token * i.max_len,
            "Not every token adds as much: windows fill up, and a state is there from the start. "
            "What do you get for the longest length itself?"),
        Way("counts one token", lambda i: i.one_token, "That is the cache of one token."),
    ),
    slips=(Slip("counts the context twice", lambda i: 2.0, "Twice too much.", "tokens"),),
)  # fmt: skip

HEADS = Quantity(
    "kv_heads_per_gpu",
    ("kv_heads", "gpus"),
    lambda i: max(i.kv_heads // i.gpus, 1),
    ways=(
        Way("gives some GPUs nothing", lambda i: i.kv_heads // i.gpus,
            "Every GPU computes with some query heads. Which keys do these read?"),
        Way("gives every GPU all heads", lambda i: i.kv_heads,
            "Each GPU has a part of the query heads. Does it need the keys of all others?"),
        Way("gives every GPU one head", lambda i: 1, "How many heads are there for each GPU?"),
    ),
)  # fmt: skip

COPIES = Quantity(
    "cache_copies",
    ("kv_heads", "gpus", "context_gpus"),
    lambda i: max(i.gpus // i.kv_heads, 1) // i.context_gpus,
    ways=(
        Way("forgets the context-parallel GPUs", lambda i: max(i.gpus // i.kv_heads, 1),
            "GPUs that share the tokens of a head do not hold copies of them."),
        Way("adds GPUs for the context", lambda i: max(i.gpus // i.kv_heads, 1) * i.context_gpus,
            "Context parallelism uses the same GPUs; it adds none."),
        Way("forgets the heads", lambda i: i.gpus // i.context_gpus,
            "Different GPUs may hold different heads. How many hold the same one?"),
        Way("divides the heads by the GPUs", lambda i: i.kv_heads / i.gpus,
            "Upside down. Which of the two is divided by which?"),
        Way("takes for granted that nothing is held twice", lambda i: 1,
            "There are more GPUs than heads. What do the others hold?"),
    ),
)  # fmt: skip


def _whole(room: Fraction, i: SimpleNamespace) -> int:
    return int(room // (i.block * i.token_bytes)) * i.block


def _rooms(i: SimpleNamespace) -> dict[str, Fraction]:
    share, left = Fraction(str(i.fraction)), Fraction(i.total - i.weights - i.other)
    return {
        "vLLM": share * i.total - i.weights - i.other,
        "SGLang": min(share * i.total - i.weights, left),
        "TensorRT-LLM": share * left,
    }


def _by(change: Value) -> Value:
    """Tokens if the room were what `change` says."""
    return lambda i: _whole(Fraction(change(i)), i)


def _without(name: str) -> Value:
    """The engine's own rule with nothing of `name`."""
    return _by(lambda i: _rooms(SimpleNamespace(**vars(i) | {name: 0}))[i.engine])


def _by_the_rule_of(engine: str) -> Value:
    return lambda i: None if i.engine == engine else _by(lambda j: _rooms(j)[engine])(i)


def _exact(i: SimpleNamespace) -> int:
    return max(int(_rooms(i)[i.engine] // i.token_bytes), 0)


ROOM = Quantity(
    "engine_tokens",
    ("engine", "total", "weights", "other", "fraction", "token_bytes", "block"),
    lambda i: max(_whole(_rooms(i)[i.engine], i), 0),
    ways=(
        *(
            Way(f"takes {name}'s rule", _by_the_rule_of(name),
                "That is another server's rule. Of which whole is this one's fraction a share?")
            for name in ("vLLM", "SGLang", "TensorRT-LLM")
        ),
        Way("forgets activations and the rest", _without("other"),
            "Something besides the weights needs memory."),
        Way("forgets the weights", _without("weights"), "The weights lie on the same GPU."),
        Way("takes the share of all memory", _by(lambda i: Fraction(str(i.fraction)) * i.total),
            "What else lies on the GPU?"),
        Way("takes all that is left", _by(lambda i: i.total - i.weights - i.other),
            "What does the fraction keep back?"),
        Way("lets activations take from SGLang's rest without looking",
            lambda i: _by(lambda j: Fraction(str(j.fraction)) * j.total - j.weights)(i)
            if i.engine == "SGLang" else None,
            "Do the activations fit into what the share leaves of the GPU?"),
        Way("cuts no blocks", _exact, "Tokens come in whole blocks. What of the rest that fills none?"),
        Way("counts blocks", lambda i: max(_whole(_rooms(i)[i.engine], i), 0) // i.block,
            "These are blocks. How many tokens are they?"),
        Way("rounds up to a block", lambda i: max(_whole(_rooms(i)[i.engine], i), 0) + i.block,
            "The last block does not fit."),
        Way("lets a pool be smaller than nothing", lambda i: _whole(_rooms(i)[i.engine], i),
            "A pool may have nothing. May it have less?"),
    ),
)  # fmt: skip


def _gib(change: Value) -> Value:
    return lambda i: float(change(i) / GIB)


ROOM_GIB = Quantity(
    "engine_gib",
    ("engine", "total", "weights", "other", "fraction"),
    _gib(lambda i: _rooms(i)[i.engine]),
    tolerance=0.01,
    ways=(
        *(
            Way(f"takes {name}'s rule",
                lambda i, name=name: None if i.engine == name else float(_rooms(i)[name] / GIB),
                "That is another server's rule. Of which whole is this one's fraction a share?")
            for name in ("vLLM", "SGLang", "TensorRT-LLM")
        ),
        Way("forgets activations and the rest",
            _gib(lambda i: _rooms(SimpleNamespace(**vars(i) | {"other": 0}))[i.engine]),
            "Something besides the weights needs memory."),
        Way("forgets the weights",
            _gib(lambda i: _rooms(SimpleNamespace(**vars(i) | {"weights": 0}))[i.engine]),
            "The weights lie on the same GPU."),
        Way("takes all that is left", _gib(lambda i: i.total - i.weights - i.other),
            "What does the fraction keep back?"),
    ),
    slips=(
        Slip("gives GB", lambda i: GIB / GB, "That is the number in GB. GiB count 1024s.", "unit"),
        Slip("gives bytes", lambda i: float(GIB), "The contract asks for GiB.", "unit"),
    ),
)  # fmt: skip

LOGGED = Quantity(
    "log_tokens",
    ("gib", "token_bytes"),
    lambda i: i.gib * GIB / i.token_bytes,
    tolerance=0.003,
    slips=(
        Slip("takes GiB for GB", lambda i: GB / GIB,
             "Off by the factor between GiB and GB. How many bytes are a GiB?", "unit"),
        Slip("counts K and V once more", lambda i: 0.5,
             "Half of it. The bytes of a token hold both K and V.", "K and V"),
        Slip("counts blocks", lambda i: 1 / 16, "These are blocks. How many tokens are they?", "block"),
        Slip("counts a token for a block", lambda i: 16.0,
             "Sixteen times too many. Is there a block size in there twice?", "block"),
        Slip("counts MiB", lambda i: 1 / 1024, "The log says GiB.", "unit"),
    ),
)  # fmt: skip

SERVING = (
    RESERVED, WINDOW_BLOCKS, LATENT, EXPANDED, AS_HEADS, LONGEST, HEADS, COPIES, ROOM,
    ROOM_GIB, LOGGED,
)  # fmt: skip
