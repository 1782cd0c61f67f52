import Conformance
import FCMSimulator
import Terminal
import VerbSupport

extension SimulatedPlatform {
  /// Firebase Cloud Messaging, with Google's token endpoint.
  static let fcm = SimulatedPlatform(
    ownFlags: AndroidSimulatorFlags.own, start: startAndroid, test: testAndroid)

  private static func startAndroid(
    _ invocation: Invocation, _ log: @escaping @Sendable (String) -> Void
  ) async throws(CommandFailure) -> RunningSimulator {
    let (simulator, address) = try await CommandFailure.fromSimulator {
      let simulator = FCMSimulator(
        options: try AndroidSimulatorFlags.options(invocation), log: log)
      return (simulator, try await simulator.start())
    }
    return RunningSimulator(
      url: "https://\(address.host):\(address.port)",
      ready: [
        "host": .text(address.host), "port": .integer(address.port),
        "ca_file": .text(address.authorityFile),
        "service_account_file": .text(address.serviceAccountFile),
        "project_id": .text(address.projectID), "control_token": .text(address.controlToken),
      ],
      settings: [
        "fcm.host=\(address.host)", "fcm.port=\(address.port)",
        "fcm.ca_file=\(address.authorityFile)",
        "fcm.service_account_file=\(address.serviceAccountFile)",
      ], stop: { await simulator.stop().line })
  }

  /// The simulator gets no script.
  private static func testAndroid(
    _ invocation: Invocation
  ) async throws(CommandFailure) -> [ConformanceResult] {
    try await CommandFailure.fromSimulator {
      var options = try AndroidSimulatorFlags.options(invocation)
      options.script = FCMSimulatorScript()
      let simulator = FCMSimulator(options: options, log: { _ in })
      let results: Result<[ConformanceResult], any Error>
      do {
        let address = try await simulator.start()
        let account = try CommandFile.read(address.serviceAccountFile, maximumBytes: 64 << 10)
        let run = try FCMConformanceRun(
          address, serviceAccount: account.bytes, projectNumber: options.projectNumber,
          nowSeconds: invocation.nowMilliseconds / 1_000)
        results = .success(await run.results())
      } catch {
        results = .failure(error)
      }
      await simulator.stop()
      return try results.get()
    }
  }
}

/// The flags of the simulator of Firebase Cloud Messaging alone.
enum AndroidSimulatorFlags {
  private static let project = Option(
    "project", .text, default: "simulated-project", value: "ID",
    help: "fcm: The id of the project that it serves")
  private static let projectNumber = Option<String?>(
    "project-number", .text, value: "NUMBER",
    help: "fcm: The other name that paths may give the project; by default 100200300400")
  private static let quota = Option<Int?>(
    "quota", .integer(in: 1...100_000_000), value: "COUNT",
    help: "fcm: Messages a minute that the project may send; the others get 429")
  private static let accessTokenLifetime = Option(
    "access-token-lifetime", .duration(in: .seconds(1) ... .seconds(86_400)),
    default: .seconds(3_599), help: "fcm: How long an access token lasts")

  static let own: [any DeclaredOption] = [project, projectNumber, quota, accessTokenLifetime]

  static func options(_ invocation: Invocation) throws -> FCMSimulatorOptions {
    var options = FCMSimulatorOptions(directory: invocation[SimulatorFlags.directory])
    options.host = invocation[SimulatorFlags.host]
    options.port = invocation[SimulatorFlags.port]
    options.certificateHosts = SimulatorFlags.certificateHosts(
      invocation, usual: options.certificateHosts)
    options.projectID = invocation[project]
    options.projectNumber = invocation[projectNumber] ?? options.projectNumber
    options.streams = invocation[SimulatorFlags.streams] ?? options.streams
    options.accessTokenSeconds = invocation[accessTokenLifetime].components.seconds
    options.seed = UInt64(invocation[SimulatorFlags.seed])
    options.maximumConnections = invocation[SimulatorFlags.connections]
    options.idleTimeout = invocation[SimulatorFlags.idleTimeout] ?? options.idleTimeout
    options.script = try script(invocation)
    return options
  }

  private static func script(_ invocation: Invocation) throws -> FCMSimulatorScript {
    var script = FCMSimulatorScript()
    if let path = invocation[SimulatorFlags.script] {
      let file = try CommandFile.read(path, maximumBytes: FCMSimulatorScript.maximumBytes)
      script = try FCMSimulatorScript.parse(file.bytes)
    }
    let flags = try written(invocation)
    script.rules = flags.rules + script.rules
    if !flags.mix.isEmpty { script.mix = flags.mix }
    if let latency = invocation[SimulatorFlags.latency] { script.latency = latency }
    if let jitter = invocation[SimulatorFlags.jitter] { script.jitter = jitter }
    script.quotaPerMinute = invocation[quota] ?? script.quotaPerMinute
    script.goAwayAfter = invocation[SimulatorFlags.goAwayAfter] ?? script.goAwayAfter
    script.goAwayBehind = invocation[SimulatorFlags.goAwayBehind] ?? script.goAwayBehind
    script.dropAfter = invocation[SimulatorFlags.dropAfter] ?? script.dropAfter
    script.silentAfter = invocation[SimulatorFlags.silentAfter] ?? script.silentAfter
    return script
  }

  /// Answers and mix, written as the script writes them, so that both mean the same.
  private static func written(_ invocation: Invocation) throws -> FCMSimulatorScript {
    let text = try SimulatorFlags.written(
      answers: invocation[SimulatorFlags.answers], mix: invocation[SimulatorFlags.mix])
    return try FCMSimulatorScript.parse(Array(text.utf8))
  }
}
