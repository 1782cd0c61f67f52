import Checkout
import Glibc
import Processes
import Testing

/// What becomes of a verb whose output nobody takes, and of one that is interrupted.
@Suite struct StreamTests {
  private func shell(_ line: String) throws -> (code: Int32, text: String) {
    let process = try ChildProcess(
      ["bash", "-c", "set -o pipefail; " + line, Command.path], output: .pipe,
      environment: ["FANFARE_CONFIG": "", "NO_COLOR": "1"])
    let text = process.readToEnd()
    return (process.waitForExit(), text)
  }

  private static let verbs = [
    "version", "--help", "--version", "worker --help", "completions bash",
    "render Config/templates/go-live.yaml", "render Config/templates/go-live.yaml --json",
    "check --offline --set templates.directory=Config/templates",
  ]

  @Test("A full disk is a failure", arguments: verbs)
  func full(verb: String) throws {
    let outcome = try shell("cd '\(Checkout.root)' && exec \"$0\" \(verb) > /dev/full")
    // 78: there is no key, and that stands above it.
    #expect(outcome.code == (verb.hasPrefix("check") ? 78 : 1), "\(outcome)")
    if outcome.code == 1 {
      #expect(outcome.text.contains("standard output cannot be written: No space left on device"))
    }
  }

  @Test("A reader that has seen enough is none", arguments: verbs.dropLast())
  func head(verb: String) throws {
    let outcome = try shell(
      "cd '\(Checkout.root)' && \"$0\" \(verb) --help > /dev/null; \"$0\" \(verb) | head -1")
    #expect(outcome.code == 0, "\(outcome)")
    #expect(outcome.text.split(separator: "\n").count == 1)
  }

  @Test("Closed standard descriptors are nobody's connection")
  func closed() throws {
    let process = try ChildProcess(
      ["sh", "-c", "exec \"$0\" broker 0<&- 1>&- 2>&-", Command.path], output: .pipe)
    let deadline = ContinuousClock.now + .seconds(60)
    func targets() -> [String] {
      (0...2).map { Command.target(ofLink: "/proc/\(process.processID)/fd/\($0)") }
    }
    while targets() != Array(repeating: "/dev/null", count: 3), ContinuousClock.now < deadline {
      _ = poll(nil, 0, 20)
    }
    #expect(targets() == Array(repeating: "/dev/null", count: 3))
    process.stop(SIGKILL)
  }

  @Test("Who runs under nohup stays when the terminal closes; others end in order")
  func hangUp() throws {
    let stays = try ChildProcess(["nohup", Command.path, "broker"], output: .pipe)
    try stays.waitForLine(containing: "bootstrap_servers")
    stays.signal(SIGHUP)
    stays.signal(SIGHUP)
    #expect(kill(stays.processID, 0) == 0)
    #expect(stays.stop(SIGTERM) == 0)
    let ends = try ChildProcess([Command.path, "broker"], output: .pipe)
    try ends.waitForLine(containing: "bootstrap_servers")
    #expect(ends.stop(SIGHUP) == 0)
  }

  @Test(
    "Ctrl-C ends the wait for a Redis that does not answer",
    arguments: [["audience", "import", "-"], ["audience", "seed", "--streamer", "s"]])
  func connecting(verb: [String]) throws {
    let silent = try SilentServer()
    // Without the signal it would give up with another exit code, and much later.
    let settings = ["redis.port=\(silent.port)", "redis.connect_timeout=60s"]
    let process = try Command.start(verb + settings.flatMap { ["--set", $0] })
    try silent.waitForAClient()
    #expect(process.stop(SIGINT) == 75)
    #expect(process.readToEnd().contains("interrupted while connecting to Redis"))
  }
}

/// Takes connections and says nothing.
private final class SilentServer {
  let port: Int
  private let descriptor: Int32

  init() throws {
    port = try LocalPort.findFree()
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = UInt16(port).bigEndian
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard bound == 0, listen(descriptor, 8) == 0 else {
      throw LocalRunError(.failed, "cannot listen: errno \(errno)")
    }
  }

  deinit { close(descriptor) }

  /// Once somebody has connected and said something, a request is on its way.
  func waitForAClient() throws {
    var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&watched, 1, 10_000) == 1 else { throw LocalRunError(.failed, "nobody connected") }
    let client = accept(descriptor, nil, nil)
    var said = pollfd(fd: client, events: Int16(POLLIN), revents: 0)
    guard poll(&said, 1, 10_000) == 1 else { throw LocalRunError(.failed, "nothing was said") }
  }
}
