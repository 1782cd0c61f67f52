/// What one recipient's profile says to the rules, as bytes that somebody else holds; empty where
/// nothing is set.
package struct RuleValues {
  package var muted = UnsafeRawBufferPointer(start: nil, count: 0)
  package var mutedStreamers = UnsafeRawBufferPointer(start: nil, count: 0)
  package var quiet = UnsafeRawBufferPointer(start: nil, count: 0)
  package var timeZone = UnsafeRawBufferPointer(start: nil, count: 0)

  package init() {}

  package subscript(field: RuleField) -> UnsafeRawBufferPointer {
    get {
      switch field {
      case .muted: muted
      case .mutedStreamers: mutedStreamers
      case .quiet: quiet
      case .timeZone: timeZone
      }
    }
    set {
      switch field {
      case .muted: muted = newValue
      case .mutedStreamers: mutedStreamers = newValue
      case .quiet: quiet = newValue
      case .timeZone: timeZone = newValue
      }
    }
  }

  /// How a profile says yes: `1` or `true`.
  @inlinable
  package static func isTrue(_ value: UnsafeRawBufferPointer) -> Bool {
    value.count == 1 ? value[0] == 0x31 : value.count == 4 && value.elementsEqual("true".utf8)
  }
}
