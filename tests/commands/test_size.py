"""`kvcourse size`: the lesson's figures, every form of output, every kind of bad input, and no torch."""

import json
import subprocess
import sys

import pytest

from kvcourse import cli

LLAMA = {"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64,
         "intermediate_size": 128, "vocab_size": 100, "max_position_embeddings": 512}  # fmt: skip


def run(capsys, *args) -> tuple[int, str, str]:
    status = cli.main(["size", *map(str, args)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def as_json(capsys, *args) -> dict:
    status, out, err = run(capsys, *args, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


def config(folder, **fields):
    path = folder / "config.json"
    path.write_text(json.dumps(LLAMA | fields))
    return path


# ---- right answers -------------------------------------------------------------------------------


def test_the_lessons_figures(capsys):
    """512 KiB a token, 2 GiB a sequence, 32 GiB for 16; the 7th passes the 12.55 GiB of weights."""
    sizes = as_json(capsys, "Llama-2-7B", "--tokens", "4,096", "--batch", 16, "--dtype", "fp16")
    assert (sizes["bytes_per_token"], sizes["bytes_per_sequence"], sizes["bytes"]) == (2**19, 2**31, 2**35)
    assert (sizes["parameters"], sizes["weight_bytes"]) == (6_738_415_616, 13_476_831_232)
    assert (sizes["sequences_to_exceed_weights"], sizes["tokens_to_reach_weights"]) == (7, 25_706)
    _, table, _ = run(capsys, "Llama-2-7B", "--tokens", 4096, "--batch", 16)
    sizes = ("512.00 KiB", "524.29 kB", "2.00 GiB", "2.15 GB", "32.00 GiB", "34.36 GB", "12.55 GiB")
    for shown in (*sizes, "sequence number 7"):
        assert shown in table


def test_practice_2(capsys):
    """40 layers of 5,120 in fp16 at 2,048 tokens: 1,677,721,600 bytes."""
    assert as_json(capsys, "OPT-13B", "--tokens", 2048)["bytes"] == 1_677_721_600


def test_without_tokens_the_longest_context_counts(capsys):
    assert as_json(capsys, "Llama-3.1-8B")["tokens"] == 131_072
    assert as_json(capsys, "Llama-3.1-8B")["bytes"] == 16 * 2**30


def test_a_file_and_its_folder_are_the_same_model(capsys, tmp_path):
    path = config(tmp_path)
    file, folder = as_json(capsys, path), as_json(capsys, tmp_path)
    assert file == folder
    assert file["bytes"] == 2 * 2 * 64 * 2 * 512 and file["model"] == str(path)
    assert file["parameters"] == 100 * 64 * 2 + 2 * (4 * 64 * 64 + 3 * 64 * 128 + 2 * 64) + 64


def test_windows_show_what_a_token_adds_before_and_after(capsys):
    sizes = as_json(capsys, "Gemma-3-27B", "--tokens", 131_072)
    assert sizes["bytes_per_token"] == 62 * 2 * 16 * 128 * 2
    assert sizes["bytes_per_token_after"] == 10 * 2 * 16 * 128 * 2
    assert sizes["bytes"] == 11_173_625_856 and sizes["tokens_to_reach_weights"] is None
    assert "one more after 131,072" in run(capsys, "Gemma-3-27B", "--tokens", 131_072)[1]


def test_devices_hold_their_share(capsys):
    whole, each = as_json(capsys, "Qwen3-32B"), as_json(capsys, "Qwen3-32B", "--tp", 2)
    assert whole["bytes"] == 2 * each["bytes"] and whole["weight_bytes"] == 2 * each["weight_bytes"]
    assert "on each of 2 devices" in run(capsys, "Qwen3-32B", "--tp", 2)[1]


def test_formats_of_keys_and_values(capsys):
    sizes = as_json(capsys, "Qwen3-235B-A22B", "--tokens", 65_536, "--dtype", "q8_0/f16")
    assert sizes["bytes"] == 9212 * 2**20
    assert sizes["cache_dtype"] == {"keys": "q8_0", "values": "fp16"}


def test_weights_have_their_own_dtype(capsys):
    sizes = as_json(capsys, "Llama-3.1-8B", "--weights", "fp8", "--dtype", "fp32")
    assert sizes["weight_bytes"] == 8_030_261_248
    assert sizes["bytes_per_token"] == 2 * 131_072


def test_unknown_parameters_are_said_and_may_be_given(capsys, tmp_path):
    path = config(tmp_path, model_type="helium", num_key_value_heads=4, head_dim=16)
    assert "give it with --params" in run(capsys, path)[1]
    assert as_json(capsys, path)["weight_bytes"] is None
    assert as_json(capsys, path, "--params", "1,000")["weight_bytes"] == 2000


def test_the_source_of_an_encoder_decoder_is_given(capsys, tmp_path):
    raw = {"model_type": "t5", "num_layers": 6, "num_heads": 8, "d_model": 512, "d_kv": 64, "vocab_size": 100}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(raw))
    sizes = as_json(capsys, path, "--tokens", 10, "--source", 20)
    assert sizes["bytes"] == 2 * 6 * 512 * 2 * (10 + 20)
    status, _, err = run(capsys, path, "--tokens", 10)
    assert status == 2 and "--source" in err


def test_a_published_figure_of_every_other_kind(capsys):
    """DeepSeek-V3.2 83.9 GiB and V4-Pro 9.62 GiB at a million tokens (vLLM); Whisper base 22.8 MiB in all."""
    for name, tokens, size in (("DeepSeek-V3.2", 2**20, 83.9), ("DeepSeek-V4-Pro", 2**20, 9.62)):
        assert as_json(capsys, name, "--tokens", tokens)["bytes"] / 2**30 == pytest.approx(size, abs=0.05)
    assert as_json(capsys, "Whisper-base", "--tokens", 448)["bytes"] / 2**20 == pytest.approx(
        5.25 + 17.58, abs=0.01
    )


@pytest.mark.parametrize("empty", [("--tokens", 0), ("--batch", 0)])
def test_nothing_takes_nothing(capsys, empty):
    assert as_json(capsys, "GPT-2", *empty)["bytes"] == 0
    for form in ((), ("--explain",)):
        assert run(capsys, "GPT-2", *empty, *form)[0] == 0


def test_explained_factors_multiply_to_the_answer(capsys):
    _, out, _ = run(capsys, "Qwen2.5-7B", "--tokens", 100, "--explain")
    factors = [int(line.removeprefix("  x").split()[0]) for line in out.splitlines()[1:6]]
    assert factors == [2, 28, 4, 128, 2]
    assert f"= {2 * 28 * 4 * 128 * 2:,} bytes a token" in out
    assert "num_key_value_heads" in out and "https://" in out


@pytest.mark.parametrize(
    "args",
    [("Gemma-3-27B",), ("DeepSeek-V3",), ("Qwen3-32B", "--dtype", "q4_0/f16"), ("Qwen3-32B", "--tp", 16)],
)
def test_every_kind_is_explained(capsys, args):
    status, out, err = run(capsys, *args, "--explain")
    assert (status, err) == (0, "")
    assert f"= {as_json(capsys, *args)['bytes_per_sequence']:,} bytes a sequence" in out


def test_the_list_names_every_model(capsys):
    from kvcourse import registry

    status, out, _ = run(capsys, "--list")
    assert status == 0 and len(out.splitlines()) == len(registry.models())


# ---- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "named"),
    [({"num_hidden_layers": None}, "num_hidden_layers"), ({"num_hidden_layers": -2}, "num_hidden_layers"),
     ({"num_attention_heads": "4"}, "num_attention_heads"), ({"num_key_value_heads": 3},
     "num_key_value_heads"),
     ({"hidden_size": 0}, "hidden_size"), ({"head_dim": 10**12}, "head_dim"), ({"model_type": "novel"},
     "model_type"),
     ({"model_type": None}, "model_type"), ({"kv_lora_rank": 512}, "kv_lora_rank"), ({"vocab_size": -1},
     "vocab_size"),
     ({"sliding_window": 9}, "sliding_window"), ({"max_position_embeddings": "many"},
     "max_position_embeddings")],
)  # fmt: skip
def test_bad_configurations_name_the_field(capsys, tmp_path, fields, named):
    status, out, err = run(capsys, config(tmp_path, **fields))
    if named == "vocab_size":  # the cache does not rest on it; the parameters do
        assert status == 0 and "--params" in out
        return
    assert (status, out) == (2, "")
    assert named in err and len(err.splitlines()) == 1 and err.startswith("kvcourse size: ")


@pytest.mark.parametrize("content", [b"", b"[]", b"7", b"{", b"\xff\xfe", b"null", b'"llama"', b"[" * 10_000])
def test_files_that_are_no_configuration(capsys, tmp_path, content):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    status, out, err = run(capsys, path)
    assert (status, out, len(err.splitlines())) == (2, "", 1)


@pytest.mark.parametrize(
    ("args", "named"),
    [([], "which model"), (["Llama-9-7B"], "nearest names"), (["absent.json"], "absent.json"), ([""], "name"),
     (["\x00"], "no published model"), (["a" * 5000], "no published model"),
     (["GPT-2", "--dtype", "fp12"], "fp12"), (["GPT-2", "--dtype", "fp16/"], "''"),
     (["GPT-2", "--weights", "x"], "x"), (["Qwen3-32B", "--tp", "3"], "8 KV heads cannot be split over 3"),
     (["GPT-2", "--tp", "0"], "ranks is 0")],
)  # fmt: skip
def test_bad_arguments_are_one_sentence(capsys, args, named):
    status, out, err = run(capsys, *args)
    assert (status, out) == (2, "") and named in err and len(err.splitlines()) == 1 and len(err) < 700


@pytest.mark.parametrize(
    "args", [("--tokens", "-1"), ("--tokens", "4k"), ("--batch", "1.5"), ("--tokens", "9" * 20)]
)
def test_numbers_that_are_no_count(capsys, args):
    with pytest.raises(SystemExit) as stopped:
        run(capsys, "GPT-2", *args)
    assert stopped.value.code == 2
    assert args[1][:10] in capsys.readouterr().err


def test_no_torch_is_loaded():
    call = "from kvcourse.cli import main; main(['size', 'Llama-2-7B'])"
    code = f"import sys; {call}; sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and "512.00 KiB" in done.stdout


def test_a_reader_that_goes_away_is_no_error():
    command = f"{sys.executable} -m kvcourse.cli size --list | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.stderr, len(done.stdout.splitlines())) == ("", 1)


@pytest.mark.parametrize("layers", [10_001, 1_000_000_000])
def test_more_layers_than_any_model_has_are_refused(capsys, tmp_path, layers):
    status, out, err = run(capsys, config(tmp_path, num_hidden_layers=layers))
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert "num_hidden_layers" in err and "10000" in err


def test_a_path_is_never_taken_for_a_name(capsys, tmp_path, monkeypatch):
    """An organization and a slash make a name; a folder that exists, or whose parent does, makes a path."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d" / "gpt2").mkdir(parents=True)
    for text in ("d/gpt2", "d/gpt2/", "./gpt2", "d/absent/gpt2", "d/Llama-2-7B", "/gpt2", "~/gpt2", "../gpt2",
                 "a/b/gpt2", f"{tmp_path}/d/gpt2", "~nobody-has-this-home/gpt2"):  # fmt: skip
        status, out, err = run(capsys, text)
        assert (status, out, len(err.splitlines())) == (2, "", 1), text
        assert "config.json" in err or "no such file" in err
    for text in ("meta-llama/Llama-2-7b", "openai-community/gpt2", "gpt2"):
        assert run(capsys, text)[0] == 0, text
    config(tmp_path / "d" / "gpt2")
    assert as_json(capsys, "d/gpt2")["model"] == "d/gpt2/config.json"


@pytest.mark.parametrize("name", ["GPT-2", "Whisper-base"])
def test_a_source_that_changes_nothing_is_refused(capsys, name):
    status, out, err = run(capsys, name, "--tokens", 9, "--source", 20)
    assert (status, out, len(err.splitlines())) == (2, "", 1) and "--source" in err


@pytest.mark.parametrize("text", ["1,2", "1,2345", ",100", "100,", "1,,000", "12,34,567"])
def test_commas_that_separate_no_thousands_are_refused(capsys, text):
    with pytest.raises(SystemExit) as stopped:
        run(capsys, "GPT-2", "--tokens", text)
    assert stopped.value.code == 2 and text in capsys.readouterr().err


# ---- devices, blocks, beams ------------------------------------------------------------------------


def test_context_parallel_devices_share_the_tokens_of_a_copy(capsys):
    """Qwen3-235B's 4 heads lie twice on 8 devices; with 2 that share tokens each holds half of them."""
    whole = as_json(capsys, "Qwen3-235B-A22B", "--tokens", 1000, "--tp", 8)
    half = as_json(capsys, "Qwen3-235B-A22B", "--tokens", 1001, "--tp", 8, "--dcp", 2)
    assert whole["bytes"] == 94 * 2 * 128 * 2 * 1000 and half["bytes"] == 94 * 2 * 128 * 2 * 501
    latent = as_json(capsys, "DeepSeek-V3", "--tokens", 800, "--tp", 8, "--dcp", 8)
    assert latent["bytes"] == 61 * 576 * 2 * 100


@pytest.mark.parametrize(
    ("args", "named"),
    [(("Qwen3-235B-A22B", "--tp", 8, "--dcp", 3), "3 context-parallel"),
     (("Gemma-3-27B", "--dcp", 2), "window"),
     (("Qwen3-32B", "--dcp", 2), "context-parallel"), (("Qwen3-32B", "--block", 0), "block"),
     (("Qwen3-32B", "--beams", 0), "beams"), (("Qwen3-32B", "--dcp", 0), "context_ranks"),
     (("Qwen3-32B", "--tp", 0), "ranks")],
)  # fmt: skip
def test_what_cannot_be_shared_is_refused(capsys, args, named):
    status, out, err = run(capsys, *args)
    assert (status, out, len(err.splitlines())) == (2, "", 1) and named in err


@pytest.mark.parametrize(("tokens", "stored"), [(0, 0), (1, 16), (16, 16), (17, 32)])
def test_whole_blocks(capsys, tokens, stored):
    sizes = as_json(capsys, "GPT-2", "--tokens", tokens, "--block", 16)
    assert sizes["stored_tokens"] == stored and sizes["bytes"] == stored * sizes["bytes_per_token"]
    assert f"{stored} stored" in run(capsys, "GPT-2", "--tokens", 17, "--block", 16)[1] or stored != 32


def test_beams_read_the_same_source(capsys):
    one, five = (as_json(capsys, "Whisper-base", "--tokens", 448, "--beams", n)["bytes"] for n in (1, 5))
    assert five - one == 4 * 6 * 2 * 512 * 2 * 448
    for form in ((), ("--explain",)):
        assert "5 beams" in run(capsys, "Whisper-base", "--tokens", 9, "--beams", 5, *form)[1]


def test_windows_reserved_in_full(capsys):
    whole = as_json(capsys, "Gemma-3-27B", "--tokens", 131_072, "--reserved")
    assert whole["bytes"] == 62 * 2**30 and whole["bytes_per_token_after"] == whole["bytes_per_token"]


def test_weights_in_k_quants(capsys):
    """llama.cpp's q4_k: 144 bytes for 256 numbers."""
    sizes = as_json(capsys, "GPT-2", "--weights", "q4_k")
    assert sizes["weight_bytes"] == -(-124_439_808 // 256) * 144
    assert "q4_k" in run(capsys, "GPT-2", "--weights", "q4_k", "--explain")[1]
    assert run(capsys, "GPT-2", "--dtype", "q4_k")[0] == 2


def test_latents_expanded(capsys):
    """71 times as much: 128 heads of 192 (keys) and 128 (values), in each of 61 layers."""
    assert as_json(capsys, "DeepSeek-V3", "--expanded")["bytes_per_token"] == 61 * 128 * (192 + 128) * 2
    status, _, err = run(capsys, "GPT-2", "--expanded")
    assert status == 2 and "MLA" in err


def test_vllms_latents_in_fp8(capsys):
    """656 bytes a token and layer, and 132 for an indexer's key."""
    assert as_json(capsys, "DeepSeek-V3", "--dtype", "fp8_ds_mla")["bytes_per_token"] == 61 * 656
    assert as_json(capsys, "DeepSeek-V3.2", "--dtype", "fp8_ds_mla")["bytes_per_token"] == 61 * (656 + 132)
    status, _, err = run(capsys, "GPT-2", "--dtype", "fp8_ds_mla")
    assert status == 2 and "latent" in err


# ---- assumptions, and the hub ----------------------------------------------------------------------


def test_an_assumption_replaces_a_field_and_says_so(capsys, tmp_path):
    path = config(tmp_path, cla_share_factor=2)
    assert run(capsys, path)[0] == 2
    sizes = as_json(capsys, path, "--assume", "cla_share_factor=null", "--assume", "num_key_value_heads=2")
    assert sizes["bytes_per_token"] == 2 * 2 * 2 * 16 * 2
    facts = {fact["name"]: fact["source"] for fact in sizes["facts"]}
    assert facts["num_kv_heads"] == "num_key_value_heads (assumed)" and "assumed" in sizes["source"]


def test_an_unknown_type_may_be_read_as_a_known_one(capsys, tmp_path):
    path = config(tmp_path, model_type="novel")
    assert run(capsys, path)[0] == 2
    assert as_json(capsys, path, "--assume", "model_type=llama")["bytes_per_token"] == 512


def test_an_assumption_reaches_a_nested_decoder(capsys, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "llava", "cla_share_factor": 2, "text_config": LLAMA}))
    assert run(capsys, path)[0] == 2
    sizes = as_json(capsys, path, "--assume", "cla_share_factor=null", "--assume", "head_dim=8")
    assert sizes["bytes_per_token"] == 2 * 2 * 4 * 8 * 2


