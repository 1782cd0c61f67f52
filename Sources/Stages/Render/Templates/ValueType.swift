import JSON

/// The type in JSON of a value that stands alone in its quotes and whose type is named or known.
enum ValueType: Equatable, Sendable {
  /// Of up to 15 digits on either side of the point, which any reader takes exactly.
  case number
  /// The same without a point: badges and dates in `aps`.
  case wholeNumber
  /// Of 64 bits.
  case integer
  /// `true` or `false`; a profile's `1` and `0` too.
  case boolean
  /// An object or a list.
  case json
  /// A text: an absolute URL of https. No template names this type.
  case link

  /// How a value is written in the payload.
  enum Spelling: Equatable {
    case asItIs
    /// As it is between quotation marks.
    case quoted
    case word(StaticString)
    /// The value is not of the type.
    case not

    static func == (one: Spelling, other: Spelling) -> Bool {
      switch (one, other) {
      case (.asItIs, .asItIs), (.quoted, .quoted), (.not, .not): true
      case (.word(let first), .word(let second)): first.utf8Start == second.utf8Start
      default: false
      }
    }
  }

  func spelling(of value: UnsafeRawBufferPointer) -> Spelling {
    switch self {
    case .number: NumberText.isNumber(value, isWhole: false) ? .asItIs : .not
    case .wholeNumber: NumberText.isNumber(value, isWhole: true) ? .asItIs : .not
    case .integer: NumberText.isInteger(value) ? .asItIs : .not
    case .boolean:
      if value.elementsEqual("true".utf8) || value.elementsEqual("1".utf8) {
        .word("true")
      } else if value.elementsEqual("false".utf8) || value.elementsEqual("0".utf8) {
        .word("false")
      } else {
        .not
      }
    case .json: JSONCheck.isObjectOrList(value) ? .asItIs : .not
    case .link: Self.isLink(value) ? .quoted : .not
    }
  }

  /// The same in bytes; nil for what is not of the type.
  func written(_ text: String) -> [UInt8]? {
    var text = text
    return text.withUTF8 { bytes -> [UInt8]? in
      switch spelling(of: UnsafeRawBufferPointer(bytes)) {
      case .asItIs: Array(bytes)
      case .quoted: [0x22] + bytes + [0x22]
      case .word(let word): word.withUTF8Buffer { Array($0) }
      case .not: nil
      }
    }
  }

  /// For messages.
  var words: String {
    switch self {
    case .number: "a number"
    case .wholeNumber: "a whole number like 1"
    case .integer: "a whole number of 64 bits"
    case .boolean: "true or false"
    case .json: "a JSON object or list"
    case .link: "a URL that begins with https://"
    }
  }

  static let scheme = "https://"

  /// In visible ASCII, as URLs are, and without what a JSON string would have to escape.
  private static func isLink(_ value: UnsafeRawBufferPointer) -> Bool {
    value.count > scheme.utf8.count && value.starts(with: scheme.utf8)
      && value.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }
  }
}

/// A value that stands in the payload as what it is, not as a text.
struct TemplateValue: Equatable, Sendable {
  enum Source: Equatable, Sendable {
    /// A field of the event, by its dotted path.
    case event(path: String)
    /// A field of the profile, by its index in `Template.recipientFields`.
    case recipient(field: Int)
  }

  let source: Source
  let type: ValueType
  /// JSON; nil: the key is left out where the value is not of the type.
  let fallback: [UInt8]?

  var isOfEvent: Bool {
    if case .event = source { true } else { false }
  }

  /// The fallback where a text is wanted.
  var fallbackText: String { fallback.map { String(decoding: $0, as: UTF8.self) } ?? "" }
}
