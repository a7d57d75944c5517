"""A software bill of materials of what a promotion was made with: the packages that the runtime's lock installs.

CycloneDX 1.6 with the hashes of the lock, and no clock: the same lock gives the same bytes on every machine, in an
image and outside one. What an image holds besides (Debian's packages) its own bill says, `/usr/share/sbom` in it.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from pathlib import Path
from urllib.parse import quote

from faithline.pipeline.errors import DataInvalid

__all__ = ["LOCKED", "bill_of_lock", "read_lock"]

LOCKED = "containers/runtime/requirements.lock"
_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def read_lock(root: Path) -> str:
    """Read the runtime's lock.

    Raises:
        DataInvalid: If it is not there.
    """
    try:
        return (root / LOCKED).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataInvalid("input not found", where=LOCKED, next_step="check it out again") from None


def bill_of_lock(lock: str) -> dict[str, object]:
    """Turn a lock of pip's form into a bill of materials.

    Raises:
        DataInvalid: If nothing in it is a pin.
    """
    components: list[dict[str, object]] = []
    hashes: list[dict[str, str]] = []
    for line in lock.splitlines():
        if pin := _PIN.match(line):
            name, version = re.sub(r"[-_.]+", "-", pin[1]).lower(), pin[2]
            purl, hashes = f"pkg:pypi/{name}@{quote(version)}", []
            components.append(
                {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl, "hashes": hashes}
            )
        hashes.extend({"alg": "SHA-256", "content": digest} for digest in _HASH.findall(line))
    if not components:
        raise DataInvalid("no pinned package", where=LOCKED, next_step="run `make lock`")
    content = hashlib.sha256(lock.encode()).hexdigest()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, content)}",
        "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": "faithline", "name": "faithline"}},
        "components": components,
    }
