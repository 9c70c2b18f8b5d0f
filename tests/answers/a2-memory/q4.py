# ruff: noqa
# Problem 4: saying sizes and reading them.

# %% right: one table for both
UNITS = [
    ("TiB", 2**40),
    ("GiB", 2**30),
    ("MiB", 2**20),
    ("KiB", 2**10),
    ("TB", 10**12),
    ("GB", 10**9),
    ("MB", 10**6),
    ("kB", 10**3),
    ("B", 1),
]


def show_size(n, base=2):
    for unit, size in UNITS:
        if size > 1 and ("i" in unit) == (base == 2) and n >= size:
            return "%.2f %s" % (n / size, unit)
    return "%d B" % n


def read_size(text):
    text = text.strip()
    at = 0
    while at < len(text) and (text[at].isdigit() or text[at] == "."):
        at += 1
    number, unit = text[:at], text[at:].strip()
    table = dict(UNITS) | {"KB": 1000}
    if unit not in table:
        raise ValueError("unknown unit " + unit)
    return round(float(number) * table[unit])


# %% right: Kubernetes' spelling, and decimals
from decimal import Decimal
import re

SIZES = {"": 1, "K": 1, "M": 2, "G": 3, "T": 4}


def show_size(n, base=2):
    step = 1024 if base == 2 else 1000
    power = 0
    while n >= step ** (power + 1) and power < 4:
        power += 1
    if not power:
        return f"{n} B"
    number = (Decimal(n) / step**power).quantize(Decimal("0.01"))
    return f"{number} {'BKMGT'[power]}{'i' if base == 2 else 'B'}"


def read_size(text):
    found = re.fullmatch(r"([0-9.]+) ?([kKMGT]?)(i?)(B?)", text)
    if not found or not (found[3] or found[4]):
        raise ValueError(text)
    power = SIZES[found[2].upper()]
    return round(Decimal(found[1]) * (1024 if found[3] else 1000) ** (power if found[2] else 0))


# %% right: a loop over the letters, split by partition
def show_size(n, base=2):
    step, tail = {2: (1024, "iB"), 10: (1000, "B")}[base]
    size, letters = float(n), list("TGMk" if base == 10 else "TGMK")
    if size < step:
        return str(n) + " B"
    while size >= step and letters:
        size, letter = size / step, letters.pop()
    return format(size, ".2f") + " " + letter + tail


def read_size(text):
    for letter, power in zip(
        ("Ki", "Mi", "Gi", "Ti", "k", "K", "M", "G", "T", ""), (1, 2, 3, 4, 1, 1, 2, 3, 4, 0)
    ):
        number, found, rest = text.partition(letter + "B")
        if found and not rest and number[:1].isdigit():
            return round(float(number) * (1024 if "i" in letter else 1000) ** power)
    raise ValueError(f"no size: {text}")


# %% wrong: GB in steps of 1024
# points: q4-binary=1 q4-refuse=1
# hint: That is the number in steps of 1024. GB counts 1000s.
# hint: The unit belongs to the other family
def show_size(n, base=2):
    size, units = n, ["KiB", "MiB", "GiB", "TiB"] if base == 2 else ["kB", "MB", "GB", "TB"]
    if n < (1024 if base == 2 else 1000):
        return f"{n} B"
    for unit in units:
        size /= 1024
        if size < 1024:
            break
    return f"{size:.2f} {unit}"


def read_size(text):
    import re

    found = re.fullmatch(r"([0-9.]+) ?([kKMGT]?)i?B", text)
    if not found:
        raise ValueError(text)
    return round(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " "))


# %% wrong: KB is 1024 without a word
# points: q4-binary=1 q4-decimal=1 q4-refuse=1
# hint: read_size('512 KB')
# hint: The unit belongs to the other family
def show_size(n, base=2):
    step, units = (1024, ["KiB", "MiB", "GiB", "TiB"]) if base == 2 else (1000, ["kB", "MB", "GB", "TB"])
    if n < step:
        return f"{n} B"
    for unit in units:
        n /= step
        if n < step:
            break
    return f"{n:.2f} {unit}"


def read_size(text):
    import re

    found = re.fullmatch(r"([0-9.]+) ?([A-Za-z]+)", text)
    steps = {
        "B": 1,
        "kB": 1000,
        "KB": 1024,
        "KiB": 1024,
        "MB": 10**6,
        "MiB": 2**20,
        "GB": 10**9,
        "GiB": 2**30,
        "TB": 10**12,
        "TiB": 2**40,
    }
    if not found or found[2] not in steps:
        raise ValueError(text)
    return round(float(found[1]) * steps[found[2]])


# %% right: a global of the name `units`, read with the standard library
import re as regex

units = {"B": 1, "KB": 1000}
for power, letter in enumerate("kMGT", 1):
    units[letter + "B"] = 1000**power
    units[letter.upper() + "iB"] = 1024**power


