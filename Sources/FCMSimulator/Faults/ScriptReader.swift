import JSON
import SimulatorSupport

/// Reads the members of a script.
enum ScriptReader {
  static func script(_ value: JSONValue) throws(SimulatorError) -> FCMSimulatorScript {
    guard let object = value.object else {
      throw SimulatorError(.badScript, "the script must be an object")
    }
    var script = FCMSimulatorScript()
    for member in object.members { try read(member, into: &script) }
    return script
  }

  private static func read(
    _ member: JSONObject.Member, into script: inout FCMSimulatorScript
  ) throws(SimulatorError) {
    let name = member.name
    let value = member.value
    switch name {
    case "rules":
      for (index, rule) in try ScriptValues.list(name, value).enumerated() {
        script.rules.append(try .init(rule, "rules[\(index)]", step: step))
      }
    case "mix": script.mix = try ScriptValues.mix(value)
    case "latency_ms": script.latency = try ScriptValues.milliseconds(name, value)
    case "jitter_ms": script.jitter = try ScriptValues.milliseconds(name, value)
    case "streams": script.streams = try count(name, value, from: 0)
    case "quota_per_minute": script.quotaPerMinute = try count(name, value, from: 1)
    case "access_token_seconds": script.accessTokenSeconds = try count(name, value, from: 1)
    case "expired_access_tokens":
      for number in try ScriptValues.list(name, value) {
        script.expiredAccessTokens.insert(try count(name, number, from: 1))
      }
    case "token_answers":
      for (index, answer) in try ScriptValues.list(name, value).enumerated() {
        script.tokenAnswers.append(try tokenStep(answer, "token_answers[\(index)]"))
      }
    case "goaway_after": script.goAwayAfter = try count(name, value, from: 1)
    case "goaway_behind": script.goAwayBehind = try count(name, value, from: 0)
    case "drop_after": script.dropAfter = try count(name, value, from: 1)
    case "silent_after": script.silentAfter = try count(name, value, from: 1)
    default: throw SimulatorError(.badScript, "\(name) is no member of a script")
    }
  }

  private static func step(
    _ value: JSONValue, _ place: String
  ) throws(SimulatorError) -> ScriptStep<FCMAnswer> {
    let known = ["fault", "status", "body", "retry_after", "times"]
    let object = try ScriptValues.object(value, place, known: known, what: "an answer")
    let times = try ScriptValues.times(object, place)
    var retryAfter: Int?
    if let value = object["retry_after"] {
      retryAfter = try count("\(place).retry_after", value, from: 0)
    }
    var answer: FCMAnswer
    if let name = object["fault"] {
      let fault: FCMFault = try ScriptValues.fault(name, "\(place).fault")
      answer = FCMAnswer(fault)
      if let retryAfter, case .refuse(var refusal) = answer {
        refusal.retryAfter = fault == .unavailableDate ? .date(retryAfter) : .seconds(retryAfter)
        answer = .refuse(refusal)
      }
    } else {
      guard let status = object["status"]?.integer, (300...599).contains(status) else {
        throw ScriptValues.wrong("\(place).status", "a number between 300 and 599, or name a fault")
      }
      answer = .refuse(
        FCMRefusal(
          Int(status), "", "", retryAfter: retryAfter.map { .seconds($0) },
          body: object["body"]?.string ?? ""))
    }
    return .init(answer, times: times)
  }

  private static func tokenStep(
    _ value: JSONValue, _ place: String
  ) throws(SimulatorError) -> ScriptStep<OAuthFault> {
    let object = try ScriptValues.object(
      value, place, known: ["fault", "times"], what: "an answer")
    let fault: OAuthFault = try ScriptValues.fault(object["fault"] ?? .null, "\(place).fault")
    return .init(fault, times: try ScriptValues.times(object, place))
  }

  // MARK: Values

  private static func count(
    _ name: String, _ value: JSONValue, from least: Int
  ) throws(SimulatorError) -> Int {
    try ScriptValues.count(name, value, from: least, to: Int64(Int32.max))
  }
}
