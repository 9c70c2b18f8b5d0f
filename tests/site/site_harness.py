"""A built site in a real browser: serve it, open its pages, note everything that goes wrong on the way."""

import base64
import functools
import http.server
import os
import shutil
import threading
import xml.etree.ElementTree as ElementTree
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build/_build/html"
PREFIX = "/kvcourse/"  # where the site is published
THEMES = ("light", "dark")
WIDTHS = (1280, 390)
# No sandbox, for containers and root; no GPU; and none of the browser's own requests.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str | None:
    """Return the path of a Chromium: $CHROMIUM, else one on PATH."""
    named = os.environ.get("CHROMIUM")
    found = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome", "chrome"))
    return named or next((path for path in found if path), None)


def page_names(site: Path = SITE) -> list[str]:
    """Return every page as a path below the site: the sitemap's, the index, the search and the 404 page."""
    namespace = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
    addresses = [node.text for node in ElementTree.parse(site / "sitemap.xml").iter(f"{namespace}loc")]
    return [address.split(PREFIX, 1)[1] for address in addresses] + [
        "genindex.html",
        "search.html",
        "404.html",
    ]


class _Handler(http.server.SimpleHTTPRequestHandler):
    """A folder below a prefix; what is not there is answered with its 404.html, as static hosts do."""

    def __init__(self, *arguments, prefix: str, **options):
        self.prefix = prefix
        super().__init__(*arguments, **options)

    def log_message(self, *arguments):
        pass

    def translate_path(self, path):
        below = path.removeprefix(self.prefix) if path.startswith(self.prefix) else "no such file"
        return super().translate_path("/" + below)

    def send_error(self, code, message=None, explain=None):
        page = Path(self.directory) / "404.html"
        if code != 404 or not page.is_file():
            return super().send_error(code, message, explain)
        self.send_response(404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(page.read_bytes())


def module_url(name: str) -> str:
    """Return a widget's ES module as an address that any page can import."""
    from kvcourse.widgets.host import module_source

    return f"data:text/javascript;base64,{base64.b64encode(module_source(name).encode()).decode()}"


@contextmanager
def served(folder: Path, prefix: str = PREFIX):
    """Serve a folder on a free port of 127.0.0.1 below a prefix; yield its address."""
    handler = functools.partial(_Handler, directory=str(folder), prefix=prefix)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{prefix}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def browser():
    """Yield a headless Chromium; the caller has checked that chromium() finds one."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        instance = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            yield instance
        finally:
            instance.close()


class Visitor:
    """One reader's window on the site: a theme and a width. Requests to other hosts are stopped and noted."""

    def __init__(self, instance, base: str, theme: str = "light", width: int = 1280):
        self.base = base
        self.problems: list[str] = []
        self.loaded: set[Path] = set()  # files of the site, relative to it
        self.context = instance.new_context(viewport={"width": width, "height": 900}, reduced_motion="reduce")
        self.context.set_default_timeout(30_000)
        self.context.add_init_script(
            "if (!sessionStorage.getItem('visited')) { sessionStorage.setItem('visited', '1');"
            f"localStorage.setItem('mode', '{theme}'); localStorage.setItem('theme', '{theme}'); }}"
        )
        self.context.route("**/*", self._only_here)

    def _only_here(self, route):
        if route.request.url.startswith((self.base, "data:", "blob:", "file:")):
            route.continue_()
        else:
            self.problems.append(f"asked another host: {route.request.url}")
            route.abort()

    def open(self, path: str):
        """Return a page of the site, loaded to the end; `problems` grows by what goes wrong on it."""
        page = self.context.new_page()
        page.on("console", lambda message: self._note("console", message.text, message.type == "error"))
        page.on("pageerror", lambda error: self._note("script error", str(error)))
        page.on("response", self._note_reply)
        page.goto(path if "://" in path else self.base + path, wait_until="networkidle")
        page.evaluate("document.fonts.ready")
        return page

    def _note_reply(self, reply) -> None:
        self._note(str(reply.status), reply.url, reply.status >= 400)
        self.loaded.add(Path(reply.url.removeprefix(self.base).split("?")[0].split("#")[0]))

    def _note(self, kind: str, text: str, wrong: bool = True) -> None:
        if wrong:
            self.problems.append(f"{kind}: {text[:300]}")

    def close(self) -> None:
        self.context.close()
