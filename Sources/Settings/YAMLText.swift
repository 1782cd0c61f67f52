import JSON
import Text

enum YAMLText {
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
