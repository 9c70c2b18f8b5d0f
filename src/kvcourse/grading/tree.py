"""What lies in a folder that somebody handed in: any depth, any number, any names, read within bounds."""

import itertools
import os
import stat
from collections import deque
from pathlib import Path

MAX_ENTRIES, MAX_DEPTH, MAX_PATH = 20_000, 16, 1000  # files and folders; levels; bytes of a relative name


def entries(
    folder: Path, ignored: frozenset[str] = frozenset()
) -> tuple[list[tuple[str, os.stat_result]], bool]:
    """The relative name and status of what lies below a folder, level by level in the order of names, and
    whether something was left out. No link is followed; folders called as in `ignored` are not entered.
    """
    found: list[tuple[str, os.stat_result]] = []
    waiting = deque([("", 0)])
    cut = False
    while waiting:
        place, depth = waiting.popleft()
        names, more = list_folder(os.path.join(folder, place))
        cut |= more
        for name in names:
            relative = os.path.join(place, name)
            try:
                status = os.lstat(os.path.join(folder, relative))
            except OSError:
                cut = True
                continue
            if len(found) == MAX_ENTRIES or len(os.fsencode(relative)) > MAX_PATH:
                cut = True
                continue
            found.append((relative, status))
            if not stat.S_ISDIR(status.st_mode) or name in ignored:
                continue
            if depth + 1 < MAX_DEPTH:
                waiting.append((relative, depth + 1))
            else:
                cut = True
        if len(found) == MAX_ENTRIES:
            return found, cut or bool(waiting)
    return found, cut


def list_folder(place: str | Path) -> tuple[list[str], bool]:
    """The sorted names in a folder, at most MAX_ENTRIES, and whether some were not read."""
    try:
        with os.scandir(place) as listed:
            names = [entry.name for entry in itertools.islice(listed, MAX_ENTRIES + 1)]
    except OSError:
        return [], True
    return sorted(names)[:MAX_ENTRIES], len(names) > MAX_ENTRIES
