import Render
import Settings
import Text
import YAML

/// The meaning of a plain scalar in YAML 1.2's core schema (section 10.3.2). `yes`, `no`, `on`,
/// `off` are texts.
enum YAMLCoreSchema {
  static func value(of text: String) -> TemplateSource.Value {
    switch text {
    case "true", "True", "TRUE": return .boolean(true)
    case "false", "False", "FALSE": return .boolean(false)
    default: break
    }
    guard let first = text.utf8.first, first.isASCIIDigit || [0x2B, 0x2D, 0x2E].contains(first)
    else {
      return .string(text)
    }
    let unsigned = text.drop { $0 == "-" || $0 == "+" }
    guard text.count - unsigned.count <= 1 else { return .string(text) }
    if unsigned.utf8.allSatisfy(\.isASCIIDigit), let number = Int64(text) {
      return .integer(number)
    }
    let isNumber =
      unsigned.utf8.contains(where: \.isASCIIDigit)
      && unsigned.utf8.allSatisfy {
        $0.isASCIIDigit || [0x2E, 0x65, 0x45, 0x2B, 0x2D].contains($0)
      }
    if isNumber, let number = Double(text), number.isFinite { return .number(number) }
    return .string(text)
  }
}
