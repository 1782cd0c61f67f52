/// Puts another port into the answers that tell a Kafka client where brokers are (Metadata and
/// FindCoordinator), so that the client stays at the port it began with. Everything else passes as
/// it is. A pure machine for one connection: bytes in, bytes out.
///
/// Frames are those of Kafka's protocol guide: a size of four bytes, then in a request the kind,
/// its version and a number, in an answer the number of its request.
package struct BrokerAddresses {
  /// The kinds of requests whose answers name brokers.
  private static let kinds: Set<Int> = [3, 10]
  /// Requests in flight that are kept in mind. librdkafka has one of these kinds at a time.
  private static let maximumRequests = 1_000
  /// A larger answer passes unchanged: it would name hundreds of thousands of topics.
  private static let maximumAnswerBytes = 16 << 20

  private let old: [UInt8]
  private let new: [UInt8]
  private var requests = FrameReader(headerBytes: 12)
  private var answers = FrameReader(headerBytes: 8)
  private var awaited: Set<Int> = []
  /// The answer that is being gathered.
  private var gathered: [UInt8]?

  package init(host: String, port: Int, shownAs shown: Int) {
    func bytes(_ port: Int) -> [UInt8] {
      Array(host.utf8) + [0, 0, UInt8(port >> 8 & 0xFF), UInt8(port & 0xFF)]
    }
    old = bytes(port)
    new = bytes(shown)
  }

  /// What the client says.
  package mutating func hear(_ bytes: UnsafeRawBufferPointer) {
    requests.read(bytes) { part in
      guard case .header(let header, _) = part, Self.kinds.contains(Self.number(header[4..<6])),
        awaited.count < Self.maximumRequests
      else { return }
      awaited.insert(Self.number(header[8..<12]))
    }
  }

  /// What the broker answers; `pass` gets what the client is to hear, in order.
  package mutating func answer(
    _ bytes: UnsafeRawBufferPointer, pass: (UnsafeRawBufferPointer) -> Void
  ) {
    answers.read(bytes) { part in
      switch part {
      case .header(let header, let size):
        let isAddress = awaited.remove(Self.number(header[4..<8])) != nil
        if isAddress, (4...Self.maximumAnswerBytes).contains(size) {
          gathered = header
        } else {
          header.withUnsafeBytes(pass)
        }
      case .body(let bytes):
        if gathered == nil { pass(bytes) } else { gathered?.append(contentsOf: bytes) }
      case .end:
        guard let frame = gathered else { return }
        frame.replacing(old, with: new).withUnsafeBytes(pass)
        gathered = nil
      }
    }
  }

  /// Big-endian.
  private static func number(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.reduce(0) { $0 << 8 | Int($1) }
  }
}
