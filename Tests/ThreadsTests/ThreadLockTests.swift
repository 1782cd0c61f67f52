import Testing
import Threads

@Suite struct ThreadLockTests {
  private struct Refused: Error {}

  @Test func threadsComeOneAfterTheOther() async {
    let count = ThreadLock(0)
    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<10_000 { count.withLock { $0 += 1 } }
        }
      }
    }
    #expect(count.withLock { $0 } == 80_000)
  }

  @Test func aBodyThatThrowsLeavesItOpenAndItsChangesInPlace() {
    let state = ThreadLock([1])
    #expect(throws: Refused.self) {
      try state.withLock { (state) throws(Refused) in
        state.append(2)
        throw Refused()
      }
    }
    #expect(state.withLock { $0 } == [1, 2])
  }
}
