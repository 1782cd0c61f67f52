import Glibc
import JSON
import Processes
import Testing

/// `fanfare dev` as somebody runs it without a terminal.
@Suite struct DevVerbTests {
  private let parent: ScratchDirectory
  private let base: Int

  init() throws {
    parent = try ScratchDirectory()
    base = try FreePorts.inARow(6)
  }

  private var directory: String { parent.file("dev") }

  private func start(_ arguments: String..., into name: String) throws -> ChildProcess {
    try ChildProcess(
      [Command.path, "dev", "--directory", directory, "--port", "\(base)", "--json"] + arguments,
      output: .file(parent.file(name)), errors: .file(parent.file("\(name).errors")),
      environment: ["FANFARE_CONFIG": "", "NO_COLOR": "1"])
  }

  /// The line of this number, from 0, of what a run has printed, as soon as it is there.
  private func line(_ number: Int, of name: String) throws -> JSONObject {
    let deadline = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < deadline {
      let text = ScratchDirectory.read(parent.file(name)) ?? ""
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
      if lines.count > number + 1 {
        return try #require(try JSONValue.parse(Array(lines[number].utf8)).object)
      }
      _ = poll(nil, 0, 20)
    }
    throw LocalRunError(
      .failed,
      "no line \(number): \(ScratchDirectory.lastLines(9, of: parent.file(name))) "
        + "\(ScratchDirectory.lastLines(9, of: parent.file("\(name).errors")))")
  }

  private func expectFreePorts() {
    let ports = base..<base + 6
    let deadline = ContinuousClock.now + .seconds(30)
    while !ports.allSatisfy(LocalPort.canBeListenedOn), ContinuousClock.now < deadline {
      _ = poll(nil, 0, 20)
    }
    for port in ports { #expect(LocalPort.canBeListenedOn(port), "\(port)") }
  }

  private func titles(_ event: JSONObject) -> [String] {
    (event["ken"]?.array ?? []).compactMap { $0.object?["title"]?.string }
  }

  @Test func anEventReachesKensDevicesAndASecondRunKeepsTemplateAndData() throws {
    let first = try start("--emit", into: "first")
    let ready = try line(0, of: "first")
    let event = try line(1, of: "first")
    #expect(event["pushes"]?.integer ?? 0 > 200)
    #expect(event["accepted"] == event["pushes"] && event["state"] == "done")
    #expect(titles(event) == Array(repeating: "Aiko is live", count: 3))
    #expect(first.stop(SIGINT) == 0)
    expectFreePorts()

    let template = try #require(ready["template"]?.string)
    let text = try #require(ScratchDirectory.read(template))
    #expect(text.contains("is live\""))
    try parent.write(
      text.replacing("is live\"", with: "is on air\""), to: "dev/templates/go-live.yaml")

    let second = try start("--emit", into: "second")
    _ = try line(0, of: "second")
    #expect(titles(try line(1, of: "second")) == Array(repeating: "Aiko is on air", count: 3))
    let configuration = try #require(ready["configuration"]?.string)
    let id = try #require(event["event"]?.string)
    let listed = try Command.run("fanout", "list", "--config", configuration)
    #expect(listed.text.contains(id), "\(listed.text)")
    // Whoever sends an event: its end is told.
    let sent = try Command.run(
      "emit", "--config", configuration, "--streamer", "s42", "--app", "com.example.live",
      "--name", "Bea", "--title", "Chess", "--id", "by-hand")
    #expect(sent.code == 0, "\(sent.text)")
    let own = try line(2, of: "second")
    #expect(own["event"] == "by-hand" && titles(own).first == "Bea is on air")
    let traced = try Command.run(
      "trace", "--event", "by-hand", "--user", "ken", "--config", configuration)
    #expect(traced.text.contains("accepted"), "\(traced.text)")
    #expect(!traced.text.contains("presumably"), "\(traced.text)")
    #expect(second.stop(SIGTERM) == 0)
    expectFreePorts()
  }

  @Test func theAPITakesTheKeyThatItNames() throws {
    let process = try start(into: "out")
    let ready = try line(0, of: "out")
    let keyFile = try #require(ready["key_file"]?.string)
    let key = try #require(ScratchDirectory.read(keyFile))
    let answer = try ChildProcess.run([
      "curl", "-sSf", "-H", "Authorization: Bearer \(key.filter { $0 != "\n" })",
      "\(ready["url"]?.string ?? "")/v1/users/ken",
    ])
    #expect(answer.contains("com.example.live"))
    #expect(process.stop(SIGTERM) == 0)
  }

  @Test func aProcessThatEndsIsNamedWithItsLog() throws {
    let process = try start(into: "out")
    let ready = try line(0, of: "out")
    let worker = try #require(ready["worker_process"]?.integer)
    let log = "\(directory)/worker.log"
    let deadline = ContinuousClock.now + .seconds(60)
    while ScratchDirectory.read(log)?.contains("worker started") != true,
      ContinuousClock.now < deadline
    {
      _ = poll(nil, 0, 20)
    }
    #expect(kill(pid_t(worker), SIGKILL) == 0)
    #expect(process.waitForExit() == 1)
    let said = try #require(ScratchDirectory.read(parent.file("out.errors")))
    #expect(said.contains("worker ended with signal 9"), "\(said)")
    #expect(said.contains("worker.log:\n") && said.contains("worker started"), "\(said)")
    expectFreePorts()
  }

  @Test func whatItStartedDiesWithItHoweverItDies() throws {
    let process = try start(into: "out")
    _ = try line(0, of: "out")
    process.stop(SIGKILL)
    expectFreePorts()
  }

  @Test func aTakenPortIsNamedWithWhoHasIt() throws {
    let (broker, _) = try Command.startServer(
      ["broker", "--port", "\(base + 2)"], in: parent)
    let outcome = try Command.run("dev", "--directory", directory, "--port", "\(base)")
    #expect(outcome.code == 69)
    let expected = "port \(base + 2), for Kafka, is taken: fanfare broker (process "
    #expect(outcome.text.contains("\(expected)\(broker.processID)) has it"), "\(outcome.text)")
    #expect(outcome.text.contains("--port"))
  }
}

/// TCP ports of 127.0.0.1 that follow each other.
enum FreePorts {
  static func inARow(_ count: Int) throws -> Int {
    while true {
      let base = try LocalPort.findFree()
      if (base..<base + count).allSatisfy(LocalPort.canBeListenedOn) { return base }
    }
  }
}
