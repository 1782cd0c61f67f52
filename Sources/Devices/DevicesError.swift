import Redis

/// Why devices, profiles or followers could not be written.
package typealias DevicesError = StoreError<DevicesErrorCode>

package enum DevicesErrorCode: StoreErrorCode {
  /// Redis did not do what it was asked.
  case redis(RedisError.Code)
  /// The caller's values are wrong; nothing was sent.
  case invalid
  /// The user has more than is read or written for one user; nothing was changed.
  case tooLarge
  /// A key holds a value that none of us wrote.
  case badContent
  /// Others changed the same keys again and again, or began another rewrite of the same
  /// audience.
  case conflict
  /// Somebody else did it later than this was: nothing is changed.
  case overtaken
  /// The change is made, but could not be announced.
  case untold

  package var ofRedis: RedisError.Code? { if case .redis(let code) = self { code } else { nil } }
  package var isTransientItself: Bool { self == .conflict || self == .untold }
}

extension DevicesError {
  init(reply: String) { self.init(RedisError(RedisErrorReply(reply), quotes: false)) }

  /// It is due to the content of one key, and says nothing of other keys.
  var isOfContent: Bool { code == .badContent || code == .redis(.wrongType) }

  static func unexpected(_ what: String) -> DevicesError {
    DevicesError(.redis(.unexpected), "\(what) answered what we do not know")
  }
}
