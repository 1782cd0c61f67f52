/// The state of one request while it comes in. Records lie in a table by slot and are used again;
/// each owns one block of memory for the bytes that are needed at the end.
struct RequestRecord {
  static let maximumTokenDigits = 200
  private static let identifierOffset = 200
  private static let topicOffset = 264
  private static let bodyOffset = 520
  static let maximumTopicBytes = 255
  private static let firstBodyCapacity = 1024
  /// The largest payload there is (VoIP), and one byte to see that it was more.
  private static let maximumBodyBytes = 5121

  /// `side`: no push, but a `SideRequest`.
  enum Path: UInt8 { case missing, device, side, unknown }

  var stream: Int32 = 0
  /// One bit for each `RequestFault` seen so far.
  var faults: UInt32 = 0
  /// One bit for each known field, to see it twice.
  var seen: UInt32 = 0
  var path = Path.missing
  var isPost = false
  var isGet = false
  var isDelete = false
  var pushType = SimulatedPushType.none
  var priority: Int8 = 0
  var hasIdentifier = false
  var tokenCount = 0
  var topicCount = 0
  var bodyCount = 0
  private var bodyCapacity = RequestRecord.firstBodyCapacity
  private var memory: UnsafeMutablePointer<UInt8>

  init() {
    memory = .allocate(capacity: Self.bodyOffset + Self.firstBodyCapacity)
  }

  func deallocate() { memory.deallocate() }

  mutating func begin(stream: Int32) {
    self.stream = stream
    faults = 0
    seen = 0
    path = .missing
    isPost = false
    isGet = false
    isDelete = false
    pushType = .none
    priority = 0
    hasIdentifier = false
    tokenCount = 0
    topicCount = 0
    bodyCount = 0
  }

  var token: UnsafeMutablePointer<UInt8> { memory }
  var identifier: UnsafeMutablePointer<UInt8> { memory + Self.identifierOffset }
  var topic: UnsafeMutablePointer<UInt8> { memory + Self.topicOffset }
  func has(_ field: KnownField) -> Bool { seen & 1 << field.rawValue != 0 }
  var topicBytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: topic, count: topicCount)
  }
  var body: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: memory + Self.bodyOffset, count: bodyCount)
  }
  var identifierBytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: identifier, count: RequestRules.identifierCount)
  }

  func observed(_ answer: SimulatedAnswer) -> ObservedPush {
    ObservedPush(
      token: UnsafeBufferPointer(start: token, count: tokenCount), payload: body, answer: answer)
  }

  /// Keeps as much of the body as there can be of a valid one, and a byte more.
  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    let count = min(bytes.count, Self.maximumBodyBytes - bodyCount)
    guard count > 0, let source = bytes.baseAddress else { return }
    if bodyCount + count > bodyCapacity { grow(bodyCount + count) }
    (memory + Self.bodyOffset + bodyCount).update(
      from: source.assumingMemoryBound(to: UInt8.self), count: count)
    bodyCount += count
  }

  private mutating func grow(_ wanted: Int) {
    bodyCapacity = min(max(wanted, bodyCapacity * 2), Self.maximumBodyBytes)
    let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: Self.bodyOffset + bodyCapacity)
    grown.update(from: memory, count: Self.bodyOffset + bodyCount)
    memory.deallocate()
    memory = grown
  }
}

extension RequestRecord {
  /// Makes room for records of a connection, at least twice as much as before.
  static func grow(
    _ records: inout UnsafeMutablePointer<RequestRecord>, _ count: inout Int, to wanted: Int
  ) {
    let larger = max(wanted, count * 2)
    let grown = UnsafeMutablePointer<RequestRecord>.allocate(capacity: larger)
    grown.moveInitialize(from: records, count: count)
    for index in count..<larger { (grown + index).initialize(to: RequestRecord()) }
    records.deallocate()
    records = grown
    count = larger
  }
}

/// The fields that Apple knows, found by length first.
enum KnownField: UInt32 {
  case method, path, authorization, topic, pushType, identifier, expiration, priority, collapse

  init?(_ name: UnsafeRawBufferPointer) {
    switch name.count {
    case 5 where name.equals(":path"): self = .path
    case 7 where name.equals("apns-id"): self = .identifier
    case 7 where name.equals(":method"): self = .method
    case 10 where name.equals("apns-topic"): self = .topic
    case 13 where name.equals("authorization"): self = .authorization
    case 13 where name.equals("apns-priority"): self = .priority
    case 14 where name.equals("apns-push-type"): self = .pushType
    case 15 where name.equals("apns-expiration"): self = .expiration
    case 16 where name.equals("apns-collapse-id"): self = .collapse
    default: return nil
    }
  }
}
