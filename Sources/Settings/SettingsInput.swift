import Glibc

/// The sources that a load reads.
package struct SettingsInput: Sendable {
  /// The configuration file; nil for none.
  package var file: String?
  package var environment: [String: String]
  /// `--set key=value`, in order; a later one wins.
  package var overrides: [(key: String, value: String)]
  /// Unknown keys and the like are problems.
  package var denyWarnings: Bool
  package var requirements: SettingsRequirements
  /// For `worker.id` when it is not set.
  package var hostName: String
  package var processID: Int32

  package init(
    file: String? = nil, environment: [String: String] = [:],
    overrides: [(key: String, value: String)] = [], denyWarnings: Bool = false,
    requirements: SettingsRequirements = [], hostName: String = HostName.current,
    processID: Int32 = HostName.processID
  ) {
    self.file = file
    self.environment = environment
    self.overrides = overrides
    self.denyWarnings = denyWarnings
    self.requirements = requirements
    self.hostName = hostName
    self.processID = processID
  }
}

/// The host's name, which tells this process from others.
package enum HostName {
  /// Empty when the system does not say.
  package static var current: String {
    // gethostname need not end a name that it cut off: the last byte stays 0.
    var buffer = [CChar](repeating: 0, count: 256)
    guard gethostname(&buffer, buffer.count - 1) == 0 else { return "" }
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  package static var processID: Int32 { getpid() }
}

/// Settings that a command cannot do without, beyond those that every command needs.
package struct SettingsRequirements: OptionSet, Sendable {
  package let rawValue: Int
  package init(rawValue: Int) { self.rawValue = rawValue }

  /// `apns.key_file` and `apns.team_id`, or `apns.certificate_file`: whoever sends.
  package static let credentials = SettingsRequirements(rawValue: 1)
}
