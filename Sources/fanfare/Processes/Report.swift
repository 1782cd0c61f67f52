import JSON

/// A line or body of JSON that one of our own processes wrote.
struct Report: Sendable {
  let source: String
  private let object: JSONObject

  init(_ bytes: [UInt8], of source: String) throws(CommandFailure) {
    self.source = source
    do {
      guard let object = try JSONValue.parse(bytes, maximumBytes: 64 << 20).object else {
        throw CommandFailure(.failed, "\(source) said something else than a JSON object")
      }
      self.object = object
    } catch let failure as CommandFailure {
      throw failure
    } catch {
      throw CommandFailure(.failed, "\(source) said what is no JSON: \(error)")
    }
  }

  func text(_ name: String) throws(CommandFailure) -> String {
    guard let text = object[name]?.string else { throw missing(name, "a text") }
    return text
  }

  func integer(_ name: String) throws(CommandFailure) -> Int {
    guard let number = object[name]?.integer else { throw missing(name, "an integer") }
    return Int(number)
  }

  func object(_ name: String) throws(CommandFailure) -> JSONObject {
    guard let object = object[name]?.object else { throw missing(name, "an object") }
    return object
  }

  private func missing(_ name: String, _ kind: String) -> CommandFailure {
    CommandFailure(.failed, "\(source) does not say \(name) (\(kind) was expected)")
  }
}
