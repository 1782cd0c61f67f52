@testable import HTTPServer

/// What a parser makes of some bytes, however they are cut.
struct ParsedRequests: Equatable {
  struct Request: Equatable {
    let head: HTTPHead
    var body: [UInt8] = []
  }

  /// Those that came whole.
  private(set) var whole: [Request] = []
  private(set) var refusal: HTTPRefusal?
  private var open: Request?

  /// - Parameter pieces: what comes at a time.
  init(_ pieces: [[UInt8]], maximumHeadBytes: Int = 4096) {
    var parser = HTTPRequestParser(maximumHeadBytes: maximumHeadBytes)
    for piece in pieces { piece.withUnsafeBytes { take($0, &parser) } }
  }

  init(_ text: String, maximumHeadBytes: Int = 4096) {
    self.init([Array(text.utf8)], maximumHeadBytes: maximumHeadBytes)
  }

  private mutating func take(_ bytes: UnsafeRawBufferPointer, _ parser: inout HTTPRequestParser) {
    var offset = 0
    while true {
      switch parser.next(bytes, from: &offset) {
      case .head(let head):
        open = Request(head: head)
        if head.body == .none { close() }
      case .body(let range): open?.body += Array(bytes[range])
      case .end: close()
      case .refused(let refusal):
        self.refusal = refusal
        return
      case .incomplete: return
      }
    }
  }

  private mutating func close() {
    if let open { whole.append(open) }
    open = nil
  }
}
