import Testing

@testable import Render

/// What stands in `aps`, held against Apple's list of keys.
@Suite("Apple's part of a payload")
struct ApplePartTests {
  private func template(_ aps: String, _ head: String = "") -> String {
    "\(head)payload:\n  aps:\n    \(aps)\n"
  }

  @Test(
    "A wrong type or value is a problem",
    arguments: [
      ("alert: 3", "aps.alert must be a text, or a map"),
      ("alert:\n      body: 3", "aps.alert.body must be a text"),
      ("alert:\n      loc-args:\n        - 1", "aps.alert.loc-args must be a list of texts"),
      ("badge: \"3\"", "aps.badge must be a whole number from 0"),
      ("badge: -1", "aps.badge must be a whole number from 0"),
      ("badge: 1.5", "aps.badge must be a whole number from 0"),
      ("badge: \"{{recipient.unread}}\"", "aps.badge must be a whole number from 0"),
      ("sound: 1", "aps.sound must be a text, or a map"),
      ("sound:\n      volume: 2", "aps.sound.volume must be a number, 0 to 1"),
      ("sound:\n      critical: true", "aps.sound.critical must be 1 or 0"),
      ("content-available: true", "aps.content-available must be 1 or 0"),
      ("mutable-content: \"1\"", "aps.mutable-content must be 1 or 0"),
      ("thread-id: 7", "aps.thread-id must be a text"),
      ("interruption-level: urgent", "aps.interruption-level must be one of passive"),
      ("relevance-score: -0.1", "aps.relevance-score must be a number, 0 to 1"),
      ("content-state: x", "aps.content-state must be a map"),
      ("event: begin", "aps.event must be one of start, update, end"),
      ("stale-date: soon", "aps.stale-date must be a whole number from 0"),
      ("content-changed: 1", "aps.content-changed must be true or false"),
      ("relevance-score: \"{{data.score}}\"", "aps.relevance-score must be a number, 0 to 1"),
      ("mutable-content: \"{{number data.x}}\"", "aps.mutable-content must be 1 or 0"),
      ("badge: \"{{number data.x|1.5}}\"", "must be a whole number like 1 too, or be left out"),
    ])
  func problems(_ aps: String, _ message: String) {
    let problems = Samples.problems(template(aps))
    #expect(problems.count == 1 && problems[0].contains(message), "\(problems)")
  }

  @Test(
    "What Apple takes is taken, without a warning",
    arguments: [
      "alert: hello",
      "alert:\n      title: a\n      subtitle: b\n      title-loc-args:\n        - x",
      "badge: 0", "badge: \"{{recipient.badge}}\"", "badge: \"{{number recipient.unread}}\"",
      "relevance-score: \"{{number data.score|0.5}}\"", "sound: default",
      "sound:\n      critical: 1\n      name: a.caf\n      volume: 0.5",
      "interruption-level: time-sensitive",
      "interruption-level: \"{{data.level}}\"", "relevance-score: 1", "relevance-score: 0.25",
      "alert: hello\n    mutable-content: 1", "category: \"{{data.category}}\"",
      "target-content-id: x",
    ])
  func taken(_ aps: String) throws {
    let template = try Samples.compile(template(aps))
    #expect(template.warnings == [])
  }

  @Test(
    "A key that Apple does not know is a warning with its place",
    arguments: [
      ("sounds: x", "'aps.sounds', the device passes over it; did you mean 'sound'?", 3, 5),
      ("threadId: x", "did you mean 'thread-id'?", 3, 5),
      ("alert:\n      titel: y", "'aps.alert.titel', the device passes over it", 4, 7),
    ])
  func unknown(_ aps: String, _ message: String, _ line: Int, _ column: Int) throws {
    let warnings = try Samples.compile(template(aps)).warnings
    #expect(warnings.count == 1 && warnings[0].message.contains(message), "\(warnings)")
    #expect(warnings.first?.place == TemplateSource.Place(line: line, column: column))
  }

  @Test("A Live Activity's score may be any number; an alert needs aps, and a map there")
  func kinds() throws {
    let live = "event: end\n    timestamp: 1\n    content-state: {}\n    relevance-score: 75"
    #expect(try Samples.compile(template(live, "push_type: liveactivity\n")).warnings == [])
    #expect(try Samples.compile("payload:\n  live: x\n").warnings.count == 1)
    #expect(Samples.problems("payload:\n  aps:\n    - 1\n").count == 1)
  }
}
