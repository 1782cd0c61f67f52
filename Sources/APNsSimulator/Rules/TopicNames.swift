/// The topics that accepted pushes named, each with a number that fits into a token's entry.
struct TopicNames {
  /// More than the apps of any test; a token of a topic beyond them belongs to none.
  private static let maximumNames = 4096
  /// Stands for none.
  static let unknown: UInt16 = 0

  private var names: [[UInt8]] = []
  private var numbers: [[UInt8]: UInt16] = [:]
  /// Most pushes in a row are of one topic.
  private var last = TopicNames.unknown

  /// The topic's number, a new one unless it is known.
  mutating func number(of topic: UnsafeRawBufferPointer) -> UInt16 {
    if last != Self.unknown, isName(last, of: topic) { return last }
    let name = Array(topic)
    if let known = numbers[name] {
      last = known
    } else {
      guard names.count < Self.maximumNames else { return Self.unknown }
      names.append(name)
      last = UInt16(names.count)
      numbers[name] = last
    }
    return last
  }

  /// - Parameter number: one that was given out.
  func isName(_ number: UInt16, of topic: UnsafeRawBufferPointer) -> Bool {
    topic.elementsEqualBytes(names[Int(number) - 1])
  }
}
