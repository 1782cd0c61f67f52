/// Cuts a stream of Kafka's protocol into frames: each a header of a fixed length that begins with
/// the size of all that follows these four bytes, and a body.
struct FrameReader {
  enum Part {
    case header([UInt8], size: Int)
    case body(UnsafeRawBufferPointer)
    case end
  }

  private let headerBytes: Int
  private var header: [UInt8] = []
  private var rest = 0
  /// It was no frame: whatever comes is one body without an end.
  private var isLost = false

  init(headerBytes: Int) { self.headerBytes = headerBytes }

  mutating func read(_ bytes: UnsafeRawBufferPointer, part: (Part) -> Void) {
    var bytes = bytes[...]
    while !bytes.isEmpty {
      if isLost { return part(.body(UnsafeRawBufferPointer(rebasing: bytes))) }
      if rest == 0 {
        let taken = min(headerBytes - header.count, bytes.count)
        header += bytes.prefix(taken)
        bytes = bytes.dropFirst(taken)
        guard header.count == headerBytes else { return }
        let size = header[0..<4].reduce(0) { $0 << 8 | Int($1) }
        rest = size + 4 - headerBytes
        isLost = rest < 0 || size > Int(Int32.max)
        part(.header(header, size: size))
        header = []
      } else {
        let taken = min(rest, bytes.count)
        part(.body(UnsafeRawBufferPointer(rebasing: bytes.prefix(taken))))
        bytes = bytes.dropFirst(taken)
        rest -= taken
      }
      if rest == 0 { part(.end) }
    }
  }
}
