import Telemetry
import Threads

/// Fields of a request's audit line besides who asked for what. Filled while the request is
/// worked on, so that it is told of one that fails in the end, too.
final class AuditNotes: Sendable {
  enum Value: Sendable {
    case text(String)
    /// Shown as a label.
    case token(String)
    /// As many lines are written as it needs.
    case list([String])
  }

  typealias Note = (name: String, value: Value)

  private let kept = ThreadLock<[Note]>([])
  /// Writes lines before the request is over.
  private let writer = ThreadLock<(@Sendable (_ name: String, _ list: [String]) -> Void)?>(nil)

  var all: [Note] { kept.withLock { $0 } }

  func add(_ name: String, _ text: String) { kept.withLock { $0.append((name, .text(text))) } }

  func add(_ name: String, token: String) {
    kept.withLock { $0.append((name, .token(token))) }
  }

  func add(_ name: String, _ list: [String]) {
    if !list.isEmpty { kept.withLock { $0.append((name, .list(list))) } }
  }

  /// - Parameter write: takes the parts of `addAtOnce`.
  func writeAtOnce(with write: @escaping @Sendable (_ name: String, _ list: [String]) -> Void) {
    writer.withLock { $0 = write }
  }

  /// A part of a list that may be too long to be kept.
  func addAtOnce(_ name: String, _ list: [String]) {
    if !list.isEmpty { writer.withLock { $0 }?(name, list) }
  }

  /// A field of a log line is cut beyond its own limit: a list is told in pieces that fit, an
  /// element a line. No id holds a line break.
  static func pieces(of list: [String]) -> [String] {
    var pieces: [String] = []
    var piece = ""
    var length = 0
    for element in list {
      // Written as escapes at worst, and the line break is one.
      let cost = element.utf8.reduce(2) { $0 + ($1 == 0x22 || $1 == 0x5C ? 2 : 1) }
      if length > 0, length + cost > maximumPieceBytes {
        pieces.append(piece)
        (piece, length) = ("", 0)
      }
      piece += (length > 0 ? "\n" : "") + element
      length += cost
    }
    return pieces + [piece]
  }

  private static let maximumPieceBytes = 1_000
}
