import Threads

/// An answer that goes on: states of something, each of which takes the place of the one before. A
/// client that reads slowly gets the newest state as soon as it has read the one before; nothing
/// queues up for it. Any thread may send.
package final class HTTPStateStream: Sendable {
  /// The habits of a stream besides sending states.
  package struct Options: Sendable {
    /// The bytes to send where nothing else was sent for `aliveInterval`, so that both sides and
    /// proxies between them notice a dead connection.
    package var alive: [UInt8]
    package var aliveInterval: Duration
    /// The last bytes where the server stops or the stream is ended; may be empty.
    package var farewell: [UInt8]

    package init(alive: [UInt8], aliveInterval: Duration, farewell: [UInt8]) {
      self.alive = alive
      self.aliveInterval = aliveInterval
      self.farewell = farewell
    }
  }

  private struct State {
    /// Not yet taken by the connection.
    var newest: [UInt8]?
    /// Nothing comes behind `newest` but the farewell.
    var isEnding = false
    /// The connection has gone, or never took it.
    var isOver = false
    /// The connection was told of something that it has not looked at yet.
    var isTold = false
    var tell: (@Sendable () -> Void)?
  }

  let options: Options
  private let state = ThreadLock(State())
  private let whenOver: @Sendable () -> Void

  /// - Parameter whenOver: called once, on the loop of the server, when nobody reads any more: the
  ///   client has gone, the stream has ended, or it was refused.
  package init(_ options: Options, whenOver: @escaping @Sendable () -> Void) {
    self.options = options
    self.whenOver = whenOver
  }

  /// Sends a state, in place of one that has not left yet. Ignored after the end.
  package func send(_ bytes: [UInt8]) {
    change { if !$0.isEnding { $0.newest = bytes } }
  }

  /// Ends the stream: the state that is still to leave, the farewell, and no more.
  package func end() { change { $0.isEnding = true } }

  /// Whether the last state was taken by the connection: the client keeps up.
  package var hasLeft: Bool { state.withLock { $0.newest == nil } }

  private func change(_ body: (inout State) -> Void) {
    let tell: (@Sendable () -> Void)? = state.withLock { state in
      guard !state.isOver else { return nil }
      body(&state)
      guard !state.isTold, let tell = state.tell else { return nil }
      state.isTold = true
      return tell
    }
    tell?()
  }

  // MARK: what the connection does

  enum Piece: Equatable {
    case state([UInt8])
    case farewell([UInt8])
  }

  /// - Parameter tell: called from any thread when there is something to take.
  func begin(_ tell: @escaping @Sendable () -> Void) { state.withLock { $0.tell = tell } }

  /// The next piece to write; nil: there is nothing new.
  func take() -> Piece? {
    state.withLock { state in
      state.isTold = false
      if let newest = state.newest {
        state.newest = nil
        return .state(newest)
      }
      return state.isEnding ? .farewell(options.farewell) : nil
    }
  }

  /// Nobody reads any more. Only the first call counts.
  func over() {
    let isFirst = state.withLock { state in
      defer {
        state.isOver = true
        state.newest = nil
        state.tell = nil
      }
      return !state.isOver
    }
    if isFirst { whenOver() }
  }
}

extension HTTPStateStream: Equatable {
  package static func == (left: HTTPStateStream, right: HTTPStateStream) -> Bool { left === right }
}

/// The pieces of a body without a length. Clients of HTTP/1.0 know no chunks: they get the bytes as
/// they are, until the connection ends.
struct StreamFraming {
  let isChunked: Bool

  func piece(_ bytes: [UInt8]) -> [UInt8] {
    guard isChunked else { return bytes }
    // An empty chunk would be the end.
    guard !bytes.isEmpty else { return [] }
    return Array((String(bytes.count, radix: 16) + "\r\n").utf8) + bytes + [0x0D, 0x0A]
  }

  func last(_ bytes: [UInt8]) -> [UInt8] {
    isChunked ? piece(bytes) + Array("0\r\n\r\n".utf8) : bytes
  }
}
