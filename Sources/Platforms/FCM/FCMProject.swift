import Text
import Threads

/// A project of Firebase. Its id is known from the start, or once the metadata server has named it;
/// then it does not change.
package final class FCMProject: Sendable {
  private let known: ThreadLock<String?>

  /// - Parameter id: or number; nil: not known yet.
  package init(_ id: String?) { known = ThreadLock(id) }

  package var id: String? { known.withLock { $0 } }

  /// The first id counts.
  package func learn(_ id: String) { known.withLock { $0 = $0 ?? id } }

  /// Letters, digits, and what stands between them; old ids begin with a domain. It becomes a part
  /// of a path, and of a key in Redis.
  package static func isID(_ id: String) -> Bool {
    (1...64).contains(id.utf8.count)
      && id.utf8.allSatisfy { $0.isASCIIWord || "-.:".utf8.contains($0) }
  }

  /// Where its messages go; nil while nobody knows its id.
  package var path: String? { id.map { "/v1/projects/\($0)/messages:send" } }
}
