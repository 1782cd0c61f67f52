import Dashboard
import Glibc
import Pipeline
import Processes
import Render
import Settings
import Testing
import Threads

@testable import Assembly

/// Templates that change while a process runs.
@Suite struct TemplateFilesTests {
  private static let now: Int64 = 1_795_248_000_000

  private let directory: ScratchDirectory

  init() throws {
    directory = try ScratchDirectory()
    try write("first")
  }

  private func write(_ text: String, to name: String = "go-live") throws {
    try directory.write("payload: { aps: { alert: \(text) } }", to: "\(name).yaml")
  }

  private func files() throws -> TemplateFiles {
    try TemplateFiles(directory: directory.path, wallClock: { Self.now })
  }

  private func set(_ change: TemplateChange?) -> TemplateChange.TemplateSet? {
    guard case .replaced(let set) = change else { return nil }
    return set
  }

  private func isUnsettled(_ change: TemplateChange?) -> Bool {
    guard case .unsettled = change else { return false }
    return true
  }

  @Test func aChangeIsUsedWhenTwoLooksFindTheSame() throws {
    let files = try files()
    #expect(files.look(isSettled: false) == nil)
    try write("half")
    #expect(isUnsettled(files.look(isSettled: false)))
    try write("whole")
    #expect(isUnsettled(files.look(isSettled: false)), "it has changed again")
    let found = try #require(set(files.look(isSettled: false)))
    #expect(found.changed == ["go-live"] && found.removed.isEmpty)
    #expect(files.look(isSettled: false) == nil && files.figures.used == 1)
  }

  @Test func aChangeThatIsTakenBackIsNone() throws {
    let files = try files()
    try write("second")
    #expect(isUnsettled(files.look(isSettled: false)))
    try write("first")
    #expect(files.look(isSettled: false) == nil)
    try write("second")
    #expect(isUnsettled(files.look(isSettled: false)), "the look before does not count")
  }

  @Test func whoSaysThatItIsWholeWaitsForNothing() throws {
    let files = try files()
    try write("second")
    #expect(set(files.look(isSettled: true))?.changed == ["go-live"])
    #expect(files.look(isSettled: true) == nil)
  }

  /// The dashboard asks each time that somebody looks.
  @Test func theDashboardsTemplatesAreCompiledOnceForEachChange() throws {
    let count = ThreadLock(0)
    let compiled = CompiledTemplates(directory: directory.path) { directory in
      count.withLock { $0 += 1 }
      return Assembly.templatesAndProblems(in: directory)
    }
    var settings = Settings.defaults
    settings.templates.directory = directory.path
    let samples = Assembly.templateSamples(settings, compiled)
    func payload() -> String? {
      samples.make(TemplateSamples.Occasion()).first?.texts.first?.payload
    }
    for _ in 0..<3 { #expect(payload()?.contains("first") == true) }
    #expect(count.withLock { $0 } == 1)
    try write("second")
    for _ in 0..<3 { #expect(payload()?.contains("second") == true) }
    #expect(count.withLock { $0 } == 2)
  }

  @Test func aMistakeKeepsTheWholeDirectoryOut() throws {
    let files = try files()
    try write("second")
    try directory.write("payload: {", to: "other.yaml")
    guard case .refused(let mistakes) = files.look(isSettled: true) else {
      Issue.record("it is used")
      return
    }
    #expect(mistakes.count == 1 && mistakes[0].hasPrefix(directory.file("other.yaml") + ":2:"))
    #expect(files.templates?.map(\.name) == ["go-live"])
    #expect(files.figures.refused == 1 && files.figures.refusedSince == Self.now)
    #expect(files.look(isSettled: false) == nil, "it is told once")
    guard case .refused = files.look(isSettled: true) else {
      Issue.record("whoever asks again is told again")
      return
    }
    try write("third", to: "other")
    _ = files.look(isSettled: false)
    #expect(set(files.look(isSettled: false))?.changed == ["go-live", "other"])
    #expect(files.figures.refusedSince == nil)
  }

  @Test func aDirectoryThatWentAwayIsRefused() throws {
    let files = try files()
    #expect(unlink(directory.file("go-live.yaml")) == 0)
    guard case .refused = files.look(isSettled: true) else {
      Issue.record("an empty directory is used")
      return
    }
    #expect(files.templates?.count == 1)
  }

  @Test func aTemplateWithoutItsFileIsKeptForEventsUnderWay() throws {
    try write("other", to: "other")
    let files = try files()
    #expect(unlink(directory.file("other.yaml")) == 0)
    let found = try #require(set(files.look(isSettled: true)))
    #expect(found.removed == ["other"] && found.changed.isEmpty)
    #expect(found.templates.map(\.name) == ["go-live", "other"])
    #expect(files.names == ["go-live"])
  }

  /// As Kubernetes replaces a mounted ConfigMap.
  @Test func aLinkToAnotherDirectoryIsAChange() throws {
    for (version, text) in [("1", "first"), ("2", "second")] {
      _ = try directory.makeDirectory(version)
      try directory.write("payload: { aps: { alert: \(text) } }", to: "\(version)/go-live.yaml")
    }
    #expect(symlink("1", directory.file("current")) == 0)
    let files = try TemplateFiles(directory: directory.file("current"), wallClock: { Self.now })
    #expect(symlink("2", directory.file("next")) == 0)
    #expect(rename(directory.file("next"), directory.file("current")) == 0)
    #expect(set(files.look(isSettled: true))?.changed == ["go-live"])
  }

  @Test func anAPIServesWithoutTemplatesAndUsesThoseThatCome() throws {
    let path = directory.file("later")
    let files = TemplateFiles(unreadIn: path, wallClock: { Self.now })
    #expect(files.look(isSettled: true) == nil && files.names == nil)
    _ = try directory.makeDirectory("later")
    try directory.write("payload: {", to: "later/go-live.yaml")
    guard case .refused = files.look(isSettled: true) else {
      Issue.record("a mistake is used")
      return
    }
    #expect(files.names == nil && files.figures.refusedSince == Self.now)
    try directory.write("payload: { aps: { alert: a } }", to: "later/go-live.yaml")
    #expect(set(files.look(isSettled: true))?.changed == ["go-live"])
    #expect(files.names == ["go-live"])
  }

  @Test func theTestsOfATemplateAreNoTemplate() throws {
    try directory.write("cases: []", to: "go-live.tests.yaml")
    #expect(try TemplateFile.readAll(in: directory.path).map(\.name) == ["go-live"])
    #expect(TemplateFile.warnings(in: directory.path).isEmpty)
  }
}
