/// Whose configuration is looked at: what a process does not need is not demanded of it.
package enum CheckedProcess: String, Sendable, CaseIterable {
  case worker, api
  /// `fanfare emit`.
  case emit
  /// `fanfare send` and `channel`.
  case send
  /// `fanfare audience`, `device`, `user`, `follow`, `unfollow` and `tag`.
  case devices
  /// `fanfare fanout`.
  case fanout

  package var asksApple: Bool { self == .worker || self == .send }
  /// The others look at their names at most.
  var compilesTemplates: Bool { self == .worker || self == .send }
  /// Whether an event that names a template which the directory does not hold is refused.
  var looksForTemplates: Bool { self == .api || self == .emit }
  var asksRedis: Bool { self != .emit && self != .send }

  /// The work for which its Redis user needs permissions, in words.
  var work: String {
    switch self {
    case .worker: "a worker does"
    case .api: "the API does"
    case .emit, .send: "it does"
    case .devices: "the verbs of devices and followers do"
    case .fanout: "`fanfare fanout` does"
    }
  }
}
