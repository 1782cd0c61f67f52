import APNsSimulator
import FCMSimulator
import Processes
import Terminal
import Testing
import Threads
import WebPushSimulator

@testable import LocalVerbs

/// What the flags of `fanfare simulator` make of its options.
@Suite struct SimulatorFlagsTests {
  @Test func withoutFlagsTheOptionsAreTheRoomsOwn() async throws {
    let options = try await options()
    let own = APNsSimulatorOptions(directory: "d")
    #expect(options.port == own.port && options.host == own.host)
    #expect(options.streams == own.streams && options.firstStreams == own.firstStreams)
    #expect(options.certificateHosts == own.certificateHosts)
    #expect(options.idleTimeout == own.idleTimeout)
    #expect(options.maximumConnections == own.maximumConnections)
    #expect(options.requiresProviderToken && options.script == SimulatorScript())
  }

  @Test func aCertificateIsForTheAddressThatIsListenedOn() async throws {
    #expect(try await options("--host", "10.0.0.7").certificateHosts.contains("10.0.0.7"))
    #expect(try await !options("--host", "0.0.0.0").certificateHosts.contains("0.0.0.0"))
    let named = try await options("--host", "10.0.0.7", "--certificate-host", "apns.example")
    #expect(named.certificateHosts == ["apns.example"])
  }

  @Test func answersByPrefixMeanWhatTheScriptMeans() async throws {
    let flags = try await options("--answer", "dead=410", "--answer", "0f=reset").script.rules
    let text = """
      [{"prefix": "dead", "answers": [{"status": 410}]},
       {"prefix": "0f", "answers": [{"reset": 7}]}]
      """
    let script = try Array(text.utf8).withUnsafeBytes { try SimulatorScript.parse($0) }
    #expect(flags.count == 2 && flags == script.rules)
  }

  @Test(arguments: [
    ["--answer", "dead=often"], ["--answer", "xyz=410"], ["--mix", "503=2"],
    ["--key-id", "ABCDE12345"],
  ])
  func whatMakesNoSenseIsRefused(words: [String]) async {
    #expect(await run(words).code == .usage)
  }

  // MARK: FCM

  @Test func withoutFlagsTheOptionsOfFCMAreTheRoomsOwn() async throws {
    let options = try await fcmOptions()
    let own = FCMSimulatorOptions(directory: "d")
    #expect(options.port == own.port && options.host == own.host)
    #expect(options.streams == own.streams && options.idleTimeout == own.idleTimeout)
    #expect(options.certificateHosts == own.certificateHosts)
    #expect(options.projectID == own.projectID && options.projectNumber == own.projectNumber)
    #expect(options.accessTokenSeconds == own.accessTokenSeconds)
    #expect(options.maximumConnections == own.maximumConnections)
    #expect(options.script == FCMSimulatorScript())
  }

  @Test func flagsOfFCMMeanWhatTheScriptMeans() async throws {
    let flags = try await fcmOptions(
      "--answer", "dead=unregistered", "--answer", "ab=418", "--mix",
      "unavailable=0.25,silence=0.0001", "--quota", "600", "--latency", "5ms", "--goaway-after",
      "9")
    let text = """
      {"rules": [{"prefix": "dead", "answers": [{"fault": "unregistered"}]},
                 {"prefix": "ab", "answers": [{"status": 418}]}],
       "mix": {"unavailable": 0.25, "silence": 0.0001}, "quota_per_minute": 600, "latency_ms": 5,
       "goaway_after": 9}
      """
    #expect(flags.script == (try FCMSimulatorScript.parse(Array(text.utf8))))
  }

  @Test(arguments: [
    ["--answer", "dead=often"], ["--mix", "unavailable=2"], ["--mix", "unavailable"],
    ["--topic", "com.example.live"], ["--cut-after", "4"],
  ])
  func whatMakesNoSenseToFCMIsRefused(words: [String]) async {
    #expect(await run(["--platform", "fcm"] + words).code == .usage)
  }

  @Test(arguments: [["--quota", "1"], ["--project", "p"]])
  func whatIsForFCMAloneIsRefused(words: [String]) async {
    #expect(await run(words).code == .usage)
  }

  // MARK: Browsers

  @Test func withoutFlagsTheOptionsOfBrowsersAreTheRoomsOwn() async throws {
    let options = try await webPushOptions()
    let own = WebPushSimulatorOptions(directory: "d")
    #expect(options.port == own.port && options.host == own.host)
    #expect(options.streams == own.streams && options.idleTimeout == own.idleTimeout)
    #expect(options.certificateHosts == own.certificateHosts)
    #expect(options.http1Hosts == own.http1Hosts && !options.endpointsNamePort)
    #expect(options.longestTTLSeconds == own.longestTTLSeconds && options.seed == own.seed)
    #expect(options.maximumConnections == own.maximumConnections)
    // A worker gets a key, and subscriptions by number are bound to it.
    #expect(options.makesVAPIDKey && options.applicationServerKey == nil)
    #expect(options.script == WebPushSimulatorScript())
  }

