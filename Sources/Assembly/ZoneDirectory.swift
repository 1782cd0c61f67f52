import Rules
import Settings

/// The system's time zones: a directory with a file for each, in directories of their own where the
/// name has a slash.
enum ZoneDirectory {
  static let path = "/usr/share/zoneinfo"

  /// `America/Argentina/Ushuaia`
  private static let maximumDepth = 3
  /// There are some 600 names. Those of `posix` and `right` are the same again.
  private static let maximumZones = 4_096
  private static let copies: Set<String> = ["posix", "right"]

  /// What is no time zone is passed over: lists and licences lie among them.
  /// - Parameter since: seconds since 1970; what clocks showed before is forgotten.
  static func read(_ directory: String, since: Int64) -> [String: ZoneClock] {
    var clocks: [String: ZoneClock] = [:]
    add(directory, "", maximumDepth, since, &clocks)
    return clocks
  }

  private static func add(
    _ directory: String, _ prefix: String, _ depth: Int, _ since: Int64,
    _ clocks: inout [String: ZoneClock]
  ) {
    guard depth > 0 else { return }
    for name in names(in: directory) where clocks.count < maximumZones {
      let path = "\(directory)/\(name)"
      if let file = try? BoundedFile.read(path, maximumBytes: ZoneFile.maximumBytes) {
        if let clock = ZoneFile.clock(file.bytes, since: since) { clocks[prefix + name] = clock }
      } else if !copies.contains(name) {
        add(path, "\(prefix)\(name)/", depth - 1, since, &clocks)
      }
    }
  }

  /// None for what is no directory.
  private static func names(in directory: String) -> [String] {
    (try? DirectoryNames.read(directory) { !$0.hasPrefix(".") }) ?? []
  }
}
