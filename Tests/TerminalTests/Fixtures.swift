import Threads

@testable import Terminal

/// Keeps what was written to its console.
final class Buffer: Sendable {
  private let bytes = ThreadLock<[UInt8]>([])

  var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }
  var lines: [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  func console(
    width: Int? = nil, isTerminal: Bool = false, coloured: Bool = false, unicode: Bool = true
  ) -> Console {
    Console(
      capabilities: Capabilities(
        isTerminal: isTerminal, redraws: isTerminal, coloured: coloured, unicode: unicode),
      width: { width },
      write: { written in
        self.bytes.withLock { $0 += written }
        return true
      })
  }
}

enum Colour: String, Sendable, CaseIterable { case red, green, blue }

/// A command line with one of everything.
enum Sample {
  static let config = Option(
    "config", short: "c", .path, value: "FILE", help: "Configuration file",
    environment: "FANFARE_CONFIG")
  static let json = Option(flag: "json", short: "j", help: "Print one JSON object")
  static let quiet = Option(flag: "quiet", short: "q", help: "Say less")
  static let followers = Option(
    "followers", short: "n", .integer(in: 1...10_000_000), default: 100_000,
    help: "How many people follow the streamer")
  static let wait = Option(
    "wait", .duration(in: .zero ... .seconds(3600)), default: .seconds(90), help: "Time limit")
  static let share = Option("share", .number(in: 0...1), default: 0.05, help: "Part of errors")
  static let colour = Option("colour", ValueParser<Colour>.choice(), default: .red, help: "Paint")
  static let set = Option(repeated: "set", .text, value: "KEY=VALUE", help: "Override a key")
  static let streamer = Option(required: "streamer", short: "s", .text, help: "Who went live")
  static let file = Argument(required: "file", .path, help: "What to read")
  static let target = Argument("target", .text, help: "Where to")
  static let more = Argument(rest: "more", .integer(), help: "Numbers")

  static let program = Program(
    name: "fanfare", summary: "Tell followers that a streamer is live", version: "1.2.3",
    options: [config],
    verbs: [
      Verb(
        "demo", summary: "Show the whole way of the data",
        discussion: "Starts everything it needs.\n\nCleans up after itself.",
        options: [followers, json, quiet, wait, share, colour, set],
        examples: [
          .init(
            "fanfare demo --followers 1000000 --json --set deliver.connections=4 --wait 10m",
            "A million")
        ], exitCodes: [.ok, .failed, .unavailable]
      ) { invocation in
        invocation.output.line("\(invocation[followers]) followers")
        return .ok
      },
      Verb("emit", summary: "Write one event", options: [streamer]) { _ in .ok },
      Verb("copy", summary: "Copy numbers", arguments: [file, target, more]) { _ in .ok },
      Verb(
        group: "audience", summary: "Followers in Redis", options: [json],
        verbs: [
          Verb("import", summary: "Read NDJSON", arguments: [file]) { _ in .ok },
          Verb("seed", summary: "Make people's profiles up", options: [followers]) { _ in .ok },
        ]),
      Verb("internal", summary: "Not for people", isHidden: true) { _ in .retryLater },
      .completions(program: "fanfare"),
    ], epilogue: "See README.md.")

  static func command(_ words: String...) throws -> ParsedCommand {
    guard case .run(let command) = try program.parse(words) else {
      throw TerminalError(.missingVerb, "not a run")
    }
    return command
  }

  /// The refusal of a command line, nil when it was taken.
  static func refusal(_ words: String...) -> TerminalError? {
    do { _ = try program.parse(words) } catch { return error }
    return nil
  }
}
