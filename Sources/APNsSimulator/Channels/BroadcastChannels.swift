import Text

/// The broadcast channels of all apps. Nothing of them is stored: a simulator has no devices.
struct BroadcastChannels {
  /// Fixed when the channel is made.
  enum Policy: Int {
    /// Has the higher publishing budget.
    case storesNothing = 0
    /// The last message, for at most eight hours.
    case storesLast = 1
  }

  /// Apple's, for each app and environment.
  static let maximumPerApp = 10_000
  /// Ours: a simulator has no need of more.
  private static let maximumApps = 64
  private static let identifierBytes = 16

  private var apps: [String: [String: Policy]] = [:]

  /// - Parameter seed: different each time.
  /// - Returns: nil when there is no room for another.
  mutating func create(_ app: String, _ policy: Policy, seed: String) -> String? {
    guard apps[app] != nil || apps.count < Self.maximumApps else { return nil }
    guard apps[app, default: [:]].count < Self.maximumPerApp else { return nil }
    let digits = seed.utf8.filter { $0 != UInt8(ascii: "-") }.prefix(Self.identifierBytes)
    let id = Base64URL.encode(Array(digits))
    apps[app, default: [:]][id] = policy
    return id
  }

  mutating func delete(_ id: String, _ app: String) { apps[app]?[id] = nil }

  func policy(of id: String, _ app: String) -> Policy? { apps[app]?[id] }

  func identifiers(of app: String) -> [String] { apps[app, default: [:]].keys.sorted() }

  /// Base64 of some bytes, with or without padding.
  static func isIdentifier(_ text: String) -> Bool {
    (8...64).contains(text.utf8.count)
      && text.utf8.allSatisfy {
        $0.isASCIIWord || "+/-_=".utf8.contains($0)
      }
  }
}
