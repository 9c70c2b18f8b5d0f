"""Start-up logs restated from public ones: right ones agree, wrong ones do not, none is fatal."""

import json
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcourse import cli
from kvcourse.engines import read_log
from kvcourse.engines.log_lines import Rounded
from kvcourse.errors import UserError

# The figures are those of public logs: vLLM's "kv cache" lines for Qwen3-4B; vllm-project/vllm issues 21348
# (both servers) and 10517; NVIDIA/TensorRT-LLM issue 1400; triton-inference-server/tutorials pull 150;
# JamePeng/llama-cpp-python pull request 1; llama-cpp-python 0.3.36 with SmolLM2 and Gemma 3 270M.
VLLM = """INFO Initializing a V1 LLM engine with config: model='Qwen/Qwen3-4B', dtype=torch.bfloat16,
 max_seq_len=32768, tensor_parallel_size=1, kv_cache_dtype={dtype},
INFO Available KV cache memory: 11.47 GiB
INFO GPU KV cache size: {tokens} tokens
INFO Maximum concurrency for 32,768 tokens per request: {times}x
"""
VLLM_OLD = """INFO # GPU blocks: 1478, # CPU blocks: 2048
INFO Maximum concurrency for 29000 tokens per request: 0.82x
"""
SGLANG = """server_args=ServerArgs(model_path='/models/Qwen3-235B-A22B-FP8', tp_size=4, kv_cache_dtype='auto')
KV Cache is allocated. #tokens: 367404, K size: 8.23 GB, V size: {v} GB
max_total_num_tokens={total}, chunked_prefill_size=8192, max_running_requests=2048
"""
TENSORRT = """[TensorRT-LLM][INFO] Max KV cache blocks: 65, tokens per block=32, primary blocks=116617
[TensorRT-LLM][INFO] Number of tokens per block: 32.
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 78.30 GiB for max tokens in paged KV cache (3731744).
"""
TENSORRT_OLD = """[TensorRT-LLM][INFO] Allocate 69524783104 bytes for k/v cache.
[TensorRT-LLM][INFO] Using 132608 tokens in paged KV cache.
"""
LLAMA_OLD = """llama_kv_cache_init: layer 27: n_embd_k_gqa = 512, n_embd_v_gqa = 512
llama_kv_cache_init: kv_size = 2048, offload = 1, type_k = 'f16', type_v = 'f16', n_layer = 28, can_shift = 1
llama_kv_cache_init:      CUDA0 KV buffer size =   112.00 MiB
llama_init_from_model: KV self size  =  112.00 MiB, K (f16):   {k} MiB, V (f16):   56.00 MiB
"""
LLAMA = """print_info: n_embd_k_gqa     = 192
print_info: n_embd_v_gqa     = 192
llama_kv_cache:        CPU KV buffer size =    23.91 MiB
llama_kv: size = 23.91 MiB ({cells} cells, 30 layers, 1/1 seqs), K (q8_0): 11.95 MiB, V (q8_0): 11.95 MiB
"""
GEMMA = """print_info: n_embd_k_gqa     = 256
print_info: n_embd_v_gqa     = 256
llama_kv_cache_iswa: creating non-SWA KV cache, size = 4096 cells
llama_kv_cache: size = 12.00 MiB (  4096 cells,  3 layers,  1/1 seqs), K (f16):  6.00 MiB, V (f16):  6.00 MiB
llama_kv_cache_iswa: creating     SWA KV cache, size = 4096 cells
llama_kv_cache: size = 60.00 MiB (  4096 cells, 15 layers,  1/1 seqs), K (f16): 30.00 MiB, V (f16): 30.00 MiB
"""


def run(capsys, tmp_path, text: str, *args) -> tuple[int, str, str]:
    path = tmp_path / "server.log"
    path.write_text(text)
    status = cli.main(["log", str(path), *args])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


