import JSON

/// The values of a script's members. Every error names the member it is about.
package enum ScriptValues {
  /// - Parameters:
  ///   - known: the members that it may have.
  ///   - what: it is, for the error.
  package static func object(
    _ value: JSONValue, _ place: String, known: [String], what: String
  ) throws(SimulatorError) -> JSONObject {
    guard let object = value.object else { throw wrong(place, "an object") }
    for member in object.members where !known.contains(member.name) {
      throw SimulatorError(.badScript, "\(place).\(member.name) is no member of \(what)")
    }
    return object
  }

  package static func number(_ value: JSONValue) -> Double? {
    switch value {
    case .integer(let number): Double(number)
    case .double(let number): number
    default: nil
    }
  }

  package static func milliseconds(
    _ name: String, _ value: JSONValue
  ) throws(SimulatorError) -> Duration {
    guard let number = number(value), number >= 0, number <= 3_600_000 else {
      throw wrong(name, "milliseconds between 0 and an hour")
    }
    return .microseconds(Int64(number * 1000))
  }

  package static func count(
    _ name: String, _ value: JSONValue, from least: Int, to most: Int64 = Int64(UInt32.max)
  ) throws(SimulatorError) -> Int {
    guard let number = value.integer, number >= least, number <= most else {
      throw wrong(name, "a whole number from \(least)")
    }
    return Int(number)
  }

  /// How often an answer is given; nil: for ever.
  package static func times(
    _ answer: JSONObject, _ place: String
  ) throws(SimulatorError) -> Int? {
    guard let value = answer["times"] else { return nil }
    return try count("\(place).times", value, from: 1)
  }

  package static func list(
    _ name: String, _ value: JSONValue
  ) throws(SimulatorError) -> [JSONValue] {
    guard let list = value.array else { throw wrong(name, "a list") }
    return list
  }

  package static func text(
    _ value: JSONValue, _ place: String
  ) throws(SimulatorError) -> String {
    guard let text = value.string, !text.isEmpty else { throw wrong(place, "text") }
    return text
  }

  /// One of the faults that a simulator has names for.
  package static func fault<Fault: RawRepresentable<String> & CaseIterable>(
    _ value: JSONValue, _ place: String
  ) throws(SimulatorError) -> Fault {
    guard let fault = value.string.flatMap(Fault.init) else {
      let known = Fault.allCases.map(\.rawValue).joined(separator: ", ")
      throw wrong(place, "one of \(known)")
    }
    return fault
  }

  /// An object whose members are faults, and which part of all requests each of them gets.
  package static func mix<Fault: RawRepresentable<String> & CaseIterable & Sendable & Equatable>(
    _ value: JSONValue
  ) throws(SimulatorError) -> [ScriptShare<Fault>] {
    guard let object = value.object else { throw wrong("mix", "an object") }
    var shares: [ScriptShare<Fault>] = []
    for member in object.members {
      let place = "mix.\(member.name)"
      guard let probability = number(member.value), (0...1).contains(probability) else {
        throw wrong(place, "a number between 0 and 1")
      }
      shares.append(.init(try fault(.string(member.name), place), probability: probability))
    }
    try shares.check()
    return shares
  }

  package static func wrong(_ place: String, _ wanted: String) -> SimulatorError {
    SimulatorError(.badScript, "\(place) must be \(wanted)")
  }
}
