import JSON
import SimulatorSupport

extension SimulatorScript {
  /// Room for 100,000 tokens.
  package static let maximumBytes = 8 << 20

  /// Reads a script document. Every error names the member it is about.
  package static func parse(_ bytes: UnsafeRawBufferPointer) throws(SimulatorError)
    -> SimulatorScript
  {
    let value: JSONValue
    do {
      value = try JSONValue.parse(bytes, maximumBytes: SimulatorScript.maximumBytes)
    } catch {
      throw SimulatorError(.badScript, "the script is not JSON", cause: "\(error)")
    }
    return try ScriptReader.script(value)
  }
}

enum ScriptReader {
  static func script(_ value: JSONValue) throws(SimulatorError) -> SimulatorScript {
    var script = SimulatorScript()
    if let list = value.array {
      script.rules = try rules(list)
      return script
    }
    guard let object = value.object else {
      throw SimulatorError(.badScript, "the script must be an object or a list of rules")
    }
    for member in object.members {
      try read(member, into: &script)
    }
    return script
  }

  private static func read(
    _ member: JSONObject.Member, into script: inout SimulatorScript
  ) throws(SimulatorError) {
    let name = member.name
    let value = member.value
    switch name {
    case "rules":
      guard let list = value.array else { throw ScriptValues.wrong(name, "a list") }
      script.rules = try rules(list)
    case "mix":
      guard let object = value.object else { throw ScriptValues.wrong(name, "an object") }
      for share in object.members {
        guard let probability = ScriptValues.number(share.value) else {
          throw ScriptValues.wrong("mix.\(share.name)", "a number")
        }
        script.mix.append(try SimulatorScript.share(share.name, probability))
      }
      try script.mix.check()
    case "latency_ms": script.latency = try ScriptValues.milliseconds(name, value)
    case "jitter_ms": script.jitter = try ScriptValues.milliseconds(name, value)
    case "streams": script.streams = try ScriptValues.count(name, value, from: 0)
    case "rate": script.rate = try ScriptValues.count(name, value, from: 1)
    case "goaway_after": script.goAwayAfter = try ScriptValues.count(name, value, from: 1)
    case "goaway_behind": script.goAwayBehind = try ScriptValues.count(name, value, from: 0)
    case "goaway_code":
      script.goAwayCode = UInt32(clamping: try ScriptValues.count(name, value, from: 0))
    case "drop_after": script.dropAfter = try ScriptValues.count(name, value, from: 1)
    case "silent_after": script.silentAfter = try ScriptValues.count(name, value, from: 1)
    case "cut_after": script.cutAfter = try ScriptValues.count(name, value, from: 1)
    case "end_after": script.endAfter = try ScriptValues.count(name, value, from: 1)
    case "half_close_after": script.halfCloseAfter = try ScriptValues.count(name, value, from: 1)
    case "attack":
      guard let attack = value.string.flatMap(Attack.init) else {
        throw ScriptValues.wrong(
          name, "one of " + Attack.allCases.map(\.rawValue).joined(separator: ", "))
      }
      script.attack = attack
    case "attack_after": script.attackAfter = try ScriptValues.count(name, value, from: 1)
    case "window":
      script.window = try ScriptValues.count(name, value, from: 0, to: Int64(Int32.max))
    case "slice_bytes": script.sliceBytes = try ScriptValues.count(name, value, from: 1)
    default: throw SimulatorError(.badScript, "\(name) is no member of a script")
    }
  }

  private static func rules(
    _ list: [JSONValue]
  ) throws(SimulatorError) -> [SimulatorScript.Rule] {
    var rules: [SimulatorScript.Rule] = []
    for (index, value) in list.enumerated() {
      rules.append(try rule(value, "rules[\(index)]"))
    }
    return rules
  }

  private static func rule(
    _ value: JSONValue, _ place: String
  ) throws(SimulatorError) -> SimulatorScript.Rule {
    guard let object = value.object else { throw ScriptValues.wrong(place, "an object") }
    var rule = SimulatorScript.Rule()
    for member in object.members {
      let name = "\(place).\(member.name)"
      switch member.name {
      case "tokens":
        guard let list = member.value.array else {
          throw ScriptValues.wrong(name, "a list of tokens")
        }
        for token in list { rule.tokens.append(try hex(token, name)) }
      case "prefix": rule.prefix = try hex(member.value, name)
      case "topic":
        guard let topic = member.value.string else { throw ScriptValues.wrong(name, "a string") }
        rule.topic = topic
      case "answers":
        guard let list = member.value.array else { throw ScriptValues.wrong(name, "a list") }
        for (index, answer) in list.enumerated() {
          rule.steps.append(try step(answer, "\(name)[\(index)]"))
        }
      default: throw SimulatorError(.badScript, "\(name) is no member of a rule")
      }
    }
    guard rule.tokens.isEmpty != rule.prefix.isEmpty else {
      throw SimulatorError(.badScript, "\(place) needs either tokens or a prefix")
    }
    guard !rule.steps.isEmpty || rule.topic != nil else {
      throw SimulatorError(.badScript, "\(place) needs answers or a topic")
    }
    return rule
  }

  private static func step(
    _ value: JSONValue, _ place: String
  ) throws(SimulatorError) -> SimulatorScript.Step {
    let known = [
      "status", "reason", "timestamp", "retry_after", "body", "times", "reset", "silence", "drop",
    ]
    let object = try ScriptValues.object(value, place, known: known, what: "an answer")
    let times = try ScriptValues.times(object, place)
    return SimulatorScript.Step(try answer(object, place), times: times)
  }

  private static func answer(
    _ object: JSONObject, _ place: String
  ) throws(SimulatorError) -> SimulatedAnswer {
    if object["silence"]?.bool == true { return .silence }
    if object["drop"]?.bool == true { return .drop }
    if let code = object["reset"] {
      return .reset(UInt32(clamping: try ScriptValues.count("\(place).reset", code, from: 0)))
    }
    guard let status = object["status"]?.integer, status >= 200, status <= 599 else {
      throw ScriptValues.wrong("\(place).status", "a number between 200 and 599")
    }
    if status == 200 { return .accept }
    var refusal: Refusal
    if let reason = object["reason"] {
      guard let text = reason.string else {
        throw ScriptValues.wrong("\(place).reason", "a string")
      }
      refusal = Refusal(status: Int(status), reason: text)
      if status == 410 { refusal.timestamp = .now }
    } else if let usual = AppleReason.usual(for: Int(status)) {
      refusal = Refusal(usual)
    } else {
      throw SimulatorError(.badScript, "\(place).reason is needed with status \(status)")
    }
    if let value = object["timestamp"] {
      guard let time = value.integer else {
        throw ScriptValues.wrong("\(place).timestamp", "milliseconds")
      }
      refusal.timestamp = .fixed(time)
    }
    if let value = object["retry_after"] {
      refusal.retryAfter = try ScriptValues.count("\(place).retry_after", value, from: 0)
    }
    if let value = object["body"] {
      guard let text = value.string else { throw ScriptValues.wrong("\(place).body", "a string") }
      refusal.body = text
    }
    return .refuse(refusal)
  }

  // MARK: Values

  private static func hex(_ value: JSONValue, _ place: String) throws(SimulatorError) -> String {
    let isHex = value.string.map { text in
      !text.isEmpty && text.utf8.count <= RequestRecord.maximumTokenDigits
        && text.utf8.allSatisfy { RequestRules.lowerHex($0) != 0 }
    }
    guard let text = value.string, isHex == true else {
      throw ScriptValues.wrong(place, "hex digits")
    }
    return text.lowercased()
  }
}
