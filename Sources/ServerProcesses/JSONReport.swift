import JSON
import Processes

/// A line or body of JSON that one of our own processes wrote.
package struct JSONReport: Sendable {
  /// A page of a simulator's ledger has some 10 MiB, and a value for each few bytes.
  private static let maximumBytes = 64 << 20
  package let source: String
  let object: JSONObject

  package init(_ bytes: [UInt8], of source: String) throws(LocalRunError) {
    self.source = source
    do {
      guard
        let object = try JSONValue.parse(
          bytes, maximumBytes: Self.maximumBytes, maximumValues: Self.maximumBytes
        ).object
      else { throw LocalRunError(.failed, "\(source) said something else than a JSON object") }
      self.object = object
    } catch let failure as LocalRunError {
      throw failure
    } catch {
      throw LocalRunError(.failed, "\(source) said what is no JSON: \(error)")
    }
  }

  package func text(_ name: String) throws(LocalRunError) -> String {
    guard let text = object[name]?.string else { throw missing(name, "a text") }
    return text
  }

  package func integer(_ name: String) throws(LocalRunError) -> Int {
    guard let number = object[name]?.integer else { throw missing(name, "an integer") }
    return Int(number)
  }

  package func object(_ name: String) throws(LocalRunError) -> JSONObject {
    guard let object = object[name]?.object else { throw missing(name, "an object") }
    return object
  }

  private func missing(_ name: String, _ kind: String) -> LocalRunError {
    LocalRunError(.failed, "\(source) does not say \(name) (\(kind) was expected)")
  }
}
