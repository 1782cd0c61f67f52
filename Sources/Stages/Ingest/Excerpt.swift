/// A piece of a record as a reason may show it: reasons go to headers and logs, and a record may be
/// hostile.
package enum Excerpt {
  /// A grapheme may be made of 10,000 scalars, so these are counted.
  static let maximumScalars = 64

  /// In quotes and cut to `maximumScalars`. Control characters, line separators and what is not
  /// seen (bidi marks, zero-width characters) are shown as `\u{…}`.
  package static func quoted(_ text: String) -> String {
    var output = "\""
    for scalar in text.unicodeScalars.prefix(maximumScalars) {
      if scalar == "\"" || scalar == "\\" {
        output += "\\"
        output.unicodeScalars.append(scalar)
      } else if isSeen(scalar) {
        output.unicodeScalars.append(scalar)
      } else {
        output += "\\u{\(String(scalar.value, radix: 16))}"
      }
    }
    let isCut = text.unicodeScalars.dropFirst(maximumScalars).first != nil
    return output + (isCut ? "…\"" : "\"")
  }

  private static func isSeen(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: false
    default: true
    }
  }
}
