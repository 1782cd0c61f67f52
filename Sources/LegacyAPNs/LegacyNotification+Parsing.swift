extension LegacyNotification {
  /// What some bytes begin with.
  package enum Parsed: Sendable, Equatable {
    /// So far nothing is wrong, and more bytes are needed.
    case incomplete
    /// No gateway would read on.
    case invalid
    case notification(LegacyNotification, Command, byteCount: Int)
  }

  /// Strict: an unknown command or item, an item twice or missing, a length that does not fit, and
  /// anything beyond the bounds is invalid.
  package static func parse(_ bytes: ArraySlice<UInt8>) -> Parsed {
    guard let first = bytes.first else { return .incomplete }
    guard let command = Command(rawValue: first) else { return .invalid }
    var reader = Reader(rest: bytes.dropFirst())
    var made = LegacyNotification(token: [], payload: [])
    do throws(Reader.Stop) {
      switch command {
      case .simple: break
      case .enhanced:
        made.identifier = try reader.number(4)
        made.expiration = try reader.number(4)
      case .framed:
        try reader.readItems(into: &made)
      }
      if command != .framed {
        made.token = try reader.body(atMost: maximumTokenBytes)
        made.payload = try reader.body(atMost: command.maximumPayloadBytes)
      }
    } catch {
      return error == .short ? .incomplete : .invalid
    }
    guard made.fits(command) else { return .invalid }
    return .notification(made, command, byteCount: bytes.count - reader.rest.count)
  }

  private struct Reader {
    enum Stop: Error { case short, wrong }

    var rest: ArraySlice<UInt8>

    mutating func take(_ count: Int) throws(Stop) -> ArraySlice<UInt8> {
      guard rest.count >= count else { throw .short }
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count)
    }

    mutating func number(_ count: Int) throws(Stop) -> UInt32 {
      BigEndian.number(try take(count))
    }

    mutating func body(atMost limit: Int) throws(Stop) -> [UInt8] {
      let count = Int(try number(2))
      guard (1...limit).contains(count) else { throw .wrong }
      return Array(try take(count))
    }

    /// Token, payload and identifier must be there; without a priority it is 10, without an
    /// expiration 0.
    mutating func readItems(into made: inout LegacyNotification) throws(Stop) {
      let length = Int(try number(4))
      let limit = 5 * 3 + maximumTokenBytes + Command.framed.maximumPayloadBytes + 9
      guard (1...limit).contains(length) else { throw .wrong }
      var frame = Reader(rest: try take(length))
      var seen: Set<Item> = []
      do throws(Stop) {
        while let number = frame.rest.first {
          _ = try frame.take(1)
          guard let item = Item(rawValue: number), seen.insert(item).inserted else { throw .wrong }
          try frame.read(item, into: &made)
        }
      } catch {
        // The frame has said how long it is: nothing more comes.
        throw .wrong
      }
      guard seen.isSuperset(of: [.token, .payload, .identifier]) else { throw .wrong }
    }

    private mutating func read(_ item: Item, into made: inout LegacyNotification) throws(Stop) {
      let bodyLimit =
        switch item {
        case .token: maximumTokenBytes
        case .payload: Command.framed.maximumPayloadBytes
        case .identifier, .expiration: 4
        case .priority: 1
        }
      let bytes = try body(atMost: bodyLimit)
      switch item {
      case .token: made.token = bytes
      case .payload: made.payload = bytes
      case .identifier, .expiration:
        guard bytes.count == 4 else { throw .wrong }
        if item == .identifier {
          made.identifier = BigEndian.number(bytes[...])
        } else {
          made.expiration = BigEndian.number(bytes[...])
        }
      case .priority: made.priority = bytes[0]
      }
    }
  }
}
