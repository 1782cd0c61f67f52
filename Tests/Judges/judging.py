"""What the judges share: lines of JSON in, a verdict for each, an exit code.

Exit codes: 0 all is right, 1 something is wrong, 2 the judge itself was called wrongly.
"""

import json
import sys

# Problems of so many lines are printed; the rest are counted.
MOST_PRINTED = 50


class Wrong(Exception):
    """What is wrong with an input, in a sentence."""


def unique(pairs):
    """An object whose members all have different names."""
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        raise Wrong(f"{next(n for n in names if names.count(n) > 1)!r} is there twice")
    return members


def _no_constant(name):
    raise Wrong(f"{name} is no JSON")


def parse(text):
    """JSON as RFC 8259 has it: no name twice, no NaN, no half of a surrogate pair."""
    try:
        value = json.loads(text, object_pairs_hook=unique, parse_constant=_no_constant)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise Wrong(f"no JSON: {error}") from None
    return value


def judge_lines(lines, judge):
    """Calls `judge` with each line's value. Returns the exit code; no lines at all is an error."""
    count = wrong = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        count += 1
        try:
            judge(parse(line))
        except Wrong as problem:
            wrong += 1
            if wrong <= MOST_PRINTED:
                print(f"line {number}: {problem}")
    print(f"{count} judged, {wrong} wrong")
    if count == 0:
        print("there was nothing to judge", file=sys.stderr)
        return 2
    return 1 if wrong else 0


def self_check(judge, right, spoiled):
    """Whether the judge takes what is right and refuses what is not.

    right: {name: value}. spoiled: {name: (value, a part of the problem's text)}.
    """
    failures = []
    for name, value in right.items():
        try:
            judge(value)
        except Wrong as problem:
            failures.append(f"refuses what is right ({name}): {problem}")
    for name, (value, expected) in spoiled.items():
        try:
            judge(value)
            failures.append(f"takes what is wrong: {name}")
        except Wrong as problem:
            if expected not in str(problem):
                failures.append(f"{name}: says {str(problem)!r}, not {expected!r}")
    for failure in failures:
        print(failure)
    print(f"self-check: {len(right)} right and {len(spoiled)} spoiled inputs, "
          f"{len(failures)} judged wrongly")
    return 1 if failures else 0
