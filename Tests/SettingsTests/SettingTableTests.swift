import Checkout
import Settings
import Testing
import Text
import YAML

@Suite struct SettingTableTests {
  /// Each key fills the field of its name, and each field has a key.
  @Test func everyKeyFillsTheFieldOfItsName() throws {
    let before = leaves(of: Settings.defaults)
    var filled: Set<String> = []
    for key in SettingTable.keys {
      if case .secretFile(let secret) = key.kind {
        guard case .secret? = SettingTable.key(secret)?.kind else {
          Issue.record("\(secret) is no secret")
          continue
        }
        // Others are read once, into the secret's own field.
        var settings = Settings.defaults
        key.apply(&settings, try otherValue(of: key))
        if leaves(of: settings) == before { continue }
      }
      var settings = Settings.defaults
      key.apply(&settings, try otherValue(of: key))
      let changed = leaves(of: settings).filter { before[$0.key] != $0.value }.map(\.key)
      #expect(changed.count == 1, "\(key.path) changed \(changed)")
      let field = try #require(changed.first)
      let name = field.replacing("securityProtocol", with: "protocol")
      #expect(normal(name) == normal(key.path))
      filled.insert(field)
    }
    #expect(filled == Set(before.keys))
  }

  @Test func environmentNamesAreUnique() {
    let names = SettingTable.keys.map(\.environmentName)
    #expect(Set(names).count == names.count)
    #expect(SettingTable.key("apns.key_file")?.environmentName == "FANFARE_APNS_KEY_FILE")
  }

  @Test func everyKeyIsExplained() {
    for key in SettingTable.keys {
      #expect(key.explanation.hasSuffix("."), "\(key.path)")
      #expect(key.defaultValue != nil || key.example != nil, "\(key.path)")
    }
  }

  /// `UPDATE_EXAMPLE=1 swift test --filter SettingTableTests` writes the file again.
  @Test func theCommittedExampleIsWhatTheTableSays() throws {
    let rendered = SettingsExample.render()
    let committed = try Checkout.made(
      "Config/fanfare.example.yaml", from: rendered, variable: "UPDATE_EXAMPLE")
    #expect(
      committed == rendered, "write it again: UPDATE_EXAMPLE=1 swift test --filter SettingTable")
    for line in rendered.split(separator: "\n") { #expect(line.count <= 105, "\(line)") }
  }

  @Test func theExampleLoadsToTheDefaults() throws {
    let example = try SettingsFixture(SettingsExample.render())
    #expect(example.findings() == [])
    var settings = try example.settings()
    settings.worker.id = ""
    settings.templates.directory = "templates"
    #expect(settings == Settings.defaults)
    let written = Set(SettingTable.keys.filter { $0.defaultValue != nil }.map(\.path))
    #expect(example.keysInFile() == written)
  }

  /// The commented-out keys are what they say too.
  @Test func theExampleLoadsWithEveryKeySet() throws {
    let lines = SettingsExample.render().split(separator: "\n").map { line -> String in
      let text = line.drop { $0 == " " }
      let name = text.dropFirst(2).prefix { $0 != ":" }
      let isKey = SettingTable.keys.contains { $0.path.hasSuffix(".\(name)") }
      guard text.hasPrefix("# "), isKey else { return String(line) }
      return String(line.prefix { $0 == " " } + text.dropFirst(2))
    }
    let fixture = try SettingsFixture(lines.joined(separator: "\n"))
    #expect(fixture.keysInFile().count == SettingTable.keys.count)
    let complaints = fixture.load().problems.filter { problem in
      // The example's files do not exist, and a secret and its file do not go together, nor do
      // sentinels and a cluster.
      !problem.message.contains("No such file") && !problem.message.contains("is set too")
        && !problem.message.contains("does not go with")
    }
    #expect(complaints.isEmpty, "\(complaints)")
  }

  private func normal(_ name: String) -> String {
    name.lowercased().filter { $0 != "_" && $0 != "." }
  }

  /// A value that is not the default; bounds do not matter here.
  private func otherValue(of key: SettingKey) throws -> SettingValue {
    switch key.kind {
    case .text, .secret, .path, .secretFile: return .text("another")
    case .integer, .size: return .integer(-77)
    case .duration: return .duration(.seconds(-77))
    case .bool: return .bool(key.defaultValue != .bool(true))
    case .list: return .list(["another"])
    case .map: return .map(["another": "one"])
    case .records(let fields):
      return .map(["another.\(try #require(fields.keys.min()))": "one"])
    case .choice(let names):
      return .text(try #require(names.first { key.defaultValue != .text($0) }))
    }
  }

  /// Every stored field that is no structure of ours, by its dotted name.
  private func leaves(of value: Any, at path: String = "") -> [String: String] {
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .struct, !mirror.children.isEmpty, !(value is Duration) else {
      let secret = (value as? Secret?).flatMap { $0?.exposed }
      return [path: secret ?? "\(value)"]
    }
    var all: [String: String] = [:]
    for child in mirror.children {
      let name = path.isEmpty ? child.label ?? "" : "\(path).\(child.label ?? "")"
      all.merge(leaves(of: child.value, at: name)) { $1 }
    }
    return all
  }
}

@Suite struct UnitTextTests {
  @Test(arguments: ["", "s", "1", "1 s", "1S", "--1s", "1-s", "٣s", "+-1s", "1us", "1.0001s"])
  func refusesOtherDurations(_ text: String) {
    #expect(throws: SettingComplaint.self) { try DurationText.setting(text) }
  }

  @Test func saysWhatADurationLacks() throws {
    for (text, words) in [
      ("5", "has no unit"), ("5x", "unknown unit"), ("long", "must be a duration"),
      ("9999999999999d", "too large"), ("7us", "whole milliseconds"),
    ] {
      let complaint = try #require(throws: SettingComplaint.self) {
        try DurationText.setting(text)
      }
      #expect(complaint.message.contains(words), "\(text)")
    }
    #expect(try DurationText.setting("1m30s") == .seconds(90))
  }

  @Test func writesTheLargestUnit() {
    #expect(SizeText.text(65_536) == "64KiB")
    #expect(SizeText.text(65_537) == "65537B")
    #expect(SizeText.text(0) == "0B")
  }

  @Test func readsSizes() throws {
    for (text, bytes) in [("512", 512), ("512B", 512), ("64KiB", 65_536), ("2GiB", 2 << 30)] {
      #expect(try SizeText.parse(text) == bytes)
    }
    for text in ["", "KiB", "1KB", "1.5MiB", "9223372036854775807GiB"] {
      #expect(throws: SettingComplaint.self) { try SizeText.parse(text) }
    }
  }
}
