import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gguf_samples import write_model
from kvcourse import tokenizer
from kvcourse.errors import ModelFileError, UserError


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return tokenizer.load(write_model(tmp_path_factory.mktemp("gguf") / "m.gguf"))


def pieces(tok, text):
    return [tok.decode([i]) for i in tok.encode(text)]


def test_merges_and_bytes(small):
    assert pieces(small, "hello") == ["hel", "l", "o"]
    assert len(small.encode("é")) == 2  # two UTF-8 bytes, no merge


def test_special_tokens_are_one_token(small):
    assert small.encode("<|user|>hel<|>") == [258, 257, 259]
    assert small.decode([258, 257, 259]) == "<|user|>hel<|>"
    assert small.eos_id == 260 and small.vocab_size == 261


def test_chat_follows_the_template_of_the_file(small):
    assert small.chat("he") == [258, 256, 259]


@settings(deadline=None)
@given(text=st.text(max_size=40))
def test_any_text_comes_back(small, text):
    try:
        text.encode()
    except UnicodeEncodeError:
        with pytest.raises(UserError, match="surrogate"):
            small.encode(text)
    else:
        assert small.decode(small.encode(text)) == text


@pytest.mark.parametrize("text", [None, 3, b"x", ["a"]])
def test_only_text_is_tokenized(small, text):
    with pytest.raises(UserError, match="expected a string"):
        small.encode(text)
    with pytest.raises(UserError, match="expected a string"):
        small.chat(text)


def test_a_template_is_kept_in_its_sandbox(small):
    evil = tokenizer.ChatTokenizer(small._bpe, "{{ messages.__class__.__mro__ }}", None)
    with pytest.raises(UserError, match="chat template"):
        evil.chat("x")
    broken = tokenizer.ChatTokenizer(small._bpe, "{% if %}", None)
    with pytest.raises(UserError, match="chat template"):
        broken.chat("x")


def test_a_folder_with_tokenizer_json(small, tmp_path):
    small._bpe.save(str(tmp_path / "tokenizer.json"))
    plain = tokenizer.load(tmp_path)
    assert plain.encode("hello 42") == small.encode("hello 42") and plain.eos_id is None
    with pytest.raises(UserError, match="no chat template"):
        plain.chat("x")
    settings_ = {"eos_token": {"content": "<eos>"}, "chat_template": "{{ messages[0]['content'] }}!"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings_))
    full = tokenizer.load(tmp_path)
    assert full.eos_id == 260 and full.chat("he") == small.encode("he!")
    (tmp_path / "chat_template.jinja").write_text("<|>")
    assert tokenizer.load(tmp_path).chat("he") == [259]


def test_bad_folders(tmp_path):
    with pytest.raises(ModelFileError, match="no tokenizer at"):
        tokenizer.load(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ModelFileError, match="not a tokenizer file"):
        tokenizer.load(tmp_path)


# ---- SmolLM2 -----------------------------------------------------------------------------------------


def test_each_digit_is_a_token_of_its_own(smollm2):
    """The rule that Transformers loses when it rebuilds this tokenizer from GGUF."""
    _, tok = smollm2
    assert pieces(tok, "in 2024") == ["in", " ", "2", "0", "2", "4"]
    assert pieces(tok, "x=1234567890") == ["x", "=", *"1234567890"]


def test_known_tokens(smollm2):
    """Ids of llama.cpp for the same file."""
    _, tok = smollm2
    assert tok.encode("The capital of France is") == [504, 3575, 282, 4649, 314]
    assert tok.vocab_size == 49152 and tok.eos_id == 2


def test_chat_is_the_models_own_format(smollm2):
    _, tok = smollm2
    ids = tok.chat("Hi there")
    assert tok.decode(ids) == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        "<|im_start|>user\nHi there<|im_end|>\n<|im_start|>assistant\n"
    )
    assert ids.count(1) == 3 and ids.count(2) == 2  # the markers are single tokens


# SmolLM2's vocabulary lacks six control characters and the first bytes of characters from U+40000 on.
@settings(deadline=None, max_examples=50)
@given(text=st.text(st.characters(exclude_categories=["Cs", "Cc"], max_codepoint=0x3FFFF), max_size=60))
def test_text_comes_back_from_smollm2(smollm2, text):
    _, tok = smollm2
    assert tok.decode(tok.encode(text)) == text


def test_bytes_without_a_token_are_dropped(smollm2):
    _, tok = smollm2
    assert [c for c in map(chr, range(128)) if not tok.encode(c)] == list("\x04\x06\x13\x14\x16\x1d")


@pytest.mark.full
def test_transformers_agrees_where_there_are_no_digits(smollm2, model_path):
    transformers = pytest.importorskip("transformers", reason="install: transformers")
    theirs = transformers.AutoTokenizer.from_pretrained(str(model_path.parent), gguf_file=model_path.name)
    _, tok = smollm2
    texts = [
        "The quick brown fox jumps over the lazy dog.",
        "  leading spaces,\ttabs\n\nand newlines  ",
        "naïve café, Straße, 東京, 🙂",
        "def f(x):\n    return x ** y  # don't",
        "<|im_start|>user\nhello<|im_end|>\n",
    ]
    for text in texts:
        assert tok.encode(text) == theirs.encode(text, add_special_tokens=False), text
