import Dispatch
import EventLoop
import Testing
import Threads

@testable import Transport

/// A resolver whose answers come when the test says so, and its clock.
private final class ScriptedNames: Sendable {
  private struct State {
    var now: UInt64 = 0
    var lookUps = 0
    var answers: [AddressLookUpAnswer] = []
  }

  typealias AddressLookUpAnswer = Result<[SocketAddress], TransportError>
  private let state = ThreadLock(State())
  private let given = DispatchSemaphore(value: 0)

  func makeResolver() -> NameResolver {
    NameResolver(now: { [self] in state.withLock { $0.now } }) { [self] _ in
      state.withLock { $0.lookUps += 1 }
      given.wait()
      return state.withLock { $0.answers.removeFirst() }
    }
  }

  var lookUps: Int { state.withLock { $0.lookUps } }

  /// One look-up that is on its way, or the next, ends so.
  func answer(_ answer: AddressLookUpAnswer, after nanoseconds: UInt64 = 0) {
    state.withLock {
      $0.now += nanoseconds
      $0.answers.append(answer)
    }
    given.signal()
  }

  func pass(_ nanoseconds: UInt64) { state.withLock { $0.now += nanoseconds } }
}

@Suite struct NameResolverTests {
  private static let name = Endpoint(host: "redis.test", port: 6379)
  private static let second: UInt64 = 1_000_000_000

  private static func addresses(_ last: Int) throws -> [SocketAddress] {
    try Resolver.numeric(Endpoint(host: "127.0.0.\(last)", port: 6379)).get()
  }

  /// What was answered to one question, or nothing yet. Confined to the loop.
  private final class Question: @unchecked Sendable {
    var answer: Result<[SocketAddress], TransportError>?

    init(_ resolver: NameResolver, _ loop: EventLoop) {
      resolver.resolve(NameResolverTests.name, on: loop) { self.answer = $0 }
    }

    var addresses: [SocketAddress]? { try? answer?.get() }
  }

  private func until(_ loop: EventLoop, _ condition: () -> Bool) async {
    for _ in 0..<60_000 where !condition() { await loop.wait(.milliseconds(1)) }
    #expect(condition())
  }

