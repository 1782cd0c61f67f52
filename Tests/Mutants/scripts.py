"""Mutants of the scripts that run in Redis.

A script is no Swift, so no switch can stand in it. Its file is embedded with what a part of it can
become between marks, and RedisScript chooses as it puts the script together.
"""

# A byte each that no script has: before a mutated part, between the name of a mutant and what it
# puts in, behind that, before the original, behind that.
BEGIN, NAMED, NEXT, ORIGINAL, END = map(chr, range(1, 6))
# Where scripts are put together. `TEXT` declares what makes one text of files.
ASSEMBLY = "Sources/Bindings/Redis/RedisScript.swift"
TEXT = "  private static func text(_ files: [[UInt8]]) -> String {\n"
CHOICE = """
private func withMutants(_ text: String) -> String {
  var result = ""
  for part in text.split(separator: "\\u{1}", omittingEmptySubsequences: false) {
    guard let original = part.firstIndex(of: "\\u{4}"), let end = part.firstIndex(of: "\\u{5}")
    else {
      result += part
      continue
    }
    var chosen = part[part.index(after: original)..<end]
    for mutant in part[..<original].split(separator: "\\u{3}") {
      let halves = mutant.split(separator: "\\u{2}", omittingEmptySubsequences: false)
      if isMutant(IDENTIFIER) { chosen = halves[1] }
    }
    result += chosen
    result += part[part.index(after: end)...]
  }
  return result
}
"""


def is_script(file):
    return file.endswith(".lua")


def switched(original, mutants):
    """The part with each mutant's identifier and what it puts in."""
    choices = "".join(f"{name}{NAMED}{text}{NEXT}" for name, text in mutants)
    return f"{BEGIN}{choices}{ORIGINAL}{original}{END}"


def chosen_in(assembly, identifier):
    """The source of `ASSEMBLY`, where the mutants are chosen. `identifier` is the Swift that makes
    what `isMutant` takes of the first of `halves`."""
    if assembly.count(TEXT) != 1:
        raise RuntimeError(f"{ASSEMBLY} has no longer what puts scripts together:\n{TEXT}")
    hook = TEXT + "    withMutants(originalText(files))\n  }\n\n" + TEXT.replace(
        " text(", " originalText(")
    return assembly.replace(TEXT, hook) + CHOICE.replace("IDENTIFIER", identifier)


def embedded(sources, texts):
    """What SwiftPM makes of embedded files (`sources`), with other texts in the place of some, by
    their name."""
    lines = sources.splitlines(keepends=True)
    for name, text in texts.items():
        head = f"static let {name.replace('.', '_')}: [UInt8] = ["
        found = [index for index, line in enumerate(lines) if head in line]
        if len(found) != 1:
            raise RuntimeError(f"{name} is not embedded as expected")
        lines[found[0]] = head + ",".join(map(str, text.encode())) + "]\n"
    return "".join(lines)
