/// How many streams a client may open. Google's server announces 100, bears with a client that has
/// not read that yet, and ends the connection at twice as many (firebase-admin-node #2943). nghttp2
/// would refuse the surplus stream by stream, so it is told a limit that nobody reaches, and the
/// frame that announces it is changed on its way.
struct StreamLimit {
  enum Verdict { case fits, refuse, end }

  static let library = 1 << 20

  private(set) var announced: Int
  /// The highest that was announced so far: the client may not have read the last one yet, and
  /// nghttp2 knows what to do then.
  private var highest: Int
  private(set) var open = 0
  /// The client has acknowledged the first SETTINGS.
  var isAcknowledged = false
  private var hasAnnounced = false
  private var frames = FrameHeads()

  init(announced: Int) {
    self.announced = announced
    highest = announced
  }

  mutating func announce(_ count: Int) {
    announced = count
    highest = max(highest, count)
  }

  mutating func opened() -> Verdict {
    guard open < (isAcknowledged ? highest : 2 * highest) else {
      return isAcknowledged ? .refuse : .end
    }
    open += 1
    return .fits
  }

  mutating func closed() { open -= 1 }

  /// The first frame of the server, with the limit that is announced; nil for any other output.
  mutating func firstOutput(_ output: UnsafeRawBufferPointer) -> [UInt8]? {
    guard !hasAnnounced else { return nil }
    hasAnnounced = true
    var bytes = Array(output)
    // RFC 9113, section 6.5.1: entries of six bytes behind the head of nine.
    let length = bytes.count < 9 ? 0 : Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
    for entry in stride(from: 9, to: min(9 + length, bytes.count - 5), by: 6)
    where bytes[entry] == 0 && bytes[entry + 1] == 3 {
      for index in 0..<4 {
        bytes[entry + 2 + index] = UInt8(truncatingIfNeeded: announced >> (24 - 8 * index))
      }
    }
    return bytes
  }

  /// Whether the client acknowledges SETTINGS in these bytes for the first time.
  mutating func sees(_ input: UnsafeRawBufferPointer) -> Bool {
    !isAcknowledged && frames.findAcknowledgement(in: input)
  }
}

/// Goes from frame to frame through a client's bytes, which come in pieces of any size.
struct FrameHeads {
  /// `PRI * HTTP/2.0` and what follows comes before the first frame.
  private var bytesToSkip = 24
  private var head: [UInt8] = []

  /// Whether a SETTINGS with ACK begins in these bytes.
  mutating func findAcknowledgement(in input: UnsafeRawBufferPointer) -> Bool {
    var place = 0
    var isFound = false
    while place < input.count {
      let skipped = min(bytesToSkip, input.count - place)
      bytesToSkip -= skipped
      place += skipped
      while head.count < 9, place < input.count {
        head.append(input[place])
        place += 1
      }
      guard head.count == 9 else { break }
      if head[3] == 4, head[4] & 1 != 0 { isFound = true }
      bytesToSkip = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
      head = []
    }
    return isFound
  }
}
