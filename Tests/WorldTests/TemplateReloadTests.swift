import Assembly
import Glibc
import Pipeline
import Processes
import Render
import Testing
import World

/// Templates that change under a running worker.
@Suite struct TemplateReloadTests {
  /// Starts a worker whose templates are those of a directory, which `body` changes.
  private func live(
    interval: Duration = .seconds(10),
    _ body: (WorldHarness, WorldWorker, Templates) throws -> Void
  ) throws {
    let templates = try Templates()
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: (1...3).map { paddedHex($0) })
      let clock = harness.clock(ahead: 0)
      let files = try TemplateFiles(directory: templates.current, wallClock: clock)
      let worker = try harness.startWorker {
        $0.templates = files.templates ?? []
        $0.lookAtTemplates = { files.look(isSettled: $0) }
        $0.templateInterval = interval
        $0.templateReloads = { files.figures }
        $0.templateWait = .seconds(600)
      }
      harness.world.whenPushed = {
        templates.texts.append(String(decoding: $0.payload, as: UTF8.self))
      }
      try body(harness, worker, templates)
      #expect(harness.stop(worker))
    }
  }

  /// A directory as Kubernetes mounts it: a link to the directory with the files.
  private final class Templates {
    private let directory: ScratchDirectory
    private var version = 0
    /// Payloads that have reached Apple.
    var texts: [String] = []
    var current: String { directory.file("current") }

    init() throws {
      directory = try ScratchDirectory()
      try swap("the first text")
    }

    /// Puts another directory in place.
    func swap(_ text: String, named name: String = "go-live") throws {
      version += 1
      _ = try directory.makeDirectory("\(version)")
      for name in Set(["go-live", name]) {
        try directory.write(
          "payload: { aps: { alert: \"\(text)\" } }", to: "\(version)/\(name).yaml")
      }
      #expect(symlink("\(version)", directory.file("next")) == 0)
      #expect(rename(directory.file("next"), current) == 0)
    }

    /// Overwrites the file.
    func write(_ bytes: String) throws {
      try directory.write(bytes, to: "\(version)/go-live.yaml")
    }

    func takeTexts() -> [String] {
      defer { texts = [] }
      return texts
    }
  }

  private func send(_ event: String, template: String = "go-live", _ harness: WorldHarness) throws {
    harness.emit(event, template: template)
    #expect(try harness.finished(event).accepted == 3)
  }

  @Test func aChangedDirectoryIsUsedWithinFifteenSeconds() throws {
    try live { harness, _, templates in
      try send("e1", harness)
      #expect(templates.takeTexts().allSatisfy { $0.contains("the first text") })
      try templates.swap("the second text")
      harness.pass(.seconds(15))
      try send("e2", harness)
      let texts = templates.takeTexts()
      #expect(texts.count == 3 && texts.allSatisfy { $0.contains("the second text") }, "\(texts)")
    }
  }

  @Test func aBrokenTemplateIsRefusedAndAMendedOneUsed() throws {
    try live { harness, worker, templates in
      try send("e1", harness)
      _ = templates.takeTexts()
      try templates.write("payload: { aps: {\n")
      harness.pass(.seconds(15))
      try send("e2", harness)
      #expect(templates.takeTexts().allSatisfy { $0.contains("the first text") })
      #expect(
        harness.lines.contains {
          $0.contains("the previous ones stay in use") && $0.contains("go-live.yaml:2:")
        })
      let refused = #"fanfare_reloads_total{what="templates",result="refused"}"#
      let since = #"fanfare_reload_refused_timestamp_seconds{what="templates"}"#
      #expect(harness.metrics(worker).contains("\n\(refused) 1\n"))
      #expect(!harness.metrics(worker).contains("\n\(since) 0\n"))
      try templates.write("payload: { aps: { alert: mended } }")
      harness.pass(.seconds(15))
      try send("e3", harness)
      #expect(templates.takeTexts().allSatisfy { $0.contains("mended") })
      #expect(harness.metrics(worker).contains("\n\(since) 0\n"))
    }
  }

  /// With 0 for the interval only the signal does it.
  @Test func aSignalUsesAChangeAtOnce() throws {
    try live(interval: .zero) { harness, worker, templates in
      try send("e1", harness)
      _ = templates.takeTexts()
      try templates.swap("the second text")
      harness.pass(.seconds(60))
      try send("e2", harness)
      #expect(templates.takeTexts().allSatisfy { $0.contains("the first text") })
      worker.worker.reload()
      harness.pass(.milliseconds(10))
      try send("e3", harness)
      #expect(templates.takeTexts().allSatisfy { $0.contains("the second text") })
      worker.worker.reload()
      harness.pass(.milliseconds(10))
      #expect(harness.lines.contains { $0.contains("the templates have not changed") })
    }
  }

  @Test func anEventWaitsForItsTemplateToBeLoaded() throws {
    try live { harness, _, templates in
      harness.emit("early", template: "finals")
      try harness.wait(for: "the event to rest") {
        harness.lines.contains { $0.contains("waits for a worker that has its template") }
      }
      try templates.swap("the finals", named: "finals")
      harness.pass(.seconds(20))
      #expect(try harness.finished("early").accepted == 3)
      #expect(harness.lines.count { $0.contains("waits for a worker that has") } == 1)
    }
  }
}
