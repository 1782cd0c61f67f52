import Text

/// One line of an import: a user with profile, devices, follows and tags.
package struct ImportRow {
  package let user: String
  /// A row knows one time of binding: there is one for each time that the devices name.
  package let rows: [AudienceRow]
  package let follows: [String]
  package let tags: [String]

  package struct Refusal: Error {
    private let makeReason: @Sendable () -> String
    /// Made at each call: it is asked for where it is shown.
    package var reason: String { makeReason() }

    package init(_ reason: @autoclosure @escaping @Sendable () -> String) { makeReason = reason }
  }

  /// 1,000 devices with long tokens take about 600 KiB.
  package static let maximumBytes = 1 << 20
  package static let maximumFollows = 10_000
  /// 1,000 devices with four members each, 10,000 follows and as many tags fit.
  static let maximumValues = 30_000
}
