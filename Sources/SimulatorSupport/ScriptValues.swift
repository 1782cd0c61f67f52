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

  package static func wrong(_ place: String, _ wanted: String) -> SimulatorError {
    SimulatorError(.badScript, "\(place) must be \(wanted)")
  }
}
