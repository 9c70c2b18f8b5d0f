"""The class seed: where it comes from, that names and classes separate streams, and what bad files say."""

import hashlib
import hmac
import random

import pytest

from kvcourse.checks.seed import DEFAULT_SEED, SeedError, class_rng, class_seed


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("KVCOURSE_CLASS_SEED", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_default_without_a_file_or_a_variable():
    assert class_seed() == DEFAULT_SEED


def test_nearest_file_upwards_wins(empty_folder, monkeypatch):
    inner = empty_folder / "autograded" / "ada" / "a1"
    inner.mkdir(parents=True)
    (empty_folder / "class.toml").write_text('seed = "outer"\n')
    monkeypatch.chdir(inner)
    assert class_seed() == "outer"
    (inner / "class.toml").write_text('seed = "inner"\n')
    assert class_seed() == "inner"


def test_variable_beats_the_file(empty_folder, monkeypatch):
    (empty_folder / "class.toml").write_text('seed = "file"\n')
    monkeypatch.setenv("KVCOURSE_CLASS_SEED", "variable")
    assert class_seed() == "variable"


def test_number_is_the_seed_of_its_digits(empty_folder):
    (empty_folder / "class.toml").write_text("seed = 2027\n")
    assert class_seed() == "2027"


def test_byte_order_mark_and_crlf_are_read(empty_folder):
    (empty_folder / "class.toml").write_bytes(b'\xef\xbb\xbfseed = "x"\r\n')
    assert class_seed() == "x"


def test_stream_is_hmac_sha256_of_the_name(monkeypatch):
    monkeypatch.setenv("KVCOURSE_CLASS_SEED", "spring")
    key = hmac.new(b"spring", b"q2-cached", hashlib.sha256).hexdigest()
    assert class_rng("q2-cached").random() == random.Random(int(key, 16)).random()


def test_names_and_classes_give_other_streams(monkeypatch):
    draws = set()
    for seed in ("a", "b"):
        monkeypatch.setenv("KVCOURSE_CLASS_SEED", seed)
        for name in ("q1", "q2", "q2 "):
            assert class_rng(name).getrandbits(64) == class_rng(name).getrandbits(64)
            draws.add(class_rng(name).getrandbits(64))
    assert len(draws) == 6


MALFORMED = [
    b"seed = ", b"\xff\xfe", b'other = "x"\n', b"seed = true\n", b"seed = 1.5\n", b'seed = ""\n',
    b'seed = "  "\n', b"seed = [1]\n", b'seed = "' + b"x" * 1001 + b'"\n', b"seed = 1\nseed = 2\n",
    b"[" * 3000, b"seed = 0x" + b"f" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("content", MALFORMED, ids=range(len(MALFORMED)))
def test_malformed_file_is_one_sentence_that_names_it(empty_folder, content):
    (empty_folder / "class.toml").write_bytes(content)
    with pytest.raises(SeedError) as caught:
        class_seed()
    message = str(caught.value)
    assert "class.toml" in message and "\n" not in message and message.endswith(".")


def test_folder_of_that_name_is_no_class_file(empty_folder):
    (empty_folder / "class.toml").mkdir()
    assert class_seed() == DEFAULT_SEED


@pytest.mark.parametrize("value", ["", "   "])
def test_empty_variable_is_an_error_not_the_default(monkeypatch, value):
    monkeypatch.setenv("KVCOURSE_CLASS_SEED", value)
    with pytest.raises(SeedError, match="KVCOURSE_CLASS_SEED"):
        class_seed()


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_test_has_a_name(name):
    with pytest.raises(SeedError):
        class_rng(name)
