import JSON
import SimulatorSupport

/// How the simulator misbehaves, as a document:
///
///     {"rules": [{"endpoints": ["https://…"], "answers": [{"fault": "too_many", "times": 1}]},
///                {"prefix": "https://web.push.apple.com/", "answers": [{"fault": "unavailable"}]},
///                {"prefix": "https://", "answers": [{"fault": "gone", "times": 1}]},
///                {"prefix": "https://a", "answers": [{"status": 418, "body": "?"}]}],
///      "mix": {"gone": 0.01, "silence": 0.001}, "latency_ms": 120, "jitter_ms": 30,
///      "slow_ms": 5000, "streams": 100, "goaway_after": 1000, "goaway_behind": 10,
///      "drop_after": 5000, "silent_after": 800}
///
/// All members are optional. Names of faults are those of `WebPushFault`. An answer is given
/// `times` times to each subscription or, without, for ever; behind the last one requests are
/// accepted. `retry_after` of an answer, in seconds, is instead of what is usual for the service.
package struct WebPushSimulatorScript: Sendable, Equatable {
  package typealias Step = ScriptStep<WebPushAnswer>
  package typealias Share = ScriptShare<WebPushFault>
  /// Its tokens are whole endpoints, and its prefix is an endpoint's.
  package typealias Rule = ScriptRule<WebPushAnswer>

  package var rules: [Rule] = []
  package var mix: [Share] = []
  package var latency: Duration = .zero
  /// Each answer waits `latency` ± an even share of this.
  package var jitter: Duration = .zero
  /// How much longer the answers of `WebPushFault.slow` wait.
  package var slowness: Duration = .seconds(5)
  /// MAX_CONCURRENT_STREAMS, over the one in the options.
  package var streams: Int?
  package var connections = ConnectionFaults()

  package init() {}

  /// Enough for 50,000 endpoints.
  package static let maximumBytes = 16 << 20

  /// Reads a script document. Every error names the member it is about.
  package static func parse(_ bytes: [UInt8]) throws(SimulatorError) -> WebPushSimulatorScript {
    let value: JSONValue
    do {
      value = try JSONValue.parse(bytes, maximumBytes: maximumBytes)
    } catch {
      throw SimulatorError(.badScript, "the script is not JSON", cause: "\(error)")
    }
    return try ScriptReader.script(value)
  }
}

/// Reads the members of a script.
private enum ScriptReader {
  static func script(_ value: JSONValue) throws(SimulatorError) -> WebPushSimulatorScript {
    guard let object = value.object else {
      throw SimulatorError(.badScript, "the script must be an object")
    }
    var script = WebPushSimulatorScript()
    for member in object.members { try read(member, into: &script) }
    return script
  }

  private static func read(
    _ member: JSONObject.Member, into script: inout WebPushSimulatorScript
  ) throws(SimulatorError) {
    let name = member.name
    let value = member.value
    switch name {
    case "rules":
      for (index, rule) in try ScriptValues.list(name, value).enumerated() {
        script.rules.append(
          try .init(rule, "rules[\(index)]", tokensName: "endpoints", step: step))
      }
    case "mix": script.mix = try ScriptValues.mix(value)
    case "latency_ms": script.latency = try ScriptValues.milliseconds(name, value)
    case "jitter_ms": script.jitter = try ScriptValues.milliseconds(name, value)
    case "slow_ms": script.slowness = try ScriptValues.milliseconds(name, value)
    case "streams": script.streams = try count(name, value, from: 0)
    case "goaway_after": script.connections.goAwayAfter = try count(name, value, from: 1)
    case "goaway_behind": script.connections.goAwayBehind = try count(name, value, from: 0)
    case "drop_after": script.connections.dropAfter = try count(name, value, from: 1)
    case "silent_after": script.connections.silentAfter = try count(name, value, from: 1)
    default: throw SimulatorError(.badScript, "\(name) is no member of a script")
    }
  }

  private static func step(
    _ value: JSONValue, _ place: String
  ) throws(SimulatorError) -> WebPushSimulatorScript.Step {
    let known = ["fault", "status", "body", "retry_after", "times"]
    let object = try ScriptValues.object(value, place, known: known, what: "an answer")
    let times = try ScriptValues.times(object, place)
    var retryAfter: Int?
    if let value = object["retry_after"] {
      retryAfter = try count("\(place).retry_after", value, from: 0)
    }
    if let name = object["fault"] {
      let fault: WebPushFault = try ScriptValues.fault(name, "\(place).fault")
      guard let retryAfter, var refusal = fault.refusal else {
        return .init(WebPushAnswer(fault), times: times)
      }
      refusal.retryAfter = retryAfter
      return .init(.refuse(refusal), times: times)
    }
    guard let status = object["status"]?.integer, (300...599).contains(status) else {
      throw ScriptValues.wrong("\(place).status", "a number between 300 and 599, or name a fault")
    }
    var answer = ServiceAnswer(
      status: Int(status), type: "text/plain", body: object["body"]?.string ?? "")
    if let retryAfter { answer.add("retry-after", String(retryAfter)) }
    return .init(.respond(answer), times: times)
  }

  private static func count(
    _ name: String, _ value: JSONValue, from least: Int
  ) throws(SimulatorError) -> Int {
    try ScriptValues.count(name, value, from: least, to: Int64(Int32.max))
  }
}
