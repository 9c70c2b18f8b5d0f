"""`kvcourse diagnose`: somebody's figure for a cache, the mistakes that give it, and unreadable figures."""

import json

import pytest

from kvcourse import cli


def run(capsys, *args) -> tuple[int, str, str]:
    status = cli.main(["diagnose", *map(str, args)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


@pytest.mark.parametrize(
    ("model", "tokens", "got"),
    [("Llama-2-7B", 4096, "2 GiB"), ("Llama-2-7B", 4096, "2.147 GB"), ("Llama-2-7B", 4096, "2147483648"),
     ("Llama-2-7B", 1, "512 KiB"), ("Llama-2-7B", 999, "512KiB/token"), ("Llama-2-7B", 1, "524,288 bytes"),
     ("Qwen3-32B", 1, "0.25 MiB per token"), ("OPT-13B", 2048, "1.7 GB"), ("Llama-2-7B", 4096, "2 gib")],
)  # fmt: skip
def test_right_figures(capsys, model, tokens, got):
    status, out, err = run(capsys, model, "--got", got, "--tokens", tokens)
    assert (status, err) == (0, "") and "is right" in out


@pytest.mark.parametrize(
    ("model", "got", "more", "mistake"),
    [("Llama-2-7B", "1 GiB", ("--tokens", 4096), "forgets that K and V are both stored"),
     ("Llama-2-7B", "4 GiB", ("--tokens", 4096), "counts K and V twice"),
     ("Llama-2-7B", "4 GiB", ("--tokens", 4096), "counts 4 bytes a number"),
     ("Llama-2-7B", "2.00 GB", ("--tokens", 4096), "mixes units of 1000 and of 1024"),
     ("Llama-2-7B", "16 GiB", ("--tokens", 4096), "counts bits, not bytes"),
     ("Llama-2-7B", "512 MB", ("--tokens", 32_768), "counts one KV head"),
     ("Llama-3.1-8B", "512 KiB/token", (), "counts query heads, not KV heads"),
     ("Llama-3.1-8B", "512 KiB/token", (), "takes hidden_size for the width of K"),
     ("Qwen3-32B", "163840", ("--tokens", 1), "divides hidden_size by the query heads"),
     ("OPT-13B", "1.6 GB", ("--tokens", 2048), "mixes units of 1000 and of 1024"),
     ("Llama-3.1-70B", "5.00 GiB", ("--tokens", 16_000), "takes a K of tokens for 1024"),
     ("Llama-2-7B", "512 KiB", ("--tokens", 4096), "counts one token"),
     ("Llama-2-7B", "2 GiB", ("--tokens", 4096, "--batch", 16), "counts one sequence"),
     ("Qwen2.5-7B", "1,605,632", ("--tokens", 1, "--dtype", "fp8"), "Two things at once")],
)  # fmt: skip
def test_known_mistakes_are_named(capsys, model, got, more, mistake):
    status, out, err = run(capsys, model, "--got", got, *more)
    assert (status, err) == (1, "") and mistake in out


def test_what_has_several_causes_lists_them_all(capsys):
    _, out, _ = run(capsys, "Llama-2-7B", "--got", "4 GiB", "--tokens", 4096)
    assert "2 give it" in out and out.count("\n  - ") == 2


def test_an_unexplained_figure_says_so(capsys):
    status, out, _ = run(capsys, "Llama-2-7B", "--got", "1.2345 GiB", "--tokens", 4096)
    assert status == 1 and "No known mistake gives it." in out


@pytest.mark.parametrize(
    ("got", "more", "named"),
    [("big", (), "big"), ("1.6 G", (), "GiB"), ("1.6 Gb", (), "bits"), ("-1 GB", (), "-1 GB"),
     ("", (), "size"), ("nan GB", (), "nan"), ("1 parsec", (), "parsec"), ("1 GB", (), "--tokens"),
     ("1 GB", ("--tokens", "0"), "--tokens"), ("1 GB", ("--tokens", "1", "--batch", "0"), "--batch"),
     ("1 GB", ("--tokens", "1", "--dtype", "q8_0/f16"), "formats of keys and values")],
)  # fmt: skip
def test_figures_that_cannot_be_read(capsys, got, more, named):
    status, out, err = run(capsys, "Llama-2-7B", "--got", got, *more)
    assert (status, out) == (2, "") and named in err and len(err.splitlines()) == 1


def test_layers_of_several_kinds_are_not_diagnosed(capsys):
    for name in ("Gemma-3-27B", "DeepSeek-V3"):
        status, _, err = run(capsys, name, "--got", "1 GB", "--tokens", 9)
        assert status == 2 and "more than one kind" in err


def test_a_file_will_do(capsys, tmp_path):
    raw = {"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64}
    (tmp_path / "config.json").write_text(json.dumps(raw))
    assert run(capsys, tmp_path, "--got", "512", "--tokens", 1)[0] == 0


@pytest.mark.parametrize("got", ["1,6 GB", "1,67 GB", "1.6,000 GB", "1,0000 B", "1.000,5 MB"])
def test_commas_that_separate_no_thousands_are_refused(capsys, got):
    status, out, err = run(capsys, "OPT-13B", "--got", got, "--tokens", 2048)
    assert (status, out, len(err.splitlines())) == (2, "", 1) and "commas" in err


def test_a_format_with_a_scale_for_each_head(capsys):
    """q8_kv keeps 8 bytes of scales a head: 2 x 32 x 32 x (128 + 8) x 4096 bytes."""
    size = 2 * 32 * 32 * 136 * 4096
    for got, status in (("1 GB", 0), ("1.0 GB", 1), (str(size), 0), (str(size + 1), 1), (str(size // 2), 1)):
        done, out, err = run(capsys, "Llama-2-7B", "--got", got, "--tokens", 4096, "--dtype", "q8_kv")
        assert (done, err) == (status, "") and f"{size:,} bytes" in out
    assert "forgets that K and V" in out


def test_right_is_what_rounds_to_the_printed_size(capsys, tmp_path):
    """A row of 48 numbers takes two groups of 32: 2 x 68 x 2 bytes in q8_0, not 2 x 48 x 8.5 / 8 x 2."""
    raw = {"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 3, "hidden_size": 48}
    (tmp_path / "config.json").write_text(json.dumps(raw))
    for got, status in (("272", 0), ("204", 1), ("0.27 kB", 0), ("271", 1)):
        done, out, _ = run(capsys, tmp_path, "--got", got, "--tokens", 1, "--dtype", "q8_0")
        assert done == status and "272 bytes" in out
    assert "close" in out