  @Test func whoAsksForAnAnswerHasItOrTheEndOfTheTime() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let names = ScriptedNames()
      let resolver = names.makeResolver()
      let late = await resolver.answer(for: Self.name, on: loop, within: .milliseconds(1))
      #expect(late == nil)
      names.answer(.success(try Self.addresses(1)))
      names.answer(.success(try Self.addresses(1)))
      let answer = await resolver.answer(for: Self.name, on: loop, within: .seconds(60))
      #expect(try answer?.get().map(\.host) == ["127.0.0.1"])
    }
  }

  @Test func addressesAreWrittenWithoutTheirPorts() throws {
    let six = try Resolver.numeric(Endpoint(host: "fd00::0:1", port: 443)).get()
    #expect(six.map(\.host) == ["fd00::1"] && six.allSatisfy(\.isIPv6))
    #expect(try Self.addresses(7).allSatisfy { !$0.isIPv6 })
  }

  @Test func aLateAnswerIsKeptForWhoAsksNext() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let names = ScriptedNames()
      let resolver = names.makeResolver()
      let first = Question(resolver, loop)
      await until(loop) { names.lookUps == 1 }
      names.answer(.success(try Self.addresses(1)), after: 5 * Self.second)
      await until(loop) { first.answer != nil }
      // It is given at once, and looked up again beside.
      let second = Question(resolver, loop)
      await until(loop) { second.answer != nil }
      #expect(try second.addresses == Self.addresses(1))
      await until(loop) { names.lookUps == 2 }
      // One that comes in time ends that: who asks then waits for the next.
      names.answer(.success(try Self.addresses(2)))
      var third = second
      while names.lookUps < 3 {
        third = Question(resolver, loop)
        let asked = third
        await until(loop) { asked.answer != nil || names.lookUps == 3 }
      }
      names.answer(.success(try Self.addresses(3)))
      await until(loop) { third.answer != nil }
      #expect(try third.addresses == Self.addresses(3))
    }
  }

  @Test func aLateAnswerGrowsOld() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let names = ScriptedNames()
      let resolver = names.makeResolver()
      let first = Question(resolver, loop)
      await until(loop) { names.lookUps == 1 }
      names.answer(.success(try Self.addresses(1)), after: 5 * Self.second)
      await until(loop) { first.answer != nil }
      names.pass(NameResolver.keptFor)
      let second = Question(resolver, loop)
      await until(loop) { names.lookUps == 2 }
      #expect(second.answer == nil)
      names.answer(.success(try Self.addresses(2)))
      await until(loop) { second.answer != nil }
      #expect(try second.addresses == Self.addresses(2))
    }
  }

  @Test func aFailureLeavesALateAnswer() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let names = ScriptedNames()
      let resolver = names.makeResolver()
      let first = Question(resolver, loop)
      names.pass(0)
      await until(loop) { names.lookUps == 1 }
      names.answer(.success(try Self.addresses(1)), after: 5 * Self.second)
      await until(loop) { first.answer != nil }
      let failure = TransportError(.unresolved, "no")
      for _ in 0..<2 {
        let next = Question(resolver, loop)
        await until(loop) { next.answer != nil }
        #expect(try next.addresses == Self.addresses(1))
        names.answer(.failure(failure))
      }
    }
  }

  @Test func oneLookUpOfANameRunsAtATime() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let names = ScriptedNames()
      let resolver = names.makeResolver()
      let all = (0..<100).map { _ in Question(resolver, loop) }
      await until(loop) { names.lookUps == 1 }
      names.answer(.success(try Self.addresses(1)))
      await until(loop) { all.allSatisfy { $0.answer != nil } }
      #expect(names.lookUps == 1)
    }
  }

  /// As many threads wait at most.
  @Test func namesThatAreNotAnsweredAreBounded() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    await LoopActor(loop).run { _ in
      let names = ScriptedNames()
      let resolver = names.makeResolver()
      for number in 0..<NameResolver.maximumNames {
        resolver.resolve(Endpoint(host: "h\(number).test", port: 1), on: loop) { _ in }
      }
      let further = Question(resolver, loop)
      await until(loop) { further.answer != nil }
      guard case .failure(let error) = further.answer else {
        Issue.record("it waits")
        return
      }
      #expect(error.code == .unresolved && error.message.hasPrefix("DNS: 64 names"))
      for _ in 0..<NameResolver.maximumNames { names.answer(.failure(error)) }
    }
  }

  /// The time for the connection begins behind the name's.
  @Test func aSlowNameTakesNothingOfTheConnectionsTime() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let listener = try Echo().listen(on: loop)
      let names = ScriptedNames()
      var options = TransportOptions(connectTimeout: .milliseconds(500))
      options.names = names.makeResolver()
      let client = Client(loop)
      let connection = Connection(
        to: Endpoint(host: "redis.test", port: 1), tls: nil, options: options, loop: loop,
        delegate: client)
      connection.connect()
      #expect(connection.isResolving)
      // Longer than there is for the connection.
      let start = loop.now
      await client.until { loop.now &- start > 700_000_000 }
      #expect(connection.isResolving && !client.isClosed)
      names.answer(Resolver.numeric(Endpoint(host: "127.0.0.1", port: listener.port)))
      await client.until { client.isOpen }
      #expect(!connection.isResolving && connection.resolvingNanoseconds > 600_000_000)
      connection.close()
      listener.close()
    }
  }

  @Test func aNameThatIsNotAnsweredIsSaidToBeDNS() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    await LoopActor(loop).run { _ in
      let names = ScriptedNames()
      var options = TransportOptions(resolveTimeout: .milliseconds(20))
      options.names = names.makeResolver()
      let client = Client(loop)
      let connection = Connection(
        to: Endpoint(host: "redis.test", port: 1), tls: nil, options: options, loop: loop,
        delegate: client)
      connection.connect()
      await client.until { client.isClosed }
      #expect(client.error?.code == .unresolved)
      #expect(
        client.error?.message.hasPrefix("DNS gave no address of redis.test within 20ms") == true)
      // The answer comes to nobody.
      names.answer(.failure(TransportError(.unresolved, "late")))
      await until(loop) { names.lookUps == 1 }
    }
  }
}
