import Terminal
import VerbSupport

/// The flags of the simulators of all platforms.
enum SimulatorFlags {
  static let platform = Option(
    "platform", .choice(), default: PlatformName.apns,
    help:
      "Whose push service it simulates: Apple's, Firebase Cloud Messaging for Android, or those "
      + "of the browsers")
  static let directory = Option(
    required: "directory", .path, value: "DIR",
    help: "The directory for certificate, authority and credentials; created if it does not exist")
  static let host = Option(
    "host", .text, default: "127.0.0.1", value: "ADDRESS", help: "The address to listen on")
  static let port = Option(
    "port", .integer(in: 0...65_535), default: 0,
    help: "The port to listen on; 0 means any free one")
  static let certificateHosts = Option<[String]>(
    repeated: "certificate-host", .text, value: "NAME",
    help: "A name or address in the certificate; by default localhost, 127.0.0.1 and ::1, with "
      + "webpush those of the services too"
  )
  static let streams = Option<Int?>(
    "streams", .integer(in: 0...1_000_000),
    help: "Streams allowed on a connection, with apns from its first valid provider token on; by "
      + "default 1,000 with apns, 100 with fcm and webpush")
  static let latency = Option<Duration?>(
    "latency", .duration(in: .zero ... .seconds(600)), help: "The delay of each answer")
  static let jitter = Option<Duration?>(
    "jitter", .duration(in: .zero ... .seconds(600)),
    help: "The largest random change of the latency, up or down")
  static let mix = Option<String?>(
    "mix", .text, value: "WHAT=SHARE,...",
    help: "Shares of valid requests to refuse: with apns each with a status, a reason, silence, "
      + "reset or drop, with fcm and webpush each with a fault")
  static let answers = Option<[String]>(
    repeated: "answer", .text, value: "PREFIX=ANSWER",
    help:
      "The answer to tokens, with webpush endpoints, that begin so: with apns a status, silence, "
      + "reset or drop, with fcm and webpush a status or a fault")
  static let script = Option<String?>(
    "script", .path, value: "FILE", help: "A JSON file with rules and faults; options override it")
  static let goAwayAfter = Option<Int?>(
    "goaway-after", .integer(in: 1 ... .max),
    help: "Send GOAWAY after this many requests on a connection")
  static let goAwayBehind = Option<Int?>(
    "goaway-behind", .integer(in: 0 ... .max),
    help: "Leave this many requests before that GOAWAY unanswered: they are above its last stream "
      + "id")
  static let dropAfter = Option<Int?>(
    "drop-after", .integer(in: 1 ... .max),
    help: "Close each connection at its Nth request")
  static let silentAfter = Option<Int?>(
    "silent-after", .integer(in: 1 ... .max),
    help: "Answer nothing on each connection from its Nth request on")
  static let seed = Option(
    "seed", .integer(in: 0 ... .max), default: 1,
    help:
      "The seed of the mix, the jitter and the ids of pushes, with webpush also of subscriptions "
      + "by number")
  static let connections = Option(
    "connections", .integer(in: 1...65_536), default: 1_024,
    help: "The largest number of open connections")
  static let idleTimeout = Option<Duration?>(
    "idle-timeout", .duration(in: .seconds(1) ... .seconds(86_400)),
    help: "Close a connection that sends nothing for this long; by default 2h with apns, 3m with "
      + "fcm and webpush")

  private static let shared: [any DeclaredOption] = [
    directory, platform, host, port, certificateHosts, streams, latency, jitter, mix, answers,
    script, goAwayAfter, goAwayBehind, dropAfter, silentAfter, seed, connections, idleTimeout,
  ]

  static var all: [any DeclaredOption] {
    shared + PlatformName.allCases.flatMap(\.platform.ownFlags)
  }

  /// The platform that was asked for. Options of another one are refused.
  static func platform(_ invocation: Invocation) throws(CommandFailure) -> SimulatedPlatform {
    let name = invocation[platform]
    for other in PlatformName.allCases where other != name {
      if let flag = other.platform.ownFlags.first(where: { invocation.isGiven($0) }) {
        throw CommandFailure(
          .usage, "--\(flag.declaration.name) is for --platform \(other.rawValue)")
      }
    }
    return name.platform
  }

  /// - Parameter usual: the names for which it is made by default.
  static func certificateHosts(_ invocation: Invocation, usual: [String]) -> [String] {
    let host = invocation[host]
    guard invocation[certificateHosts].isEmpty else { return invocation[certificateHosts] }
    return usual.contains(host) || host == "0.0.0.0" ? usual : usual + [host]
  }

  /// The two sides of `PREFIX=ANSWER`; a prefix may hold the sign too, as endpoints of WNS do.
  static func sides(of answer: String) -> (prefix: String, answer: String) {
    guard let sign = answer.lastIndex(of: "=") else { return (answer, "") }
    return (String(answer[..<sign]), String(answer[answer.index(after: sign)...]))
  }

  /// Answers and mix of platforms with named faults, as their scripts write them.
  static func written(answers: [String], mix shares: String?) throws(CommandFailure) -> String {
    let rules = answers.map { answer -> JSONOutput in
      let (prefix, what) = sides(of: answer)
      let step: JSONOutput =
        Int(what).map { ["status": .integer($0)] } ?? ["fault": .text(what)]
      return ["prefix": .text(prefix), "answers": .array([step])]
    }
    var mix = JSONObject()
    for share in (shares ?? "").split(separator: ",") {
      let (fault, probability) = sides(of: String(share))
      guard let number = Double(probability) else {
        throw CommandFailure(.usage, "\(share) is no share: write for example unavailable=0.01")
      }
      mix[fault] = .number(number, digits: 9)
    }
    return JSONOutput.object(["rules": .array(rules), "mix": .object(mix)]).serialized()
  }
}
