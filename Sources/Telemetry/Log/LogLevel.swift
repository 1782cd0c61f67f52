/// How much a line matters. `notice` and above are for every operator, `info` for one who follows
/// the work, `debug` for one who looks for a fault.
package enum LogLevel: UInt8, Sendable, CaseIterable, Comparable {
  case error, warning, notice, info, debug

  package var name: String { String(describing: self) }

  /// By its name; nil for anything else.
  package init?(name: String) {
    guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = level
  }

  /// An error is the least: `level <= maximum` says that a line is wanted.
  package static func < (first: LogLevel, second: LogLevel) -> Bool {
    first.rawValue < second.rawValue
  }
}
