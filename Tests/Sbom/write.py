"""Writes what a built Fanfare is made of, as CycloneDX 1.6 in JSON.

    write.py BINARY OUTPUT

It lists the program, the Debian packages of the shared libraries that the program loads on this machine, the runtime
of Swift, the data that the program reads and the tables that it holds. The same tree, binary and packages give the
same bytes. The time is SOURCE_DATE_EPOCH, or that of the commit.
"""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import uuid
from datetime import datetime, timezone

from debian import package_component

ROOT = pathlib.Path(__file__).resolve().parents[2]
SWIFT_DESCRIPTION = "The runtime and standard library of Swift, with the tables of Unicode that it holds."
# Read while the program runs: time zones by their names, and who signs certificates.
DATA_PACKAGES = {"tzdata": "Read at run time: time zones.", "ca-certificates": "Read at run time: authorities."}
# Tables in the sources, which follow from others' data. Only that of time zones names its release.
TABLES = {
    "iana-time-zone-names": ("Sources/Rules/ZoneNames.swift", "Names of the IANA time zone database."),
    "iana-language-subtags": ("Sources/Model/LocaleTag.swift", "Withdrawn codes of the IANA language subtag registry."),
    "iana-address-registries": (
        "Sources/Subscriptions/AddressRules.swift", "Special-purpose addresses by the registries of IANA."),
    "cldr-locales": (
        "Sources/Stages/Render/Locales/LocaleFallback.swift",
        "Parent locales, likely subtags and language matching of the Unicode CLDR."),
}


class Failure(Exception):
    """What is missing, as a sentence."""


def output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise Failure(f"{command[0]} fails: {getattr(error, 'stderr', '') or error}") from error


def hashes(path):
    return [{"alg": "SHA-256", "content": hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()}]


def libraries(binary):
    """The shared libraries that the loader takes for the program: their names and paths."""
    found = {}
    for line in output("ldd", str(binary)).splitlines():
        if "not found" in line:
            raise Failure(f"the loader does not find {line.split()[0]}")
        match = re.match(r"\s*(\S+) (?:=> (/\S+) )?\(0x", line)
        if match and (match[2] or match[1].startswith("/")):
            path = pathlib.Path(match[2] or match[1])
            found[path.name] = path
    return found


def owner(path):
    """The Debian package of a file, or None. A file in /lib may be listed in /usr/lib, and the other way round."""
    text = str(path)
    for name in dict.fromkeys((text, "/usr" + text, text.removeprefix("/usr"), str(path.resolve()))):
        done = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.split(": ")[0].split(",")[0]
    return None


def file_component(parent, name, path):
    return {"type": "file", "bom-ref": f"{parent}/{name}", "name": name, "hashes": hashes(path)}


def swift_component(files):
    """The runtime: as its shared libraries, or as a part of the program where there are none."""
    version = re.search(r"Swift version (\S+)", output("swift", "--version"))[1]
    reference = f"swift-runtime@{version}"
    linking = "dynamic" if files else "static"
    component = {
        "type": "framework", "bom-ref": reference, "name": "swift-runtime", "version": version,
        "description": SWIFT_DESCRIPTION, "purl": f"pkg:generic/swift-runtime@{version}",
        "licenses": [{"expression": "Apache-2.0 WITH Swift-exception", "acknowledgement": "declared"}],
        "properties": [{"name": "fanfare:linking", "value": linking}],
    }
    if files:
        component["components"] = [file_component(reference, name, files[name]) for name in sorted(files)]
    return component


def table_components():
    for name in sorted(TABLES):
        source, description = TABLES[name]
        if not (ROOT / source).is_file():
            raise Failure(f"{source}, which holds {name}, is not there")
        component = {
            "type": "data", "bom-ref": f"table:{name}", "name": name, "description": description,
            "hashes": hashes(ROOT / source), "properties": [{"name": "fanfare:source", "value": source}],
        }
        release = re.search(r"time zone database \((\d{4}[a-z])", (ROOT / source).read_text())
        yield {**component, "version": release[1]} if release else component


def components(binary):
    packages, swift = {}, {}
    for name, path in libraries(binary).items():
        package = owner(path)
        if package:
            packages.setdefault(package, {})[name] = path
        elif "/swift/linux/" in str(path):
            swift[name] = path
        else:
            raise Failure(f"no Debian package has {path}, nor has the toolchain of Swift")
    for package in sorted(packages):
        files = packages[package]
        component = package_component(package, "library", output)
        reference = component["bom-ref"]
        component["components"] = [file_component(reference, name, files[name]) for name in sorted(files)]
        yield component
    yield swift_component(swift)
    for package, use in DATA_PACKAGES.items():
        yield {**package_component(package, "data", output), "description": use}
    yield from table_components()


def program_component(binary):
    version = json.loads(output(str(binary), "version", "--json"))["fanfare"]
    if "Apache License" not in (ROOT / "LICENSE").read_text():
        raise Failure("LICENSE is another one than this script says")
    return {
        "type": "application", "bom-ref": f"fanfare@{version}", "name": "fanfare", "version": version,
        "purl": f"pkg:generic/fanfare@{version}", "hashes": hashes(binary),
        "licenses": [{"license": {"id": "Apache-2.0", "acknowledgement": "declared"}}],
        # Of the checkout: the program itself does not know it.
        "properties": [
            {"name": "fanfare:commit", "value": output("git", "rev-parse", "HEAD").strip()},
            {"name": "fanfare:uncommitted-changes",
             "value": "true" if output("git", "status", "--porcelain").strip() else "false"},
        ],
    }


def bill(binary):
    program, parts = program_component(binary), list(components(binary))
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or output("git", "log", "-1", "--format=%ct"))
    content = {
        "metadata": {
            "timestamp": datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "lifecycles": [{"phase": "post-build"}],
            "component": program,
        },
        "components": parts,
        # Which library needs which other one is not told apart.
        "dependencies": [
            {"ref": program["bom-ref"], "dependsOn": sorted(part["bom-ref"] for part in parts)},
            *({"ref": part["bom-ref"]} for part in parts),
        ],
        # What Debian's packages are made of themselves is not listed.
        "compositions": [{"aggregate": "incomplete", "dependencies": [program["bom-ref"]]}],
    }
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX", "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}", "version": 1, **content,
    }


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 64
    binary, target = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    try:
        content = bill(binary)
    except (Failure, OSError) as error:
        print(f"no bill of materials was written: {error}", file=sys.stderr)
        return 1
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    print(f"==> {target}: {len(content['components'])} components", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
