import HTTP2

/// Device tokens that choose their own answer. A token of the form
///
///     fa4efa4e N SSS …        (hex digits; the rest is free)
///
/// gets the answer SSS on its first N tries and is accepted afterwards; N = 0: on every try. The
/// first eight digits are long enough that random tokens, millions of them, never mean an answer by
/// accident.
///
/// | SSS | answer |
/// |---|---|
/// | 400 | 400 BadDeviceToken |
/// | 401 | 400 DeviceTokenNotForTopic |
/// | 402 | 400 TopicDisallowed |
/// | 403 | 403 Forbidden |
/// | 40e | 403 ExpiredProviderToken |
/// | 40f | 403 InvalidProviderToken |
/// | 410 | 410 Unregistered, its timestamp is the time of the answer |
/// | 411 | 410 ExpiredToken, likewise |
/// | 412 | 410 Unregistered since 2010-01-01, before any binding |
/// | 413 | 413 PayloadTooLarge |
/// | 429 | 429 TooManyRequests |
/// | 42a | 429 TooManyProviderTokenUpdates |
/// | 42b | 429 TooManyRequests with `retry-after: 1` |
/// | 500 | 500 InternalServerError |
/// | 503 | 503 ServiceUnavailable |
/// | 50d | 503 Shutdown |
/// | e02 | RST_STREAM INTERNAL_ERROR |
/// | e07 | RST_STREAM REFUSED_STREAM |
/// | e08 | RST_STREAM CANCEL |
/// | dc0 | the connection closes |
/// | fff | silence: no answer at all |
///
/// Any other SSS is accepted. `fa4efa4e1503…` is refused once with 503 and then accepted.
package enum MagicTokens {
  package static let prefix = "fa4efa4e"
  /// 2010-01-01T00:00:00Z in milliseconds.
  static let longAgo: Int64 = 1_262_304_000_000

  /// - Parameters:
  ///   - token: lower-case hex digits.
  ///   - tries: earlier requests for this token.
  static func answer(_ token: UnsafePointer<UInt8>, _ count: Int, tries: UInt32) -> SimulatedAnswer?
  {
    guard count >= 12, UnsafeRawPointer(token).loadUnaligned(as: UInt64.self) == prefixWord else {
      return nil
    }
    let limit = digit(token[8])
    guard limit == 0 || tries < limit else { return nil }
    return answer(code: digit(token[9]) << 8 | digit(token[10]) << 4 | digit(token[11]))
  }

  /// The eight characters of `prefix` as they lie in memory.
  private static let prefixWord = prefix.utf8.reversed().reduce(UInt64(0)) {
    $0 << 8 | UInt64($1)
  }.littleEndian

  private static func digit(_ character: UInt8) -> UInt32 {
    UInt32(character.hexValue ?? 0)
  }

  private static func answer(code: UInt32) -> SimulatedAnswer? {
    switch code {
    case 0x400: return .refuse(.badDeviceToken)
    case 0x401: return .refuse(.deviceTokenNotForTopic)
    case 0x402: return .refuse(.topicDisallowed)
    case 0x403: return .refuse(.forbidden)
    case 0x40e: return .refuse(.expiredProviderToken)
    case 0x40f: return .refuse(.invalidProviderToken)
    case 0x410: return .refuse(.unregistered)
    case 0x411: return .refuse(.expiredToken)
    case 0x412:
      return .refuse(Refusal(status: 410, reason: "Unregistered", timestamp: .fixed(longAgo)))
    case 0x413: return .refuse(.payloadTooLarge)
    case 0x429: return .refuse(.tooManyRequests)
    case 0x42a: return .refuse(.tooManyProviderTokenUpdates)
    case 0x42b: return .refuse(Refusal(status: 429, reason: "TooManyRequests", retryAfter: 1))
    case 0x500: return .refuse(.internalServerError)
    case 0x503: return .refuse(.serviceUnavailable)
    case 0x50d: return .refuse(.shutdown)
    case 0xe02: return .reset(HTTP2ErrorCode.internalError)
    case 0xe07: return .reset(HTTP2ErrorCode.refusedStream)
    case 0xe08: return .reset(HTTP2ErrorCode.cancel)
    case 0xdc0: return .drop
    case 0xfff: return .silence
    default: return nil
    }
  }
}
