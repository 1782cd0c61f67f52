/// A body that is read while it comes, so that it may be larger than anybody keeps: the client is
/// held up while nobody takes what is there. One reader.
///
/// @unchecked Sendable: confined to the loop of its server, where requests are answered.
package final class HTTPBodyStream: @unchecked Sendable {
  package enum Piece: Sendable, Equatable {
    case bytes([UInt8])
    /// All of it has come.
    case end
    /// It is longer than it may be; what came before was handed out.
    case tooLarge
    /// It came too slowly, or took too long; `reason` says which. Earlier bytes were handed out.
    case tooSlow(reason: String)
    /// The client has gone, or the server stops.
    case broken
  }

  /// The buffer of bytes that were not taken yet, and one read more.
  static let bufferLimitBytes = 256 << 10

  private let maximumBytes: Int
  private var bytes: [UInt8] = []
  private var count = 0
  private var ending: Piece?
  private var reader: CheckedContinuation<Void, Never>?
  private var wasAsked = false
  /// Somebody begins to read.
  var whenFirstAsked: () -> Void = {}
  /// The client is held up until there is room.
  var whenBelowLimit: () -> Void = {}

  init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

  var isFull: Bool { bytes.count >= Self.bufferLimitBytes }
  var hasEnded: Bool { ending != nil }

  func append(_ more: UnsafeRawBufferPointer) {
    guard ending == nil else { return }
    count += more.count
    if count > maximumBytes { return end(.tooLarge) }
    bytes.append(contentsOf: more)
    wake()
  }

  /// Only the first end counts.
  func end(_ piece: Piece) {
    if ending == nil { ending = piece }
    wake()
  }

  /// The next piece, as soon as there is one; after the end, always how the body ended. On the loop
  /// of the server.
  package func next() async -> Piece {
    if !wasAsked {
      wasAsked = true
      whenFirstAsked()
    }
    if bytes.isEmpty, ending == nil {
      await withCheckedContinuation { reader = $0 }
    }
    guard !bytes.isEmpty, ending != .broken else { return ending ?? .broken }
    let taken = bytes
    bytes = []
    if ending == nil { whenBelowLimit() }
    return .bytes(taken)
  }

  private func wake() {
    reader?.resume()
    reader = nil
  }
}

extension HTTPBodyStream: Equatable {
  package static func == (left: HTTPBodyStream, right: HTTPBodyStream) -> Bool { left === right }
}
