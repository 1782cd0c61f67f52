import Glibc
import Text

/// Apple's rules for one request: pure, over the record and the bytes.
enum RequestRules {
  static let identifierCount = 36
  private static let maximumCollapseBytes = 64
  /// Never assume a size of device tokens (Apple); these bounds are ours.
  private static let tokenDigits = 64...RequestRecord.maximumTokenDigits
  /// Apple: at most 30 days.
  private static let maximumExpirationSeconds: Int64 = 30 * 24 * 3600
  /// A minute more, for the way and the clocks.
  private static let expirationGraceSeconds: Int64 = 60

  /// Takes in one field, but for `authorization`, which is the connection's.
  static func take(
    _ field: KnownField, _ value: UnsafeRawBufferPointer, into record: inout RequestRecord,
    nowSeconds: Int64
  ) {
    switch field {
    case .method:
      record.isPost = value.equals("POST")
      record.isGet = value.equals("GET")
      record.isDelete = value.equals("DELETE")
    case .path: takePath(value, into: &record)
    case .authorization: return
    case .topic: takeTopic(value, into: &record)
    case .pushType:
      guard let type = pushType(value) else {
        record.faults |= RequestFault.badPushType.bit
        return
      }
      record.pushType = type
    case .identifier:
      guard isIdentifier(value), let bytes = value.baseAddress else {
        record.faults |= RequestFault.badIdentifier.bit
        return
      }
      record.hasIdentifier = true
      record.identifier.update(from: bytes.assumingMemoryBound(to: UInt8.self), count: value.count)
    case .expiration:
      guard let time = number(value),
        time <= nowSeconds + maximumExpirationSeconds + expirationGraceSeconds
      else {
        record.faults |= RequestFault.badExpiration.bit
        return
      }
    case .priority:
      if value.equals("10") {
        record.priority = 10
      } else if value.equals("5") {
        record.priority = 5
      } else if value.equals("1") {
        record.priority = 1
      } else {
        record.faults |= RequestFault.badPriority.bit
      }
    case .collapse:
      if value.count > maximumCollapseBytes {
        record.faults |= RequestFault.badCollapseIdentifier.bit
      }
    }
  }

  /// The first fault of a request that is complete, or nil.
  static func judge(
    _ record: RequestRecord, isTopicAllowed: (UnsafeRawBufferPointer) -> Bool
  ) -> AppleReason? {
    var faults = record.faults
    if !record.isPost { faults |= RequestFault.method.bit }
    if record.path != .device { faults |= RequestFault.path.bit }
    if record.seen & 1 << KnownField.topic.rawValue == 0 {
      faults |= RequestFault.missingTopic.bit
    } else if faults & RequestFault.badTopic.bit == 0 {
      if !hasSuffix(record) || !isTopicAllowed(baseTopic(record)) {
        faults |= RequestFault.disallowedTopic.bit
      }
    }
    // Apple: "Using 10 [for background] is an error". Omitted, it is let through here.
    if record.pushType == .background && record.priority == 10 {
      faults |= RequestFault.badPriority.bit
    }
    if record.bodyCount == 0 {
      faults |= RequestFault.emptyPayload.bit
    } else if record.bodyCount > record.pushType.maximumPayloadBytes {
      faults |= RequestFault.largePayload.bit
    } else if faults == 0 && !PayloadScan.isObject(record.body) {
      // Apple has no reason for what is not a JSON object; it holds no payload.
      faults |= RequestFault.emptyPayload.bit
    }
    guard faults != 0, let first = RequestFault(rawValue: UInt32(faults.trailingZeroBitCount))
    else { return nil }
    return first.reason
  }

  /// The lower-case form of a hex digit, or 0.
  static func lowerHex(_ character: UInt8) -> UInt8 {
    character.isASCIIHexDigit ? character.asciiLowered : 0
  }

  /// The topic without the suffix of the push type.
  static func baseTopic(_ record: RequestRecord) -> UnsafeRawBufferPointer {
    let count = record.topicCount - record.pushType.topicSuffix.utf8CodeUnitCount
    return UnsafeRawBufferPointer(start: record.topic, count: max(count, 0))
  }