@pytest.mark.parametrize(
    "text", ["", "=", "=4", "head_dim", "head_dim=", "head_dim=[", "num_hidden_layers=-1"]
)
def test_assumptions_that_cannot_be_read(capsys, tmp_path, text):
    status, out, err = run(capsys, config(tmp_path), "--assume", text)
    assert (status, out, len(err.splitlines())) == (2, "", 1)


def test_a_configuration_from_a_hub(capsys, monkeypatch):
    """Only with --hub; a server of our own stands for it."""
    import http.server
    import threading

    class Hub(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            found = self.path == "/org/name/resolve/main/config.json"
            body = json.dumps(LLAMA).encode() if found else b"["
            self.send_response(401 if "gated" in self.path else 200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        try:
            assert as_json(capsys, "org/name", "--hub")["bytes_per_token"] == 512
            for name, said in (("org/gated", "gated"), ("org/other", "JSON object")):
                status, _, err = run(capsys, name, "--hub")
                assert status == 2 and said in err
        finally:
            server.shutdown()
            thread.join()
    status, _, err = run(capsys, "org/name", "--hub")
    assert status == 2 and "cannot be reached" in err


@pytest.mark.parametrize("name", ["gpt2", "a/b/c", "../x", "a/..", "http://x/y", "a b/c", "a/b?c"])
def test_no_name_of_a_hub(capsys, name):
    status, _, err = run(capsys, name, "--hub")
    assert status == 2 and "ORG" not in err and "--hub needs a name" in err
