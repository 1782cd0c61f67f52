import Glibc
import Testing

@testable import Terminal

@Suite struct ReadyFileTests {
  @Test func itIsThereWhileThereIsWorkAndNothingIsWrong() {
    let path = "/tmp/fanfare-ready-\(getpid())-\(UInt32.random(in: 0 ... .max))"
    let file = ReadyFile(path)
    func isThere() -> Bool { access(path, F_OK) == 0 }
    // Nobody has found it healthy yet.
    #expect(file.appear() == nil && !isThere())
    #expect(file.keep(isHealthy: false) == nil && !isThere())
    #expect(file.keep(isHealthy: true) == nil && isThere())
    #expect(file.keep(isHealthy: false) == nil && !isThere())
    file.disappear()
    #expect(file.keep(isHealthy: true) == nil && !isThere())
    #expect(file.appear() == nil && isThere())
    file.end()
    #expect(!isThere())
    for isHealthy in [false, true] { #expect(file.keep(isHealthy: isHealthy) == nil) }
    #expect(file.appear() == nil && !isThere())
  }
}
