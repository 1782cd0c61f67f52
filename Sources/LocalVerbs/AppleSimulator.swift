import APNsSimulator
import Conformance
import Terminal
import VerbSupport

extension SimulatedPlatform {
  /// Apple's push service.
  static let apns = SimulatedPlatform(
    ownFlags: AppleSimulatorFlags.own, start: startApple, test: testApple)

  private static func startApple(
    _ invocation: Invocation, _ log: @escaping @Sendable (String) -> Void
  ) async throws(CommandFailure) -> RunningSimulator {
    let (simulator, address) = try await CommandFailure.fromSimulator {
      let simulator = APNsSimulator(options: try AppleSimulatorFlags.options(invocation), log: log)
      return (simulator, try await simulator.start())
    }
    return RunningSimulator(
      url: "https://\(address.host):\(address.port)", ready: ready(address),
      settings: settings(address), stop: { await simulator.stop().line })
  }

  private static func ready(_ address: APNsSimulatorAddress) -> JSONOutput {
    [
      "host": .text(address.host), "port": .integer(address.port),
      "binary_port": address.binaryPort.map { .integer($0) } ?? .null,
      "feedback_port": address.feedbackPort.map { .integer($0) } ?? .null,
      "ca_file": .text(address.authorityFile),
      "key_file": address.providerKeyFile.map { .text($0) } ?? .null,
      "certificate_file": .text(address.clientCertificateFile),
      "key_id": .text(address.keyID), "team_id": .text(address.teamID),
      "control_token": .text(address.controlToken),
    ]
  }

  private static func settings(_ address: APNsSimulatorAddress) -> [String] {
    var settings: [String] = []
    for server in ["production", "sandbox"] {
      settings.append("apns.\(server).host=\(address.host)")
      settings.append("apns.\(server).port=\(address.port)")
    }
    settings.append("apns.ca_file=\(address.authorityFile)")
    if let file = address.providerKeyFile { settings.append("apns.key_file=\(file)") }
    return settings + ["apns.key_id=\(address.keyID)", "apns.team_id=\(address.teamID)"]
  }

  /// The simulator gets a script of its own.
  private static func testApple(
    _ invocation: Invocation
  ) async throws(CommandFailure) -> [ConformanceResult] {
    try await CommandFailure.fromSimulator {
      var options = try AppleSimulatorFlags.options(invocation)
      options.script = PushConformance.script
      let simulator = APNsSimulator(options: options, log: { _ in })
      let results: Result<[ConformanceResult], any Error>
      do {
        results = .success(
          try await self.results(of: simulator, nowSeconds: invocation.nowMilliseconds / 1_000))
      } catch {
        results = .failure(error)
      }
      await simulator.stop()
      return try results.get()
    }
  }

  private static func results(
    of simulator: APNsSimulator, nowSeconds: Int64
  ) async throws -> [ConformanceResult] {
    let address = try await simulator.start()
    guard let keyFile = address.providerKeyFile else {
      throw CommandFailure(.usage, "--self-test signs with a key of its own: no --public-key")
    }
    func text(_ path: String) throws(CommandFailure) -> String {
      try CommandFile.read(path, maximumBytes: 64 << 10).text
    }
    let files = ConformanceRun.Files(
      key: try text(keyFile), certificate: try text(address.clientCertificateFile),
      misplacedCertificate: try text(address.misplacedCertificateFile))
    let run = try ConformanceRun(address, files, nowSeconds: nowSeconds)
    return await run.results()
  }
}

/// The flags of the simulator of Apple's service alone.
enum AppleSimulatorFlags {
  private static let binaryPort = Option<Int?>(
    "binary-port", .integer(in: 0...65_535),
    help: "apns, legacy: Also serve the binary interface on this port; 0 means any free one")
  private static let feedbackPort = Option<Int?>(
    "feedback-port", .integer(in: 0...65_535),
    help:
      "apns, legacy: Also serve the binary interface's feedback service on this port; 0 means any "
      + "free one")
  private static let teamID = Option<String?>(
    "team-id", .text, value: "ID", help: "apns: The team id of --public-key")
  private static let keyID = Option<String?>(
    "key-id", .text, value: "ID", help: "apns: The key id of --public-key")
  private static let publicKey = Option<String?>(
    "public-key", .path, value: "FILE",
    help: "apns: The public key (PEM) that verifies provider tokens")
  private static let noProviderToken = Option(
    flag: "no-provider-token",
    help: "apns: Ignore provider tokens, as Apple does on connections with a client certificate")
  private static let topics = Option<[String]>(
    repeated: "topic", .text, value: "BUNDLE",
    help: "apns: The bundle id of an app that may get pushes; by default any app")
  private static let firstStreams = Option(
    "first-streams", .integer(in: 0...1_000_000), default: 1,
    help: "apns: Streams allowed on a connection until its first valid provider token")
  private static let development = Option(
    flag: "development", help: "apns: Answer as the sandbox does, with apns-unique-id")
  private static let cutAfter = Option<Int?>(
    "cut-after", .integer(in: 1 ... .max),
    help: "apns: Halve a connection's stream limit after every N errors")
  private static let endAfter = Option<Int?>(
    "end-after", .integer(in: 1 ... .max),
    help: "apns: Send GOAWAY after this many errors on a connection")

