import APNsSimulator
import Terminal
import Testing
import Threads

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

  private func options(_ words: String...) async throws -> APNsSimulatorOptions {
    try #require(await run(words).options)
  }

  private func run(
    _ words: [String]
  ) async -> (code: ExitCode, options: APNsSimulatorOptions?) {
    let made = ThreadLock<APNsSimulatorOptions?>(nil)
    let verb = Verb("simulator", summary: "Only reads its flags", options: SimulatorFlags.all) {
      (invocation) async throws(CommandFailure) -> ExitCode in
      let options = try SimulatorFlags.options(invocation)
      made.withLock { $0 = options }
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
