"""Write a CycloneDX software bill of materials of the image that is being built.

Lists what is really installed: every Python distribution of the interpreter that runs this script, and every Debian
package of the file system it runs in. It reads no clock and no random source: the same image content gives the same
bytes (the serial number is derived from the component list). Format: CycloneDX 1.6 JSON.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import uuid
from importlib import metadata
from pathlib import Path
from urllib.parse import quote

__all__ = ["bill", "debian_components", "python_components"]

Component = dict[str, object]
DPKG_STATUS = Path("/var/lib/dpkg/status")


def python_components() -> list[Component]:
    """Return one component per installed Python distribution, by name."""
    found = {}
    for dist in metadata.distributions():
        name = re.sub(r"[-_.]+", "-", dist.metadata["Name"]).lower()
        found[name] = _component(f"pkg:pypi/{name}@{quote(dist.version)}", name, dist.version, _licence(dist))
    return [found[name] for name in sorted(found)]


def debian_components(status: str, distribution: str) -> list[Component]:
    """Return one component per installed package of a dpkg status file.

    Args:
        status: Text of the file.
        distribution: `debian`, `ubuntu`: the namespace of the package URLs.
    """
    found = []
    for paragraph in status.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Status|Version|Architecture): (.*)$", paragraph, re.MULTILINE))
        if fields.get("Status") != "install ok installed":
            continue
        name, version = fields["Package"], fields["Version"]
        purl = f"pkg:deb/{distribution}/{name}@{quote(version)}?arch={fields['Architecture']}"
        found.append(_component(purl, name, version, None))
    return sorted(found, key=lambda component: str(component["purl"]))


def bill(name: str, version: str, components: list[Component]) -> dict[str, object]:
    """Return the bill of materials of image `name`."""
    content = hashlib.sha256(json.dumps([name, version, components], sort_keys=True).encode()).hexdigest()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, content)}",
        "version": 1,
        "metadata": {"component": {"type": "container", "bom-ref": name, "name": name, "version": version}},
        "components": components,
    }


def _component(purl: str, name: str, version: str, licence: str | None) -> Component:
    component: Component = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    if licence:
        component["licenses"] = [{"expression": licence}]
    return component


def _licence(dist: metadata.Distribution) -> str | None:
    """Only the SPDX expression of current metadata: older fields hold free text."""
    found = dist.metadata.get_all("License-Expression")
    return str(found[0]) if found else None


def main() -> None:
    """Run as a command: `sbom.py NAME VERSION FILE`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="of the image")
    parser.add_argument("version", help="of the image")
    parser.add_argument("file", type=Path, help="to write")
    arguments = parser.parse_args()
    release = Path("/etc/os-release").read_text(encoding="utf-8")
    distribution = re.search(r'^ID="?([a-z]+)"?$', release, re.MULTILINE)
    if distribution is None:
        parser.error("/etc/os-release has no ID")
    components = python_components()
    components += debian_components(DPKG_STATUS.read_text(encoding="utf-8"), distribution[1])
    arguments.file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(bill(arguments.name, arguments.version, components), indent=1, sort_keys=True)
    arguments.file.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
