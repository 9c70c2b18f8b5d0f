"""Text to token ids and back: byte-level BPE, built from the vocabulary inside the model file.

Transformers rebuilds a tokenizer from GGUF as well but loses the rule that each digit is a token of its own,
and then encodes "in 2024" unlike the model's training. The rule is stated here.
"""

from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from kvcourse.configs import read_json
from kvcourse.errors import ModelFileError, UserError, shown
from kvcourse.gguf_file import GGUFFile, open_gguf
from kvcourse.weights import locate

_CONTROL = 3  # GGUF's token type for special tokens such as <|im_start|>


class ChatTokenizer:
    """`encode`, `decode`, and `chat`, which wraps a user's words in the model's chat template."""

    def __init__(self, bpe: Tokenizer, chat_template: str | None, eos_id: int | None) -> None:
        self._bpe = bpe
        self._chat_template = chat_template
        self.eos_id = eos_id  # generation may stop here
        self.vocab_size = bpe.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`; special tokens written out in it count as such, and none is added.

        Decoding gives the text back, save for bytes that the vocabulary lacks (in SmolLM2 a few control
        characters): those have no token and are dropped.
        """
        if not isinstance(text, str):
            raise UserError(f"cannot tokenize {shown(text)}; expected a string.")
        try:
            return self._bpe.encode(text, add_special_tokens=False).ids
        except UnicodeEncodeError:
            raise UserError(f"cannot tokenize {shown(text)}; it holds half of a surrogate pair.") from None

    def decode(self, ids: list[int]) -> str:
        """Text of `ids`, special tokens included."""
        return self._bpe.decode(list(ids), skip_special_tokens=False)

    def chat(self, user_text: str) -> list[int]:
        """Token ids that ask the model to answer `user_text`."""
        # A template is a small program out of the model's file, hence the sandbox. jinja2 comes with torch.
        from jinja2 import TemplateError
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        if not isinstance(user_text, str):
            raise UserError(f"cannot ask {shown(user_text)}; expected a string.")
        if self._chat_template is None:
            raise UserError("this model's files hold no chat template; use encode.")
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        messages = [{"role": "user", "content": user_text}]
        try:
            template = environment.from_string(self._chat_template)
            text = template.render(messages=messages, add_generation_prompt=True)
        except TemplateError as error:
            raise UserError(f"the model's chat template cannot be used: {shown(str(error))}.") from None
        return self.encode(text)


def load(source: str | Path | None = None) -> ChatTokenizer:
    """The tokenizer of `source`, which is what `weights.load` takes; None is SmolLM2."""
    path = locate(source)
    return _from_gguf(open_gguf(path)) if path.is_file() else _from_folder(path)


def _from_gguf(file: GGUFFile) -> ChatTokenizer:
    kind = (file.get("tokenizer.ggml.model"), file.get("tokenizer.ggml.pre"))
    if kind != ("gpt2", "smollm"):
        raise ModelFileError(
            f"{file.path} has a tokenizer of kind {shown(kind)}; only ('gpt2', 'smollm') is built from GGUF. "
            "Use a folder with tokenizer.json."
        )
    tokens = file.get("tokenizer.ggml.tokens")
    merges = [tuple(pair.split(" ", 1)) for pair in file.get("tokenizer.ggml.merges")]
    bpe = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    bpe.decoder = decoders.ByteLevel()
    types = file.get("tokenizer.ggml.token_type")
    bpe.add_special_tokens(
        [
            AddedToken(token, normalized=False, special=True)
            for token, of in zip(tokens, types, strict=True)
            if of == _CONTROL
        ]
    )
    return ChatTokenizer(bpe, file.get("tokenizer.chat_template"), file.get("tokenizer.ggml.eos_token_id"))


def _from_folder(folder: Path) -> ChatTokenizer:
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise ModelFileError(f"no tokenizer at {path}.")
    try:
        bpe = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises plain Exception
        raise ModelFileError(f"{path} is not a tokenizer file: {shown(str(error))}.") from None
    settings_file, template_file = folder / "tokenizer_config.json", folder / "chat_template.jinja"
    settings = read_json(settings_file) if settings_file.is_file() else {}
    template = template_file.read_text("utf-8") if template_file.is_file() else settings.get("chat_template")
    eos = settings.get("eos_token")
    eos = eos.get("content") if isinstance(eos, dict) else eos
    return ChatTokenizer(
        bpe,
        template if isinstance(template, str) else None,
        bpe.token_to_id(eos) if isinstance(eos, str) else None,
    )