  static let own: [any DeclaredOption] = [
    binaryPort, feedbackPort, teamID, keyID, publicKey, noProviderToken, topics, firstStreams,
    development, cutAfter, endAfter,
  ]

  static func options(
    _ invocation: Invocation
  ) throws -> APNsSimulatorOptions {
    var options = APNsSimulatorOptions(directory: invocation[SimulatorFlags.directory])
    options.host = invocation[SimulatorFlags.host]
    options.port = invocation[SimulatorFlags.port]
    options.binaryPort = invocation[binaryPort]
    options.feedbackPort = invocation[feedbackPort]
    options.certificateHosts = SimulatorFlags.certificateHosts(
      invocation, usual: options.certificateHosts)
    options.requiresProviderToken = !invocation[noProviderToken]
    options.topics = invocation[topics]
    options.firstStreams = invocation[firstStreams]
    options.streams = invocation[SimulatorFlags.streams] ?? options.streams
    options.isDevelopment = invocation[development]
    options.seed = UInt64(invocation[SimulatorFlags.seed])
    options.maximumConnections = invocation[SimulatorFlags.connections]
    options.idleTimeout = invocation[SimulatorFlags.idleTimeout] ?? options.idleTimeout
    options.providerKeys = try providerKeys(invocation)
    options.script = try scriptOptions(invocation)
    return options
  }

  private static func scriptOptions(_ invocation: Invocation) throws -> SimulatorScript {
    var script = SimulatorScript()
    if let path = invocation[SimulatorFlags.script] {
      let file = try CommandFile.read(path, maximumBytes: SimulatorScript.maximumBytes)
      script = try file.bytes.withUnsafeBytes { try SimulatorScript.parse($0) }
    }
    script.rules = try rules(invocation[SimulatorFlags.answers]) + script.rules
    if let mix = invocation[SimulatorFlags.mix] { script.mix = try SimulatorScript.mix(mix) }
    if let latency = invocation[SimulatorFlags.latency] { script.latency = latency }
    if let jitter = invocation[SimulatorFlags.jitter] { script.jitter = jitter }
    script.goAwayAfter = invocation[SimulatorFlags.goAwayAfter] ?? script.goAwayAfter
    script.goAwayBehind = invocation[SimulatorFlags.goAwayBehind] ?? script.goAwayBehind
    script.dropAfter = invocation[SimulatorFlags.dropAfter] ?? script.dropAfter
    script.silentAfter = invocation[SimulatorFlags.silentAfter] ?? script.silentAfter
    script.cutAfter = invocation[cutAfter] ?? script.cutAfter
    script.endAfter = invocation[endAfter] ?? script.endAfter
    return script
  }

  /// Written as the script writes them, so that both mean the same.
  private static func rules(_ answers: [String]) throws -> [SimulatorScript.Rule] {
    guard !answers.isEmpty else { return [] }
    let rules = answers.map { answer -> JSONOutput in
      let (prefix, what) = SimulatorFlags.sides(of: answer)
      let step: JSONOutput =
        switch what {
        case "silence": ["silence": true]
        case "drop": ["drop": true]
        case "reset": ["reset": 7]
        default: ["status": Int(what).map { .integer($0) } ?? .text(what)]
        }
      return ["prefix": .text(prefix), "answers": .array([step])]
    }
    let text = JSONOutput.array(rules).serialized()
    return try Array(text.utf8).withUnsafeBytes { try SimulatorScript.parse($0) }.rules
  }

  private static func providerKeys(
    _ invocation: Invocation
  ) throws(CommandFailure) -> [APNsSimulatorOptions.ProviderKey] {
    guard let path = invocation[publicKey] else {
      guard invocation[keyID] == nil, invocation[teamID] == nil else {
        throw CommandFailure(.usage, "--key-id and --team-id need --public-key")
      }
      return []
    }
    guard let keyID = invocation[keyID], let teamID = invocation[teamID] else {
      throw CommandFailure(.usage, "--public-key needs --key-id and --team-id")
    }
    let file = try CommandFile.read(path, maximumBytes: 64 << 10)
    return [.init(keyID: keyID, teamID: teamID, publicKeyPEM: file.text)]
  }
}