  @Test func flagsOfBrowsersMeanWhatTheScriptMeans() async throws {
    let options = try await webPushOptions(
      "--answer", "https://wns2-by3p.notify.windows.com/w/?token=7=gone", "--answer",
      "https://a=418", "--mix", "unavailable=0.25,silence=0.0001", "--latency", "5ms",
      "--goaway-after", "9", "--drop-after", "20", "--endpoint-port", "--http1-host",
      "h1.push.test",
      "--longest-ttl", "1h")
    let text = """
      {"rules": [{"prefix": "https://wns2-by3p.notify.windows.com/w/?token=7",
                  "answers": [{"fault": "gone"}]},
                 {"prefix": "https://a", "answers": [{"status": 418}]}],
       "mix": {"unavailable": 0.25, "silence": 0.0001}, "latency_ms": 5, "goaway_after": 9,
       "drop_after": 20}
      """
    #expect(options.script == (try WebPushSimulatorScript.parse(Array(text.utf8))))
    #expect(options.endpointsNamePort && options.http1Hosts == ["h1.push.test"])
    #expect(options.longestTTLSeconds == 3600)
  }

  @Test func aKeyOfOnesOwnIsTaken() async throws {
    let directory = try ScratchDirectory()
    let file = directory.file("vapid.pem")
    _ = try ChildProcess.run([
      "openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", file,
    ])
    let options = try await webPushOptions("--vapid-key", file)
    #expect(!options.makesVAPIDKey && options.applicationServerKey?.count == 65)
    let wrong = try directory.write("no key", to: "wrong.pem")
    #expect(await run(["--platform", "webpush", "--vapid-key", wrong]).code == .usage)
  }

  @Test(arguments: [
    ["--answer", "https://a=often"], ["--mix", "gone=2"], ["--mix", "gone"],
    ["--topic", "com.example.live"], ["--quota", "1"],
  ])
  func whatMakesNoSenseToBrowsersIsRefused(words: [String]) async {
    #expect(await run(["--platform", "webpush"] + words).code == .usage)
  }

  @Test(arguments: [["--endpoint-port"], ["--platform", "fcm", "--longest-ttl", "1h"]])
  func whatIsForBrowsersAloneIsRefused(words: [String]) async {
    #expect(await run(words).code == .usage)
  }

  // MARK: Helpers

  private struct Made: Sendable {
    var apns: APNsSimulatorOptions?
    var fcm: FCMSimulatorOptions?
    var webpush: WebPushSimulatorOptions?
  }

  private func options(_ words: String...) async throws -> APNsSimulatorOptions {
    try #require(await run(words).made.apns)
  }

  private func fcmOptions(_ words: String...) async throws -> FCMSimulatorOptions {
    try #require(await run(["--platform", "fcm"] + words).made.fcm)
  }

  private func webPushOptions(_ words: String...) async throws -> WebPushSimulatorOptions {
    try #require(await run(["--platform", "webpush"] + words).made.webpush)
  }

  private func run(_ words: [String]) async -> (code: ExitCode, made: Made) {
    let made = ThreadLock(Made())
    let verb = Verb("simulator", summary: "Only reads its flags", options: SimulatorFlags.all) {
      (invocation) async throws(CommandFailure) -> ExitCode in
      _ = try SimulatorFlags.platform(invocation)
      try await CommandFailure.fromSimulator {
        switch invocation[SimulatorFlags.platform] {
        case .apns:
          let options = try AppleSimulatorFlags.options(invocation)
          made.withLock { $0.apns = options }
        case .fcm:
          let options = try AndroidSimulatorFlags.options(invocation)
          made.withLock { $0.fcm = options }
        case .webpush:
          let options = try BrowserSimulatorFlags.options(invocation)
          made.withLock { $0.webpush = options }
        }
      }
      return .ok
    }
    let program = Program(name: "fanfare", summary: "Flags", version: "0", verbs: [verb])
    let silent = Console(capabilities: .plain, width: { nil }, write: { _ in true })
    let code = await program.execute(
      ["simulator", "--directory", "d"] + words,
      clock: CommandClock(wallMilliseconds: { 1_795_248_000_000 }, monotonicNanoseconds: { 0 }),
      output: silent, errors: silent)
    return (code, made.withLock { $0 })
  }
}