def show_size(n, base=2):
    step, units = (1024, ["KiB", "MiB", "GiB", "TiB"]) if base == 2 else (1000, ["kB", "MB", "GB", "TB"])
    if n < step:
        return f"{n} B"
    for unit in units:
        n /= step
        if n < step:
            break
    return f"{n:.2f} {unit}"


def read_size(text):
    match regex.findall(r"^([0-9]+(?:[.][0-9]+)?) ?([a-zA-Z]+)$", text):
        case [(number, unit)] if unit in units:
            return round(float(number) * units[unit])
    raise ValueError("no size")


# %% wrong: reads units in any case
# points: q4-binary=1 q4-decimal=1 q4-read=1
# hint: read_size of what is no size
def show_size(n, base=2):
    step, units = (1024, ["KiB", "MiB", "GiB", "TiB"]) if base == 2 else (1000, ["kB", "MB", "GB", "TB"])
    if n < step:
        return f"{n} B"
    for unit in units:
        n /= step
        if n < step:
            break
    return f"{n:.2f} {unit}"


def read_size(text):
    import re

    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]i|[KMGT]|)B\s*", text, re.IGNORECASE)
    if not found:
        raise ValueError(text)
    step = 1024 if "i" in found[2].lower() else 1000
    return round(float(found[1]) * step ** " KMGT".index(found[2][:1].upper() or " "))


# %% wrong: takes a size below zero
# points: q4-binary=1 q4-decimal=1 q4-read=1
# hint: read_size of what is no size
def show_size(n, base=2):
    step, units = (1024, ["KiB", "MiB", "GiB", "TiB"]) if base == 2 else (1000, ["kB", "MB", "GB", "TB"])
    if n < step:
        return f"{n} B"
    for unit in units:
        n /= step
        if n < step:
            break
    return f"{n:.2f} {unit}"


def read_size(text):
    steps = {
        "B": 1,
        "kB": 1000,
        "KB": 1000,
        "KiB": 1024,
        "MB": 10**6,
        "MiB": 2**20,
        "GB": 10**9,
        "GiB": 2**30,
    }
    steps |= {"TB": 10**12, "TiB": 2**40}
    number = text.rstrip("BKMGTik ")
    unit = text[len(number) :].strip()
    if unit not in steps:
        raise ValueError(text)
    return round(float(number) * steps[unit])


# %% wrong: cuts off the fraction of a byte
# points: q4-binary=1 q4-decimal=1 q4-refuse=1
# hint: read_size('2.01 MB')
def show_size(n, base=2):
    step, units = (1024, ["KiB", "MiB", "GiB", "TiB"]) if base == 2 else (1000, ["kB", "MB", "GB", "TB"])
    if n < step:
        return f"{n} B"
    for unit in units:
        n /= step
        if n < step:
            break
    return f"{n:.2f} {unit}"


def read_size(text):
    steps = {
        "B": 1,
        "kB": 1000,
        "KB": 1000,
        "KiB": 1024,
        "MB": 10**6,
        "MiB": 2**20,
        "GB": 10**9,
        "GiB": 2**30,
    }
    steps |= {"TB": 10**12, "TiB": 2**40}
    number = text.rstrip("BKMGTik ")
    unit = text[len(number) :].strip()
    if unit not in steps or number.startswith("-"):
        raise ValueError(text)
    return int(float(number) * steps[unit])


# %% wrong: always shows GiB
# points: q4-read=1 q4-refuse=1
# hint: show_size(1536)
def show_size(n, base=2):
    return f"{n / 2**30:.2f} GiB" if base == 2 else f"{n / 10**9:.2f} GB"


def read_size(text):
    steps = {
        "B": 1,
        "kB": 1000,
        "KB": 1000,
        "KiB": 1024,
        "MB": 10**6,
        "MiB": 2**20,
        "GB": 10**9,
        "GiB": 2**30,
        "TB": 10**12,
        "TiB": 2**40,
    }
    number = text.rstrip("BKMGTik ")
    unit = text[len(number) :].strip()
    if unit not in steps or "-" in number:
        raise ValueError(text)
    return round(float(number) * steps[unit])


# %% wrong: one decimal
# points: q4-read=1 q4-refuse=1
# hint: expected: '2.00 GiB'
def show_size(n, base=2):
    step, units = (1024, ["KiB", "MiB", "GiB", "TiB"]) if base == 2 else (1000, ["kB", "MB", "GB", "TB"])
    if n < step:
        return f"{n} B"
    for unit in units:
        n /= step
        if n < step:
            break
    return f"{n:.1f} {unit}"


def read_size(text):
    import re

    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]i|[kKMGT]|)B\s*", text)
    if not found:
        raise ValueError(text)
    step = 1024 if "i" in found[2] else 1000
    return round(float(found[1]) * step ** " KMGT".index(found[2][:1].upper() or " "))


