/// The codes of a room that keeps what it has in Redis.
package protocol StoreErrorCode: Sendable, Equatable {
  /// Redis did not do what it was asked.
  static func redis(_ code: RedisError.Code) -> Self
  /// Nil when it is another than `redis`.
  var ofRedis: RedisError.Code? { get }
  /// Whether waiting may mend one that is not Redis' own.
  var isTransientItself: Bool { get }
}
