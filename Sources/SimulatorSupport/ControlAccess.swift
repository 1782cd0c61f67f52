import EventLoop
import TLS
import Text

/// The secret that control requests must show, and the bytes of those that are coming in. Confined
/// to the simulator's loop.
package final class ControlAccess {
  /// For all requests together that are coming in.
  private static let maximumBytes = 4 << 20

  private let token: [UInt8]
  private var bytes = 0

  /// - Parameter token: empty: nobody may ask.
  package init(token: String) { self.token = Array(token.utf8) }

  /// A token of 32 hex digits by chance.
  package static func makeToken(_ loop: EventLoop) -> String {
    Hexadecimal.text(loop.randomNumber(), digits: 16)
      + Hexadecimal.text(loop.randomNumber(), digits: 16)
  }

  /// Writes the token to the file `control.token`, which its user alone may read.
  package static func write(_ token: String, to directory: String) throws(SimulatorError) {
    do {
      try ThrowAwayAuthority.write(token, to: directory + "/control.token", mode: 0o600)
    } catch {
      throw SimulatorError(.cannotStart, "the token cannot be written", cause: "\(error)")
    }
  }

  /// In the same time for every wrong one.
  package func allows(_ text: UnsafeRawBufferPointer) -> Bool {
    guard !token.isEmpty, text.count == token.count else { return false }
    return zip(text, token).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }

  /// False: there is no memory left for so many bytes.
  func reserve(_ count: Int) -> Bool {
    guard bytes + count <= Self.maximumBytes else { return false }
    bytes += count
    return true
  }

  func release(_ count: Int) { bytes -= count }
}
