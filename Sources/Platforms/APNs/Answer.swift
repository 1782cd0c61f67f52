import JSON

/// What the body of a refused request says: `{"reason": …, "timestamp": …}`.
package struct Answer: Equatable {
  package let reason: String?
  /// Ms since 1970; with 410 only.
  package let timestamp: Int64?

  /// More than Apple ever sends; the rest of a longer body is not kept.
  static let maximumBytes = 4096

  /// A body that is not what Apple documents gives an answer without a reason; the status decides
  /// then.
  package init(body: [UInt8]) {
    guard !body.isEmpty,
      let value = try? JSONValue.parse(body, maximumBytes: Self.maximumBytes, maximumDepth: 4)
    else {
      reason = nil
      timestamp = nil
      return
    }
    reason = value.object?["reason"]?.string
    timestamp = value.object?["timestamp"]?.integer
  }
}
