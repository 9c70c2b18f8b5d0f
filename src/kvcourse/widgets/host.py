"""One ES module, two hosts: anywidget in JupyterLab, and the built site's own small host.

Knows nothing about what a widget shows: it carries a module's name, its state, and HTML for use without it.
"""

import html
import json
import os
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
COMMON = HERE / "common.js"
MODULES = sorted(path.stem for path in HERE.glob("*.js") if path != COMMON)
STATIC_ENV = "KVCOURSE_STATIC"  # the site build sets it: a page has no kernel, so no anywidget


def module_source(name: str) -> str:
    """Return a widget's ES module with what it imports from `common.js` in it: no host resolves an import."""
    common = re.sub(r"^export ", "", COMMON.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return re.sub(
        r'^import (\{[^}]+\}) from "\./common\.js";\n',
        lambda found: f"const {found[1]} = (() => {{\n{common}return {found[1]};\n}})();\n",
        (HERE / f"{name}.js").read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )


class StaticWidget:
    """What a cell leaves on a static page: a module's name, its state, and HTML for use without a script."""

    def __init__(self, module: str, state: dict[str, Any], fallback: str):
        self.module, self.state, self.fallback = module, state, fallback

    def _repr_html_(self) -> str:
        state = html.escape(json.dumps(self.state, ensure_ascii=False))
        return (
            f'<div class="kv-widget" data-module="{self.module}" data-state="{state}">'
            f"<noscript>{self.fallback}</noscript></div>"
        )


def widget(module: str, state: dict[str, Any], fallback: str):
    """Return the widget for where we run: a StaticWidget for the site, else an anywidget, the state alike."""
    if os.environ.get(STATIC_ENV):
        return StaticWidget(module, state, fallback)
    from kvcourse.widgets import live  # anywidget takes 0.2 s to import, and a page never needs it

    return live.CLASSES[module](**state)
