import Settings
import Testing

@testable import Assembly

/// What a process may use, from the files of the kernel as containers show them.
@Suite struct ProcessLimitsTests {
  private func limits(_ files: [String: String], affinity: Int = 64) -> ProcessLimits {
    ProcessLimits(affinity: affinity) { files[$0] }
  }

  @Test func withoutAGroupTheAffinityCounts() {
    let found = limits([:], affinity: 3)
    #expect(found.processors == 3 && found.memoryBytes == nil)
    #expect(limits([:], affinity: 0).processors == 1)
  }

  @Test(arguments: [
    ("200000 100000", 2), ("150000 100000", 2), ("50000 100000", 1), ("max 100000", 64),
    ("9000000 100000", 64), ("", 64), ("x y", 64), ("100000 0", 64),
  ])
  func aQuotaBoundsTheProcessors(_ quota: String, _ processors: Int) {
    let found = limits(["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": quota + "\n"])
    #expect(found.processors == processors)
  }

  /// The group of a pod bounds those of its containers.
  @Test func aGroupAboveBoundsToo() {
    let found = limits([
      "/proc/self/cgroup": "0::/kubepods/pod1/c1\n",
      "/sys/fs/cgroup/kubepods/pod1/c1/cpu.max": "max 100000",
      "/sys/fs/cgroup/kubepods/pod1/c1/memory.max": "max",
      "/sys/fs/cgroup/kubepods/pod1/cpu.max": "400000 100000",
      "/sys/fs/cgroup/kubepods/pod1/memory.max": "536870912\n",
    ])
    #expect(found == ProcessLimits.of(processors: 4, memoryBytes: 536_870_912))
  }

  @Test func theFirstVersionHasAGroupForEachController() {
    let found = limits([
      "/proc/self/cgroup": "5:cpu,cpuacct:/docker/a\n4:memory:/docker/a\n1:name=systemd:/\n",
      "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "250000\n",
      "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
      "/sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n",
    ])
    #expect(found == ProcessLimits.of(processors: 3, memoryBytes: 1 << 30))
    let unlimited = limits([
      "/proc/self/cgroup": "5:cpu:/\n4:memory:/\n",
      "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
      "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
    ])
    #expect(unlimited == ProcessLimits.of(processors: 64, memoryBytes: nil))
  }

  @Test func whoRunsOnOneProcessorHasOneLane() {
    let settings = Settings.defaults
    let one = limits([:], affinity: 1)
    let four = limits([:], affinity: 4)
    #expect(Assembly.memoryBudget(settings, limits: one).lanes == 1)
    #expect(Assembly.memoryBudget(settings, limits: four).lanes == 4)
  }

  @Test func aLimitBelowTheBoundIsSaid() {
    let settings = Settings.defaults
    func warning(_ bytes: Int?) -> String? {
      let found = ProcessLimits.of(processors: 64, memoryBytes: bytes)
      return Assembly.memoryWarning(settings, limits: found)
    }
    #expect(warning(nil) == nil)
    #expect(warning(1 << 50) == nil)
    let fits = warning(2 << 30) ?? ""
    #expect(fits.contains("2148 MB") && fits.contains("or set lanes.count to"), "\(fits)")
    #expect(warning(64 << 20)?.contains("lower lanes.batch_bytes") == true)
  }
}

extension ProcessLimits {
  static func of(processors: Int, memoryBytes: Int?) -> ProcessLimits {
    ProcessLimits(affinity: processors) { path in
      switch path {
      case "/proc/self/cgroup": "0::/"
      case "/sys/fs/cgroup/memory.max": memoryBytes.map { String($0) }
      default: nil
      }
    }
  }
}
