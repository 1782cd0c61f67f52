"""Mutants drawn at random from all lines of Sources, each run against the tests that reach it.

A copy of the checkout is built whole. A seed gives a stream of lines, and for each line one of the
changes that it can be broken by. Each is compiled by itself against that build, in a second or
less; what does not compile, or touches a part that is taken, gives way to the next. Then only the
files that have mutants are compiled again, with a switch for each, and all is linked once more.
With every switch off each suite runs once, in a process of its own, and notes which mutants it
comes by: only these suites are run for a mutant, the nearest first, until one is red.
"""

import concurrent.futures
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import tempfile
import threading
import time

import changes
import scripts

# At the end of each file with mutants: nothing outside of it changes. Each number has a file in the
# directory that MUTANTS_REACHED names, once the mutant is come by.
SWITCH = """
#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

private let activeMutant = getenv("MUTANT_SWITCH").flatMap { Int(String(cString: $0)) } ?? -1
private let directory = getenv("MUTANTS_REACHED").map { String(cString: $0) }
nonisolated(unsafe) private let isNoted: UnsafeMutablePointer<Bool> = {
  let flags = UnsafeMutablePointer<Bool>.allocate(capacity: COUNT)
  flags.initialize(repeating: false, count: COUNT)
  return flags
}()

fileprivate func isMutant(_ number: Int) -> Bool {
  if !isNoted[number] {
    isNoted[number] = true
    if let directory {
      let file = creat("\\(directory)/\\(number)", 0o600)
      if file >= 0 { close(file) }
    }
  }
  return number == activeMutant
}
"""
# What a single file needs of the arguments with which its module was compiled.
KEPT_WITH_VALUE = {
    "-I", "-target", "-swift-version", "-enable-upcoming-feature", "-package-name", "-Xcc",
    "-module-name", "-module-cache-path"}
KEPT = {"-parse-as-library", "-enable-testing", "-g", "-O"}
PRODUCTS = ["fanfarePackageTests", "fanfare"]
CLOSING = re.compile(r"Test run with (\d+) tests? in \d+ suites? (passed|failed)")
FAILURE = re.compile("✘(\x1b\\[0m)? Test .* (recorded an issue|failed)")


class Drawn:
    def __init__(self, number, change, source):
        self.number = number
        self.change = change
        self.original = source[change.start:change.end]
        line_start = source.rfind("\n", 0, change.start) + 1
        self.text = source[line_start:].partition("\n")[0].strip()

    @property
    def switched(self):
        change, number = self.change, self.number
        if scripts.is_script(change.file):
            return scripts.switched(self.original, [(number, change.replacement)])
        if change.kind == "statement":
            return f"if isMutant({number}) {{ {change.replacement} }} else {{ {self.original} }}"
        if change.kind == "text":
            return f'\\(isMutant({number}) ? "{change.replacement}" : "{self.original}")'
        return f"(isMutant({number}) ? ({change.replacement}) : ({self.original}))"

    def __str__(self):
        return f"{self.change.file}:{self.change.line}: {self.change.what}\n      {self.text}"


def switched_file(source, drawn, count):
    text, position = "", 0
    for each in sorted(drawn, key=lambda each: each.change.start):
        text += source[position:each.change.start] + each.switched
        position = each.change.end
    text += source[position:]
    is_swift = not any(scripts.is_script(each.change.file) for each in drawn)
    return text + SWITCH.replace("COUNT", str(count)) if is_swift else text


