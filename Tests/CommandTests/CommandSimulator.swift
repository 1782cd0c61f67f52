import Processes
import Testing

/// A simulator that one command at a time asks, and what it is told of it.
struct CommandSimulator {
  let directory: ScratchDirectory
  let port: Int64
  private let process: ChildProcess

  init(_ flags: String...) throws {
    directory = try ScratchDirectory()
    let server = try Command.startServer(
      ["simulator", "--directory", directory.file("apns")] + flags, in: directory)
    process = server.process
    port = try #require(server.ready["port"]?.integer)
  }

  /// - Parameters:
  ///   - hosts: the settings under `apns.sandbox` that name it, such as `channels_`.
  ///   - certificate: the client's, in the place of a key.
  func run(
    _ arguments: [String], hosts: [String] = [""], team: String = "SIMULATED2",
    certificate: String? = nil
  ) throws -> Command.Outcome {
    let key = [
      "apns.key_id=SIMULATED1", "apns.team_id=\(team)",
      "apns.key_file=\(directory.file("apns/AuthKey_SIMULATED1.p8"))",
    ]
    let credentials = certificate.map { ["apns.certificate_file=\(directory.file($0))"] } ?? key
    let settings =
      hosts.flatMap { ["apns.sandbox.\($0)host=127.0.0.1", "apns.sandbox.\($0)port=\(port)"] } + [
        "apns.ca_file=\(directory.file("apns/ca.pem"))",
        "templates.directory=\(directory.path)",
      ] + credentials
    let process = try Command.start(
      arguments + ["--environment", "sandbox"] + settings.flatMap { ["--set", $0] })
    let text = process.readToEnd()
    return Command.Outcome(code: process.waitForExit(), text: text)
  }
}
