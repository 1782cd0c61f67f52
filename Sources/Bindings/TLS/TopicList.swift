/// The extension in which Apple lists topics: a sequence of each topic's name and, in a sequence of
/// its own, the kinds of pushes that it is for.
enum TopicList {
  /// Far more than Apple gives; what says more is not read.
  private static let maximumTopics = 1_000
  private static let sequence: UInt8 = 0x30
  private static let utf8String: UInt8 = 0x0C

  /// nil for what is no such list.
  static func topics(der: [UInt8]) -> [String]? {
    var outer = der[...]
    guard let list = next(&outer), list.tag == sequence, outer.isEmpty else { return nil }
    var rest = list.content
    var topics: [String] = []
    while !rest.isEmpty {
      guard let item = next(&rest), topics.count < maximumTopics else { return nil }
      guard item.tag == utf8String else { continue }
      guard let text = String(validating: item.content, as: UTF8.self) else { return nil }
      topics.append(text)
    }
    return topics
  }

  static func der(topics: [String]) -> [UInt8] {
    let items = topics.flatMap { topic -> [UInt8] in
      let kind = encoded(utf8String, Array("app".utf8))
      return encoded(utf8String, Array(topic.utf8)) + encoded(sequence, kind)
    }
    return encoded(sequence, items)
  }

  /// X.690: a tag, a length of at most three bytes, the content.
  private static func next(
    _ rest: inout ArraySlice<UInt8>
  ) -> (tag: UInt8, content: ArraySlice<UInt8>)? {
    guard let tag = rest.popFirst(), let first = rest.popFirst() else { return nil }
    var length = Int(first)
    if first >= 0x80 {
      let count = Int(first & 0x7F)
      guard (1...3).contains(count), rest.count >= count else { return nil }
      length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
      rest = rest.dropFirst(count)
    }
    guard rest.count >= length else { return nil }
    let content = rest.prefix(length)
    rest = rest.dropFirst(length)
    return (tag, content)
  }

  private static func encoded(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    let count = content.count
    let length: [UInt8] =
      count < 0x80
      ? [UInt8(count)]
      : [0x83, UInt8(count >> 16 & 0xFF), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)]
    return [tag] + length + content
  }
}