class Build:
    """What SwiftPM has built in a directory, and its own words for how."""

    def __init__(self, directory, products=PRODUCTS):
        self.directory = directory
        self.products = products
        self.manifest = (directory / ".build/debug.yaml").read_text(encoding="utf-8")
        self.modules = {}
        blocks = r'"C\.[^"]*-debug\.module":\n.*?\n    args: \[.*?\]\n'
        for block in re.findall(blocks, self.manifest, re.S):
            inputs = json.loads(re.search(r"\n    inputs: (\[.*?\])\n", block)[1])
            arguments = json.loads(re.search(r"\n    args: (\[.*?\])\n", block, re.S)[1])
            sources = [file for file in inputs if file.endswith(".swift")]
            for file in sources:
                self.modules[file] = sources, arguments

    def compiles(self, file, text, output=None):
        """Whether the file compiles as this text: no further than to SIL, unless for an object."""
        whole = str(self.directory / file)
        sources, arguments = self.modules[whole]
        kept, index = [], 1
        while index < len(arguments):
            if arguments[index] in KEPT_WITH_VALUE:
                kept += arguments[index:index + 2]
                index += 1
            elif arguments[index] in KEPT or arguments[index][:2] in {"-I", "-D"}:
                if output or arguments[index] != "-O":
                    kept.append(arguments[index])
            index += 1
        others = [each for each in sources if each != whole]
        with tempfile.TemporaryDirectory(prefix="fanfare-mutant-") as directory:
            changed = pathlib.Path(directory) / pathlib.Path(file).name
            changed.write_text(text, encoding="utf-8")
            stage = ["-c", "-o", str(output)] if output else ["-emit-sil", "-o", "/dev/null"]
            try:
                return subprocess.run(
                    [arguments[0], "-frontend", *stage, "-primary-file", str(changed), *others,
                     *kept],
                    check=False, timeout=600, stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
            except subprocess.TimeoutExpired:
                return False

    def embedding(self, script):
        """The source that SwiftPM has made of a module's scripts."""
        folder = str(self.directory / script).rpartition("/Lua/")[0] + "/"
        for sources, _ in self.modules.values():
            made = [file for file in sources if file.endswith("/embedded_resources.swift")]
            if made and any(file.startswith(folder) for file in sources):
                return made[0]
        raise RuntimeError(f"{script} is not embedded")

    def object_of(self, file):
        arguments = self.modules[str(self.directory / file)][1]
        module = arguments[arguments.index("-module-name") + 1]
        return (self.directory / ".build/debug" / f"{module}.build"
                / (pathlib.Path(file).name + ".o"))

    def product(self, name):
        return self.directory / ".build/debug" / (name + ".xctest" * name.endswith("Tests"))

    def put_away(self, file):
        """Keeps what SwiftPM has built, so that it finds it again as it was."""
        whole = file.with_name(file.name + ".whole")
        if not whole.exists():
            file.rename(whole)

    def restore(self):
        for whole in (self.directory / ".build/debug").resolve().rglob("*.whole"):
            whole.rename(whole.with_name(whole.name.removesuffix(".whole")))

    def link(self):
        for name in self.products:
            self.put_away(self.product(name))
            block = re.search(
                rf'"C\.{name}-[^"]*-debug\.(?:test|exe)":\n.*?\n    args: (\[.*?\])\n',
                self.manifest, re.S)
            linked = subprocess.run(
                json.loads(block[1]), cwd=self.directory, capture_output=True, text=True,
                check=False)
            if linked.returncode:
                raise RuntimeError(f"{name} cannot be linked:\n{linked.stderr[-2000:]}")


# Drawn in vain for each that is wanted: of a few lines most are drawn again and again.
MOST_PASSED_OVER = 50


def draw(build, seed, count, refused, say, is_wanted=lambda file: True):
    """As many mutants as wanted, and the sources in which they stand by file. `is_wanted` says
    whether a file may be broken."""
    root = build.directory
    sources = {
        file.relative_to(root).as_posix(): file.read_text(encoding="utf-8")
        for suffix in ("swift", "lua") for file in sorted((root / "Sources").rglob(f"*.{suffix}"))}
    by_line = changes.changes_by_line(
        [(file, source) for file, source in sources.items() if is_wanted(file)])
    lines, stream = sorted(by_line), random.Random(seed)
    drawn, passed_over = [], 0
    say(f"{len(lines)} lines can be broken; drawing {count} by seed {seed}")

    def compiles(each):
        source = sources[each.change.file]
        # What is no Lua fails as it is run.
        return scripts.is_script(each.change.file) or build.compiles(
            each.change.file, switched_file(source, [each], 1))

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        while len(drawn) < count and passed_over < MOST_PASSED_OVER * count:
            line_changes = [stream.choice(by_line[stream.choice(lines)]) for _ in range(16)]
            batch = [Drawn(0, change, sources[change.file]) for change in line_changes]
            for each, is_sound in zip(batch, pool.map(compiles, batch)):
                taken = any(
                    each.change.file == other.change.file and each.change.start < other.change.end
                    and other.change.start < each.change.end for other in drawn)
                if is_sound and not taken and each.change not in refused and len(drawn) < count:
                    each.number = len(drawn)
                    drawn.append(each)
                else:
                    passed_over += 1
    say(f"{passed_over} others do not compile, or are not needed")
    if len(drawn) < count:
        say(f"no more can be broken: {len(drawn)} are drawn")
    return drawn, sources


def build_switches(build, drawn, sources):
    """Compiles the files with mutants, and links. Returns the changes that do not compile beside
    others of their file."""
    def compiled(file):
        here = [each for each in drawn if each.change.file == file]
        build.put_away(build.object_of(file))
        text = switched_file(sources[file], here, len(drawn)) if here else sources[file]
        if file == scripts.ASSEMBLY and embedded:
            switch = "" if here else SWITCH.replace("COUNT", str(len(drawn)))
            text = scripts.chosen_in(text, "Int(halves[0]) ?? -1") + switch
        if file in embedded:
            text = scripts.embedded(text, embedded[file])
        if build.compiles(file, text, build.object_of(file)):
            return []
        if not here:
            raise RuntimeError(f"{file} does not compile with the switches of scripts")
        return [each.change for each in here[1:]] or [here[0].change]

    files = {each.change.file for each in drawn}
    embedded = {}
    for file in sorted(filter(scripts.is_script, files)):
        here = [each for each in drawn if each.change.file == file]
        embedding = build.embedding(file)
        sources[embedding] = pathlib.Path(embedding).read_text(encoding="utf-8")
        embedded.setdefault(embedding, {})[pathlib.Path(file).name] = switched_file(
            sources[file], here, len(drawn))
    files = sorted({file for file in files if not scripts.is_script(file)} | set(embedded)
                   | ({scripts.ASSEMBLY} if embedded else set()))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        refused = sum(pool.map(compiled, files), [])
    if not refused:
        build.link()
    return refused


class Suites:
    """The test suites of the copy, each run in a process of its own. Those that read sources, and
    those that take long, judge no mutant."""

    def __init__(self, directory, pattern):
        loader = importlib.machinery.SourceFileLoader("tests_run", str(directory / "Tests/run"))
        self.runner = importlib.util.module_from_spec(
            importlib.util.spec_from_loader("tests_run", loader))
        loader.exec_module(self.runner)
        self.directory = directory
        self.bundle = directory / ".build/debug/fanfarePackageTests.xctest"
        tests = [test for test in self.runner.list_tests(self.bundle)
                 if not test.startswith((*self.runner.ENDURANCE, "TidyTests."))]
        self.names = [name for name in sorted(self.runner.suites_of(tests))
                      if not pattern or re.search(pattern, name)]
        self.reached, self.seconds, self.failing = {}, {}, []

    def run(self, name, seconds, environment, until=None):
        """Whether it was green, nothing when the time was over."""
        process = subprocess.Popen(
            self.runner.command(
                self.bundle, "--no-parallel", "--filter",
                "^" + re.escape(name) + ("" if "(" in name else "/")),
            cwd=self.directory, env=dict(os.environ, **environment), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True)
        seen = {"closing": None, "red": False}

        def read():
            for line in process.stdout:
                seen["closing"] = CLOSING.search(line) or seen["closing"]
                if until and until.search(line) and not seen["red"]:
                    seen["red"] = True
                    kill_with_descendants(process.pid)

        # A server that outlives the tests may keep the pipe open: nobody waits for its end.
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            code = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            kill_with_descendants(process.pid)
            process.wait()
            return None
        reader.join(timeout=5)
        closing = seen["closing"]
        return code == 0 and closing is not None and closing[2] == "passed"

    def measure(self, jobs, limit, say):
        """Runs each suite with every switch off, and keeps what it came by."""
        say(f"{len(self.names)} suites without a mutant")
        done = []

        def one(name, seconds):
            with tempfile.TemporaryDirectory(prefix="fanfare-reached-") as reached:
                began = time.monotonic()
                is_green = self.run(name, seconds, {"MUTANTS_REACHED": reached})
                self.seconds[name] = time.monotonic() - began
                self.reached[name] = {int(number) for number in os.listdir(reached)}
            done.append(name)
            if len(done) % 50 == 0:
                say(f"{len(done)} suites")
            return is_green

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            green = list(pool.map(lambda name: one(name, limit), self.names))
        # What is red beside so many others may be green by itself.
        for name in [name for name, is_green in zip(self.names, green) if not is_green]:
            if not one(name, limit):
                self.failing.append(name)
        if self.failing:
            say(f"red without any mutant, so left out: {', '.join(self.failing)}")

    def reaching(self, drawn):
        module = pathlib.PurePosixPath(drawn.change.file).parts[1]
        if module in {"Bindings", "Platforms", "Stages"}:
            module = pathlib.PurePosixPath(drawn.change.file).parts[2]
        found = [name for name in self.names
                 if drawn.number in self.reached[name] and name not in self.failing]
        return sorted(found, key=lambda name: (
            not name.startswith(f"{module}Tests."), self.seconds[name]))

    def judge(self, drawn, patience):
        """The suite that is red with the mutant, or nothing; how many were run, of how many."""
        suites, began = self.reaching(drawn), time.monotonic()
        switch = {"MUTANT_SWITCH": str(drawn.number)}
        for count, name in enumerate(suites):
            if time.monotonic() - began > patience:
                return None, count, len(suites)
            seconds = max(60, 6 * self.seconds[name])
            is_green = self.run(name, seconds, switch, until=FAILURE)
            if is_green is False:
                # Once more, so that a test that is red by chance kills nothing.
                is_green = self.run(name, seconds, switch, until=FAILURE)
            if not is_green:
                return name, count + 1, len(suites)
        return None, len(suites), len(suites)


def kill_with_descendants(root):
    """Ends a run with the servers that it started, which have process groups of their own."""
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    children = {}
    for line in listing.splitlines():
        child, parent = map(int, line.split())
        children.setdefault(parent, []).append(child)
    found = [root]
    for process in found:
        found += children.get(process, [])
    for process in found:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run(suites, drawn, jobs, patience):
    """Prints each verdict as it comes; returns those that live."""
    living, lock, judged = [], threading.Lock(), []

    def one(each):
        began = time.monotonic()
        killer, ran, reaching = suites.judge(each, patience)
        with lock:
            judged.append(each)
            verdict = (f"killed by {killer}" if killer else
                       f"SURVIVED {ran} of the {reaching} suites that reach it" if reaching else
                       "SURVIVED: no test reaches it")
            print(f"{len(judged):3}/{len(drawn)}  #{each.number} {verdict} "
                  f"({time.monotonic() - began:.0f} s)", flush=True)
            if not killer:
                living.append((each, ran, reaching))
                print(f"      {each}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, drawn))
    return living


def report(seed, drawn, living):
    print(f"\nSeed {seed}: {len(drawn)} drawn, {len(drawn) - len(living)} killed, "
          f"{len(living)} survived")
    for each, ran, reaching in sorted(living, key=lambda one: one[0].number):
        print(f"\n  #{each.number} {each}\n      {ran} of {reaching} suites that reach it were run")
