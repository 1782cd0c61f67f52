import Text

@testable import Settings

/// The example configuration: every key with its meaning, bounds, unit and default, written from
/// the table.
enum SettingsExample {
  static func render() -> String {
    var lines = header
    var open: [Substring] = []
    for key in SettingTable.keys {
      let parts = key.path.split(separator: ".")
      let groups = parts.dropLast()
      var shared = 0
      while shared < min(open.count, groups.count), open[shared] == groups[shared] { shared += 1 }
      for depth in shared..<groups.count {
        if depth == 0 { lines.append("") }
        let path = groups[...depth].joined(separator: ".")
        let indent = String(repeating: "  ", count: depth)
        if let text = SettingTable.groupExplanations[path] {
          lines += comment(text, indent: indent)
        }
        lines.append("\(indent)\(groups[depth]):")
      }
      open = Array(groups)
      let indent = String(repeating: "  ", count: groups.count)
      lines += comment(key.explanation, indent: indent)
      let name = parts[groups.count]
      let written = key.defaultValue.map { "\(name): \(key.kind.yaml($0))" }
      let line = indent + (written ?? "# \(name): \(key.example ?? "")")
      let bounds = "\(key.kind.summary)\(written == nil ? "; not set" : "")"
      let padded = line + String(repeating: " ", count: max(0, 34 - line.count)) + "  # " + bounds
      // Beside the value: what it may be. Before it where that is too long.
      lines +=
        padded.count <= widest ? [padded] : comment("May be: \(bounds).", indent: indent) + [line]
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// Of a line with a key; comments keep to 100.
  private static let widest = 105

  private static let header =
    comment(
      "Fanfare's configuration: every key with its default, followed by the values it accepts. "
        + "Keys without a default are commented out.", indent: "")
    + ["#"]
    + comment(
      "A key that is not in the file has its default. Environment variables override the file: "
        + "FANFARE_ and the key in capitals, with _ for the dots (FANFARE_KAFKA_GROUP). Flags "
        + "override both (--set kafka.group=fanfare). Durations have a unit: ms, s, m, h or d. So "
        + "do sizes: B, KiB (1,024 bytes), MiB or GiB. Relative paths in this file begin at its "
        + "directory, and those in variables and flags at the working directory. `fanfare check` "
        + "reports all mistakes at once.",
      indent: "")

  private static func comment(_ text: String, indent: String) -> [String] {
    var lines: [String] = []
    var line = "\(indent)#"
    for word in text.split(separator: " ") {
      if line.count + 1 + word.count > 100 {
        lines.append(line)
        line = "\(indent)#"
      }
      line += " \(word)"
    }
    return lines + [line]
  }
}

extension SettingKind {
  /// The value as it is written in YAML.
  fileprivate func yaml(_ value: SettingValue) -> String {
    switch value {
    case .text(let text): YAMLText.scalar(text)
    case .integer(let number):
      if case .size = self { SizeText.text(number) } else { String(number) }
    case .duration(let duration): DurationText.text(duration)
    case .bool(let flag): flag ? "true" : "false"
    case .list(let items): "[" + items.map(JSONString.quoted).joined(separator: ", ") + "]"
    case .map(let entries):
      "{"
        + entries.sorted { $0.key < $1.key }
        .map { "\(YAMLText.scalar($0.key)): \(JSONString.quoted($0.value))" }.joined(
          separator: ", ")
        + "}"
    }
  }
}

private enum YAMLText {
  /// Plain where YAML reads it back as the same text, else in double quotes.
  static func scalar(_ text: String) -> String {
    let isPlain =
      text.utf8.allSatisfy { byte in
        byte.isASCIIWord || [0x2D, 0x2E, 0x2F, 0x5F].contains(byte)
      } && text.utf8.first.map { $0 >= 0x41 } == true
    let isWord = ["true", "false", "null", "yes", "no", "on", "off"].contains(text.lowercased())
    return isPlain && !isWord ? text : JSONString.quoted(text)
  }
}
