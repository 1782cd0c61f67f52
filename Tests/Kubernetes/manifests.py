"""Reads folders of manifests, and what Fanfare says of itself."""

import functools
import re
import subprocess

import yaml


class StrictLoader(yaml.SafeLoader):
    """Refuses a key that is there twice, as the API server does with strict validation."""

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.YAMLError(f"the key {key} is there twice")
        return super().construct_mapping(node, deep)


def load(text):
    return [each for each in yaml.load_all(text, Loader=StrictLoader) if each]


class Folder:
    """A folder with a kustomization.yaml."""

    def __init__(self, path):
        self.path = path
        self.text = (path / "kustomization.yaml").read_text()
        self.kustomization = load(self.text)[0]
        self.resources = []
        self.bases = []
        for name in self.kustomization.get("resources", []):
            target = path / name
            if target.is_dir():
                self.bases.append(Folder(target.resolve()))
            elif target.is_file():
                self.resources += load(target.read_text())

    def closure(self):
        return [self] + [each for base in self.bases for each in base.closure()]

    def generated(self):
        """The names of ConfigMaps and Secrets that kustomize makes here."""
        generators = ("configMapGenerator", "secretGenerator")
        return [row["name"] for key in generators for row in self.kustomization.get(key, [])]

    def outside_names(self):
        """What the comment at the top says has to be there before."""
        created = re.findall(r"kubectl create (?:secret (?:generic|tls)|configmap) (\S+)", self.text)
        # The API uses the templates that workers have.
        return created + (["fanfare-templates"] if "the templates as workers have them" in self.text else [])

    def references(self):
        """Each file that is named, as it is named."""
        rows = list(self.kustomization.get("resources", []))
        for key in ("configMapGenerator", "secretGenerator"):
            for row in self.kustomization.get(key, []):
                rows += [each.split("=")[-1] for each in row.get("files", [])]
        return rows + [row["path"] for row in self.kustomization.get("patches", []) if "path" in row]


@functools.cache
def known_settings(root):
    """The paths of all settings, those that are not set among them, as the example lists them."""
    known, parents = set(), []
    for line in (root / "Config/fanfare.example.yaml").read_text().splitlines():
        found = re.match(r"^( *)([a-z_0-9]+):", line) or re.match(r"^( *)# ([a-z_0-9]+):.*; not set", line)
        if not found:
            continue
        depth = len(found[1]) // 2
        parents = parents[:depth] + [found[2]]
        known.add(".".join(parents))
    return known


def settings_of(tree, prefix=""):
    """The paths of the values of a configuration."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from settings_of(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


@functools.cache
def options_of(verb, root, binary):
    """The options of a verb: as its help says, or as the sources declare them. None: no such verb."""
    if binary:
        done = subprocess.run([binary, verb, "--help"], capture_output=True, text=True)
        if done.returncode != 0:
            return None
        return set(re.findall(r"--[a-z][a-z-]*", done.stdout))
    if f"| `fanfare {verb}` |" not in (root / "docs/commands.md").read_text():
        return None
    declared = {"--config", "--set", "--help"}
    for path in (root / "Sources").rglob("*Verb.swift"):
        text = path.read_text()
        if f'Verb(\n    "{verb}",' in text:
            declared |= {f"--{name}" for name in re.findall(r'Option<[^>]+>\(\s*"([a-z-]+)"', text)}
            declared |= {f"--{name}" for name in re.findall(r'Flag\(\s*"([a-z-]+)"', text)}
    return declared


def seconds(text):
    """A duration of a configuration, such as 1m30s."""
    units = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
    return sum(float(value) * units[unit] for value, unit in re.findall(r"(\d+)(ms|s|m|h)", str(text)))