  // MARK: Single fields

  private static func takePath(_ value: UnsafeRawBufferPointer, into record: inout RequestRecord) {
    if value.hasPrefix("/simulator/") || ChannelExchange.isPath(value) {
      record.path = .side
      return
    }
    let prefix: StaticString = "/3/device"
    let start = prefix.utf8CodeUnitCount + 1
    guard value.hasPrefix(prefix),
      value.count < start || value[start - 1] == UInt8(ascii: "/"),
      value.count <= start || !value[start...].contains(UInt8(ascii: "/"))
    else {
      record.path = .unknown
      return
    }
    record.path = .device
    let digits = value.count - start
    guard digits > 0 else {
      record.faults |= RequestFault.missingDeviceToken.bit
      return
    }
    guard tokenDigits.contains(digits), digits % 2 == 0 else {
      record.faults |= RequestFault.badDeviceToken.bit
      return
    }
    for index in 0..<digits {
      let digit = lowerHex(value[start + index])
      guard digit != 0 else {
        record.faults |= RequestFault.badDeviceToken.bit
        return
      }
      record.token[index] = digit
    }
    record.tokenCount = digits
  }

  private static func takeTopic(_ value: UnsafeRawBufferPointer, into record: inout RequestRecord) {
    guard value.count > 0, value.count <= RequestRecord.maximumTopicBytes,
      let bytes = value.baseAddress, value.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
    else {
      record.faults |= RequestFault.badTopic.bit
      return
    }
    record.topic.update(from: bytes.assumingMemoryBound(to: UInt8.self), count: value.count)
    record.topicCount = value.count
  }

  /// Apple names no reason for a topic whose suffix does not fit its push type; TopicDisallowed is
  /// what providers report.
  private static func hasSuffix(_ record: RequestRecord) -> Bool {
    let suffix = record.pushType.topicSuffix
    let count = suffix.utf8CodeUnitCount
    guard count > 0 else { return true }
    return record.topicCount > count
      && compareBytes(record.topic + record.topicCount - count, suffix.utf8Start, count)
  }

  private static func pushType(_ value: UnsafeRawBufferPointer) -> SimulatedPushType? {
    if value.equals("alert") { return .alert }
    guard !value.isEmpty else { return nil }
    return SimulatedPushType.allCases.first { value.equals($0.name) }
  }

  /// 8-4-4-4-12 hex digits. Apple documents lower case; upper case, which many libraries send, is
  /// let through.
  static func isIdentifier(_ value: UnsafeRawBufferPointer) -> Bool {
    guard value.count == identifierCount else { return false }
    for index in 0..<identifierCount {
      let isHyphen = index == 8 || index == 13 || index == 18 || index == 23
      guard isHyphen ? value[index] == UInt8(ascii: "-") : lowerHex(value[index]) != 0 else {
        return false
      }
    }
    return true
  }

  private static func number(_ value: UnsafeRawBufferPointer) -> Int64? {
    guard value.count > 0, value.count <= 18 else { return nil }
    var number: Int64 = 0
    for byte in value {
      guard byte.isASCIIDigit else { return nil }
      number = number * 10 + Int64(byte - 0x30)
    }
    return number
  }
}

extension UnsafeRawBufferPointer {
  @inline(__always)
  func equals(_ text: StaticString) -> Bool {
    count == text.utf8CodeUnitCount && hasPrefix(text)
  }

  @inline(__always)
  func hasPrefix(_ text: StaticString) -> Bool {
    guard count >= text.utf8CodeUnitCount, let base = baseAddress else { return false }
    return compareBytes(base, text.utf8Start, text.utf8CodeUnitCount)
  }
}

@inline(__always)
func compareBytes(_ one: UnsafeRawPointer, _ other: UnsafeRawPointer, _ count: Int) -> Bool {
  memcmp(one, other, count) == 0
}
