import Deliver
import HTTP2
import Model
import Text

/// Writes pushes as requests of FCM ("projects.messages.send"): one message each, to one path. What
/// Render leaves open is put in here: the target in front of a payload, and how long FCM keeps it.
/// Confined to its connection.
final class FCMRequestWriter: RequestWriter {
  private let block: HTTP2FieldBlock
  private let project: FCMProject
  /// Set with the first push: a connection may be open before the project has a name.
  private var path: StableBytes?
  private var filledWith: AccessToken?
  private let bodies: SlotBodies
  /// Ms since 1970.
  private let wallClock: @Sendable () -> Int64
  /// Of the run that is being written: seconds, and their digits.
  private var timeToLive: (seconds: Int64, digits: [UInt8]) = (0, [UInt8(ascii: "0")])

  /// - Parameters:
  ///   - project: named before the first push.
  ///   - wallClock: ms since 1970.
  init(
    authority: String, project: FCMProject, slots: Int, wallClock: @escaping @Sendable () -> Int64
  ) throws(HTTP2Error) {
    block = try HTTP2FieldBlock([
      (":method", "POST", .indexed), (":scheme", "https", .indexed),
      (":authority", authority, .indexed),
      (":path", "", .indexed),
      ("content-type", "application/json", .indexed),
      // nghttp2 gives this field no place in the table of either side, whatever it is asked.
      ("authorization", "", .never),
    ])
    self.project = project
    bodies = SlotBodies(slots: slots)
    self.wallClock = wallClock
  }

  func fields(sharing shared: SharedHeaders) -> HTTP2FieldBlock? {
    guard let token = shared.credential as? AccessToken, path != nil || setPath() else {
      return nil
    }
    if filledWith !== token {
      filledWith = nil
      guard block.set(Self.authorizationField, token.authorization.bytes) else { return nil }
      filledWith = token
    }
    // A push that has waited for another try has less time left.
    let seconds = shared.headers.secondsLeft(at: wallClock(), atMost: Self.maximumTimeToLive)
    if seconds != timeToLive.seconds { timeToLive = (seconds, Array(String(seconds).utf8)) }
    return block
  }

  private func setPath() -> Bool {
    guard let path = project.path.map(StableBytes.init), block.set(Self.pathField, path.bytes)
    else { return false }
    self.path = path
    return true
  }

  private static let pathField = 3
  private static let authorizationField = 5

  /// Google: four weeks.
  private static let maximumTimeToLive: Int64 = 2_419_200

  func fill(
    _ fields: HTTP2FieldBlock, for push: PushBatch.Entry, in bytes: ByteArena, slot: Int
  ) -> UnsafeRawBufferPointer? {
    let target = bytes[push.token]
    let payload = bytes[push.payload]
    guard let escapes = Self.escapes(in: target) else { return nil }
    let room =
      Self.frameBytes + target.count + escapes + timeToLive.digits.count + payload.count
    var body = BodyCursor(bodies.lend(slot, room))
    body.put(Self.isInstallation(target) ? Self.beginInstallation : Self.beginToken)
    if escapes == 0 { body.put(target) } else { body.putEscaped(target) }
    body.put(Self.beginAndroid)
    timeToLive.digits.withUnsafeBytes { body.put($0) }
    body.put(Self.endAndroid)
    body.put(payload)
    body.put(Self.end)
    return body.written
  }

  // MARK: the body

  private static let beginToken: StaticString = #"{"message":{"token":""#
  private static let beginInstallation: StaticString = #"{"message":{"fid":""#
  private static let beginAndroid: StaticString = #"","android":{"ttl":""#
  private static let endAndroid: StaticString = #"s""#
  private static let end: StaticString = "}}"
  private static let frameBytes = [beginToken, beginAndroid, endAndroid, end]
    .reduce(0) { $0 + $1.utf8CodeUnitCount }

  /// A Firebase installation id: 22 characters of base64url, the first of which says its version.
  private static func isInstallation(_ target: UnsafeRawBufferPointer) -> Bool {
    target.count == 22 && (UInt8(ascii: "c")...UInt8(ascii: "f")).contains(target[0])
      && target.allSatisfy {
        $0.isASCIIWord || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
      }
  }

  /// How many bytes of a target JSON has to escape: it comes from a client, and may hold what any
  /// binding may. Nil where one is no visible ASCII.
  private static func escapes(in target: UnsafeRawBufferPointer) -> Int? {
    var count = 0
    for byte in target where !byte.isPlainASCII {
      guard byte.isQuoteOrBackslash else { return nil }
      count += 1
    }
    return count
  }
}

extension UInt8 {
  fileprivate var isQuoteOrBackslash: Bool {
    self == UInt8(ascii: "\"") || self == UInt8(ascii: "\\")
  }
}

/// The bodies of the requests in flight, each in memory of its slot, which grows to the largest
/// that the slot has held: an idle slot takes none, and a push seldom allocates.
final class SlotBodies {
  private let slots: UnsafeMutableBufferPointer<UnsafeMutableRawBufferPointer>
  /// Sizes are multiples of it.
  private static let step = 1024

  init(slots count: Int) {
    slots = .allocate(capacity: count)
    slots.initialize(repeating: UnsafeMutableRawBufferPointer(start: nil, count: 0))
  }

  deinit {
    for memory in slots { memory.deallocate() }
    slots.deallocate()
  }

  /// - Parameter room: bytes that are needed. What the slot held is gone.
  func lend(_ slot: Int, _ room: Int) -> UnsafeMutableRawBufferPointer {
    if slots[slot].count < room {
      slots[slot].deallocate()
      slots[slot] = .allocate(
        byteCount: (room + Self.step - 1) / Self.step * Self.step, alignment: 16)
    }
    return slots[slot]
  }

  /// All slots together.
  var bytes: Int { slots.reduce(0) { $0 + $1.count } }
}

/// Writes into memory from its beginning. Who lends it has counted before what comes.
struct BodyCursor {
  private let memory: UnsafeMutableRawBufferPointer
  private var count = 0

  init(_ memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

  var written: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

  private mutating func put(_ byte: UInt8) {
    memory[count] = byte
    count += 1
  }

  /// Of a JSON string in which nothing else has to be escaped.
  mutating func putEscaped(_ text: UnsafeRawBufferPointer) {
    for byte in text {
      if byte.isQuoteOrBackslash { put(UInt8(ascii: "\\")) }
      put(byte)
    }
  }

  mutating func put(_ text: StaticString) {
    put(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  mutating func put(_ bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count <= memory.count - count, "a body that was not counted")
    UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
    count += bytes.count
  }
}
