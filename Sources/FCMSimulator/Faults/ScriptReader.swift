import JSON

/// Reads the members of a script.
enum ScriptReader {
  static func script(_ value: JSONValue) throws(FCMSimulatorError) -> FCMSimulatorScript {
    guard let object = value.object else {
      throw FCMSimulatorError(.badScript, "the script must be an object")
    }
    var script = FCMSimulatorScript()
    for member in object.members { try read(member, into: &script) }
    return script
  }

  private static func read(
    _ member: JSONObject.Member, into script: inout FCMSimulatorScript
  ) throws(FCMSimulatorError) {
    let name = member.name
    let value = member.value
    switch name {
    case "rules":
      for (index, rule) in try list(name, value).enumerated() {
        script.rules.append(try self.rule(rule, "rules[\(index)]"))
      }
    case "mix": script.mix = try mix(value)
    case "latency_ms": script.latency = try milliseconds(name, value)
    case "jitter_ms": script.jitter = try milliseconds(name, value)
    case "streams": script.streams = try count(name, value, from: 0)
    case "quota_per_minute": script.quotaPerMinute = try count(name, value, from: 1)
    case "access_token_seconds": script.accessTokenSeconds = try count(name, value, from: 1)
    case "expired_access_tokens":
      for number in try list(name, value) {
        script.expiredAccessTokens.insert(try count(name, number, from: 1))
      }
    case "token_answers":
      for (index, answer) in try list(name, value).enumerated() {
        script.tokenAnswers.append(try tokenStep(answer, "token_answers[\(index)]"))
      }
    case "goaway_after": script.goAwayAfter = try count(name, value, from: 1)
    case "goaway_behind": script.goAwayBehind = try count(name, value, from: 0)
    case "drop_after": script.dropAfter = try count(name, value, from: 1)
    case "silent_after": script.silentAfter = try count(name, value, from: 1)
    default: throw FCMSimulatorError(.badScript, "\(name) is no member of a script")
    }
  }

  private static func mix(
    _ value: JSONValue
  ) throws(FCMSimulatorError) -> [FCMSimulatorScript.Share] {
    guard let object = value.object else { throw wrong("mix", "an object") }
    var shares: [FCMSimulatorScript.Share] = []
    for member in object.members {
      let place = "mix.\(member.name)"
      guard let probability = number(member.value), (0...1).contains(probability) else {
        throw wrong(place, "a number between 0 and 1")
      }
      shares.append(.init(try fault(.string(member.name), place), probability: probability))
    }
    guard shares.reduce(0, { $0 + $1.probability }) <= 1 else {
      throw FCMSimulatorError(.badScript, "mix: the shares add up to more than 1")
    }
    return shares
  }

  private static func rule(
    _ value: JSONValue, _ place: String
  ) throws(FCMSimulatorError) -> FCMSimulatorScript.Rule {
    guard let object = value.object else { throw wrong(place, "an object") }
    var rule = FCMSimulatorScript.Rule(steps: [])
    for member in object.members {
      let name = "\(place).\(member.name)"
      switch member.name {
      case "tokens":
        for token in try list(name, member.value) { rule.tokens.append(try text(token, name)) }
      case "prefix": rule.prefix = try text(member.value, name)
      case "answers":
        for (index, answer) in try list(name, member.value).enumerated() {
          rule.steps.append(try step(answer, "\(name)[\(index)]"))
        }
      default: throw FCMSimulatorError(.badScript, "\(name) is no member of a rule")
      }
    }
    guard rule.tokens.isEmpty != rule.prefix.isEmpty else {
      throw FCMSimulatorError(.badScript, "\(place) needs either tokens or a prefix")
    }
    guard !rule.steps.isEmpty else {
      throw FCMSimulatorError(.badScript, "\(place) needs answers")
    }
    return rule
  }

  private static func step(
    _ value: JSONValue, _ place: String
  ) throws(FCMSimulatorError) -> FCMSimulatorScript.Step<FCMAnswer> {
    let object = try object(value, place, ["fault", "status", "body", "retry_after", "times"])
    let times = try times(object, place)
    var retryAfter: Int?
    if let value = object["retry_after"] {
      retryAfter = try count("\(place).retry_after", value, from: 0)
    }
    var answer: FCMAnswer
    if let name = object["fault"] {
      let fault = try fault(name, "\(place).fault")
      answer = FCMAnswer(fault)
      if let retryAfter, case .refuse(var refusal) = answer {
        refusal.retryAfter = fault == .unavailableDate ? .date(retryAfter) : .seconds(retryAfter)
        answer = .refuse(refusal)
      }
    } else {
      guard let status = object["status"]?.integer, (300...599).contains(status) else {
        throw wrong("\(place).status", "a number between 300 and 599, or name a fault")
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
  ) throws(FCMSimulatorError) -> FCMSimulatorScript.Step<OAuthFault> {
    let object = try object(value, place, ["fault", "times"])
    guard let fault = object["fault"]?.string.flatMap(OAuthFault.init) else {
      let known = OAuthFault.allCases.map(\.rawValue).joined(separator: ", ")
      throw wrong("\(place).fault", "one of \(known)")
    }
    return .init(fault, times: try times(object, place))
  }

  // MARK: Values

  private static func object(
    _ value: JSONValue, _ place: String, _ known: [String]
  ) throws(FCMSimulatorError) -> JSONObject {
    guard let object = value.object else { throw wrong(place, "an object") }
    for member in object.members where !known.contains(member.name) {
      throw FCMSimulatorError(.badScript, "\(place).\(member.name) is no member of an answer")
    }
    return object
  }

  private static func times(_ object: JSONObject, _ place: String) throws(FCMSimulatorError) -> Int?
  {
    guard let value = object["times"] else { return nil }
    return try count("\(place).times", value, from: 1)
  }

  private static func fault(
    _ value: JSONValue, _ place: String
  ) throws(FCMSimulatorError) -> FCMFault {
    guard let fault = value.string.flatMap(FCMFault.init) else {
      let known = FCMFault.allCases.map(\.rawValue).joined(separator: ", ")
      throw wrong(place, "one of \(known)")
    }
    return fault
  }

  private static func list(
    _ name: String, _ value: JSONValue
  ) throws(FCMSimulatorError) -> [JSONValue] {
    guard let list = value.array else { throw wrong(name, "a list") }
    return list
  }

  private static func text(_ value: JSONValue, _ place: String) throws(FCMSimulatorError) -> String
  {
    guard let text = value.string, !text.isEmpty else { throw wrong(place, "text") }
    return text
  }

  private static func number(_ value: JSONValue) -> Double? {
    switch value {
    case .integer(let number): Double(number)
    case .double(let number): number
    default: nil
    }
  }

  private static func milliseconds(
    _ name: String, _ value: JSONValue
  ) throws(FCMSimulatorError) -> Duration {
    guard let number = number(value), number >= 0, number <= 3_600_000 else {
      throw wrong(name, "milliseconds between 0 and an hour")
    }
    return .microseconds(Int64(number * 1000))
  }

  private static func count(
    _ name: String, _ value: JSONValue, from least: Int
  ) throws(FCMSimulatorError) -> Int {
    guard let number = value.integer, number >= least, number <= Int64(Int32.max) else {
      throw wrong(name, "a whole number from \(least)")
    }
    return Int(number)
  }

  private static func wrong(_ place: String, _ wanted: String) -> FCMSimulatorError {
    FCMSimulatorError(.badScript, "\(place) must be \(wanted)")
  }
}
