import HTTPServer

/// HTTP/1.1 on one connection: a client's bytes as requests, one after the other, each answered
/// before the next one is read. Pure.
struct HTTP1Exchange {
  enum Event {
    case began(HTTPHead)
    case body(ArraySlice<UInt8>)
    /// Head and body are complete: answer now or later.
    case ended
    /// What came is no request. The connection ends with the answer.
    case refused(HTTPRefusal)
  }

  /// The request line and all headers of one request.
  static let maximumHeadBytes = 16 << 10

  private var parser = HTTPRequestParser(maximumHeadBytes: maximumHeadBytes)
  private var bytes: [UInt8] = []
  private var offset = 0
  private var isEndDue = false
  /// Counts the requests.
  private(set) var number: Int32 = 0
  private(set) var isAnswerDue = false
  /// The connection ends with the next response.
  var isLast = false

  var unreadBytes: Int { bytes.count - offset }

  mutating func append(_ more: UnsafeRawBufferPointer) { bytes.append(contentsOf: more) }

  /// Nil: more must come, or a request waits for its answer.
  mutating func next() -> Event? {
    guard !isAnswerDue else { return nil }
    guard !isEndDue else { return end() }
    // A struct cannot lend its bytes and change its parser at once.
    let lent = bytes
    let event = lent.withUnsafeBytes { parser.next($0, from: &offset) }
    switch event {
    case .head(let head):
      number += 1
      isLast = isLast || !head.keepsAlive
      isEndDue = head.body == .none
      return .began(head)
    case .body(let range): return .body(lent[range])
    case .end: return end()
    case .refused(let refusal):
      (isLast, isAnswerDue) = (true, true)
      return .refused(refusal)
    case .incomplete:
      bytes.removeAll(keepingCapacity: true)
      offset = 0
      return nil
    }
  }

  private mutating func end() -> Event {
    (isEndDue, isAnswerDue) = (false, true)
    return .ended
  }

  /// The bytes of a response to the request that waits for it.
  mutating func respond(_ answer: ServiceAnswer) -> [UInt8] {
    isAnswerDue = false
    let phrase = ServiceAnswer.phrase(answer.status)
    var text =
      "HTTP/1.1 \(answer.status) \(phrase)\r\ncontent-length: \(answer.body.utf8.count)\r\n"
    if isLast { text += "connection: close\r\n" }
    for field in answer.fields { text += "\(field.name): \(field.value)\r\n" }
    return Array("\(text)\r\n\(answer.body)".utf8)
  }
}
