"""Scripts, styles, icons: ours put together, the theme's that fetch from elsewhere or weigh much dropped."""

import re
from pathlib import Path

from kvcourse.widgets.host import HERE as WIDGETS
from kvcourse.widgets.host import MODULES, module_source

from . import icons

BUNDLE = "kvwidgets.js"
UNWANTED = ("sphinx-thebe.js", "sphinx-thebe.css")  # live code from another host


def as_classic_script(module: str, name: str) -> str:
    """Return an ES module as a plain script that sets kvWidgets[name]: a page on disk loads no module."""
    script = re.sub(r"^export default ", f'kvWidgets["{name}"] = ', module, flags=re.MULTILINE)
    script = re.sub(r"^export (?=(?:async )?(?:function|const|class) )", "", script, flags=re.MULTILINE)
    if re.search(r"^\s*(?:import|export)\b", script, flags=re.MULTILINE):
        raise ValueError(
            f"{name}.js: expected one `export default` and no import, as the site puts widgets together"
        )
    return f"(() => {{\n{script}}})();\n"


def _put_together(app, config) -> None:
    """Write the widgets, the host behind them, as one script, and their styles, into a static folder."""
    folder = Path(app.outdir).parent / ".static"
    folder.mkdir(parents=True, exist_ok=True)
    parts = [as_classic_script(module_source(name), name) for name in MODULES]
    host = (Path(app.srcdir) / "book/_static/site-host.js").read_text(encoding="utf-8")
    (folder / BUNDLE).write_text("const kvWidgets = {};\n" + "".join(parts) + host, encoding="utf-8")
    styles = [WIDGETS / "common.css", *(WIDGETS / f"{name}.css" for name in MODULES)]
    text = "".join(path.read_text(encoding="utf-8") for path in styles)
    (folder / BUNDLE).with_suffix(".css").write_text(text, encoding="utf-8")
    config.html_static_path.append(str(folder))


def _leave_out(app, pagename, templatename, context, doctree) -> None:
    def wanted(asset) -> bool:
        body = (getattr(asset, "attributes", None) or {}).get("body") or ""
        return not str(getattr(asset, "filename", asset)).endswith(UNWANTED) and "THEBE_JS_URL" not in body

    for kind in ("script_files", "css_files"):
        context[kind] = [asset for asset in context.get(kind, []) if wanted(asset)]


def _lighten(app, exception) -> None:
    if exception is not None or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    for unwanted in (*static.rglob("*.map"), *(static / name for name in UNWANTED)):
        unwanted.unlink(missing_ok=True)
    (static / "webpack-macros.html").unlink(missing_ok=True)  # a template, not a page
    # 1.5 MB that draw the icons a second time: the theme's style sheet has them as a web font.
    (static / "scripts/fontawesome.js").unlink(missing_ok=True)
    icons.shrink(Path(app.outdir))


def setup(app) -> None:
    app.connect("config-inited", _put_together)
    app.add_css_file("kvwidgets.css")
    app.add_js_file(BUNDLE, loading_method="defer")
    app.connect("html-page-context", _leave_out, priority=950)
    app.connect("build-finished", _lighten)
