/// Calls and marks that have no place here, and where.
struct BannedCalls {
  struct Ban: Sendable {
    let word: String
    let because: String
    /// Whether the rule holds in a file.
    let holds: @Sendable (SourceFile) -> Bool
  }

  /// Looked for in code: neither comments nor the contents of strings count.
  static let inCode: [Ban] = [
    Ban(word: "fatalError(", because: "a byte from outside never traps") { $0.isSource },
    Ban(word: "try!", because: "an error is a value with a message") { $0.isSource },
    Ban(word: "as!", because: "a wrong type is an error value") { $0.isSource },
    Ban(word: "usleep(", because: sleepless) { $0.isTest },
    Ban(word: "nanosleep(", because: sleepless) { $0.isTest },
    Ban(word: "Task.sleep(", because: sleepless) { $0.isTest },
    Ban(word: "Thread.sleep(", because: sleepless) { $0.isTest },
    Ban(word: "XCTSkip(", because: "say with .enabled(if:) what a test needs") { $0.isTest },
    Ban(word: "Mutex(", because: unseen) { _ in true },
    Ban(word: "Mutex<", because: unseen) { _ in true },
    Ban(word: "nonisolated(unsafe)", because: "only a binding knows what C guarantees") {
      $0.isSource && !$0.isBinding
    },
    Ban(word: "executableURL", because: spawning) { $0.isSource },
  ]

  /// Calls by their bare name: `print` is banned, `report.print` is somebody's method.
  static let callsInCode: [Ban] = [
    Ban(word: "print", because: "Terminal writes for people, Telemetry writes the log") {
      $0.isSource && $0.room != "Terminal"
    },
    Ban(word: "debugPrint", because: "Telemetry writes the log") { $0.isSource },
    Ban(word: "sleep", because: sleepless) { $0.isTest },
    Ban(word: "pthread_create", because: "SystemThread owns what a new thread is given") {
      $0.path.hasSuffix(".swift") && $0.room != "Threads"
    },
  ]

  private static let spawns = ["fork", "popen", "posix_spawn", "posix_spawnp", "system", "vfork"]
    .map { call in
      Ban(word: call, because: spawning) { $0.path != "Sources/Processes/ChildProcess.swift" }
    }

  static let inComments: [Ban] = ["TO" + "DO", "FIX" + "ME", "XX" + "X"].map { mark in
    Ban(word: mark, because: "do it, or say in the issue what is left") { _ in true }
  }

  private static let unseen = "ThreadSanitizer sees ThreadLock only"
  private static let spawning =
    "Spawn starts processes: by who names it `Tests/run --unit` knows which tests do"
  private static let sleepless = "wait for the condition, or turn a manual clock"

  static func violations(in file: SourceFile) -> [Violation] {
    var broken: [Violation] = []
    func look(_ bans: [Ban], in lines: [String], matches: (String, String) -> Bool) {
      let text = lines.joined(separator: "\n")
      for ban in bans where ban.holds(file) && text.mentions(ban.word) {
        for (index, line) in lines.enumerated() where matches(line, ban.word) {
          broken.append(file.violation(index + 1, "\(ban.word): \(ban.because)"))
        }
      }
    }
    look(inCode, in: file.code) { $0.hasWord($1) }
    look(callsInCode + spawns, in: file.code) { $0.hasCall($1) }
    look(inComments, in: file.comments) { line, mark in line.hasWord(mark) }
    return broken + disabledTests(in: file) + foundation(in: file) + uncheckedSendable(in: file)
  }

  private static func disabledTests(in file: SourceFile) -> [Violation] {
    guard file.isTest else { return [] }
    return file.code.indices.filter { file.code[$0].mentions(".disabled(") }.map {
      file.violation($0 + 1, ".disabled: a test that does not run proves nothing")
    }
  }

  private static func foundation(in file: SourceFile) -> [Violation] {
    guard let room = file.room, ImportRules.hotRooms.contains(room) else { return [] }
    return ImportRules.imports(of: file).filter { $0.module.hasPrefix("Foundation") }.map {
      file.violation($0.line, "\(room) is on the hot path: Glibc instead of \($0.module)")
    }
  }

  /// Only Bindings may promise what the compiler cannot see, and each promise says who keeps it.
  private static func uncheckedSendable(in file: SourceFile) -> [Violation] {
    file.code.indices.filter { isUncheckedSendable(file.code[$0]) }.flatMap { index in
      var broken: [Violation] = []
      if file.isSource && !file.isBinding {
        broken.append(
          file.violation(index + 1, "@unchecked Sendable outside Sources/Bindings"))
      }
      let above = file.comments[max(0, index - 4)...index]
      if !above.contains(where: { $0.contains { $0 != " " } }) {
        broken.append(
          file.violation(
            index + 1, "@unchecked Sendable without a comment within four lines above"))
      }
      return broken
    }
  }

  private static func isUncheckedSendable(_ line: String) -> Bool {
    guard line.mentions("@unchecked"), let unchecked = line.firstRange(of: "@unchecked") else {
      return false
    }
    let words = line[unchecked.upperBound...].split { $0 == " " || $0 == "," || $0 == "{" }
    return words.first { !$0.hasPrefix("@") } == "Sendable"
  }
}
