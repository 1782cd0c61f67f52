import Glibc
import JSON
import Processes
import Testing

/// The built program, as a user runs it.
enum Command {
  struct Outcome {
    let code: Int32
    /// Standard output and standard error together.
    let text: String

    var lines: [String] { text.split(separator: "\n").map(String.init) }
  }

  /// Beside this test's own program.
  static var path: String {
    let own = target(ofLink: "/proc/self/exe")
    // `swift test` runs bundles through a helper of its own: then the bundle is an argument.
    let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? own
    return bundle.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 } + "/fanfare"
  }

  /// Empty where there is no such link.
  static func target(ofLink path: String) -> String {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let count = readlink(path, &buffer, buffer.count)
    return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
  }

  static func run(_ arguments: String...) throws -> Outcome {
    let process = try start(arguments)
    let text = process.readToEnd()
    return Outcome(code: process.waitForExit(), text: text)
  }

  static func start(_ arguments: [String]) throws -> ChildProcess {
    // What the machine of the tests has set must not change what a test sees.
    try ChildProcess(
      [path] + arguments, output: .pipe,
      environment: ["FANFARE_CONFIG": "", "NO_COLOR": "1", "COLUMNS": "100"])
  }

  /// Starts a verb that prints one line of JSON when it is ready.
  static func startServer(
    _ arguments: [String], in directory: ScratchDirectory
  ) throws -> (process: ChildProcess, ready: JSONObject) {
    let output = directory.file("\(arguments[0]).out")
    let process = try ChildProcess([path] + arguments, output: .file(output))
    let deadline = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < deadline {
      if let line = try? ChildProcess.run(["head", "-1", output]), line.hasSuffix("\n") {
        return (process, try #require(try JSONValue.parse(Array(line.utf8)).object))
      }
      _ = poll(nil, 0, 20)
    }
    throw LocalRunError(.failed, "\(arguments) did not get ready")
  }
}
