"""`kvcourse plan`: figures by hand, exit codes, output forms, and every kind of bad input."""

import json
import subprocess
import sys

import pytest

from kvcourse import cli
from kvcourse.units import GIB


def run(capsys, *args) -> tuple[int, str, str]:
    status = cli.main(["plan", *map(str, args)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def as_json(capsys, *args) -> dict:
    _, out, err = run(capsys, *args, "--json")
    assert err == ""
    return json.loads(out)


LLAMA = ("--model", "Llama-2-7B", "--gpu", "80GiB")


def test_by_hand(capsys):
    """Llama-2-7B in fp16 on 80 GiB: 13,476,831,232 bytes of weights, 2 GiB a sequence of 4,096."""
    found = as_json(capsys, *LLAMA, "--other", "2GiB", "--dtype", "fp16")
    assert (found["weight_bytes"], found["bytes_per_sequence"]) == (13_476_831_232, 2 * GIB)
    assert found["sequences_to_exceed_weights"] == 7
    left = 80 * GIB - 13_476_831_232 - 2 * GIB
    pools = {engine["engine"]: engine for engine in found["engines"]}
    assert pools["llama.cpp"]["pool_bytes"] == left
    assert pools["TensorRT-LLM"]["pool_bytes"] == int(0.9 * left)
    assert pools["vLLM"]["pool_bytes"] == int(0.92 * 80 * GIB - 13_476_831_232 - 2 * GIB)
    assert pools["llama.cpp"]["sequences"] == left // (2 * GIB)


def test_a_chosen_engine_and_fraction(capsys):
    (engine,) = as_json(capsys, *LLAMA, "--engine", "vllm", "--fraction", "0.5", "--other", "0")["engines"]
    assert engine["pool_bytes"] == 40 * GIB - 13_476_831_232


def test_tensor_parallel_devices_share_both(capsys):
    one, four = (as_json(capsys, *LLAMA, "--tp", n) for n in (1, 4))
    assert four["bytes_per_sequence"] * 4 == one["bytes_per_sequence"]
    assert four["weight_bytes"] * 4 == one["weight_bytes"]


def test_the_weights_as_a_dtype_or_a_size(capsys):
    assert as_json(capsys, *LLAMA, "--weights", "q4_0")["weight_bytes"] == 6_738_415_616 * 18 // 32
    assert as_json(capsys, *LLAMA, "--weights", "4 GiB")["weight_bytes"] == 4 * GIB


def test_a_named_gpu_bounds_the_step(capsys):
    found = as_json(capsys, "--model", "Llama-2-7B", "--gpu", "H100", "--context", 4096)
    assert found["step_seconds"]["one_sequence"] == pytest.approx((13_476_831_232 + 2 * GIB) / 3.35e12)
    assert as_json(capsys, *LLAMA)["step_seconds"]["one_sequence"] is None
    assert "at best" in run(capsys, "--model", "Llama-2-7B", "--gpu", "H100")[1]


def test_what_does_not_fit_exits_1(capsys):
    status, out, _ = run(capsys, "--model", "Llama-3.1-70B", "--gpu", "24GiB")
    assert status == 1 and "No room for one sequence of 131,072 tokens: vLLM, SGLang" in out
    assert run(capsys, *LLAMA)[0] == 0


def test_the_table_says_every_size_both_ways(capsys):
    _, out, _ = run(capsys, *LLAMA)
    for said in (
        "12.55 GiB (13.48 GB)",
        "2.00 GiB (2.15 GB)",
        "gpu-memory-utilization 0.92",
        "sequence number 7",
    ):
        assert said in out


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_plot(capsys, tmp_path, ending):
    path = tmp_path / f"plan.{ending}"
    assert run(capsys, *LLAMA, "--plot", path)[0] == 0
    assert path.stat().st_size > 1000
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--model", "Llama-2-7B", "--gpu", "H9000"), "no GPU"),
        (("--model", "Llama-2-7B", "--gpu", "80G"), "GiB (1024) or GB (1000)"),
        (("--model", "no-such", "--gpu", "80GiB"), "no published model"),
        ((*LLAMA, "--engine", "tgi"), "no engine 'tgi'"),
        ((*LLAMA, "--fraction", "0.9"), "expected an --engine"),
        ((*LLAMA, "--engine", "llama.cpp", "--fraction", "0.9"), "counts tokens"),
        ((*LLAMA, "--engine", "vllm", "--fraction", "1.5"), "at most 1"),
        ((*LLAMA, "--context", "0"), "--context with 1 or more"),
        ((*LLAMA, "--tp", "0"), "1 GPU or more"),
        ((*LLAMA, "--tp", "5"), "5 tensor-parallel devices"),
        ((*LLAMA, "--other", "lots"), "cannot read the size"),
        ((*LLAMA, "--weights", "int3"), "unknown cache dtype"),
        ((*LLAMA, "--plot", "p" * 255 + ".png"), "File name too long"),
        (("--model", "Llama-2-7B", "--gpu", "1GiB", "--plot", "p.png"), "nothing to draw"),
        ((*LLAMA, "--plot", "plan.txt"), "ends in .png"),
        ((*LLAMA, "--plot", "no/such/folder/plan.png"), "No such file"),
    ],
)
def test_bad_input_is_one_sentence(capsys, args, said):
    status, out, err = run(capsys, *args)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_no_torch_and_no_matplotlib_without_a_plot():
    code = (
        "import sys; from kvcourse import cli; cli.main(['plan', '--model', 'Llama-2-7B', '--gpu', '80GiB']);"
    )
    code += "sys.exit(bool({'torch', 'matplotlib', 'numpy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
