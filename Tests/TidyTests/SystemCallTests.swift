import Testing

@Suite struct SystemCallTests {
  /// Shims are looked at with the same eyes: C's comments and literals are Swift's.
  private static let shims: [SourceFile] = [".h", ".c"].flatMap { suffix in
    PackageTree.this.files(under: "Sources", withSuffix: suffix).map {
      SourceFile(path: $0, text: PackageTree.this.text(of: $0))
    }
  }

  @Test func onlyTheListedFilesAskTheSystem() {
    #expect(!Self.shims.isEmpty)
    report(SystemCalls.violations(in: PackageTree.swiftFiles + Self.shims))
  }

  @Test func workFollowsNoHashOrder() {
    report(PackageTree.swiftFiles.flatMap { HashOrder.violations(in: $0) })
  }

  // MARK: - The rules can fail

  private static let stage = "Sources/Stages/Deliver/A.swift"

  private func broken(_ text: String, _ askers: [String: String] = [:]) -> [Violation] {
    SystemCalls.violations(in: [SourceFile(path: Self.stage, text: text)], askers)
  }

  @Test(arguments: [
    "clock_gettime(CLOCK_REALTIME, &a)", "let a = time(nil)", "return Glibc.time(nil) - a",
    "let a = ContinuousClock.now", "let a = Date()", "a = Date.now", "let a: DispatchTime = b",
    "DispatchQueue.main.async {}", "var a = SystemRandomNumberGenerator()",
    "a = UInt64.random(in: 0...1)", "a = .random(in: .min ... .max)", "a.randomElement()",
    "a.shuffled()", "a.shuffle(using: &b)", "getrandom(&a, 8, 0)", "arc4random_uniform(3)",
    "let a = UUID()", "pthread_create(&a, nil, b, nil)", "Thread.detachNewThread {}",
    "try await Task.sleep(for: a)", "Task.detached {}", "nanosleep(&a, nil)", "usleep(1)",
    "sleep(1)", "timerfd_create(0, 0)", "epoll_wait(a, b, 1, -1)", "WallClock.nowMilliseconds()",
    "MonotonicClock.nowNanoseconds()", "EventLoop.monotonicNanoseconds()",
    "SecretDigest.random(8)", "let a = SystemThread { b() }", "SystemThread({ b() })",
    "var a = Hasher()", "a.hashValue", "let a = \"\\(time(nil))\"", "RAND_priv_bytes(&a, 8)",
  ])
  func findsWhoAsks(_ text: String) {
    #expect(broken(text).count == 1)
    #expect(broken(text, [Self.stage: "may"]) == [])
  }

  @Test(arguments: [
    "// ContinuousClock.now", "let a = \"Date()\"", "let now = loop.now", "clock.sleep(until: a)",
    "let at = try time(object)", "func time(_ a: Int) {}", "a.wallClock()", "randomNumber()",
    "let a = random()", "update(", "WallClock.rfc3339(a)", "consumer.poll(timeout: .zero)",
    "SystemThread?", "case .now: return", "hash(into: &hasher)", "loop.randomNumber()",
  ])
  func readsOverWhatIsGiven(_ text: String) {
    #expect(broken(text) == [])
  }

  @Test func whoAsksNoMoreIsNotListed() {
    let found = broken("let a = 1", [Self.stage: "may"])
    #expect(found.map(\.file) == [Self.stage] && found.map(\.line) == [0])
    #expect(broken("", ["Sources/Gone.swift": "may"]).count == 1)
  }

  @Test func testsMayAsk() {
    let file = SourceFile(path: "Tests/RenderTests/A.swift", text: "usleep(1)")
    #expect(SystemCalls.violations(in: [file], [:]) == [])
  }

  private func unordered(_ path: String, _ text: String) -> Int {
    HashOrder.violations(in: SourceFile(path: path, text: text)).count
  }

  @Test(arguments: [
    "for a in b.values { a() }", "for (a, _) in Array(b.values) where c {", "for a in b.keys {",
    "for a in Set(b.map(\\.c)) {", "for a in Dictionary(grouping: b) { $0 }.values {",
  ])
  func findsTheOrderOfHashes(_ text: String) {
    #expect(unordered(Self.stage, text) == 1)
    #expect(unordered("Sources/Terminal/A.swift", text) == 0)
  }

  @Test(arguments: [
    "for a in b.keys.sorted() {", "for a in b where c.keys.contains(a) {", "let a = b.values.max()",
    "for a in b {", "// for a in b.values",
    "for a in stride(from: 0, to: 9, by: Self.keysPerCommand) {",
  ])
  func readsOverOrderedLoops(_ text: String) {
    #expect(unordered(Self.stage, text) == 0)
  }
}
