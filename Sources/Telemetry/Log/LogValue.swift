/// What a field may hold. There is no case for raw tokens: a `TokenLabel` is what can be logged of
/// one.
package enum LogValue: Sendable, Equatable {
  case text(String)
  case integer(Int)
  case double(Double)
  case bool(Bool)
  case token(TokenLabel)

  /// Bytes from outside; what is not UTF-8 becomes U+FFFD.
  package static func bytes(_ bytes: UnsafeRawBufferPointer) -> LogValue {
    .text(String(decoding: bytes.prefix(LogLineWriter.maximumScrubbedBytes * 2), as: UTF8.self))
  }
}

extension LogValue: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral
{
  package init(stringLiteral value: String) { self = .text(value) }
  package init(integerLiteral value: Int) { self = .integer(value) }
  package init(floatLiteral value: Double) { self = .double(value) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
}

/// Fields of a line, in the order written; a name set twice keeps its place and takes the new
/// value.
package struct LogFields: Sendable, Equatable, ExpressibleByDictionaryLiteral {
  package struct Field: Sendable, Equatable {
    package let name: String
    package var value: LogValue
  }

  package private(set) var fields: [Field] = []

  package init() {}

  package init(dictionaryLiteral elements: (String, LogValue)...) {
    fields.reserveCapacity(elements.count)
    for (name, value) in elements { self[name] = value }
  }

  package subscript(name: String) -> LogValue? {
    get { fields.first { $0.name == name }?.value }
    set {
      let index = fields.firstIndex { $0.name == name }
      switch (index, newValue) {
      case (let index?, let value?): fields[index].value = value
      case (let index?, nil): fields.remove(at: index)
      case (nil, let value?): fields.append(Field(name: name, value: value))
      case (nil, nil): break
      }
    }
  }

  /// These, overridden and followed by others.
  package func merging(_ others: LogFields) -> LogFields {
    guard !fields.isEmpty else { return others }
    var merged = self
    for field in others.fields { merged[field.name] = field.value }
    return merged
  }
}
