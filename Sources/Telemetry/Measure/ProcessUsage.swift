import Glibc

/// The resources that a process has used, as the operating system reports them.
package struct ProcessUsage: Sendable, Equatable {
  /// CPU in user mode and in the kernel, all threads, ended ones too.
  package let cpuNanoseconds: UInt64
  package let residentBytes: Int
  /// The most that was ever resident (VmHWM).
  package let peakResidentBytes: Int

  package init(cpuNanoseconds: UInt64, residentBytes: Int, peakResidentBytes: Int) {
    self.cpuNanoseconds = cpuNanoseconds
    self.residentBytes = residentBytes
    self.peakResidentBytes = peakResidentBytes
  }

  /// Of this process; memory is 0 where /proc is not mounted.
  package static func own() -> ProcessUsage {
    let memory = readFile("/proc/self/status").flatMap(memory(fromStatus:))
    return ProcessUsage(
      cpuNanoseconds: MonotonicClock.nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID) ?? 0,
      residentBytes: memory?.resident ?? 0, peakResidentBytes: memory?.peak ?? 0)
  }

  /// When this process started, in seconds since 1970; 0 where /proc is not mounted. Prometheus
  /// tells a restart by it, so it is worked out once: the clocks it comes from drift apart.
  package static let ownStartTime = startTimeOfThisProcess()

  private static func startTimeOfThisProcess() -> Double {
    var now = timespec()
    guard let stat = readFile("/proc/self/stat"), let ticks = startTicks(fromStat: stat),
      let uptime = MonotonicClock.nanoseconds(of: CLOCK_BOOTTIME),
      clock_gettime(CLOCK_REALTIME, &now) == 0
    else { return 0 }
    let started = Double(ticks) / Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
    let wall = Double(now.tv_sec) + Double(now.tv_nsec) / 1_000_000_000
    return wall - Double(uptime) / 1_000_000_000 + started
  }

  /// Of another process; nil when there is no such process or it has ended (a zombie has no memory
  /// any more: read it before it ends, or use `cpuNanoseconds(of:)`).
  package static func of(_ process: pid_t) -> ProcessUsage? {
    guard let cpu = cpuNanoseconds(of: process),
      let memory = readFile("/proc/\(process)/status").flatMap(memory(fromStatus:))
    else { return nil }
    return ProcessUsage(
      cpuNanoseconds: cpu, residentBytes: memory.resident, peakResidentBytes: memory.peak)
  }

  /// From the process's CPU clock, to the nanosecond; else from /proc/<pid>/stat, to the clock
  /// tick (10 ms). The latter still answers for a process that ended and is not yet reaped.
  package static func cpuNanoseconds(of process: pid_t) -> UInt64? {
    guard process > 0 else { return nil }
    var clock = clockid_t()
    if clock_getcpuclockid(process, &clock) == 0,
      let time = MonotonicClock.nanoseconds(of: clock), time > 0
    {
      return time
    }
    guard let ticks = readFile("/proc/\(process)/stat").flatMap(ticks(fromStat:)) else {
      return nil
    }
    let ticksPerSecond = UInt64(max(1, sysconf(Int32(_SC_CLK_TCK))))
    let (product, overflow) = ticks.multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? nil : product / ticksPerSecond
  }

  /// utime + stime (fields 14 and 15 of proc(5)).
  static func ticks(fromStat text: String) -> UInt64? {
    guard let user = field(14, ofStat: text), let system = field(15, ofStat: text) else {
      return nil
    }
    let (sum, overflow) = user.addingReportingOverflow(system)
    return overflow ? nil : sum
  }

  /// starttime (field 22 of proc(5)): clock ticks after the machine was booted.
  static func startTicks(fromStat text: String) -> UInt64? { field(22, ofStat: text) }

  /// The command's name, field 2, may hold spaces and parentheses, so fields are counted from the
  /// last closing one.
  private static func field(_ number: Int, ofStat text: String) -> UInt64? {
    guard let close = text.lastIndex(of: ")") else { return nil }
    let fields = text[text.index(after: close)...].split(whereSeparator: \.isWhitespace)
    return fields.count > number - 3 ? UInt64(fields[number - 3]) : nil
  }

  /// VmRSS and VmHWM, written in kB.
  static func memory(fromStatus text: String) -> (resident: Int, peak: Int)? {
    func bytes(_ name: String) -> Int? {
      for line in text.split(separator: "\n") where line.hasPrefix(name + ":") {
        let words = line.dropFirst(name.count + 1).split(whereSeparator: \.isWhitespace)
        guard words.count == 2, words[1] == "kB", let count = Int(words[0]), count >= 0 else {
          return nil
        }
        let (product, overflow) = count.multipliedReportingOverflow(by: 1024)
        return overflow ? nil : product
      }
      return nil
    }
    guard let resident = bytes("VmRSS"), let peak = bytes("VmHWM") else { return nil }
    return (resident, peak)
  }

  /// The files read here are one page long.
  private static let maximumFileBytes = 16_384

  private static func readFile(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: maximumFileBytes)
    var filled = 0
    while filled < bytes.count {
      let count = bytes.withUnsafeMutableBytes {
        read(descriptor, $0.baseAddress?.advanced(by: filled), $0.count - filled)
      }
      if count > 0 {
        filled += count
      } else if count == 0 {
        break
      } else if errno != EINTR {
        return nil
      }
    }
    return filled == 0 ? nil : String(decoding: bytes.prefix(filled), as: UTF8.self)
  }
}
