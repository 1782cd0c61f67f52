import Glibc
import Settings
import Text

/// The share of its machine that the process may use: processors by its affinity (`taskset`, a
/// cpuset) and by its control group's quota, memory by its control group. A container shows the
/// host's processors and memory to whoever asks for those.
package struct ProcessLimits: Sendable, Equatable {
  /// At least 1. Of a quota of 1.5 processors two are used, and held back at times.
  package let processors: Int
  /// Nil: nothing but the machine's own memory bounds it.
  package let memoryBytes: Int?

  package static let current = ProcessLimits(
    affinity: affinity(fromStatus: file("/proc/self/status")), read: file)

  private static func file(_ path: String) -> String? {
    (try? BoundedFile.read(path, maximumBytes: 64 << 10))?.text
  }

  /// - Parameters:
  ///   - affinity: processors that threads may run on.
  ///   - read: a file's text; nil where there is none.
  init(affinity: Int, read: (String) -> String?) {
    let groups = Self.groups(read("/proc/self/cgroup") ?? "")
    let quotas = groups.flatMap { group -> [Double] in
      switch group.kind {
      case .unified:
        Self.ancestors(of: group.path, below: ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"])
          .compactMap { read("\($0)/cpu.max").flatMap(Self.quota) }
      case .cpu:
        Self.ancestors(of: group.path, below: ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"])
          .compactMap { directory in
            guard let quota = read("\(directory)/cpu.cfs_quota_us"),
              let period = read("\(directory)/cpu.cfs_period_us")
            else { return nil }
            return Self.quota("\(quota) \(period)")
          }
      case .memory: []
      }
    }
    let limits = groups.flatMap { group -> [Int] in
      switch group.kind {
      case .unified:
        Self.ancestors(of: group.path, below: ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"])
          .compactMap { read("\($0)/memory.max").flatMap(Self.bytes) }
      case .memory:
        Self.ancestors(of: group.path, below: ["/sys/fs/cgroup/memory"])
          .compactMap { read("\($0)/memory.limit_in_bytes").flatMap(Self.bytes) }
      case .cpu: []
      }
    }
    let allowed = quotas.min().map { Int($0.rounded(.up)) } ?? affinity
    processors = max(1, min(affinity, allowed))
    memoryBytes = limits.min()
  }

  // MARK: control groups

  private enum Kind { case unified, cpu, memory }

  /// Of the second version one line, of the first one for each of its controllers.
  private static func groups(_ text: String) -> [(kind: Kind, path: String)] {
    text.split(separator: "\n").compactMap { line in
      let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count == 3 else { return nil }
      let (controllers, path) = (parts[1].split(separator: ","), String(parts[2]))
      if parts[0] == "0", controllers.isEmpty { return (.unified, path) }
      if controllers.contains("cpu") { return (.cpu, path) }
      if controllers.contains("memory") { return (.memory, path) }
      return nil
    }
  }

  /// The group's directory and those above it: each bounds what is below. Within a container the
  /// path may be the host's, and the container's own group the top.
  private static func ancestors(of path: String, below roots: [String]) -> [String] {
    let names = path.split(separator: "/").prefix(maximumDepth)
    let paths = (0...names.count).reversed().map { count in
      names.prefix(count).map { "/\($0)" }.joined()
    }
    return roots.flatMap { root in paths.map { root + $0 } }
  }

  private static let maximumDepth = 32

  /// `150000 100000` is 1.5 processors; nil for `max` and -1.
  private static func quota(_ text: String) -> Double? {
    let numbers = text.split { $0 == " " || $0 == "\n" }.compactMap { Double($0) }
    guard numbers.count == 2, numbers[0] > 0, numbers[1] > 0 else { return nil }
    return numbers[0] / numbers[1]
  }

  /// Nil for `max`, and for the first version's number that stands for it.
  private static func bytes(_ text: String) -> Int? {
    guard let bytes = Int(text.prefix { $0 != "\n" }), bytes > 0, bytes < 1 << 60 else {
      return nil
    }
    return bytes
  }

  // MARK: affinity

  /// Of the first thread, before anything was pinned; proc(5) writes it as a mask in hex digits.
  private static func affinity(fromStatus text: String?) -> Int {
    let line = text?.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed:") }
    let bits = line?.dropFirst("Cpus_allowed:".count).reduce(0) {
      $0 + ($1.hexDigitValue?.nonzeroBitCount ?? 0)
    }
    return bits ?? max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
  }
}

extension Assembly {
  /// Warns where the control group's limit is less than a worker may take; nil where it is not, or
  /// where there is no limit.
  package static func memoryWarning(
    _ settings: Settings, limits: ProcessLimits = .current
  ) -> String? {
    let budget = memoryBudget(settings, limits: limits)
    guard let limit = limits.memoryBytes, limit < budget.bytes else { return nil }
    let fitting = (limit - (budget.bytes - budget.lanes * budget.laneBytes)) / budget.laneBytes
    let needed = "raise the limit to \(megabytes(budget.bytes))"
    return "the control group allows \(megabytes(limit)), and a worker may take "
      + "\(megabytes(budget.bytes)) where platforms answer nothing: \(needed)"
      + (fitting > 0 ? ", or set lanes.count to \(fitting)" : ", or lower lanes.batch_bytes")
  }

  /// Rounded up.
  private static func megabytes(_ bytes: Int) -> String { "\((bytes + 999_999) / 1_000_000) MB" }
}