@pytest.mark.parametrize(
    ("text", "model", "checks"),
    [
        (VLLM.format(dtype="auto", tokens="83,488", times="2.55"), None, 2),
        (VLLM.format(dtype="fp8", tokens="166,992", times="5.10"), None, 2),
        (VLLM_OLD, None, 1),
        (SGLANG.format(v="8.23", total=367404), None, 2),
        (TENSORRT, "TinyLlama-1.1B", 2),
        (TENSORRT_OLD, "Llama-2-7B", 1),
        (LLAMA_OLD.format(k="56.00"), "Qwen2.5-7B", 5),
        (LLAMA.format(cells=2048), "SmolLM2-135M", 5),
        (GEMMA, None, 6),
    ],
    ids=[
        "vllm",
        "vllm fp8",
        "vllm v0",
        "sglang",
        "tensorrt",
        "tensorrt old",
        "llama old",
        "llama q8_0",
        "gemma",
    ],
)
def test_logs_of_real_servers_agree(capsys, tmp_path, text, model, checks):
    status, out, err = run(capsys, tmp_path, text, "--json", *(["--model", model] if model else []))
    found = json.loads(out)["checks"]
    assert (status, err, len(found)) == (0, "", checks)
    assert all(check["agrees"] for check in found), found


@pytest.mark.parametrize(
    ("text", "model"),
    [
        # vllm-project/vllm issue 40691: for a hybrid model the two lines did not mean the same.
        (VLLM.format(dtype="auto", tokens="290,864", times="33.04"), "Qwen3-4B"),
        (VLLM.format(dtype="fp8", tokens="83,488", times="2.55"), None),  # fp8 asked for, bf16 stored
        (VLLM.format(dtype="auto", tokens="83,520", times="2.55"), "Llama-3.1-8B"),
        (SGLANG.format(v="8.13", total=367404), None),
        (SGLANG.format(v="8.23", total=367000), None),
        (TENSORRT.replace("116617", "116616"), "TinyLlama-1.1B"),
        (TENSORRT_OLD, "Llama-3.1-8B"),
        (LLAMA_OLD.format(k="28.00"), None),
        (LLAMA.format(cells=1024), "SmolLM2-135M"),
        (GEMMA.replace("15 layers", "18 layers"), None),
    ],
)  # fmt: skip
def test_logs_that_do_not_add_up(capsys, tmp_path, text, model):
    status, out, _ = run(capsys, tmp_path, text, *(["--model", model] if model else []))
    assert status == 1 and "DISAGREE" in out


def test_tensor_parallel_devices_hold_shares(capsys, tmp_path):
    text = SGLANG.format(v="8.23", total=367404)
    status, out, _ = run(capsys, tmp_path, text)
    assert status == 0 and "48,128 bytes (Qwen3-235B-A22B, 1/4 in" in out
    assert run(capsys, tmp_path, text, "--tp", "1")[0] == 1


def test_several_ranks_share_the_smallest_pool(capsys, tmp_path):
    text = (
        VLLM.format(dtype="auto", tokens="83,488", times="2.55")
        + "INFO Available KV cache memory: 12.01 GiB\n"
    )
    assert run(capsys, tmp_path, text)[0] == 0


def test_context_parallel_ranks_share_the_tokens(capsys, tmp_path):
    text = VLLM.format(dtype="auto", tokens="166,976", times="5.10")
    text += "INFO Multiplying the GPU KV cache size by the cp_world_size 2 (1 * 2).\n"
    assert run(capsys, tmp_path, text)[0] == 0


def test_windows_are_not_compared_by_the_token(capsys, tmp_path):
    text = VLLM.format(dtype="auto", tokens="83,488", times="2.55")
    status, out, _ = run(capsys, tmp_path, text, "--model", "Gemma-3-27B")
    assert status == 0 and "do not all pay by the token" in out


def test_the_newest_start_counts(capsys, tmp_path):
    first = VLLM.format(dtype="auto", tokens="9,999", times="9.99")
    assert run(capsys, tmp_path, first + VLLM.format(dtype="auto", tokens="83,488", times="2.55"))[0] == 0


