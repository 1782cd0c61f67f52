import APNsSimulator
import SimulatorSupport
import Terminal
import VerbSupport

/// Everything that the simulator can be told, as flags.
enum SimulatorFlags {
  private static let directory = Option(
    required: "directory", .path, value: "DIR",
    help: "The directory for certificate, authority and key; created if it does not exist")
  private static let host = Option(
    "host", .text, default: "127.0.0.1", value: "ADDRESS", help: "The address to listen on")
  private static let port = Option(
    "port", .integer(in: 0...65_535), default: 0,
    help: "The port to listen on; 0 means any free one")
  private static let binaryPort = Option<Int?>(
    "binary-port", .integer(in: 0...65_535),
    help: "Legacy: also serve the binary interface on this port; 0 means any free one")
  private static let feedbackPort = Option<Int?>(
    "feedback-port", .integer(in: 0...65_535),
    help: "Legacy: also serve the binary interface's feedback service on this port; 0 means any "
      + "free one")
  private static let certificateHosts = Option<[String]>(
    repeated: "certificate-host", .text, value: "NAME",
    help: "A name or address in the certificate; by default localhost, 127.0.0.1 and ::1"
  )
  private static let teamID = Option<String?>(
    "team-id", .text, value: "ID", help: "The team id of --public-key")
  private static let keyID = Option<String?>(
    "key-id", .text, value: "ID", help: "The key id of --public-key")
  private static let publicKey = Option<String?>(
    "public-key", .path, value: "FILE",
    help: "The public key (PEM) that verifies provider tokens")
  private static let noProviderToken = Option(
    flag: "no-provider-token",
    help: "Ignore provider tokens, as Apple does on connections with a client certificate")
  private static let topics = Option<[String]>(
    repeated: "topic", .text, value: "BUNDLE",
    help: "The bundle id of an app that may get pushes; by default any app")
  private static let firstStreams = Option(
    "first-streams", .integer(in: 0...1_000_000), default: 1,
    help: "Streams allowed on a connection until its first valid provider token")
  private static let streams = Option(
    "streams", .integer(in: 0...1_000_000), default: 1_000, help: "Streams allowed after that")
  private static let development = Option(
    flag: "development", help: "Answer as the sandbox does, with apns-unique-id")
  private static let latency = Option<Duration?>(
    "latency", .duration(in: .zero ... .seconds(600)), help: "The delay of each answer")
  private static let jitter = Option<Duration?>(
    "jitter", .duration(in: .zero ... .seconds(600)),
    help: "The largest random change of the latency, up or down")
  private static let mix = Option<String?>(
    "mix", .text, value: "WHAT=SHARE,...",
    help: "Shares of valid requests to refuse, each with a status, a reason, silence, reset or "
      + "drop")
  private static let answers = Option<[String]>(
    repeated: "answer", .text, value: "PREFIX=STATUS",
    help: "The answer to tokens that begin with these hex digits: a status, silence, reset or drop")
  private static let script = Option<String?>(
    "script", .path, value: "FILE", help: "A JSON file with rules and faults; options override it")
  private static let goAwayAfter = Option<Int?>(
    "goaway-after", .integer(in: 1 ... .max),
    help: "Send GOAWAY after this many requests on a connection")
  private static let goAwayBehind = Option<Int?>(
    "goaway-behind", .integer(in: 0 ... .max),
    help: "Leave this many requests before that GOAWAY unanswered: they are above its last stream "
      + "id")
  private static let dropAfter = Option<Int?>(
    "drop-after", .integer(in: 1 ... .max),
    help: "Close each connection at its Nth request")
  private static let silentAfter = Option<Int?>(
    "silent-after", .integer(in: 1 ... .max),
    help: "Answer nothing on each connection from its Nth request on")
  private static let cutAfter = Option<Int?>(
    "cut-after", .integer(in: 1 ... .max),
    help: "Halve a connection's stream limit after every N errors")
  private static let endAfter = Option<Int?>(
    "end-after", .integer(in: 1 ... .max),
    help: "Send GOAWAY after this many errors on a connection")
  private static let seed = Option(
    "seed", .integer(in: 0 ... .max), default: 1,
    help: "The seed of the mix, the jitter and the apns-ids")
  private static let connections = Option(
    "connections", .integer(in: 1...65_536), default: 1_024,
    help: "The largest number of open connections")
  private static let idleTimeout = Option(
    "idle-timeout", .duration(in: .seconds(1) ... .seconds(86_400)), default: .seconds(7_200),
    help: "Close a connection that sends nothing for this long")

