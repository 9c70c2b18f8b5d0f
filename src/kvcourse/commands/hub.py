"""A model's config.json from a hub, for who asks for it: nothing else in kvcourse opens a connection."""

import json
import os
import re
import urllib.error
import urllib.request

from kvcourse.errors import ConfigError, UserError, shown

_MOST = 4 * 2**20
_SECONDS = 10
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


def fetch(name: str) -> tuple[dict, str]:
    """The configuration of ORG/NAME and its address, from HF_ENDPOINT or huggingface.co. UserError."""
    if not _NAME.fullmatch(name) or ".." in name:
        raise UserError(f"--hub needs a name such as Qwen/Qwen3-8B; got {shown(name)}.")
    endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    address = f"{endpoint}/{name}/resolve/main/config.json"
    if not address.startswith(("http://", "https://")):
        raise UserError(f"HF_ENDPOINT is {shown(endpoint)}; expected an address that starts with https://.")
    try:
        with urllib.request.urlopen(address, timeout=_SECONDS) as answer:
            data = answer.read(_MOST + 1)
    except urllib.error.HTTPError as error:
        gated = " (gated or private)" if error.code in (401, 403) else ""
        raise UserError(f"{address}: the hub answered {error.code}{gated}.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise UserError(f"{address}: cannot be reached ({shown(str(reason), 80)}).") from None
    try:
        raw = json.loads(data.decode("utf-8-sig")) if len(data) <= _MOST else None
    except (ValueError, RecursionError):
        raw = None
    if not isinstance(raw, dict):
        raise ConfigError(f"{address}: not a JSON object of at most {_MOST} bytes.")
    return raw, address
