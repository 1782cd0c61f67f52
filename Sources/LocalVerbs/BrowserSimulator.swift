import Conformance
import Terminal
import VerbSupport
import WebPushSimulator

extension SimulatedPlatform {
  /// The push services of the browsers, on one port.
  static let webpush = SimulatedPlatform(
    ownFlags: BrowserSimulatorFlags.own, start: startBrowsers, test: testBrowsers)

  /// An address of nobody: Apple's rules want one with a real domain.
  private static let subject = "mailto:push@example.com"

  private static func startBrowsers(
    _ invocation: Invocation, _ log: @escaping @Sendable (String) -> Void
  ) async throws(CommandFailure) -> RunningSimulator {
    let (simulator, address) = try await CommandFailure.fromSimulator {
      let simulator = WebPushSimulator(
        options: try BrowserSimulatorFlags.options(invocation), log: log)
      return (simulator, try await simulator.start())
    }
    let keyFile = address.vapidKeyFile ?? invocation[BrowserSimulatorFlags.vapidKey] ?? ""
    let endpoint = "\(address.host):\(address.port)"
    return RunningSimulator(
      url: "https://\(endpoint)",
      ready: [
        "host": .text(address.host), "port": .integer(address.port),
        "ca_file": .text(address.authorityFile), "vapid_key_file": .text(keyFile),
        "subject": .text(subject), "control_token": .text(address.controlToken),
      ],
      settings: [
        "webpush.vapid_key_file=\(keyFile)", "webpush.subject=\(subject)",
        "webpush.ca_file=\(address.authorityFile)", "webpush.connect_to=\(endpoint)",
      ], stop: { await simulator.stop().line })
  }

  /// The simulator gets no script.
  private static func testBrowsers(
    _ invocation: Invocation
  ) async throws(CommandFailure) -> [ConformanceResult] {
    try await CommandFailure.fromSimulator {
      var options = try BrowserSimulatorFlags.options(invocation)
      options.script = WebPushSimulatorScript()
      let simulator = WebPushSimulator(options: options, log: { _ in })
      let results: Result<[ConformanceResult], any Error>
      do {
        let address = try await simulator.start()
        guard let keyFile = address.vapidKeyFile else {
          throw CommandFailure(.usage, "--self-test signs with a key of its own: no --vapid-key")
        }
        let key = try CommandFile.read(keyFile, maximumBytes: 64 << 10)
        let run = try WebPushConformanceRun(
          simulator, address, vapidKey: key.text, nowSeconds: invocation.nowMilliseconds / 1_000)
        results = .success(try await run.results())
      } catch {
        results = .failure(error)
      }
      await simulator.stop()
      return try results.get()
    }
  }
}

/// The flags of the simulator of the browsers' push services alone.
enum BrowserSimulatorFlags {
  static let vapidKey = Option<String?>(
    "vapid-key", .path, value: "FILE",
    help: "webpush: The private key (PEM) of the VAPID pair that subscriptions by number are bound "
      + "to; by default it creates one")
  private static let endpointPort = Option(
    flag: "endpoint-port",
    help:
      "webpush: Name the port in the endpoints of subscriptions, for clients that connect where "
      + "an endpoint says")
  private static let http1Hosts = Option<[String]>(
    repeated: "http1-host", .text, value: "NAME",
    help: "webpush: A host that speaks HTTP/1.1 alone; by default "
      + WebPushSimulatorOptions.http1Host)
  private static let longestTTL = Option<Duration?>(
    "longest-ttl", .duration(in: .zero ... .seconds(366 * 86_400)),
    help: "webpush: Shorten longer TTLs to this one; by default 30 days")

  static let own: [any DeclaredOption] = [vapidKey, endpointPort, http1Hosts, longestTTL]

  static func options(_ invocation: Invocation) throws -> WebPushSimulatorOptions {
    var options = WebPushSimulatorOptions(directory: invocation[SimulatorFlags.directory])
    options.host = invocation[SimulatorFlags.host]
    options.port = invocation[SimulatorFlags.port]
    options.certificateHosts = SimulatorFlags.certificateHosts(
      invocation, usual: options.certificateHosts)
    if !invocation[http1Hosts].isEmpty { options.http1Hosts = invocation[http1Hosts] }
    if let path = invocation[vapidKey] {
      try options.bind(toKey: try CommandFile.read(path, maximumBytes: 64 << 10).text)
    } else {
      options.makesVAPIDKey = true
    }
    options.endpointsNamePort = invocation[endpointPort]
    options.streams = invocation[SimulatorFlags.streams] ?? options.streams
    if let longest = invocation[longestTTL] {
      options.longestTTLSeconds = Int(longest.components.seconds)
    }
    options.seed = UInt64(invocation[SimulatorFlags.seed])
    options.maximumConnections = invocation[SimulatorFlags.connections]
    options.idleTimeout = invocation[SimulatorFlags.idleTimeout] ?? options.idleTimeout
    options.script = try script(invocation)
    return options
  }

  private static func script(_ invocation: Invocation) throws -> WebPushSimulatorScript {
    var script = WebPushSimulatorScript()
    if let path = invocation[SimulatorFlags.script] {
      let file = try CommandFile.read(path, maximumBytes: WebPushSimulatorScript.maximumBytes)
      script = try WebPushSimulatorScript.parse(file.bytes)
    }
    let flags = try written(invocation)
    script.rules = flags.rules + script.rules
    if !flags.mix.isEmpty { script.mix = flags.mix }
    if let latency = invocation[SimulatorFlags.latency] { script.latency = latency }
    if let jitter = invocation[SimulatorFlags.jitter] { script.jitter = jitter }
    var faults = script.connections
    faults.goAwayAfter = invocation[SimulatorFlags.goAwayAfter] ?? faults.goAwayAfter
    faults.goAwayBehind = invocation[SimulatorFlags.goAwayBehind] ?? faults.goAwayBehind
    faults.dropAfter = invocation[SimulatorFlags.dropAfter] ?? faults.dropAfter
    faults.silentAfter = invocation[SimulatorFlags.silentAfter] ?? faults.silentAfter
    script.connections = faults
    return script
  }

  /// Answers and mix, written as the script writes them, so that both mean the same.
  private static func written(_ invocation: Invocation) throws -> WebPushSimulatorScript {
    let text = try SimulatorFlags.written(
      answers: invocation[SimulatorFlags.answers], mix: invocation[SimulatorFlags.mix])
    return try WebPushSimulatorScript.parse(Array(text.utf8))
  }
}
