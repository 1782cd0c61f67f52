import Terminal

/// The differences between two sets of templates.
package struct TemplateDiffReport: Sendable {
  package let added: [String]
  package let removed: [String]
  /// Those with a difference.
  package let changed: [TemplateDiff]

  package init(added: [String], removed: [String], changed: [TemplateDiff]) {
    self.added = added
    self.removed = removed
    self.changed = changed.filter { !$0.isEmpty }
  }

  package var isEmpty: Bool { added.isEmpty && removed.isEmpty && changed.isEmpty }

  package var text: String {
    guard !isEmpty else { return "no reader would see a difference\n" }
    var text = ""
    for name in added { text += "\(name): a new template\n" }
    for name in removed { text += "\(name): is removed\n" }
    for diff in changed { text += Self.text(diff) }
    return text
  }

  private static func text(_ diff: TemplateDiff) -> String {
    var lines = [diff.name]
    for setting in diff.settings {
      lines.append("  \(setting.name): \(setting.old) → \(setting.new)")
    }
    let lists = [
      ("locales added", diff.addedLocales), ("locales removed", diff.removedLocales),
      ("values added", diff.addedValues), ("values removed", diff.removedValues),
    ]
    for (name, list) in lists where !list.isEmpty {
      lines.append("  \(name): \(list.joined(separator: ", "))")
    }
    for change in diff.changes {
      let readers = change.locales.joined(separator: ", ")
      let platforms = change.platforms.joined(separator: ", ")
      let missing = change.isWithoutValues ? ", where values are missing" : ""
      lines.append("  \(change.what) for \(readers) (\(platforms))\(missing)")
      let marked = TextDifference(expected: change.old, actual: change.new)
      lines += marked.lines("before", "after").map { "    \($0)" }
    }
    if !diff.sizes.isEmpty { lines.append("  bytes") }
    for locale in diff.sizes.map(\.locale).reduce(into: [String](), Self.appendOnce) {
      let sizes = diff.sizes.filter { $0.locale == locale }.map {
        "\($0.platform) \(words($0.old)) → \(words($0.new))"
      }
      lines.append("    \(locale): \(sizes.joined(separator: ", "))")
    }
    return lines.map { TextLayout.printable($0) + "\n" }.joined()
  }

  private static func appendOnce(_ list: inout [String], _ element: String) {
    if !list.contains(element) { list.append(element) }
  }

  private static func words(_ bytes: Int?) -> String { bytes.map(String.init) ?? "none" }

  package var json: JSONOutput {
    func list(_ texts: [String]) -> JSONOutput { .array(texts.map { .text($0) }) }
    return [
      "added": list(added), "removed": list(removed),
      "changed": .array(
        changed.map { diff in
          [
            "template": .text(diff.name),
            "settings": .array(
              diff.settings.map {
                ["name": .text($0.name), "old": .text($0.old), "new": .text($0.new)]
              }),
            "locales_added": list(diff.addedLocales), "locales_removed": list(diff.removedLocales),
            "values_added": list(diff.addedValues), "values_removed": list(diff.removedValues),
            "changes": .array(
              diff.changes.map {
                [
                  "what": .text($0.what), "old": .text($0.old), "new": .text($0.new),
                  "without_values": .bool($0.isWithoutValues), "platforms": list($0.platforms),
                  "locales": list($0.locales),
                ]
              }),
            "sizes": .array(
              diff.sizes.map {
                [
                  "locale": .text($0.locale), "platform": .text($0.platform),
                  "old": $0.old.map { .integer($0) } ?? .null,
                  "new": $0.new.map { .integer($0) } ?? .null,
                ]
              }),
          ]
        }),
    ]
  }
}
