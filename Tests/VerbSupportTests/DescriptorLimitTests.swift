import Glibc
import Testing
import VerbSupport

@Suite struct DescriptorLimitTests {
  @Test func takesWhatTheHardLimitAllows() {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var before = rlimit()
    #expect(getrlimit(resource, &before) == 0)
    var low = rlimit(rlim_cur: min(before.rlim_cur, 512), rlim_max: before.rlim_max)
    #expect(setrlimit(resource, &low) == 0)
    #expect(ProcessOptions.raiseDescriptorLimit() == Int(clamping: min(before.rlim_max, 65_536)))
    var after = rlimit()
    #expect(getrlimit(resource, &after) == 0 && after.rlim_max == before.rlim_max)
    #expect(setrlimit(resource, &before) == 0)
  }
}
