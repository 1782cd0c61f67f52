/// One notification of the binary interface, in each of its three frames (Apple, "Binary Provider
/// API" and "Legacy Information"). All numbers are big-endian.
///
/// | Command | Frame |
/// |--:|---|
/// | 0 | length and token, length and payload |
/// | 1 | identifier, expiration; then as 0 |
/// | 2 | length of the frame; items, each a number, a length and so many bytes |
package struct LegacyNotification: Sendable, Equatable {
  package enum Command: UInt8, Sendable, CaseIterable {
    case simple = 0
    case enhanced = 1
    case framed = 2

    /// Bytes of payload that a gateway takes: 256 before iOS 8, 2 KiB with command 2.
    package var maximumPayloadBytes: Int { self == .framed ? 2048 : 256 }
  }

  /// Apple's tokens have 32; it says not to assume a size.
  static let maximumTokenBytes = 256

  package var token: [UInt8]
  package var payload: [UInt8]
  package var identifier: UInt32 = 0
  /// Seconds since 1970; 0: the gateway does not store it.
  package var expiration: UInt32 = 0
  /// 10 or 5: there are no others here.
  package var priority: UInt8 = 10

  package init(token: [UInt8], payload: [UInt8]) {
    self.token = token
    self.payload = payload
  }

  /// Item numbers of command 2.
  enum Item: UInt8, CaseIterable {
    case token = 1
    case payload = 2
    case identifier = 3
    case expiration = 4
    case priority = 5
  }

  /// Whether a gateway would take it in a frame of this command.
  package func fits(_ command: Command) -> Bool {
    (1...Self.maximumTokenBytes).contains(token.count)
      && (1...command.maximumPayloadBytes).contains(payload.count)
      && [5, 10].contains(priority)
  }

  /// Its bytes; nil when it does not fit.
  package func frame(_ command: Command) -> [UInt8]? {
    guard fits(command) else { return nil }
    var bytes: [UInt8] = [command.rawValue]
    bytes.reserveCapacity(32 + token.count + payload.count)
    switch command {
    case .simple: appendBodies(to: &bytes)
    case .enhanced:
      BigEndian.append(identifier, to: &bytes)
      BigEndian.append(expiration, to: &bytes)
      appendBodies(to: &bytes)
    case .framed: appendItems(to: &bytes)
    }
    return bytes
  }

  private func appendBodies(to bytes: inout [UInt8]) {
    for body in [token, payload] {
      BigEndian.append(UInt16(body.count), to: &bytes)
      bytes += body
    }
  }

  private func appendItems(to bytes: inout [UInt8]) {
    /// Number and length of an item.
    let head = 3
    let length = 5 * head + token.count + payload.count + 4 + 4 + 1
    BigEndian.append(UInt32(length), to: &bytes)
    func append(_ item: Item, _ count: Int) {
      bytes.append(item.rawValue)
      BigEndian.append(UInt16(count), to: &bytes)
    }
    append(.token, token.count)
    bytes += token
    append(.payload, payload.count)
    bytes += payload
    append(.identifier, 4)
    BigEndian.append(identifier, to: &bytes)
    append(.expiration, 4)
    BigEndian.append(expiration, to: &bytes)
    append(.priority, 1)
    bytes.append(priority)
  }
}

extension LegacyNotification {
  /// The result of reading the first bytes.
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

/// Numbers in network order, as all of the binary interface is.
enum BigEndian {
  static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    bytes.reduce(0) { $0 << 8 | UInt32($1) }
  }

  static func append(_ number: UInt32, to bytes: inout [UInt8]) {
    for shift in [24, 16, 8, 0] as [UInt32] {
      bytes.append(UInt8(truncatingIfNeeded: number >> shift))
    }
  }

  static func append(_ number: UInt16, to bytes: inout [UInt8]) {
    bytes.append(UInt8(truncatingIfNeeded: number >> 8))
    bytes.append(UInt8(truncatingIfNeeded: number))
  }
}

/// The only thing that a gateway of the binary interface ever says: command 8, a status and the
/// identifier of the notification that it is about. It closes the connection afterwards.
package struct LegacyErrorResponse: Sendable, Equatable {
  package static let command: UInt8 = 8
  package static let byteCount = 6

  package let status: LegacyStatus
  package let identifier: UInt32

  package init(status: LegacyStatus, identifier: UInt32) {
    self.status = status
    self.identifier = identifier
  }

  /// Nil unless these are the six bytes of one.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount, bytes[0] == Self.command else { return nil }
    status = LegacyStatus(bytes[1])
    identifier = BigEndian.number(bytes[2..<6])
  }
}
