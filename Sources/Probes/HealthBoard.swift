import Threads

/// What a process says of itself to probes: each part that must be in order, and what is wrong with
/// it. From any thread.
package final class HealthBoard: Sendable {
  private struct State {
    /// In the order in which they were named first.
    var parts: [String] = []
    var troubles: [String: String] = [:]
    var isStarted = false
  }

  private let state = ThreadLock(State())

  /// - Parameter parts: names of what must be in order; each is in trouble until it is said that it
  ///   is not.
  package init(parts: [String]) {
    state.withLock {
      $0.parts = parts
      $0.troubles = Dictionary(
        parts.map { ($0, "not yet") }, uniquingKeysWith: { first, _ in first })
    }
  }

  /// - Parameter trouble: in words; nil when the part is in order.
  package func say(_ part: String, trouble: String?) {
    state.withLock {
      if !$0.parts.contains(part) { $0.parts.append(part) }
      $0.troubles[part] = trouble
      if $0.troubles.isEmpty { $0.isStarted = true }
    }
  }

  package var isReady: Bool { state.withLock { $0.troubles.isEmpty } }

  /// Has been ready once.
  package var isStarted: Bool { state.withLock { $0.isStarted } }

  /// Each part with its trouble, if any.
  package var parts: [(name: String, trouble: String?)] {
    state.withLock { state in state.parts.map { ($0, state.troubles[$0]) } }
  }
}
