import Glibc
import Testing
import Threads

@testable import DeadLetters

/// Searches keep no loop, and few run at a time.
@Suite struct LetterFinderTests {
  /// Whoever enters waits until somebody is let out.
  private final class Gate: Sendable {
    private let ends: [Int32]
    private let entered = ThreadLock(0)

    init() throws {
      var ends: [Int32] = [-1, -1]
      try #require(pipe(&ends) == 0)
      self.ends = ends
    }

    deinit { for end in ends { close(end) } }

    /// How many have entered.
    var count: Int { entered.withLock { $0 } }

    func enter() {
      entered.withLock { $0 += 1 }
      var byte: UInt8 = 0
      _ = read(ends[0], &byte, 1)
    }

    func letOut(_ count: Int) {
      let bytes = [UInt8](repeating: 1, count: count)
      _ = write(ends[1], bytes, count)
    }
  }

  @Test func fewSearchesRunAtATimeAndOthersWait() async throws {
    let gate = try Gate()
    let finder = LetterFinder(atOnce: 2, maximumWaiting: 1)
    let searches = (0..<3).map { _ in Task { try await finder.run { gate.enter() } } }
    while gate.count < 2 || finder.waitingCount < 1 { await Task.yield() }
    await #expect(throws: DeadLettersError.self) { try await finder.run { gate.enter() } }
    #expect(gate.count == 2)
    gate.letOut(1)
    while gate.count < 3 { await Task.yield() }
    #expect(finder.waitingCount == 0)
    gate.letOut(2)
    for search in searches { try await search.value }
    #expect(try await finder.run { 7 } == 7)
  }

  @Test func aSearchRunsOnAThreadOfItsOwn() async throws {
    let caller = pthread_self()
    let searcher = try await LetterFinder().run { pthread_self() }
    #expect(caller != searcher)
  }
}
