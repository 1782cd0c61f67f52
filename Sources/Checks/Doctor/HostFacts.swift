import Assembly
import CLinux
import Glibc
import Settings

/// The resources that this machine, or this container, gives to a process.
package struct HostFacts: Sendable {
  /// Descriptors that the process may open: the hard limit, to which a worker raises its own.
  package var descriptors: Int
  /// Ports for connections that begin here.
  package var ephemeralPorts: ClosedRange<Int>?
  package var processors: Int
  /// Bytes that the control group allows; nil: only the machine bounds it.
  package var memoryLimit: Int?
  /// Whether something keeps the clock right; nil: the kernel does not tell.
  package var isClockKept: Bool?
  /// The most that the clock may be wrong by, as the kernel reckons, where it is kept.
  package var clockError: Duration
  package var hasTimeZones: Bool

  /// Asks the system.
  package static func current() -> HostFacts {
    var error = 0
    let clock = linux_clock_is_kept(&error)
    let limits = ProcessLimits.current
    return HostFacts(
      descriptors: descriptorLimit(), ephemeralPorts: portRange(), processors: limits.processors,
      memoryLimit: limits.memoryBytes, isClockKept: clock < 0 ? nil : clock == 1,
      clockError: .microseconds(error),
      // One that every edition of the database has.
      hasTimeZones: access(Assembly.timeZoneDirectory + "/Europe/Berlin", R_OK) == 0)
  }

  private static func descriptorLimit() -> Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
    return Int(clamping: limit.rlim_max)
  }

  /// `32768	60999`
  private static func portRange() -> ClosedRange<Int>? {
    let path = "/proc/sys/net/ipv4/ip_local_port_range"
    guard let text = (try? BoundedFile.read(path, maximumBytes: 256))?.text else { return nil }
    let numbers = text.split { $0 == " " || $0 == "\t" || $0 == "\n" }.compactMap { Int($0) }
    guard numbers.count == 2, numbers[0] <= numbers[1] else { return nil }
    return numbers[0]...numbers[1]
  }
}
