/// The scope of a key. Each scope includes those before it.
package enum APIScope: String, Sendable, CaseIterable, Comparable {
  case readOnly = "read-only"
  case appServer = "app-server"
  case admin

  package static func < (left: APIScope, right: APIScope) -> Bool {
    (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
  }
}