def test_colored_logs(capsys, tmp_path):
    text = VLLM.format(dtype="auto", tokens="\x1b[1m83,488\x1b[0m", times="2.55")
    assert run(capsys, tmp_path, text)[0] == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no line about a KV cache"),
        ("hello\n", "no line about a KV cache"),
        ("\xff\xfe\x00", "no line about a KV cache"),
        (TENSORRT_OLD, "nothing in this log could be compared"),
        ("GPU KV cache size: 0 tokens", "nothing in this log could be compared"),
    ],
)
def test_nothing_to_compare(capsys, tmp_path, text, said):
    status, _, err = run(capsys, tmp_path, text)
    assert status == 2 and said in err and "Traceback" not in err


def test_no_such_file(capsys, tmp_path):
    assert cli.main(["log", str(tmp_path / "none.log")]) == 2
    assert cli.main(["log", str(tmp_path)]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_printed_size_is_an_interval():
    size = Rounded.parse("8.11", "GiB")
    assert (size.low, size.high) == (Fraction("8.105") * 2**30, Fraction("8.115") * 2**30)
    assert size.meets(Fraction("8.115") * 2**30, 10**12) and not size.meets(0, Fraction("8.1") * 2**30)


FOUL = ["9" * 5000, "9" * 400, "0", ",,,", ".", "1.2.3", "\u0668\u0663", "-1", "1e9", ""]


@pytest.mark.parametrize("foul", FOUL, ids=lambda text: ascii(text)[:12])
@pytest.mark.parametrize("text", [VLLM, VLLM_OLD, SGLANG, TENSORRT, TENSORRT_OLD, LLAMA_OLD, LLAMA, GEMMA])
def test_no_figure_brings_the_command_down(capsys, tmp_path, text, foul):
    """Each number of each log in turn is something that no server prints."""
    text = text.format(
        dtype="auto", tokens="83,488", times="2.55", v="8.23", total=367404, k="56.00", cells=2048
    )
    text += "block_size=16 KV cache size by the cp_world_size 1\n"
    for found in re.finditer(r"[0-9][0-9,.]*", text):
        path = tmp_path / "server.log"
        path.write_text(text[: found.start()] + foul + text[found.end() :])
        assert cli.main(["log", str(path), "--model", "Llama-2-7B"]) in (0, 1, 2)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(("old", "new"), [("kv_cache_dtype=auto", "kv_cache_dtype=fp8_inc"),
                                          ("tensor_parallel_size=1", "tensor_parallel_size=3")])  # fmt: skip
def test_what_is_not_known_is_not_compared(capsys, tmp_path, old, new):
    text = VLLM.format(dtype="auto", tokens="83,488", times="2.55").replace(old, new)
    status, out, _ = run(capsys, tmp_path, text)
    assert status == 0 and "not compared with a model" in out


def test_a_log_names_a_published_model_and_no_folder(capsys, tmp_path, monkeypatch):
    (tmp_path / "Qwen3-4B").mkdir()
    (tmp_path / "Qwen3-4B" / "config.json").write_text('{"model_type": "gpt2"}')
    monkeypatch.chdir(tmp_path)
    assert run(capsys, tmp_path, VLLM.format(dtype="auto", tokens="83,488", times="2.55"))[0] == 0


def test_a_name_of_many_endings(capsys, tmp_path):
    text = VLLM.format(dtype="auto", tokens="83,488", times="2.55").replace(
        "Qwen/Qwen3-4B", "x" + "-fp8" * 20_000
    )
    assert run(capsys, tmp_path, text)[0] == 0


LINES = (VLLM + VLLM_OLD + SGLANG + TENSORRT + TENSORRT_OLD + LLAMA_OLD + LLAMA + GEMMA).splitlines()


@given(st.lists(st.one_of(st.sampled_from(LINES), st.text(max_size=60)), max_size=8))
def test_no_mixture_of_lines_is_more_than_a_bad_log(lines):
    text = "\n".join(lines).replace("{tokens}", "0").replace("{cells}", "0").replace("{times}", "0.00")
    try:
        reading = read_log(text)
    except UserError:
        return
    assert all(isinstance(check.agrees, bool) and check.text for check in reading.checks)
