import Testing

@Suite struct BannedCallTests {
  @Test func nothingBannedIsCalled() {
    report(PackageTree.swiftFiles.flatMap { BannedCalls.violations(in: $0) })
  }

  // MARK: - The rules can fail

  private static let stage = "Sources/Stages/Render/A.swift"
  private static let binding = "Sources/Bindings/TLS/A.swift"
  private static let terminal = "Sources/Terminal/A.swift"
  private static let test = "Tests/RenderTests/A.swift"

  private func broken(_ path: String, _ text: String) -> [Violation] {
    BannedCalls.violations(in: SourceFile(path: path, text: text))
  }

  @Test(arguments: [
    "fatalError(\"no\")", "let a = try! b()", "let a = b as! Int", "print(1)", "Swift.print(1)",
    "debugPrint(a)", "posix_spawnp(&a, b, nil, nil, &c, &d)", "process.executableURL = a",
    "nonisolated(unsafe) var a = 1", "let a = Mutex(0)", "let a = \"\\(try! b())\"",
    "import Foundation",
    "import FoundationEssentials", "// TO" + "DO: later", "/* FIX" + "ME */", "/// XX" + "X",
    "// Kept by the lock.\nstruct A: @unchecked Sendable {}",
  ])
  func findsInSources(_ text: String) {
    #expect(broken(Self.stage, text).count == 1)
  }

  @Test(arguments: [
    "usleep(10)", "Glibc.sleep(1)", "sleep(1)", "try await Task.sleep(for: .seconds(1))",
    "Thread.sleep(forTimeInterval: 1)", "nanosleep(&a, nil)", "fork()", "Glibc.system(a)",
    "@Test(.disabled(\"later\")) func a() {}",
    "throw XCTSkip(\"later\")", "struct A: @unchecked Sendable {}",
  ])
  func findsInTests(_ text: String) {
    #expect(broken(Self.test, text).count == 1)
  }

  @Test(arguments: [
    "// fatalError( and try! and print( in a sentence", "let a = \"print(1) try! TO" + "DO\"",
    "report.print(a)", "func print(_ a: Int) {}", "let fingerprint = footprint(a)",
    "let a = b as? Int", "let a = ChildProcess(b)", "a.system(b)",
    "let has = retry!", "let a = #\"fatalError(\"no\")\"#", "clock.sleep(until: a)",
  ])
  func readsOverWhatIsNotCalled(_ text: String) {
    #expect(broken(Self.stage, text) == [])
    #expect(broken(Self.test, text) == [])
  }

  @Test func placesDecide() {
    #expect(broken(Self.terminal, "print(1)") == [])
    #expect(broken("Sources/Processes/ChildProcess.swift", "posix_spawnp(&a, b)") == [])
    #expect(broken(Self.test, "print(try! a() as! Int)") == [])
    #expect(broken("Sources/Settings/A.swift", "import FoundationEssentials") == [])
    #expect(broken(Self.binding, "nonisolated(unsafe) let a = b()") == [])
  }

  @Test func uncheckedSendableSaysWhoGuaranteesIt() {
    let lines = "\nlet a = 1\nlet b = 2\n"
    #expect(broken(Self.binding, "// The loop.\nfinal class A: @unchecked Sendable {}") == [])
    #expect(
      broken(Self.binding, "// The loop.\(lines)\nfinal class A: @unchecked Sendable {}") == [])
    #expect(
      broken(Self.binding, "// The loop.\(lines)\n\nfinal class A: @unchecked Sendable {}").count
        == 1)
    #expect(
      broken(Self.binding, "final class A: B, @unchecked @retroactive Sendable {}").count == 1)
  }
}
