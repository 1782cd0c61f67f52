import Testing

@testable import Expand

@Suite struct WriteLogTests {
  private func note(_ user: String, in log: inout WriteLog) {
    Array(user.utf8).withUnsafeBytes { log.note($0) }
  }

  private func includes(_ writes: WriteLog.Writes, _ user: String) -> Bool {
    Array(user.utf8).withUnsafeBytes { writes.include($0) }
  }

  @Test func whatCameSinceAPositionIsThere() {
    var log = WriteLog()
    note("a", in: &log)
    let position = log.position
    #expect(log.writes(since: position) == .to([]))
    note("b", in: &log)
    note("c", in: &log)
    let writes = log.writes(since: position)
    #expect(includes(writes, "b") && includes(writes, "c"))
    #expect(!includes(writes, "a") && !includes(writes, "bc") && !includes(writes, ""))
  }

  @Test func everybodyIsEverybodyBeforeAndNobodyAfter() {
    var log = WriteLog()
    let before = log.position
    log.noteEverybody()
    #expect(log.writes(since: before) == .toEverybody)
    #expect(includes(log.writes(since: before), "x"))
    #expect(log.writes(since: log.position) == .to([]))
  }

  /// While one page is read so many can be written that it is kept of nobody.
  @Test func tooManyAreEverybody() {
    var log = WriteLog()
    let start = log.position
    for index in 0..<WriteLog.maximumUsers { note("u\(index)", in: &log) }
    #expect(includes(log.writes(since: start), "u0"))
    #expect(!includes(log.writes(since: start), "v"))
    let full = log.position
    note("w", in: &log)
    #expect(log.writes(since: start) == .toEverybody)
    #expect(includes(log.writes(since: full), "w") && !includes(log.writes(since: full), "u1"))
  }
}
