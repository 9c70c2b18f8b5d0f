"""Layers that attend: MHA, GQA and MQA, over every token or over a window.

What a file leaves out means what Transformers' configuration class of its type says (`class_defaults.json`).
"""

from dataclasses import dataclass, replace

from kvcourse.errors import ConfigError, shown
from kvcourse.memory.families.windows import Windows, full
from kvcourse.memory.fields import CLASS_DEFAULT, MOST_LAYERS, Fields
from kvcourse.memory.layers import FullAttention, IndexKeys, Layer, SharedCache, SlidingAttention, Together


@dataclass(frozen=True)
class Attention:
    """One family: where its files keep the numbers, and which layers see a window."""

    layers: tuple[str, ...] = ("num_hidden_layers",)
    heads: tuple[str, ...] = ("num_attention_heads",)
    hidden: tuple[str, ...] = ("hidden_size",)
    kv_heads: tuple[str, ...] = ("num_key_value_heads",)  # () where the type knows MHA only
    head_dim: str = "head_dim"
    windows: Windows = full
    ignored: tuple[str, ...] = ()  # fields that a rule would doubt and that change nothing here

    def __call__(self, fields: Fields) -> tuple[Layer, ...]:
        fields.ignore(*self.ignored)
        num_layers = self.depth(fields)
        attention = self.full_attention(fields)
        windows = self.windows(fields, num_layers)
        return tuple(
            attention if window is None else SlidingAttention(window, self.windowed(fields, attention))
            for window in windows
        )

    def depth(self, fields: Fields) -> int:
        return fields.count("num_layers", *self.layers)

    def windowed(self, fields: Fields, attention: FullAttention) -> FullAttention:
        """What a windowed layer keeps of each token: as much as the others, in most families."""
        return attention

    def full_attention(self, fields: Fields) -> FullAttention:
        """The KV heads of a layer, which must share the query heads evenly."""
        heads = fields.count("num_heads", *self.heads)
        attention = FullAttention(self.count_kv_heads(fields, heads), self.width(fields, heads))
        if heads % attention.kv_heads:
            usual = f" ({CLASS_DEFAULT})" if all(map(fields.absent, self.kv_heads)) else ""
            raise ConfigError(
                f"num_key_value_heads = {attention.kv_heads}{usual} does not divide "
                f"num_attention_heads = {heads}; "
                "expected the same number of query heads for every KV head."
            )
        return attention

    def count_kv_heads(self, fields: Fields, heads: int) -> int:
        if not self.kv_heads:
            return fields.note(
                "num_kv_heads", heads, "one KV head per query head: this model type knows only MHA"
            )
        # The class default applies to an absent field; an explicit null means one per query head.
        why = "one KV head per query head (MHA)"
        return fields.count("num_kv_heads", *self.kv_heads, default=heads, why=why)

    def width(self, fields: Fields, heads: int) -> int:
        hidden = fields.count("hidden_size", *self.hidden)
        usual = fields.default(self.head_dim) if fields.absent(self.head_dim) else None
        if usual is not None:
            return fields.note("head_dim", usual, f"{self.head_dim} is absent: {CLASS_DEFAULT}")
        if fields.get(self.head_dim) is None and hidden % heads:
            raise ConfigError(
                f"field 'head_dim' is missing and {self.hidden[0]} = {hidden} is not a multiple of "
                f"{self.heads[0]} = {heads}; expected one of them to settle the width of a head."
            )
        why = f"{self.hidden[0]} / {self.heads[0]} = {hidden} / {heads}"
        return fields.count("head_dim", self.head_dim, default=hidden // heads, why=why)


@dataclass(frozen=True)
class Falcon(Attention):
    """`multi_query` means one KV head unless `new_decoder_architecture` counts them in `num_kv_heads`."""

    def count_kv_heads(self, fields: Fields, heads: int) -> int:
        if fields.flag("new_decoder_architecture") or not fields.flag("multi_query", True):
            return fields.count("num_kv_heads", "num_kv_heads", default=heads, why="one per query head (MHA)")
        fields.ignore("num_kv_heads")  # as many as query heads in some files, and of no effect
        return fields.note("num_kv_heads", 1, "multi_query: one KV head for all query heads (MQA)")


@dataclass(frozen=True)
class StarCoder(Attention):
    """GPTBigCode: MQA unless `multi_query` is false."""

    def count_kv_heads(self, fields: Fields, heads: int) -> int:
        shared = fields.flag("multi_query", True)
        _agrees(fields, 1 if shared else heads, "multi_query")
        if shared:
            return fields.note("num_kv_heads", 1, "multi_query: one KV head for all query heads (MQA)")
        return fields.note("num_kv_heads", heads, "multi_query is false: one KV head per query head (MHA)")


def _agrees(fields: Fields, kv_heads: int, name: str) -> None:
    """ConfigError where the file also counts KV heads, as saved ones do, and otherwise."""
    told = fields.get("num_key_value_heads")
    if told not in (None, kv_heads):
        raise ConfigError(
            f"field 'num_key_value_heads' is {shown(told)}, where {name} means {kv_heads}; expected the same."
        )


@dataclass(frozen=True)
class Nested(Attention):
    """DBRX and MPT keep the attention's numbers in `attn_config`."""

    absent_kv_heads: int | None = None

    def count_kv_heads(self, fields: Fields, heads: int) -> int:
        nested = fields.get("attn_config")
        if nested is not None and not isinstance(nested, dict):
            raise ConfigError(f"field 'attn_config' is {shown(nested)}; expected a JSON object.")
        inner = Fields(nested or {})
        value = inner.count("num_kv_heads", "kv_n_heads", default=self.absent_kv_heads or heads)
        _agrees(fields, value, "attn_config.kv_n_heads")
        source = (
            "attn_config.kv_n_heads"
            if (nested or {}).get("kv_n_heads")
            else "attn_config.kv_n_heads is absent"
        )
        return fields.note("num_kv_heads", value, source)


@dataclass(frozen=True)
class ChatGLM(Attention):
    """ChatGLM2 and 3: `multi_query_attention` shares `multi_query_group_num` KV heads."""

    def count_kv_heads(self, fields: Fields, heads: int) -> int:
        groups = fields.get("multi_query_group_num")
        if fields.flag("multi_query_attention") and groups is not None:
            return fields.count("num_kv_heads", "multi_query_group_num")
        return fields.note("num_kv_heads", heads, "no multi_query_attention: one KV head per query head")


@dataclass(frozen=True)
class CrossLayer(Attention):
    """Of `cla_share_factor` layers the first keeps a cache and the others read it (arXiv:2405.12981)."""

    def __call__(self, fields: Fields) -> tuple[Layer, ...]:
        kept, factor = Attention.__call__(self, fields), fields.given("cla_share_factor", default=1)
        factor = factor if fields.flag("use_cla") else 1
        return tuple(SharedCache() if i % factor else layer for i, layer in enumerate(kept))


@dataclass(frozen=True)
class JetMoe(Attention):
    """Experts of attention: as many query heads a KV head as experts are chosen for a token."""

    def full_attention(self, fields: Fields) -> FullAttention:
        kv_heads, chosen = fields.given("num_key_value_heads"), fields.given("num_experts_per_tok")
        fields.note("num_kv_heads", kv_heads, "num_key_value_heads")
        fields.note("num_heads", kv_heads * chosen, "num_key_value_heads x num_experts_per_tok")
        fields.ignore("num_attention_heads")
        return FullAttention(kv_heads, self.width(fields, kv_heads * chosen))


@dataclass(frozen=True)
class Looped(Attention):
    """Layers that run several times keep keys and values for each pass: HRM-Text."""

    def depth(self, fields: Fields) -> int:
        layers = fields.count("num_layers", *self.layers)
        if fields.get("num_layers_per_stack") is not None:
            return layers  # the file already counts every pass
        passes = fields.given("H_cycles") * (fields.given("L_cycles") + 1)
        return fields.note("num_layers", layers * passes, f"num_hidden_layers x {passes} passes")


@dataclass(frozen=True)
class Dory(Attention):
    """The layers between the first and the last few run in loops, each pass with a cache of its own."""

    def __call__(self, fields: Fields) -> tuple[Layer, ...]:
        kinds = fields.get("layer_types")
        pairs = isinstance(kinds, list) and "mlp" in kinds  # attention and MLP listed as layers apart
        if pairs:
            fields = _halved(fields, kinds)
        kept = Attention.__call__(self, fields)
        first, last = (fields.given(name, least=0) for name in ("n_input_layers", "n_output_layers"))
        middle = fields.optional("n_recurrent_layers", "n_recurrent_layers", least=0)
        middle = len(kept) - first - last if middle is None else middle
        loops, mode = fields.given("n_recurrent_loops"), fields.text("recurrent_kv_cache_mode")
        if mode not in (None, "per_loop", "last_loop") or first + middle + last != len(kept):
            raise ConfigError(
                f"field 'n_recurrent_layers' is {middle} beside {first} first and {last} last layers, and "
                f"'recurrent_kv_cache_mode' is {shown(mode)}; expected {len(kept)} layers in all, per_loop "
                "or last_loop."
            )
        loops = 1 if mode == "last_loop" else loops
        return kept[:first] + kept[first : first + middle] * loops + kept[first + middle :]


def _halved(fields: Fields, kinds: list) -> Fields:
    counts = ("num_hidden_layers", "n_input_layers", "n_output_layers", "n_recurrent_layers")
    halves = {name: value // 2 for name in counts if type(value := fields.get(name)) is int}
    fields.raw = fields.raw | halves | {"layer_types": kinds[::2]}
    return fields


@dataclass(frozen=True)
class MiMoV2(Attention):
    """MiMo-V2: windowed layers have heads of their own, and values are narrower than keys."""

    def full_attention(self, fields: Fields) -> FullAttention:
        attention = super().full_attention(fields)
        return replace(attention, value_dim=fields.optional("v_head_dim", "v_head_dim"))

    def windowed(self, fields: Fields, attention: FullAttention) -> FullAttention:
        heads = fields.count("swa_kv_heads", "swa_num_key_value_heads", default=2 * attention.kv_heads,
                             why="twice as many as elsewhere, as the class has it")  # fmt: skip
        key, value = (fields.optional(f"swa_{name}", f"swa_{name}") for name in ("head_dim", "v_head_dim"))
        return FullAttention(heads, key or attention.head_dim, value or attention.value_dim)


def mimo_windows(fields: Fields, layers: int) -> list[int | None]:
    """`hybrid_layer_pattern` has 1 for a windowed layer; else the first and every sixth attend to all."""
    window = fields.count("window", "sliding_window", "sliding_window_size", default=129)
    pattern, kinds = fields.get("hybrid_layer_pattern"), fields.names("layer_types", layers)
    if kinds is None and pattern is None:
        kinds = [
            "full_attention" if i == 0 or (i + 1) % 6 == 0 else "sliding_attention" for i in range(layers)
        ]
    if kinds is None:
        if (
            not isinstance(pattern, list)
            or len(pattern) != layers
            or not set(map(repr, pattern)) <= {"0", "1"}
        ):
            raise ConfigError(
                f"field 'hybrid_layer_pattern' is {shown(pattern)}; expected 0 or 1 for each layer."
            )
        return [window if slides else None for slides in pattern]
    for kind in kinds:
        if kind not in ("full_attention", "sliding_attention"):
            raise ConfigError(
                f"field 'layer_types' has a layer of kind {shown(kind)}, not covered for this model_type."
            )
    return [window if kind == "sliding_attention" else None for kind in kinds]


@dataclass(frozen=True)
class MiniMaxM3(Attention):
    """Sparse layers keep one indexer key a token beside K and V; `sparse_attention_config` names them."""

    def __call__(self, fields: Fields) -> tuple[Layer, ...]:
        layers, attention = self.depth(fields), self.full_attention(fields)
        nested = fields.get("sparse_attention_config")
        if nested is not None and not isinstance(nested, dict):
            raise ConfigError(f"field 'sparse_attention_config' is {shown(nested)}; expected a JSON object.")
        inner = Fields(nested or {})
        width = inner.count(
            "index_head_dim", "sparse_index_dim", default=fields.given("index_head_dim", default=128)
        )
        fields.optional("index_n_heads", "index_n_heads")
        fields.ignore("index_block_size", "index_topk_blocks", "index_local_blocks")
        kinds, sparse = fields.names("layer_types", layers), inner.get("sparse_attention_freq")
        if kinds is not None:
            sparse = [kind == "minimax_m3_sparse" for kind in kinds]
        elif sparse is None:
            sparse = [0] * layers
        if not isinstance(sparse, list) or len(sparse) != layers:
            raise ConfigError(
                f"field 'sparse_attention_freq' is {shown(sparse)}; expected 0 or 1 for each layer."
            )
        indexed = Together((attention, IndexKeys(fields.note("index_head_dim", width, "index width"))))
        return tuple(indexed if is_sparse else attention for is_sparse in sparse)


@dataclass(frozen=True)
class PerLayer(Attention):
    """`num_key_value_heads` may be a list (OpenELM, DeciLM); 0 is a layer without attention."""

    def __call__(self, fields: Fields) -> tuple[Layer, ...]:
        heads = next((fields.get(name) for name in self.kv_heads if fields.get(name) is not None), None)
        if not isinstance(heads, list):
            return Attention.__call__(self, fields)
        layers, width = self.depth(fields), fields.optional("head_dim", self.head_dim)
        if width is None:
            queries = fields.count("num_heads", *self.heads)
            width = fields.note(
                "head_dim", fields.count("hidden_size", *self.hidden) // queries, "hidden / heads"
            )
        if len(heads) != layers or not all(type(h) is int and 0 <= h <= 65_536 for h in heads):
            raise ConfigError(
                f"field '{self.kv_heads[0]}' is {shown(heads)}; expected one for each of {layers} layers."
            )
        fields.note("num_kv_heads", ", ".join(map(str, heads[:MOST_LAYERS])), self.kv_heads[0])
        return tuple(FullAttention(count, width) for count in heads if count)
