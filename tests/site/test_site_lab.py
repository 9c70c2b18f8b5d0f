"""The same widgets live: JupyterLab, a notebook, a kernel, real clicks and keys."""

import json
import os
import re
import subprocess
import sys
import time

import nbformat
import pytest
from playwright.sync_api import TimeoutError
from site_harness import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.full]
STARTS_WITHIN_S = 120


@pytest.fixture
def lab(tmp_path):
    """Start JupyterLab on a free port of 127.0.0.1, with its own settings; yield its address; stop it."""
    pytest.importorskip("jupyterlab", reason="install: jupyterlab")
    cell = nbformat.v4.new_code_cell
    sources = [
        "from kvcourse import viz\nlive = viz.cache_work(prompt=8, new=4)\nlive",
        "calculator = viz.kv_calc('Llama-2-7B', tokens=4096, sequences=6)\ncalculator",
        "explorer = viz.block_table([['start', 'A', 6]], position=5)\nexplorer",
        "playground = viz.allocator('pow2', step=3)\nplayground",
        "first = viz.quiz('Which?', [{'text': 'this', 'feedback': 'Not this.'},\n"
        "    {'text': 'that', 'feedback': 'Right.', 'correct': True}])\nfirst",
        "viz.quiz('And now?', [{'text': 'yes', 'feedback': 'Yes.', 'correct': True},\n"
        "    {'text': 'no', 'feedback': 'No.'}])",
    ]
    notebook = nbformat.v4.new_notebook(cells=[cell(source) for source in sources])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    (tmp_path / "work").mkdir()
    nbformat.write(notebook, tmp_path / "work/live.ipynb")
    environment = {name: value for name, value in os.environ.items() if name != "KVCOURSE_STATIC"}
    for kind in ("CONFIG", "DATA", "RUNTIME"):
        environment[f"JUPYTER_{kind}_DIR"] = str(tmp_path / kind.lower())
    options = ["--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", "--ServerApp.port=0"]
    options += ["--IdentityProvider.token=", "--ServerApp.root_dir=work", "--LabApp.check_for_updates_class="]
    options[-1] += "jupyterlab.NeverCheckForUpdate"
    with open(tmp_path / "log", "w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options],
            cwd=tmp_path,
            env=environment,
            stdout=log,
            stderr=log,
        )
    try:
        yield _address(server, tmp_path)
    finally:
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _address(server, folder) -> str:
    """Wait for the server's own note of where it listens."""
    until = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < until and server.poll() is None:
        for note in (folder / "runtime").glob("jpserver-*.json"):
            try:
                return json.loads(note.read_text())["url"]
            except (json.JSONDecodeError, KeyError):
                pass  # half-written
        time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start:\n{(folder / 'log').read_text()[-3000:]}")


def run_all(page, until) -> None:
    """Run every cell. JupyterLab asks for a kernel if it has none yet, and may lose an early run."""
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()
    for _ in range(6):
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.locator(".lm-Menu-item[data-command='runmenu:run-all']").click()
        try:
            until.wait_for(timeout=20_000)
            return
        except TimeoutError:
            continue
    pytest.fail("no cell ran in JupyterLab")


def test_widgets_in_jupyterlab(chrome, lab):
    visitor = Visitor(chrome, lab)
    visitor.context.set_default_timeout(90_000)
    page = visitor.context.new_page()
    page.goto(f"{lab}lab/tree/live.ipynb")
    widget = page.locator(".kv-cache-work")
    status = widget.locator(".kv-status")
    run_all(page, until=status)
    widget.get_by_role("button", name="Next").click()
    assert "Step 2 of 4" in status.inner_text()
    step = widget.get_by_label("Step", exact=True)
    step.focus()
    page.keyboard.press("ArrowRight")  # JupyterLab takes it for itself unless the input says otherwise
    assert "Step 3 of 4" in status.inner_text()
    rows = widget.locator("[data-counter=rows-total-without]")
    assert rows.inner_text() == str(8 + 9 + 10)

    calculator = page.locator(".kv-kv-calc")
    sequences = calculator.get_by_label("Sequences", exact=True)
    sequences.focus()
    page.keyboard.press("ArrowUp")
    assert "7 caches of 4,096 tokens: 14.00 GiB (15.03 GB)" in calculator.locator(".kv-status").inner_text()
    sequences.fill("16")
    calculator.get_by_label("Model").select_option("Llama-3.1-8B")
    assert calculator.locator("[data-size=total-binary]").inner_text() == "8.00 GiB"

    blocks = page.locator(".kv-block-table")
    blocks.get_by_role("button", name="Fork").click()
    blocks.get_by_role("button", name="Append 1 token").click()
    assert "Copy-on-write: A also holds block 1." in blocks.locator(".kv-status").inner_text()
    blocks.get_by_role("radio").first.check()
    blocks.get_by_role("slider").focus()
    page.keyboard.press("ArrowRight")
    assert "Position 1 of A:" in blocks.locator(".kv-formula").inner_text()

    playground = page.locator(".kv-allocator")
    seen = playground.locator(".kv-status")
    playground.get_by_role("radio").nth(1).press("ArrowRight")
    playground.get_by_role("slider").first.press("ArrowRight")
    playground.get_by_role("button", name="Add it to the head of the queue").click()
    assert "Step 5 of 48, oracle" in seen.inner_text()

    quizzes = page.locator(".kv-quiz")
    quizzes.first.get_by_text("this").click()
    page.keyboard.press("ArrowDown")
    quizzes.first.get_by_role("button", name="Check").click()
    assert quizzes.first.get_by_role("status").inner_text() == "✓ Correct. Right."
    quizzes.last.get_by_text("no", exact=True).click()  # its label, not the first quiz's
    quizzes.last.get_by_role("button", name="Check").click()
    assert quizzes.last.get_by_role("status").inner_text() == "✗ Not yet. No."

    # The state is the kernel's: a new cell reads the step, and sets it.
    page.locator(".jp-Notebook").get_by_role("textbox").last.click()
    page.keyboard.press("Control+End")
    page.keyboard.type("\nlive.step -= 1\nseen = [live.step, calculator.kv_heads, calculator.sequences]")
    page.keyboard.type("\nprint('kernel at', *seen, len(explorer.operations), explorer.position, end=' ')")
    page.keyboard.type("\nprint(playground.policy, playground.added)")
    page.keyboard.type("\nexplorer.operations = explorer.operations[:1]\nplayground.requests = [[1, 1]]")
    page.keyboard.press("Control+Enter")
    page.get_by_text("kernel at 2 8 16 3 1 oracle [[5, 4, 8]]", exact=True).wait_for()
    assert "Step 2 of 4" in status.text_content()  # scrolled away: not shown
    blocks.get_by_text("A starts with 6 tokens").wait_for()
    seen.get_by_text("1 request runs, 1 finished. Nobody waits.").wait_for(state="attached")
    outside = [problem for problem in visitor.problems if re.match("asked another host", problem)]
    assert outside == []
    visitor.close()
