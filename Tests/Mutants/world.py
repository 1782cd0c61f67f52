"""Mutants judged by the world: a whole deployment in virtual time, in which nothing may be violated.

For each mutant the world lives as many seeds as wanted with the mutant's switch on; it is killed
when the program ends with another code than 0, or does not end. What lives, the world does not see.
"""

import collections
import concurrent.futures
import os
import pathlib
import tempfile
import threading
import time

PRODUCT = "WorldTool"
# Without an operand of --world.
SEEDS = 40
# Where a wrong line costs a push, a counter or an offset, and where the world runs every line.
ROOMS = {
    "Pipeline": "Sources/Pipeline/",
    "Record": "Sources/Stages/Record/",
    "Ingest": "Sources/Stages/Ingest/",
    "Tokens": "Sources/Tokens/",
    "Devices": "Sources/Devices/",
    "Deliver/Losses": "Sources/Stages/Deliver/Losses/",
    "Deliver/Queues": "Sources/Stages/Deliver/Queues/",
}
# A life with a mutant may be longer than one without, and others run beside it.
PATIENCE = 6
LEAST_SECONDS = 60
KILLED, BY_TIME, LIVED = "killed", "killed by time", "survived"
# Its row says why the world cannot see it: it is not run.
NAMED = "named"
# The world does not come by it, so that it need not be run. And: the time was over.
UNREACHED, NOT_RUN = "not reached", "not run"


def room_of(file):
    for room, folder in ROOMS.items():
        if file.startswith(folder):
            return room
    parts = pathlib.PurePosixPath(file).parts
    return "/".join(parts[1:3] if parts[1] in ("Bindings", "Stages") else parts[1:2])


def is_judged(file):
    return room_of(file) in ROOMS


class Failure(Exception):
    """The world is red, or does not end, without any mutant."""


class Subject:
    """A mutant, of the table or drawn: what its switch is called and what a report says of it."""

    def __init__(self, switch, name, file, why, unseen=None):
        self.switch = switch
        self.name = name
        self.room = room_of(file)
        self.why = f"{why}; the world does not see it: {unseen}" if unseen else why
        self.is_named = unseen is not None
        self.verdict, self.word = NOT_RUN, ""


class World:
    """The program of a switched build. `run` is that of Tests/Mutants/run."""

    def __init__(self, directory, seeds, run):
        self.directory = directory
        self.command = [
            str(directory / ".build/debug" / PRODUCT), "--seeds", str(seeds), "--brief",
            "--scenarios"]
        self.run = run
        self.limit = None
        self.reached = set()

    def misses(self, subject):
        return subject.switch not in self.reached

    def measure(self, seconds, say):
        """Runs it without a mutant, and notes which mutants it comes by."""
        say(f"The world without a mutant: {' '.join(self.command)}")
        with tempfile.TemporaryDirectory(prefix="fanfare-reached-") as reached:
            began = time.monotonic()
            code, output = self.run(
                self.command, self.directory, seconds, more={"MUTANTS_REACHED": reached})
            took = time.monotonic() - began
            self.reached = set(os.listdir(reached))
        if code != 0:
            reason = f"it did not end within {seconds} s" if code is None else f"code {code}"
            raise Failure(f"the world fails without a mutant ({reason}):\n" + output[-3000:])
        self.limit = max(LEAST_SECONDS, PATIENCE * took)
        say(f"{took:.0f} s; a mutant's life may take {self.limit:.0f} s")

    def judge(self, subject):
        if subject.is_named or self.misses(subject):
            subject.verdict = NAMED if subject.is_named else UNREACHED
            return
        code, output = self.run(self.command, self.directory, self.limit, subject.switch)
        if code is None:
            subject.verdict = BY_TIME
        elif code == 0:
            subject.verdict = LIVED
        else:
            subject.verdict, subject.word = KILLED, violation(code, output)


def violation(code, output):
    """What the program said of it, in a line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    named = [line for line in lines if line.startswith("violation")]
    if named:
        return named[0]
    # A mutant may trap as well: the runtime says where, and not in the last line.
    trapped = [line for line in lines if "Fatal error" in line or "Precondition failed" in line]
    return (trapped or lines or [f"code {code}"])[0 if trapped else -1]


def run_all(world, subjects, jobs, minutes):
    deadline, lock, judged = time.monotonic() + minutes * 60, threading.Lock(), []

    def one(subject):
        if time.monotonic() > deadline:
            return
        began = time.monotonic()
        world.judge(subject)
        with lock:
            judged.append(subject)
            word = f": {subject.word}" if subject.word else ""
            print(
                f"{len(judged):3}/{len(subjects)}  {subject.name:45} {subject.verdict}{word}  "
                f"({time.monotonic() - began:.0f} s)", flush=True)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, subjects))


def report(subjects):
    """A table of rooms, then who lives, by room."""
    rooms = collections.defaultdict(collections.Counter)
    for subject in subjects:
        rooms[subject.room][subject.verdict] += 1
    columns = [KILLED, BY_TIME, LIVED, NAMED, UNREACHED, NOT_RUN]
    killed = sum(subject.verdict in (KILLED, BY_TIME) for subject in subjects)
    print(f"\n{killed} of {len(subjects)} killed")
    print("\n| Room | " + " | ".join(columns) + " |\n|---|" + "--:|" * len(columns))
    for room, counts in sorted(rooms.items()) + [
            ("all", sum(rooms.values(), collections.Counter()))]:
        print(f"| {room} | " + " | ".join(str(counts[column]) for column in columns) + " |")
    for verdict in columns[2:]:
        names = [subject for subject in subjects if subject.verdict == verdict]
        if names:
            print(f"\n{verdict}:")
        for subject in sorted(names, key=lambda one: (one.room, one.name)):
            print(f"  {subject.room}  {subject.name}\n      {subject.why}")
