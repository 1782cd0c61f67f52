"""Checks the bill of materials of a binary: check.py BINARY BILL

By the official schema of CycloneDX 1.6, against what the binary loads on this machine, and by writing it again. Copies
that are spoiled must be refused.
"""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

HERE = pathlib.Path(__file__).resolve().parent


def loaded(binary):
    """The names of the shared libraries that the loader takes."""
    text = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
    names = (line.split()[0].split("/")[-1] for line in text.splitlines())
    return {name for name in names if not name.startswith("linux-vdso")}


def references(component):
    return [component["bom-ref"]] + [each for part in component.get("components", []) for each in references(part)]


def mistakes(bill, names):
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill))
    if error:
        return [f"the schema refuses it: {str(error)[:300]}"]
    found, parts = [], bill["components"]
    files = {each["name"]: each for part in parts for each in part.get("components", [])}
    found += [f"{name} is loaded, and not listed" for name in sorted(names - set(files))]
    found += [f"{name} is listed, and not loaded" for name in sorted(set(files) - names)]
    found += [f"{name} has no hash" for name, each in files.items() if not each.get("hashes")]
    for part in parts:
        if part["type"] != "data" and not part.get("version"):
            found.append(f"{part['name']} has no version")
        if "purl" in part:
            found += purl_mistakes(part)
        if part.get("purl", "").startswith("pkg:deb/") and not ("licenses" in part or "evidence" in part):
            found.append(f"{part['name']} has no licence")
    program = bill["metadata"]["component"]
    known = [each for part in [program, *parts] for each in references(part)]
    found += [f"{each} is there twice" for each in sorted({one for one in known if known.count(one) > 1})]
    wanted = {part["bom-ref"] for part in parts}
    if {each for row in bill["dependencies"] if row["ref"] == program["bom-ref"] for each in row["dependsOn"]} != wanted:
        found.append("the program depends on other things than are listed")
    if not any(part["name"] == "swift-runtime" for part in parts):
        found.append("the runtime of Swift is missing")
    return found


def purl_mistakes(part):
    try:
        purl = PackageURL.from_string(part["purl"])
    except ValueError as error:
        return [f"{part['name']}: {error}"]
    if (purl.name, purl.version) != (part["name"], part.get("version")) or purl.to_string() != part["purl"]:
        return [f"{part['purl']} is not the address of {part['name']}, or is written otherwise"]
    return []


def spoiled(bill):
    """Copies, each with a fault of its own."""
    def without(change):
        other = copy.deepcopy(bill)
        change(other)
        return other

    library = next(index for index, part in enumerate(bill["components"]) if part["type"] == "library")
    yield "a library less", without(lambda b: b["components"].pop(library))
    yield "no version", without(lambda b: b["components"][library].pop("version"))
    yield "a strange key", without(lambda b: b["components"][library].update(colour="red"))
    yield "another version", without(lambda b: b["components"][library].update(version="0"))
    yield "no licence", without(
        lambda b: [b["components"][library].pop(key, None) for key in ("licenses", "evidence")])
    yield "no hash", without(lambda b: b["components"][library]["components"][0].pop("hashes"))
    yield "a reference twice", without(
        lambda b: b["components"][library].update({"bom-ref": b["components"][library + 1]["bom-ref"]}))
    yield "no dependencies", without(lambda b: b["dependencies"][0].update(dependsOn=[]))


def main():
    binary, path = sys.argv[1:]
    text = pathlib.Path(path).read_text()
    bill, names = json.loads(text), loaded(binary)
    found = mistakes(bill, names)
    found += [f"a copy is not refused: {name}" for name, other in spoiled(bill) if not mistakes(other, names)]
    with tempfile.TemporaryDirectory() as scratch:
        again = pathlib.Path(scratch) / "again.json"
        subprocess.run([sys.executable, "-B", HERE / "write.py", binary, again], check=True, stderr=subprocess.DEVNULL)
        if again.read_text() != text:
            found.append("written again it is another one")
    for each in found:
        print(f"mistake: {each}", file=sys.stderr)
    print(f"{len(bill['components'])} components, {len(names)} shared libraries, {len(found)} mistakes")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
