import Threads

/// Lets senders in while both their number and the bytes of their records are within bounds; the
/// others wait in line, first come, first served. Nobody waits in librdkafka's own queue, which
/// would drop them. The line is as long as there are callers, each of which has bounds of its own
/// (windows of segments, lists of stragglers, requests to the API) and waits for its turn; every
/// record that is inside ends within `messageTimeout`, so the line moves.
package final class SendGate: Sendable {
  private struct State {
    var inside = 0
    var bytesInside = 0
    var isClosed = false
    var line: [(bytes: Int, continuation: CheckedContinuation<Bool, Never>)] = []
  }

  private let maximumSenders: Int
  private let maximumBytes: Int
  private let state = ThreadLock(State())

  package init(maximumSenders: Int, maximumBytes: Int) {
    self.maximumSenders = maximumSenders
    self.maximumBytes = maximumBytes
  }

  /// False when the gate is closed; otherwise the caller is inside until it calls `leave`.
  package func enter(bytes: Int) async -> Bool {
    await withCheckedContinuation { continuation in
      let answer: Bool? = state.withLock { state in
        if state.isClosed { return false }
        if state.line.isEmpty, hasRoom(state, for: bytes) {
          state.inside += 1
          state.bytesInside += bytes
          return true
        }
        state.line.append((bytes, continuation))
        return nil
      }
      if let answer { continuation.resume(returning: answer) }
    }
  }

  package func leave(bytes: Int) {
    let admitted = state.withLock { state in
      state.inside -= 1
      state.bytesInside -= bytes
      var admitted = 0
      while admitted < state.line.count, hasRoom(state, for: state.line[admitted].bytes) {
        state.inside += 1
        state.bytesInside += state.line[admitted].bytes
        admitted += 1
      }
      defer { state.line.removeFirst(admitted) }
      return state.line.prefix(admitted).map(\.continuation)
    }
    for continuation in admitted { continuation.resume(returning: true) }
  }

  /// Turns those in line away. Those inside stay until they leave.
  package func close() {
    let waiting = state.withLock { state in
      state.isClosed = true
      defer { state.line.removeAll() }
      return state.line.map(\.continuation)
    }
    for continuation in waiting { continuation.resume(returning: false) }
  }

  /// A record larger than the bound goes alone.
  private func hasRoom(_ state: borrowing State, for bytes: Int) -> Bool {
    state.inside == 0
      || (state.inside < maximumSenders && state.bytesInside + bytes <= maximumBytes)
  }
}
