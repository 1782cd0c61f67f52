/// Where things are in the package.
struct LayoutRules {
  /// What a newcomer sees first; names that begin with a dot are not counted.
  static let topLevel: Set<String> = [
    "Package.swift", "Sources", "Tests", "docker", "Config", "README.md", "Makefile", "LICENSE",
    "docs", "examples", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md",
  ]

  /// Folders of Tests that mirror no room: tests of the whole, and what all tests share.
  static let mirrorsOfNoRoom: Set<String> = [
    "IntegrationTests", "FaultTests", "EnduranceTests", "CommandTests", "TidyTests", "Bed",
    "AppleInterfaces", "Checkout", "Fixtures", "ForeignServers", "ThreadSanitizer", "Valgrind",
    "Alerts", "Drill", "MemoryKafka", "MemoryKafkaTests", "MemoryRedis", "MemoryRedisTests",
    "Lua", "Mutants", "Fuzz", "FuzzTargets", "FuzzTargetsTests", "Judges", "Web",
    "Kubernetes", "Packaging", "Sbom", "World", "WorldTests", "WorldTool",
  ]

  /// Rooms without unit tests of their own, and what tests them.
  static let testedElsewhere: [String: String] = [
    "fanfare": "CommandTests run the built command",
    "BackendVerbs": "CommandTests and APITests run api, api-key, emit and fanout",
    "InspectionVerbs": "CommandTests run check, config, doctor, render, tap, top and version",
  ]

  static func strangers(atTop names: [String]) -> [Violation] {
    names.filter { !$0.hasPrefix(".") && !topLevel.contains($0) }.map {
      Violation(file: $0, line: 0, rule: "the top level is fixed: find a room for it")
    }
  }

  static func unmirrored(tests: [String], rooms: Set<String>) -> [Violation] {
    let mirrors = Set(rooms.map { "\($0)Tests" })
    let strangers = tests.filter { !mirrors.contains($0) && !mirrorsOfNoRoom.contains($0) }.map {
      Violation(file: "Tests/\($0)", line: 0, rule: "mirrors no room of Sources")
    }
    let untested = rooms.sorted().filter {
      !tests.contains("\($0)Tests") && testedElsewhere[$0] == nil
    }.map { Violation(file: "Tests/\($0)Tests", line: 0, rule: "missing: \($0) has no unit tests") }
    return strangers + untested
  }

  static func placeholders(in paths: [String]) -> [Violation] {
    paths.filter { $0.hasSuffix("/Placeholder.swift") }.map {
      Violation(file: $0, line: 0, rule: "the room is still empty")
    }
  }

  /// A C module is a module map and a shim header that includes the library's headers and nothing
  /// of ours.
  static func violations(ofModule name: String, files: [String], header: String) -> [Violation] {
    let folder = "Sources/C/\(name)"
    var broken = files.filter { !["module.modulemap", "shim.h"].contains($0) }.map {
      Violation(
        file: "\(folder)/\($0)", line: 0, rule: "a C module has a module map and a shim only")
    }
    for (index, line) in header.split(separator: "\n", omittingEmptySubsequences: false)
      .enumerated()
    where line.contains("#include \"") {
      broken.append(
        Violation(
          file: "\(folder)/shim.h", line: index + 1, rule: "C imports nothing of ours"))
    }
    return broken
  }
}
