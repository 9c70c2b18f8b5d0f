"""A PostgreSQL server for one test session: its own data folder, a socket in it, no port."""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest


def find_programs() -> Path | None:
    """The folder of initdb and postgres; Debian keeps it off the path."""
    found = shutil.which("initdb")
    places = [Path(found).resolve().parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if (place / "postgres").is_file()), None)


class Server:
    """A running server. It refuses to run as root, so root starts it as another user."""

    def __init__(self, programs: Path) -> None:
        self.programs, self.folder = programs, Path(tempfile.mkdtemp(prefix="kvcourse-pg-"))
        self.user = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self.user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        self._call("initdb", "-U", "teacher", "--auth=trust", "--locale=C", "--encoding=UTF8", "--no-sync")
        self.start()

    def start(self) -> None:
        settings = f"-c listen_addresses='' -c unix_socket_directories={self.folder} -c fsync=off"
        self._call("pg_ctl", "-w", "-o", settings, "-l", str(self.folder / "log"), "start")

    def stop(self) -> None:
        self._call("pg_ctl", "-w", "-m", "immediate", "stop")

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder)

    def database(self, name: str) -> str:
        """A new, empty database's address."""
        import psycopg

        with psycopg.connect(f"host={self.folder} user=teacher dbname=postgres", autocommit=True) as opened:
            opened.execute(f"drop database if exists {name} with (force)")
            opened.execute(f"create database {name}")
        return f"postgresql+psycopg://teacher@/{name}?host={self.folder}"

    def _call(self, program: str, *arguments: str) -> None:
        command = [self.programs / program, "-D", self.folder / "data", *arguments]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
        subprocess.run(command, check=True, cwd=self.folder, timeout=120, **quiet, **self.user)


@pytest.fixture(scope="module")
def server():
    """A server, or a skip that says what to install."""
    pytest.importorskip("psycopg", reason="install: psycopg[binary]")
    programs = find_programs()
    if programs is None:
        pytest.skip("install: postgresql")
    running = Server(programs)
    yield running
    running.remove()
