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
     ("1 GB", ("--tokens", "0"), "--tokens"), ("1 GB", ("--tokens", "1", "--batch", "0"), "--batch")],
)  # fmt: skip
def test_figures_that_cannot_be_read(capsys, got, more, named):
    status, out, err = run(capsys, "Llama-2-7B", "--got", got, *more)
    assert (status, out) == (2, "") and named in err and len(err.splitlines()) == 1


# Each figure is worked out by hand from the published shape: layers x heads x width x bytes.
GEMMA = 16 * 128 * 2 * 2  # a layer of Gemma-3-27B, one token
MLA = 61 * 2  # DeepSeek-V3's layers in bf16
DELTA = 4 * 256 * 2 * 2  # a layer of Qwen3.5-27B that attends


@pytest.mark.parametrize(
    ("model", "got", "tokens", "mistake"),
    [("Gemma-3-27B", 62 * GEMMA * 32_768, 32_768, "ignores the window"),
     ("Gemma-3-27B", 62 * GEMMA * 1024, 32_768, "applies the window to every layer"),
     ("Gemma-3-27B", 10 * GEMMA * 32_768, 32_768, "counts the layers without a window alone"),
     ("Gemma-3-27B", 52 * GEMMA * 1024, 32_768, "counts the windowed layers alone"),
     ("Gemma-3-27B", (52 * 1024 + 10 * 32_768) * GEMMA * 2, 32_768, "counts query heads, not KV heads"),
     ("Gemma-3-27B", (52 * 1024 + 10 * 32_768) * GEMMA // 2, 32_768, "forgets that K and V are both stored"),
     ("Gemma-3-27B", (52 * 1024 + 10 * 32_768) * GEMMA * 8, 32_768, "counts bits, not bytes"),
     ("Gemma-3-27B", (52 * 1024 + 10 * 32_768) * 16 * 168 * 4, 32_768, "divides hidden_size"),
     ("DeepSeek-V3", MLA * 576 * 2, 1, "counts the latent twice"),
     ("DeepSeek-V3", MLA * 512, 1, "forgets the rotary part"),
     ("DeepSeek-V3", MLA * 128 * (192 + 128), 1, "expands the latents"),
     ("DeepSeek-V3", MLA * 2 * 7168, 1, "for MHA with hidden_size / heads"),
     ("DeepSeek-V3", MLA * 128 * (192 + 128) * 8, 1, "of every head, and counts bits"),
     ("DeepSeek-V3.2", MLA * (576 + 64 * 128), 1, "counts an indexer key for each of its heads"),
     ("DeepSeek-V3.2", MLA * 576, 1, "forgets the indexer's keys"),
     ("Qwen3.5-27B", 64 * DELTA * 16_384, 16_384, "counts recurrent layers as attention"),
     ("Qwen3.5-27B", 16 * DELTA * 4096, 4096, "forgets the recurrent states"),
     ("Qwen3.5-27B", 48 * (48 * 128 * 128 * 4 + 3 * 10_240 * 2), 4096, "counts the recurrent states alone"),
     ("Whisper-base", 6 * 2 * 512 * 2 * 448, 448, "forgets the cross-attention's cache"),
     ("Whisper-base", 6 * 2 * 512 * 2 * 1500, 448, "counts the cross-attention's cache alone")],
)  # fmt: skip
def test_known_mistakes_in_other_kinds_of_layers(capsys, model, got, tokens, mistake):
    status, out, err = run(capsys, model, "--got", f"{got:,} bytes", "--tokens", tokens)
    assert (status, err) == (1, "") and mistake in out


def test_layers_that_read_another_layers_cache(capsys, tmp_path):
    """Gemma 4 E2B: 15 of 35 layers store anything."""
    raw = {"model_type": "gemma4_text", "num_hidden_layers": 35, "num_attention_heads": 8,
           "hidden_size": 1536, "num_key_value_heads": 1, "head_dim": 256, "sliding_window": 512,
           "num_kv_shared_layers": 20,
           "layer_types": (["sliding_attention"] * 4 + ["full_attention"]) * 7}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(raw))
    got = 2 * 2 * (28 * 256 * 512 + 7 * 512 * 4096)
    status, out, _ = run(capsys, tmp_path, "--got", str(got), "--tokens", 4096)
    assert status == 1 and "read another layer's cache" in out


@pytest.mark.parametrize(
    "name", ["Gemma-3-27B", "DeepSeek-V3", "DeepSeek-V4-Pro", "Qwen3.5-27B", "Whisper-base"]
)
def test_a_right_figure_of_any_kind_is_right(capsys, name):
    _, out, _ = run(capsys, name, "--got", "1", "--tokens", 777)
    size = out.split(": ")[1].split(" bytes")[0]
    assert run(capsys, name, "--got", size, "--tokens", 777)[0] == 0
    assert "No known mistake" in run(capsys, name, "--got", "7", "--tokens", 777)[1]


def test_formats_of_keys_and_values_apart(capsys):
    size = 32 * 2 * 8 * 128 * 8192 * 34 // 32  # q8_0 for both
    _, out, _ = run(capsys, "Llama-3.1-8B", "--got", str(size), "--tokens", 8192, "--dtype", "q8_0/f16")
    assert "stores the values as the keys" in out


def test_every_mistake_of_a_kind_has_its_own_words():
    from kvcourse.checks.kind_mistakes import MISTAKES

    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES)
    assert all(mistake.hint and "\n" not in mistake.hint for mistake in MISTAKES)


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
