"""What Debian says of a package: its version, its source and its licences."""

import pathlib
import re
from urllib.parse import quote

# Debian's short names, in small letters, and those of SPDX. A name that is not here stays as Debian writes it.
SPDX = {
    "expat": "MIT", "mit": "MIT", "apache-2.0": "Apache-2.0", "bsd-2-clause": "BSD-2-Clause",
    "bsd-3-clause": "BSD-3-Clause", "bsd-4-clause": "BSD-4-Clause", "zlib": "Zlib", "isc": "ISC",
    "gpl-2": "GPL-2.0-only", "gpl-2+": "GPL-2.0-or-later", "gpl-3+": "GPL-3.0-or-later",
    "lgpl-2.1+": "LGPL-2.1-or-later", "mpl-2.0": "MPL-2.0", "artistic": "Artistic-1.0-Perl",
}


def licence(name):
    known = SPDX.get(name.lower())
    key, value = ("id", known) if known else ("name", name)
    return {"license": {key: value, "acknowledgement": "declared"}}


def unique(rows):
    """Each row once: Debian has several names for some licences."""
    kept = []
    for row in rows:
        if row not in kept:
            kept.append(row)
    return kept


def licences(package):
    """Returns the licence of all files, those of some files, and whether Debian's file is for machines."""
    path = pathlib.Path("/usr/share/doc") / package.split(":")[0] / "copyright"
    text = path.read_text(errors="replace") if path.is_file() else ""
    if not re.match(r"Format(-Specification)?:", text):
        # Prose: only the common licences that it names are known.
        names = re.findall(r"/usr/share/common-licenses/([A-Za-z0-9.-]*[A-Za-z0-9])", text)
        return [], sorted(set(names)), False
    everything, some = [], []
    for paragraph in re.split(r"\n\s*\n", text):
        files = re.search(r"^Files:\s*(.*)", paragraph, re.M)
        name = re.search(r"^License:[ \t]*(\S.*)", paragraph, re.M)
        if files and name:
            (everything if files[1].strip() == "*" else some).append(name[1].strip())
    return sorted(set(everything)), sorted(set(some) - set(everything)), True


def package_component(package, kind, output):
    """A component for an installed package. `output` runs a command."""
    fields = "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\t${Homepage}"
    values = output("dpkg-query", "-W", "-f", fields, package).split("\t")
    name, version, architecture, source, source_version, homepage = values
    system = dict(re.findall(r'^(\w+)="?([^"\n]*)', pathlib.Path("/etc/os-release").read_text(), re.M))
    purl = f"pkg:deb/debian/{quote(name, safe='')}@{quote(version, safe=':~')}"
    purl += f"?arch={architecture}&distro=debian-{system['VERSION_ID']}"
    everything, some, is_for_machines = licences(package)
    component = {
        "type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl,
        "supplier": {"name": "Debian"},
        "properties": [
            {"name": "fanfare:debian-source", "value": f"{source} {source_version}"},
            {"name": "fanfare:licence-file", "value": f"/usr/share/doc/{name}/copyright"},
        ],
    }
    if not is_for_machines:
        component["properties"].append({"name": "fanfare:licence-file-is-prose", "value": "true"})
    if everything:
        component["licenses"] = unique(licence(each) for each in everything)
    if some and is_for_machines:
        component["evidence"] = {"licenses": unique(licence(each) for each in some)}
    elif some:
        # The text is not read: it may say "or later", or speak of few files.
        rows = [{"license": {"name": f"as /usr/share/common-licenses/{each}"}} for each in some]
        component["evidence"] = {"licenses": rows}
    if homepage:
        component["externalReferences"] = [{"type": "website", "url": homepage}]
    return component
