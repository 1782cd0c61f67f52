import LocalStack
import Model

/// Batches of pushes with distinct tokens and distinct payloads, made one after the other while
/// they are sent. Making them costs a few percent of sending them, and is counted with it.
package struct SenderBatches {
  package static let batchPushes = 512

  package let tally = SegmentTally()
  private let headers: PushHeaders
  private let page = RecipientPage(fieldNames: [])
  private let total: Int
  private var made = 0

  package init(total: Int, expiresAt: Int64) {
    self.total = total
    headers = PushHeaders(
      pushType: .alert, priority: BenchTraffic.priority, topic: LocalStack.app,
      collapseID: BenchTraffic.collapseID, expiration: expiresAt / 1_000, expiresAt: expiresAt)
    let member = "apns:production:\(LocalStack.app):\(BenchTraffic.token(0))"
    for index in 0..<Self.batchPushes {
      let user = page.bytes.append(utf8: "u00000000")
      let slice = page.bytes.append(utf8: member)
      page.recipients.append(
        RecipientPage.Recipient(user: user, firstBinding: index, bindingCount: 1))
      page.bindings.append(
        RecipientPage.Binding(
          member: slice, token: slice.last(BenchTraffic.tokenDigits), destination: .production))
    }
  }

  /// The next batch, sealed; nil when all have been made.
  package mutating func next() -> PushBatch? {
    guard made < total else { return nil }
    let batch = PushBatch(event: "bench", headers: headers, tally: tally)
    for index in 0..<min(Self.batchPushes, total - made) {
      let binding = page.bindings[index]
      let tokenEnd =
        Int(binding.token.offset) + BenchTraffic.tokenDigits - BenchTraffic.distinctDigits
      Self.writeHex(BenchTraffic.tokenEnd(made), to: page.bytes.base + tokenEnd)
      let payload = batch.bytes.append(BenchTraffic.payload)
      let number = Int(payload.offset) + BenchTraffic.numberOffset
      Self.writeDecimal(made, to: batch.bytes.base + number)
      batch.append(
        recipient: page.recipients[index], binding: binding, of: page, payload: payload)
      made += 1
    }
    tally.pushes = made
    return batch
  }

  private static func writeHex(_ value: UInt64, to target: UnsafeMutableRawPointer) {
    for place in 0..<BenchTraffic.distinctDigits {
      let digit = UInt8(truncatingIfNeeded: value >> UInt64(60 - 4 * place)).lastHexDigit
      target.storeBytes(of: digit, toByteOffset: place, as: UInt8.self)
    }
  }

  private static func writeDecimal(_ value: Int, to target: UnsafeMutableRawPointer) {
    var rest = value
    for place in stride(from: BenchTraffic.numberDigits - 1, through: 0, by: -1) {
      target.storeBytes(
        of: 0x30 + UInt8(truncatingIfNeeded: rest % 10), toByteOffset: place, as: UInt8.self)
      rest /= 10
    }
  }
}
