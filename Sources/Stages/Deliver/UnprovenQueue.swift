import Model

/// Pushes to tokens of which nothing is known that wait for connections of their own, in the order
/// they came. A pure machine.
struct UnprovenQueue {
  /// More than twice the streams of their connection, so that it never lacks any. What is too much
  /// stays in its fan-out's line, and holds up what is behind it.
  static let maximum = 512
  /// Of one push; its payload is counted with its batch.
  static let bytesOfPush = 160

  private var pushes: [ReadyPush] = []
  private var head = 0

  var count: Int { pushes.count - head }
  var room: Int { max(0, Self.maximum - count) }

  mutating func append(_ push: ReadyPush) { pushes.append(push) }

  mutating func next() -> ReadyPush? {
    guard head < pushes.count else { return nil }
    defer {
      head += 1
      if head == pushes.count || head > Self.maximum / 2 {
        pushes.removeFirst(head)
        head = 0
      }
    }
    return pushes[head]
  }

  /// One that could not be sent goes first.
  mutating func putBack(_ push: ReadyPush) { pushes.insert(push, at: head) }

  mutating func take(where isWanted: (ReadyPush) -> Bool) -> [ReadyPush] {
    guard count > 0 else { return [] }
    let taken = pushes[head...].filter(isWanted)
    guard !taken.isEmpty else { return [] }
    pushes = pushes[head...].filter { !isWanted($0) }
    head = 0
    return Array(taken)
  }
}
