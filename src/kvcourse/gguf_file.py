"""Reading a GGUF file: its metadata, and its tensors as float32. Used by `weights` and `tokenizer`."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from kvcourse.errors import ModelFileError, shown


class GGUFFile:
    """Metadata and tensors of one GGUF file. Raises ModelFileError where the file is not whole."""

    def __init__(self, path: Path) -> None:
        from gguf import GGUFReader  # half a second, and not needed to run the tiny model

        self.path = path
        try:
            with path.open("rb") as file:
                magic = file.read(4)
        except OSError as error:
            raise ModelFileError(f"cannot read {path}: {error.strerror}.") from None
        if magic != b"GGUF":
            raise ModelFileError(
                f"{path} starts with {shown(magic)}; expected a GGUF file, which starts b'GGUF'."
            )
        try:
            self._reader = GGUFReader(path)
        except (
            Exception
        ) as error:  # the reader meets a damaged file with whatever comes: IndexError, ValueError
            raise ModelFileError(f"{path} is damaged or cut short: {shown(str(error))}.") from error

    def get(self, name: str, default: Any = None) -> Any:
        """One metadata value as a Python object."""
        field = self._reader.get_field(name)
        return default if field is None else field.contents()

    def tensor_names(self) -> set[str]:
        return {tensor.name for tensor in self._reader.tensors}

    def tensors(self) -> dict[str, np.ndarray]:
        """Every tensor de-quantized to float32, `(out, in)` where it is a matrix."""
        from gguf.quants import dequantize

        try:
            return {t.name: dequantize(t.data, t.tensor_type) for t in self._reader.tensors}
        except Exception as error:  # an unknown quantization, or data that ends early
            raise ModelFileError(
                f"{self.path}: cannot de-quantize its tensors: {shown(str(error))}."
            ) from error


@lru_cache(maxsize=1)
def _open(path: Path, _mtime_ns: int, _size: int) -> GGUFFile:
    return GGUFFile(path)


def open_gguf(path: Path) -> GGUFFile:
    """The file at `path`; parsing 49,152 token strings takes seconds, so the last one opened is kept."""
    try:
        stat = path.stat()
    except OSError as error:
        raise ModelFileError(f"cannot read {path}: {error.strerror}.") from None
    return _open(path.resolve(), stat.st_mtime_ns, stat.st_size)
