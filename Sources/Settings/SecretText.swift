package enum SecretText {
  /// Log-ins send a secret as it is: no line break may hide in it.
  static func checked(_ text: String) throws(SettingComplaint) -> String {
    if text.isEmpty { throw SettingComplaint("must not be empty") }
    if text.utf8.count > 4_096 { throw SettingComplaint("is longer than 4096 bytes") }
    guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      throw SettingComplaint("holds a control character, such as a line break")
    }
    return text
  }

  /// A secret's file usually ends in a line break that is not part of the secret.
  package static func ofFile(_ file: BoundedFile) throws(SettingComplaint) -> String {
    guard let text = String(validating: file.bytes, as: UTF8.self) else {
      throw SettingComplaint("the file is not UTF-8 text")
    }
    // In Swift a carriage return and a line feed are one character.
    return try checked(text.last?.isNewline == true ? String(text.dropLast()) : text)
  }
}

/// A text that no description, dump or mirror shows.
package struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// The secret itself: hand it to who needs it, never to a message.
  package let exposed: String

  package init(_ text: String) { exposed = text }

  package var description: String { "(redacted)" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
