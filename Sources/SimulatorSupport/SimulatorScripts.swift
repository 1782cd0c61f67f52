import EventLoop
import JSON
import Text

/// An answer of a script's rule, for so many tries.
package struct ScriptStep<Answer: Sendable & Equatable>: Sendable, Equatable {
  package var answer: Answer
  /// Nil: for ever.
  package var times: Int?

  package init(_ answer: Answer, times: Int? = nil) {
    self.answer = answer
    self.times = times
  }
}

extension Array {
  /// The answer to try number `tries` (0: the first), nil when there is none.
  package func answer<Answer>(tries: Int) -> Answer? where Element == ScriptStep<Answer> {
    var before = tries
    for step in self {
      guard let times = step.times, before >= times else { return step.answer }
      before -= times
    }
    return nil
  }
}

/// A part of all requests that no token and no rule decided.
package struct ScriptShare<Answer: Sendable & Equatable>: Sendable, Equatable {
  package var answer: Answer
  /// 0…1.
  package var probability: Double

  package init(_ answer: Answer, probability: Double) {
    self.answer = answer
    self.probability = probability
  }
}

extension Array {
  package func check<Answer>() throws(SimulatorError) where Element == ScriptShare<Answer> {
    guard reduce(0, { $0 + $1.probability }) <= 1 else {
      throw SimulatorError(.badScript, "mix: the shares add up to more than 1")
    }
  }

  /// The answer to the next request, nil where it is none of these.
  package func draw<Answer>(_ random: inout SplitMix64) -> Answer?
  where Element == ScriptShare<Answer> {
    guard !isEmpty else { return nil }
    var draw = Double(random.next() >> 11) * 0x1p-53
    for share in self {
      if draw < share.probability { return share.answer }
      draw -= share.probability
    }
    return nil
  }
}

/// The answers that a script gives to some tokens.
package struct ScriptRule<Answer: Sendable & Equatable>: Sendable, Equatable {
  /// Tokens or, when empty, every token with `prefix`.
  package var tokens: [String]
  package var prefix: String
  package var steps: [ScriptStep<Answer>]

  package init(tokens: [String] = [], prefix: String = "", steps: [ScriptStep<Answer>]) {
    self.tokens = tokens
    self.prefix = prefix
    self.steps = steps
  }

  /// Reads a rule of a script.
  /// - Parameters:
  ///   - tokensName: the member that lists the tokens.
  ///   - step: reads one of its answers.
  package init(
    _ value: JSONValue, _ place: String, tokensName: String = "tokens",
    step: (JSONValue, String) throws(SimulatorError) -> ScriptStep<Answer>
  ) throws(SimulatorError) {
    self.init(steps: [])
    let known = [tokensName, "prefix", "answers"]
    let object = try ScriptValues.object(value, place, known: known, what: "a rule")
    for member in object.members {
      let name = "\(place).\(member.name)"
      switch member.name {
      case "prefix": prefix = try ScriptValues.text(member.value, name)
      case "answers":
        for (index, answer) in try ScriptValues.list(name, member.value).enumerated() {
          steps.append(try step(answer, "\(name)[\(index)]"))
        }
      default:
        for token in try ScriptValues.list(name, member.value) {
          tokens.append(try ScriptValues.text(token, name))
        }
      }
    }
    guard tokens.isEmpty != prefix.isEmpty else {
      throw SimulatorError(.badScript, "\(place) needs either \(tokensName) or a prefix")
    }
    guard !steps.isEmpty else { throw SimulatorError(.badScript, "\(place) needs answers") }
  }
}

/// Which rule of a script holds for a token.
package struct ScriptRules: Sendable {
  private var byToken: [[UInt8]: Int] = [:]
  private var prefixes: [(prefix: [UInt8], rule: Int)] = []

  /// - Parameter rules: of each its tokens or, where it has none, the beginning of its tokens.
  package init(_ rules: [(tokens: [String], prefix: String)]) {
    for (index, rule) in rules.enumerated() {
      if rule.tokens.isEmpty { prefixes.append((Array(rule.prefix.utf8), index)) }
      // Of several rules for a token the first one holds.
      for token in rule.tokens {
        let key = Array(token.utf8)
        if byToken[key] == nil { byToken[key] = index }
      }
    }
  }

  /// The index of the rule; nil: none holds.
  package func rule(for token: [UInt8]) -> Int? {
    byToken[token] ?? prefixes.first { token.starts(with: $0.prefix) }?.rule
  }
}

extension SplitMix64 {
  /// How long an answer waits, in nanoseconds: `latency`, and up to `jitter` less or more.
  package mutating func delay(latency: Duration, jitter: Duration) -> UInt64 {
    let (latency, jitter) = (latency.nanoseconds, jitter.nanoseconds)
    guard jitter > 0 else { return latency }
    let shifted = latency &+ next() % (2 * jitter + 1)
    return shifted > jitter ? shifted - jitter : 0
  }
}