  static let all: [any DeclaredOption] = [
    directory, host, port, binaryPort, feedbackPort, certificateHosts, teamID, keyID, publicKey,
    noProviderToken, topics, firstStreams, streams, development, latency, jitter, mix, answers,
    script, goAwayAfter, goAwayBehind, dropAfter, silentAfter, cutAfter, endAfter, seed,
    connections, idleTimeout,
  ]

  static func options(
    _ invocation: Invocation
  ) throws(CommandFailure) -> APNsSimulatorOptions {
    var options = APNsSimulatorOptions(directory: invocation[directory])
    options.host = invocation[host]
    options.port = invocation[port]
    options.binaryPort = invocation[binaryPort]
    options.feedbackPort = invocation[feedbackPort]
    if !invocation[certificateHosts].isEmpty {
      options.certificateHosts = invocation[certificateHosts]
    } else if !options.certificateHosts.contains(options.host) && options.host != "0.0.0.0" {
      options.certificateHosts.append(options.host)
    }
    options.requiresProviderToken = !invocation[noProviderToken]
    options.topics = invocation[topics]
    options.firstStreams = invocation[firstStreams]
    options.streams = invocation[streams]
    options.isDevelopment = invocation[development]
    options.seed = UInt64(invocation[seed])
    options.maximumConnections = invocation[connections]
    options.idleTimeout = invocation[idleTimeout]
    options.providerKeys = try providerKeys(invocation)
    do {
      options.script = try scriptOptions(invocation)
    } catch let error as SimulatorError {
      throw CommandFailure(.usage, error.description)
    } catch let error as CommandFailure {
      throw error
    } catch {
      throw CommandFailure(.failed, "\(error)")
    }
    return options
  }

  private static func scriptOptions(_ invocation: Invocation) throws -> SimulatorScript {
    var script = SimulatorScript()
    if let path = invocation[Self.script] {
      let file = try CommandFile.read(path, maximumBytes: SimulatorScript.maximumBytes)
      script = try file.bytes.withUnsafeBytes { try SimulatorScript.parse($0) }
    }
    script.rules = try rules(invocation[answers]) + script.rules
    if let mix = invocation[mix] { script.mix = try SimulatorScript.mix(mix) }
    if let latency = invocation[latency] { script.latency = latency }
    if let jitter = invocation[jitter] { script.jitter = jitter }
    script.goAwayAfter = invocation[goAwayAfter] ?? script.goAwayAfter
    script.goAwayBehind = invocation[goAwayBehind] ?? script.goAwayBehind
    script.dropAfter = invocation[dropAfter] ?? script.dropAfter
    script.silentAfter = invocation[silentAfter] ?? script.silentAfter
    script.cutAfter = invocation[cutAfter] ?? script.cutAfter
    script.endAfter = invocation[endAfter] ?? script.endAfter
    return script
  }

  /// Written as the script writes them, so that both mean the same.
  private static func rules(_ answers: [String]) throws -> [SimulatorScript.Rule] {
    guard !answers.isEmpty else { return [] }
    let rules = answers.map { answer -> JSONOutput in
      let sides = answer.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let what = sides.count == 2 ? String(sides[1]) : ""
      let step: JSONOutput =
        switch what {
        case "silence": ["silence": true]
        case "drop": ["drop": true]
        case "reset": ["reset": 7]
        default: ["status": Int(what).map { .integer($0) } ?? .text(what)]
        }
      return ["prefix": .text(String(sides[0])), "answers": .array([step])]
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
