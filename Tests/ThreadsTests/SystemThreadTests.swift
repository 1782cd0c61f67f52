import Glibc
import Testing
import Threads

@Suite struct SystemThreadTests {
  private final class Witness: Sendable {}

  @Test func theWorkRunsOnAThreadOfItsOwnAndIsDoneWhenItIsJoined() throws {
    let ranOn = ThreadLock<pthread_t?>(nil)
    let thread = try #require(SystemThread { ranOn.withLock { $0 = pthread_self() } })
    thread.join()
    let other = try #require(ranOn.withLock { $0 })
    #expect(other != pthread_self())
  }

  @Test func nothingOfTheWorkIsKeptAfterItsEnd() throws {
    weak var witness: Witness?
    var thread: SystemThread?
    do {
      let kept = Witness()
      witness = kept
      thread = SystemThread { withExtendedLifetime(kept) {} }
    }
    try #require(thread != nil)
    thread?.join()
    #expect(witness == nil)
  }

  @Test func aDetachedThreadRunsToItsEnd() async throws {
    await withCheckedContinuation { continuation in
      guard let thread = SystemThread({ continuation.resume() }) else {
        Issue.record("no thread to be had")
        return continuation.resume()
      }
      thread.detach()
    }
  }
}
