import HTTP2

/// The heads of responses for HTTP/2; those of refusals repeat and are made once.
final class AnswerHeads {
  /// Scripts may bring any number of different answers; the table need not keep them all.
  private static let mostKept = 1024

  private var kept: [ServiceAnswer: HTTP2FieldBlock] = [:]

  /// Nil for an answer of a script that HTTP/2 cannot carry.
  func head(of answer: ServiceAnswer) -> HTTP2FieldBlock? {
    // An acceptance names its message.
    guard answer.status != 201 else { return Self.make(answer) }
    var head = answer
    head.body = ""
    if let known = kept[head] { return known }
    guard let made = Self.make(head) else { return nil }
    if kept.count >= Self.mostKept { kept.removeAll() }
    kept[head] = made
    return made
  }

  private static func make(_ answer: ServiceAnswer) -> HTTP2FieldBlock? {
    var fields: [(name: String, value: String, indexing: HTTP2Indexing)] = [
      (":status", String(answer.status), .indexed)
    ]
    for field in answer.fields {
      fields.append((field.name, field.value, field.name == "location" ? .never : .indexed))
    }
    return try? HTTP2FieldBlock(fields, values: .copied)
  }
}
