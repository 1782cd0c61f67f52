import HTTP2

/// The ledger as JSON, made while it is sent: `{"tokens":{"<token>":{"requests":1,"accepted":1,
/// "first_us":…,"last_status":200},…}}`. Entries that come while it runs are in it or not.
final class LedgerBody: HTTP2BodySource {
  private let ledger: TokenLedger
  private var position: Int
  private let end: Int
  private var pending: [UInt8] = Array("{\"tokens\":{".utf8)
  private var sent = 0
  private var isFirst = true
  private var isClosed = false

  init(_ ledger: TokenLedger, from first: Int, count: Int) {
    self.ledger = ledger
    position = min(max(first, 0), ledger.count)
    end = position + min(max(count, 0), ledger.count - position)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isFinal: Bool) {
    fill(atLeast: buffer.count)
    let count = min(pending.count - sent, buffer.count)
    pending.withUnsafeBytes {
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[sent..<sent + count]))
    }
    sent += count
    return (count, isClosed && sent == pending.count)
  }

  private func fill(atLeast wanted: Int) {
    guard !isClosed, pending.count - sent < wanted else { return }
    pending.removeFirst(sent)
    sent = 0
    // A reset may have emptied the ledger meanwhile.
    while pending.count < wanted, position < min(end, ledger.count) {
      let entry = ledger[position]
      if !isFirst { pending.append(UInt8(ascii: ",")) }
      isFirst = false
      pending.append(UInt8(ascii: "\""))
      ledger.appendToken(of: entry, to: &pending)
      pending += "\":{\"requests\":\(entry.requests),\"accepted\":\(entry.accepted),".utf8
      pending += "\"first_us\":\(entry.firstArrival),\"last_status\":\(entry.lastStatus)}".utf8
      position += 1
    }
    if pending.count < wanted {
      pending += "}}\n".utf8
      isClosed = true
    }
  }
}
