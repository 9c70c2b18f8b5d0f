"""Which layers attend to a window, and how wide it is: the pattern fields of published configurations.

Each rule gives one entry a layer: None attends to every token, a number to so many of the newest.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kvcourse.errors import ConfigError, shown
from kvcourse.memory.fields import Fields

Windows = Callable[[Fields, int], list[int | None]]
PERIODS = ("sliding_window_pattern", "_sliding_window_pattern")


def full(fields: Fields, layers: int) -> list[int | None]:
    return _windows(fields, layers, {"full_attention": None}, ["full_attention"] * layers)


def listed(fields: Fields, layers: int) -> list[int | None]:
    """`layer_types` tells; without it every layer is full, whatever window the file names."""
    return _sliding(fields, layers, _window(fields), lambda layer: False)


def every_layer(fields: Fields, layers: int) -> list[int | None]:
    """One window for all layers, where the file or the class names one."""
    return _sliding(fields, layers, _window(fields), lambda layer: True)


def minimax(fields: Fields, layers: int) -> list[int | None]:
    """MiniMax-M2's files say 1 for each layer of softmax attention; 0 was the older models' linear kind."""
    kinds = fields.get("attn_type_list")
    if kinds is not None and kinds != [1] * layers:
        raise ConfigError(
            f"field 'attn_type_list' is {shown(kinds)}; expected 1 for each of {layers} layers."
        )
    return full(fields, layers)


@dataclass(frozen=True)
class EveryNthFull:
    """Windowed layers with every nth layer full. `period_fields` may say another n."""

    period: int
    period_fields: tuple[str, ...] = PERIODS

    def __call__(self, fields: Fields, layers: int) -> list[int | None]:
        period, window = self.period, _window(fields)
        letters = next((v for name in self.period_fields if isinstance(v := fields.get(name), str)), None)
        if letters is not None:  # EXAONE writes "LLLG": local and global layers
            if not letters or set(letters) - set("LG"):
                raise ConfigError(
                    f"field '{self.period_fields[0]}' is {shown(letters)}; expected letters L and G."
                )
            return _sliding(fields, layers, window, lambda layer: letters[layer % len(letters)] == "L")
        if self.period_fields and window is not None:
            period = fields.count("period", *self.period_fields, default=period, why="the class's pattern")
        return _sliding(fields, layers, window, lambda layer: (layer + 1) % period > 0)


@dataclass(frozen=True)
class Pattern:
    """`slides(layer, layers)` tells where no list does."""

    slides: Callable[[int, int], bool]

    def __call__(self, fields: Fields, layers: int) -> list[int | None]:
        return _sliding(fields, layers, _window(fields), lambda layer: self.slides(layer, layers))


def from_layer_on(fields: Fields, layers: int) -> list[int | None]:
    """dots.llm1: the layers from `max_window_layers` on slide."""
    first = fields.given("max_window_layers", least=0)
    return _sliding(fields, layers, _window(fields), lambda layer: layer >= first)


def after_dense(fields: Fields, layers: int) -> list[int | None]:
    """Cohere2-MoE: the dense layers at the start have a period of their own, and the others count anew."""
    dense = fields.given("first_k_dense_replace", least=0, default=0)
    first, rest = (
        fields.given(name) for name in ("prefix_dense_sliding_window_pattern", "sliding_window_pattern")
    )

    def slides(layer: int) -> bool:
        return (layer + 1) % first > 0 if layer < dense else (layer - dense + 1) % rest > 0

    return _sliding(fields, layers, _window(fields), slides)


@dataclass(frozen=True)
class IfUsed:
    """Qwen's files carry a window that `use_sliding_window: false`, the default, puts out of use.

    `slides(layer, max_window_layers)` tells which layers slide when it is in use; None leaves that to
    `layer_types`.
    """

    slides: Callable[[int, int], bool] | None

    def __call__(self, fields: Fields, layers: int) -> list[int | None]:
        fields.ignore("sliding_window", "max_window_layers")
        if not fields.flag("use_sliding_window"):
            fields.note("window", "none", "use_sliding_window is false or absent: the window is not in use")
            return full(fields, layers)
        if self.slides is None and fields.get("layer_types") is None:
            raise ConfigError("field 'layer_types' is missing, though use_sliding_window is true.")
        slides, first = self.slides or (lambda layer, first: False), 0
        if self.slides is not None:
            first = fields.given("max_window_layers", least=0, default=28)
        return _sliding(fields, layers, _window(fields), lambda layer: slides(layer, first))


def gpt_neo(fields: Fields, layers: int) -> list[int | None]:
    """`attention_types` repeats lists of "global" and "local"; `attention_layers` writes them all out."""
    window, names = fields.optional("window", "window_size"), fields.get("attention_layers")
    if names is None:
        groups = fields.get("attention_types") or [[["global", "local"], -(-layers // 2)]]
        names = []
        for group in groups if isinstance(groups, list) else [groups]:
            kinds, times = group if isinstance(group, list) and len(group) == 2 else (None, None)
            if not isinstance(kinds, list) or type(times) is not int or not 0 <= times <= layers:
                raise ConfigError(
                    f"field 'attention_types' is {shown(groups)}; expected kinds, each list with a number."
                )
            names += kinds * times
    if not isinstance(names, list) or len(names) != layers:
        raise ConfigError(
            f"field 'attention_types' is {shown(fields.get('attention_types'))}; expected {layers} layers."
        )
    fields.ignore("attention_types")
    meaning = {"global": None, "local": window}
    for kind in names:
        if not isinstance(kind, str) or kind not in meaning:
            raise ConfigError(
                f"field 'attention_types' has a layer of kind {shown(kind)}; expected global or local."
            )
    return [meaning[kind] for kind in names]


def _window(fields: Fields) -> int | None:
    """`sliding_window`; an explicit null means none, an absent field the default of the type's class."""
    return fields.optional("window", "sliding_window")


def _sliding(
    fields: Fields, layers: int, window: int | None, slides: Callable[[int], bool]
) -> list[int | None]:
    """Windows of a family in which some layers slide; the file's own `layer_types` come before `slides`."""
    meaning = {"full_attention": None, "sliding_attention": window}
    kinds = ["sliding_attention" if slides(layer) else "full_attention" for layer in range(layers)]
    if window is None and "sliding_attention" in (fields.names("layer_types", layers) or ()):
        raise ConfigError(
            "field 'layer_types' has sliding layers, but no 'sliding_window' tells their window."
        )
    return _windows(fields, layers, meaning, kinds)


def _windows(fields: Fields, layers: int, meaning: dict, kinds: list[str]) -> list[int | None]:
    kinds = fields.names("layer_types", layers) or kinds
    for kind in kinds:
        if kind not in meaning:
            raise ConfigError(
                f"field 'layer_types' has a layer of kind {shown(kind)}, not covered for this model_type."
            )
    return [meaning[kind] for kind in kinds]


QWEN = IfUsed(lambda layer, first: layer >= first)
QWEN2_MOE = IfUsed(lambda layer, first: layer % 2 == 0 and layer < first)
QWEN3_MOE = IfUsed(lambda layer, first: True)