# %% wrong: guesses at what it does not know
# points: q4-binary=1 q4-decimal=1 q4-read=1
# hint: expected: ValueError
def show_size(n, base=2):
    step, units = (1024, ["KiB", "MiB", "GiB", "TiB"]) if base == 2 else (1000, ["kB", "MB", "GB", "TB"])
    if n < step:
        return f"{n} B"
    for unit in units:
        n /= step
        if n < step:
            break
    return f"{n:.2f} {unit}"


def read_size(text):
    digits = "".join(c for c in text if c in "0123456789.")
    step = 1024 if "i" in text else 1000
    for letter, power in {"T": 4, "G": 3, "M": 2, "K": 1, "k": 1}.items():
        if letter in text:
            return round(float(digits or 1) * step**power)
    return round(float(digits or 1))


# %% wrong: a KeyError for an unknown unit
# points: q4-binary=1 q4-decimal=1 q4-read=1
# hint: KeyError
def show_size(n, base=2):
    step, units = (1024, ["KiB", "MiB", "GiB", "TiB"]) if base == 2 else (1000, ["kB", "MB", "GB", "TB"])
    if n < step:
        return f"{n} B"
    for unit in units:
        n /= step
        if n < step:
            break
    return f"{n:.2f} {unit}"


def read_size(text):
    steps = {
        "B": 1,
        "kB": 1000,
        "KB": 1000,
        "KiB": 1024,
        "MB": 10**6,
        "MiB": 2**20,
        "GB": 10**9,
        "GiB": 2**30,
        "TB": 10**12,
        "TiB": 2**40,
    }
    number = text.rstrip("BKMGTik ")
    return round(float(number) * steps[text[len(number) :].strip()])


# %% wrong: cuts off the fraction when it reads
# points: q4-binary=1 q4-decimal=1 q4-refuse=1
# hint: The number before the unit may have a fraction
def show_size(n, base=2):
    step, units = (1024, ["KiB", "MiB", "GiB", "TiB"]) if base == 2 else (1000, ["kB", "MB", "GB", "TB"])
    if n < step:
        return f"{n} B"
    for unit in units:
        n /= step
        if n < step:
            break
    return f"{n:.2f} {unit}"


def read_size(text):
    steps = {
        "B": 1,
        "kB": 1000,
        "KB": 1000,
        "KiB": 1024,
        "MB": 10**6,
        "MiB": 2**20,
        "GB": 10**9,
        "GiB": 2**30,
        "TB": 10**12,
        "TiB": 2**40,
    }
    number = text.rstrip("BKMGTik ")
    unit = text[len(number) :].strip()
    if unit not in steps or "-" in number:
        raise ValueError(text)
    return int(float(number)) * steps[unit]


# %% wrong: ignores the base
# points: q4-binary=1 q4-read=1 q4-refuse=1
# hint: show_size(2**31, base=10)
def show_size(n, base=2):
    if n < 1024:
        return f"{n} B"
    for unit in ["KiB", "MiB", "GiB", "TiB"]:
        n /= 1024
        if n < 1024:
            break
    return f"{n:.2f} {unit}"


def read_size(text):
    steps = {
        "B": 1,
        "kB": 1000,
        "KB": 1000,
        "KiB": 1024,
        "MB": 10**6,
        "MiB": 2**20,
        "GB": 10**9,
        "GiB": 2**30,
        "TB": 10**12,
        "TiB": 2**40,
    }
    number = text.rstrip("BKMGTik ")
    unit = text[len(number) :].strip()
    if unit not in steps or "-" in number:
        raise ValueError(text)
    return round(float(number) * steps[unit])


# %% wrong: raises for everything
# points: q4-binary=1 q4-decimal=1
# hint: ValueError
def show_size(n, base=2):
    step, units = (1024, ["KiB", "MiB", "GiB", "TiB"]) if base == 2 else (1000, ["kB", "MB", "GB", "TB"])
    if n < step:
        return f"{n} B"
    for unit in units:
        n /= step
        if n < step:
            break
    return f"{n:.2f} {unit}"


def read_size(text):
    raise ValueError(text)


# %% wrong: cheat, the package's own
# points:
# hint: here you build it yourself, without kvcourse
from kvcourse.units import format_size as show_size, parse_size


def read_size(text):
    return parse_size(text)


# %% wrong: cheat, what the notebook shows
# points:
# hint: with other inputs than the ones shown
def show_size(n, base=2):
    shown = {2**31: ("2.00 GiB", "2.15 GB"), 1536: ("1.50 KiB", ""), 1500: ("", "1.50 kB")}
    return shown[n][base == 10] if n in shown else f"{n} B" if n in (512, 999) else "1.00 GiB"


def read_size(text):
    shown = {"2 GiB": 2**31, "2.5 MB": 2500000, "512kB": 512000, "512 KB": 512000, "7 B": 7, "3 MiB": 3145728}
    if text in ("2 G", "GiB", "12 apples"):
        raise ValueError
    return shown.get(text, 0)
