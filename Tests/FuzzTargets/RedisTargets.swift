import Record
import Redis
import Transport

let redisTargets = [
  FuzzTarget("resp") { input in
    let whole = try Reading(input, [0..<input.count])
    for cut in input.cuts { try holdEqual(try Reading(input, cut), whole, "replies, in pieces") }
    try interpret(whole.replies)
  },
  // What an event's hash says, a line `field value` each, and what was noted of pushes.
  FuzzTarget("status", maximumBytes: 512) { input in
    var fields: [String: String] = [:]
    for line in input.lossyText.split(separator: "\n") {
      let sides = line.split(separator: " ", maxSplits: 1)
      if sides.count == 2 { fields[String(sides[0])] = String(sides[1]) }
    }
    let status = FanOutStatus(fields: fields)
    _ = (status.isBalanced, status.goesByFollowers, status.texts, status.suppressedByRule)
    for push in TracedPush.all(input.lossyText) {
      try hold(!push.word.isEmpty, "a note without a word: \(push)")
    }
  },
  // What a proxy says before the way to a server is open.
  FuzzTarget("proxy", maximumBytes: 1024) { input in
    let whole = tunnel(input, [0..<input.count])
    for cut in input.cuts {
      let pieces = tunnel(input, cut)
      // What comes behind the head is refused with it, and the server's by itself.
      if pieces == .open, whole == .refused { continue }
      try holdEqual(pieces, whole, "a proxy's answer, in pieces")
    }
  },
]

private enum Way { case open, refused, incomplete }

private func tunnel(_ input: UnsafeRawBufferPointer, _ pieces: [Range<Int>]) -> Way {
  let proxy = HTTPProxy(endpoint: Endpoint(host: "proxy", port: 3128))
  var tunnel = ProxyTunnel(through: proxy, to: Endpoint(host: "api.push.apple.com", port: 443))
  for piece in pieces {
    do throws(TransportError) {
      if try tunnel.receive(input[piece: piece]) { return .open }
    } catch {
      return .refused
    }
  }
  return .incomplete
}

/// What a reader that waits for a few replies makes of some bytes.
private struct Reading: Equatable {
  private static let expected = 6
  private static let maximumBytes = 64 << 10

  let replies: RedisReplies
  private let text: [String]
  private let isComplete: Bool
  private let failure: RedisError.Code?

  init(_ input: UnsafeRawBufferPointer, _ pieces: [Range<Int>]) throws {
    let reader = try RedisReplyReader()
    replies = RedisReplies(expecting: Self.expected, maximumBytes: Self.maximumBytes)
    reader.expect(replies)
    var failure: RedisError.Code?
    for piece in pieces where failure == nil {
      do throws(RedisError) { try reader.receive(input[piece: piece]) } catch {
        failure = error.code
      }
    }
    self.failure = failure
    isComplete = replies.isComplete
    let replies = replies
    text = (0..<Self.expected).map { Self.text(of: replies[$0], depth: 0) }
  }

  static func == (left: Reading, right: Reading) -> Bool {
    left.text == right.text && left.isComplete == right.isComplete && left.failure == right.failure
  }

  private static func text(of reply: RedisReply, depth: Int) -> String {
    switch reply.kind {
    case .array where depth > 16: return "too deep"
    case .array:
      let elements = (0..<reply.count).map { text(of: reply[$0], depth: depth + 1) }
      return "[\(elements.joined(separator: ","))]"
    case .error: return "error \(reply.errorText ?? "")"
    case .integer: return "\(reply.integer ?? 0)"
    default: return "\(reply.kind) \(reply.bytes.map { Array($0) } ?? [])"
    }
  }
}

/// What is read out of replies: who serves what, who is master, which errors mean what.
private func interpret(_ replies: RedisReplies) throws {
  let endpoint = Endpoint(host: "a", port: 1)
  for index in 0..<replies.count {
    let reply = replies[index]
    _ = (reply.decimal, reply.dictionary, RedisRole(reply), ReplicationReport(reply))
    reply.forEachElement { _, _, bytes in _ = bytes.count }
    if let map = try? ClusterMap(slots: reply, from: endpoint) {
      try hold(!map.isEmpty, "a map of nothing")
      try holdEqual(
        map.slotCounts.reduce(0, +) + map.unserved.reduce(0) { $0 + $1.count }, 16_384,
        "slots, served or not")
    }
    if let error = reply.error {
      try hold(!error.word.isEmpty, "an error without a word: \(error)")
      _ = (error.disposition, ClusterRedirect(error, from: endpoint))
    }
  }
}
