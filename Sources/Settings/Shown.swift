import Text

/// Values quoted in messages: short, and nothing that could disturb a terminal or a log line.
package enum Shown {
  package static func value(_ text: String) -> String {
    var clean = String.UnicodeScalarView()
    for scalar in text.unicodeScalars.prefix(48) {
      let category = scalar.properties.generalCategory
      let isHidden = category == .control || category == .format || category == .lineSeparator
      clean.append(isHidden ? "?" : scalar)
    }
    return "`\(String(clean))\(text.unicodeScalars.count > 48 ? "…" : "")`"
  }
}
