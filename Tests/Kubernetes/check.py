"""Checks the manifests of docker/kubernetes: each by the schema of Kubernetes, and all against each other.

What kustomize says is asked where `kubectl` or `kustomize` is on the PATH; the rest needs neither. With
FANFARE_BINARY the program says whether the options and the templates are right. Copies that are spoiled, one for each
rule, must be refused.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import self_check
from manifests import Folder, load
from rules import check_folder, check_resources

ROOT = pathlib.Path(__file__).resolve().parents[2]


def builder():
    """The command that builds a folder, or None."""
    if shutil.which("kustomize"):
        return ["kustomize", "build"]
    if shutil.which("kubectl"):
        return ["kubectl", "kustomize"]
    return None


def build(command, path):
    """Returns the resources that kustomize makes of a folder, or the mistake."""
    done = subprocess.run([*command, str(path)], capture_output=True, text=True)
    if done.returncode != 0:
        return [], [f"{path.name}: kustomize refuses it: {done.stderr.strip()}"]
    return load(done.stdout), []


def check(kubernetes, root, binary, command):
    """Returns the mistakes of a folder of manifests, and how many resources were looked at."""
    mistakes, count = [], 0
    for path in sorted(each.parent for each in kubernetes.glob("*/kustomization.yaml")):
        folder = Folder(path)
        mistakes += check_folder(folder, root, binary)
        count += len(folder.resources)
        # An overlay is judged by what kustomize makes of it: its own files are parts of resources.
        if command:
            resources, refusals = build(command, path)
            mistakes += refusals
            if not refusals:
                names = {name for each in folder.closure() for name in each.outside_names()}
                mistakes += check_resources(resources, f"{path.name} as built", root, binary, names)
                count += len(resources)
    return mistakes, count


def main():
    binary = os.environ.get("FANFARE_BINARY")
    kubernetes = ROOT / "docker" / "kubernetes"
    command = builder()
    if not command:
        print("==> Neither kustomize nor kubectl is here: what they build was not checked", file=sys.stderr)
    if not binary:
        print("==> FANFARE_BINARY is not set: options are compared with the sources", file=sys.stderr)
    mistakes, count = check(kubernetes, ROOT, binary, command)
    with tempfile.TemporaryDirectory() as scratch:
        spoils, survivors = self_check.run(
            kubernetes, pathlib.Path(scratch), command,
            lambda copy, command: check(copy, ROOT, binary, command)[0])
    mistakes += [f"a spoiled copy is not refused: {each}" for each in survivors]
    for mistake in mistakes:
        print(f"mistake: {mistake}", file=sys.stderr)
    print(f"{count} resources, {spoils} spoiled copies, {len(mistakes)} mistakes")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
