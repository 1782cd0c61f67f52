import Glibc
import JSON
import Processes
import Testing

/// The demo and the bench as somebody runs them, made small: the numbers add up, and nothing stays
/// behind.
@Suite struct DemoAndBenchTests {
  /// The runs' TMPDIR.
  private let directory: ScratchDirectory
  private let logs: ScratchDirectory

  init() throws {
    directory = try ScratchDirectory()
    logs = try ScratchDirectory()
  }

  /// Standard output alone is read; the rest goes to a file of the test's own.
  private func start(_ arguments: String) throws -> ChildProcess {
    let line = "PATH=\"$2:$PATH\" exec \"$0\" \(arguments) 2>\"$1\""
    return try ChildProcess(
      ["sh", "-c", line, Command.path, logs.file("log"), logs.path], output: .pipe,
      environment: ["TMPDIR": directory.path])
  }

  private func object(_ process: ChildProcess) throws -> JSONObject {
    let text = process.readToEnd()
    return try #require(try JSONValue.parse(Array(text.utf8)).object, "\(text)")
  }

  /// Processes whose command line names the test's directory: all that a run starts do, but redis.
  private var survivors: [String] {
    guard let processes = opendir("/proc") else { return [] }
    defer { closedir(processes) }
    var found: [String] = []
    while let entry = readdir(processes) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      guard Int(name) != nil, let file = fopen("/proc/\(name)/cmdline", "r") else { continue }
      defer { fclose(file) }
      var bytes = [UInt8](repeating: 0, count: 4_096)
      let count = fread(&bytes, 1, bytes.count, file)
      let text = String(decoding: bytes[..<count], as: UTF8.self)
      if text.contains(directory.path + "/") { found.append(text) }
    }
    return found
  }

  private func expectNobodyIsLeft() {
    let deadline = ContinuousClock.now + .seconds(60)
    while !survivors.isEmpty, ContinuousClock.now < deadline { _ = poll(nil, 0, 20) }
    #expect(survivors == [])
  }

  private var leftFiles: [String] {
    (try? ChildProcess.run(["ls", directory.path]))?.split(separator: "\n").map(String.init) ?? [
      "?"
    ]
  }

  @Test("The demo reaches everybody once, says so in one object, and tidies up")
  func demo() throws {
    let process = try start("demo --followers 3000 --lanes 1 --json")
    let report = try object(process)
    #expect(process.waitForExit() == 0)
    let numbers = [
      "recipients", "devices", "pushes", "accepted", "expired", "cancelled", "suppressed",
      "retried",
      "stragglers", "skipped", "dead_letters", "pruned", "lost", "duplicated",
    ].map { report[$0]?.integer }
    #expect(!numbers.contains(nil))
    #expect(report["recipients"] == 3000)
    #expect(report["devices"] == report["pushes"])
    #expect(report["lost"] == 0)
    #expect(report["duplicated"] == 0)
    #expect(report["counters_match_ledger"] == true)
    let rejected = try #require(report["rejected"]?.object)
    let gone = ["Unregistered", "UNREGISTERED", "Gone"].compactMap { rejected[$0]?.integer }
    #expect(gone.count == 3 && gone.allSatisfy { $0 > 0 })
    #expect(report["pruned"]?.integer == gone.reduce(0, +))
    #expect(report["rejected_total"]?.integer == gone.reduce(0, +))
    let platforms = (report["platforms"]?.array ?? []).compactMap(\.object)
    #expect(platforms.compactMap { $0["platform"]?.string } == ["apns", "fcm", "webpush"])
    for platform in platforms {
      #expect(platform["accepted"]?.integer ?? 0 > 400)
      #expect(platform["reached"] == platform["accepted"] && platform["duplicated"] == 0)
      #expect(platform["missing"] == 0 && platform["wrongly_reached"] == 0)
    }
    #expect(report["dead_letters"] == 0)
    for name in [
      "first_push_ms", "elapsed_ms", "pushes_per_second", "worker_cpu_us_per_push",
      "worker_peak_rss_mb",
    ] {
      #expect(report[name] != nil && report[name] != .null, "\(name)")
    }
    expectNobodyIsLeft()
    #expect(leftFiles == [])
  }

  @Test("Ctrl-C ends the demo with all that it started", arguments: [SIGINT, SIGTERM])
  func interrupted(signal: Int32) throws {
    let process = try start("demo --followers 200000")
    try process.waitForLine(containing: "Seeding", timeout: .seconds(60))
    #expect(!survivors.isEmpty)
    #expect(process.stop(signal) == 75)
    expectNobodyIsLeft()
    #expect(leftFiles == [])
  }

  @Test("What the demo started dies with it, however it dies")
  func killed() throws {
    let process = try start("demo --followers 200000")
    try process.waitForLine(containing: "Seeding", timeout: .seconds(60))
    #expect(!survivors.isEmpty)
    process.stop(SIGKILL)
    expectNobodyIsLeft()
  }

  @Test("The bench names its figures, each with its spread")
  func bench() throws {
    try witnessNghttpd()
    let process = try start("bench --only deliver --pushes 2000 --runs 1 --json")
    let deliver = try object(process)
    // It serves nothing of the run's own: a directory, and no names of files in it.
    let served = try #require(ScratchDirectory.read(logs.file("served")))
    #expect(served.hasPrefix(directory.path) && served.split(separator: "\n").count == 1)
    // An unoptimised build misses its limit, and then it says so.
    let ratio = try #require(deliver["deliver_ratio"]?.number)
    #expect(deliver["limits_met"] == .bool(ratio <= 1.3))
    #expect(process.waitForExit() == (ratio <= 1.3 ? 0 : 1))
    for name in ["h2load_cpu_us", "deliver_cpu_us", "deliver_ratio"] {
      for suffix in ["", "_min", "_max"] { #expect(deliver[name + suffix] != nil, "\(name)") }
    }
    let other = try start("bench --only latency --events 3 --runs 1 --json")
    let latency = try object(other)
    #expect(other.waitForExit() == 0)
    for name in ["first_push_ms_p50", "first_push_ms_p99"] {
      #expect(latency[name] != nil, "\(name)")
    }
    expectNobodyIsLeft()
    #expect(leftFiles == [])
  }

  @Test(
    "The bench measures what goes to Android and to browsers",
    arguments: [
      ("fcm", ["fcm_h2load_cpu_us", "fcm_cpu_us", "fcm_ratio", "fcm_body_bytes"]),
      (
        "webpush",
        ["webpush_cpu_us", "webpush_per_core", "webpush_uncached_rest_us", "webpush_fresh_cpu_us"]
      ),
    ])
  func platforms(section: String, figures: [String]) throws {
    let process = try start("bench --only \(section) --pushes 2000 --runs 1 --json")
    let report = try object(process)
    for name in figures { #expect(report[name + "_max"] != nil, "\(name)") }
    // An unoptimised build may miss a limit.
    #expect(process.waitForExit() == (report["limits_met"] == .bool(true) ? 0 : 1))
    expectNobodyIsLeft()
    #expect(leftFiles == [])
  }

  @Test("What the demo says to try next works as it is printed")
  func whatNext() throws {
    let process = try start("demo --followers 300 --lanes 1 --keep")
    let said = process.readToEnd().split(separator: "\n").map(String.init)
    #expect(process.waitForExit() == 0)
    let look = try #require(said.firstIndex { $0.contains("look into what Redis held") })
    let next = try #require(said.firstIndex { $0 == "Try next" })
    func type(_ line: String) throws -> String { try ChildProcess.run(["sh", "-c", line]) }
    // As a reader of the terminal does it, who waits for the server to have started.
    _ = try type(said[look + 1])
    let port = said[look + 2].split(separator: " ").drop { $0 != "-p" }.dropFirst().first ?? ""
    let deadline = ContinuousClock.now + .seconds(60)
    while (try? type("redis-cli -p \(port) PING")) != "PONG\n", ContinuousClock.now < deadline {
      _ = poll(nil, 0, 20)
    }
    #expect(try type(said[look + 2]).contains("recipients\n300\n"))
    _ = try type(said[look + 3])

    let commands = said[next...].filter { $0.hasPrefix("    ") }
    #expect(commands.count >= 3)
    for command in commands {
      // The whole of them would take minutes: small demos stand for the large ones.
      var small = command.replacing("--followers 1M", with: "--followers 200")
      if command.contains(" demo"), small == command { small += " --followers 200" }
      if command.hasSuffix("bench") { small += " --help" }
      #expect(throws: Never.self, "\(command)") {
        _ = try type("TMPDIR=\(directory.path) \(small)")
      }
    }
    expectNobodyIsLeft()
  }

  /// An nghttpd that stands before the real one on the PATH, and writes down what it is given to
  /// serve before it becomes that one, which may be gone before anybody can look.
  private func witnessNghttpd() throws {
    let program = try Executable.find("nghttpd", package: "nghttp2-server")
    let script = """
      #!/bin/sh
      for word in "$@"; do
        [ "$last" = -d ] && served=$word
        last=$word
      done
      { echo "$served"; ls -A "$served"; } > '\(logs.file("served"))'
      exec \(program) "$@"

      """
    #expect(chmod(try logs.write(script, to: "nghttpd"), 0o700) == 0)
  }

  @Test("A template directory without the template is a mistake in the configuration")
  func templates() throws {
    let outcome = try Command.run("demo", "--templates", directory.path)
    #expect(outcome.code == 78)
    #expect(outcome.text.contains("go-live.yaml"))
  }
}

extension JSONValue {
  fileprivate var number: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .double(let number): number
    default: nil
    }
  }
}
