import Model
import Text

/// A payload with the number of its push in it, so that no two are alike.
package struct NumberedPayload: Sendable {
  static let digits = 8

  /// With the number 0.
  package let bytes: [UInt8]
  private let offset: Int

  /// - Parameters:
  ///   - start: the text before the number.
  ///   - end: the text after it.
  init(_ start: String, _ end: String) {
    bytes = Array(start.utf8) + Array(repeating: 0x30, count: Self.digits) + Array(end.utf8)
    offset = start.utf8.count
  }

  /// Puts the last eight digits of a number into a copy of `bytes`.
  func write(_ number: Int, to copy: UnsafeMutableRawBufferPointer) {
    var rest = number
    for index in (offset..<offset + Self.digits).reversed() {
      copy[index] = 0x30 + UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    }
  }
}

/// The pushes of a platform that a bench sends.
package struct SenderTraffic: Sendable {
  /// Pushes go to these in turn.
  let bindings: [Binding]
  /// So many characters at the end of a token are hex digits, others for each push; 0: tokens stay
  /// as they are in `bindings`.
  let distinctDigits: Int
  let payload: NumberedPayload

  init(_ bindings: [Binding], distinctDigits: Int = 0, payload: NumberedPayload) {
    precondition(!bindings.isEmpty && (0...16).contains(distinctDigits), "no traffic")
    self.bindings = bindings
    self.distinctDigits = distinctDigits
    self.payload = payload
  }

  /// The end of a token, distinct for distinct numbers.
  static func tokenEnd(_ number: Int) -> String {
    Hexadecimal.text(SplitMix64.value(of: UInt64(truncatingIfNeeded: number)), digits: 16)
  }
}

/// Batches of pushes with distinct payloads, made one after the other while they are sent. Making
/// them costs a few percent of sending them, and is counted with it.
package struct SenderBatches {
  package static let batchPushes = 512

  package let tally = SegmentTally()
  private let traffic: SenderTraffic
  private let headers: PushHeaders
  private let page = RecipientPage(fieldNames: [])
  private let total: Int
  private var made = 0
  /// An index into the page's bindings.
  private var next = 0

  /// - Parameter expiresAt: ms since 1970.
  package init(_ traffic: SenderTraffic, total: Int, expiresAt: Int64) {
    self.traffic = traffic
    self.total = total
    headers = PushHeaders(
      pushType: .alert, priority: BenchTraffic.priority, topic: BenchTraffic.topic,
      collapseID: BenchTraffic.collapseID, expiration: expiresAt / 1_000, expiresAt: expiresAt)
    for (index, binding) in traffic.bindings.enumerated() {
      let user = page.bytes.append(utf8: "u00000000")
      let member = page.bytes.append(utf8: binding.member)
      page.recipients.append(
        RecipientPage.Recipient(user: user, firstBinding: index, bindingCount: 1))
      page.bindings.append(
        RecipientPage.Binding(
          member: member, token: member.last(binding.token.utf8.count),
          keyCount: binding.keys.utf8.count, destination: binding.destination))
    }
  }

  /// The next batch, not yet sealed; nil when all have been made.
  package mutating func nextBatch() -> PushBatch? {
    guard made < total else { return nil }
    let batch = PushBatch(event: "bench", headers: headers, tally: tally)
    for _ in 0..<min(Self.batchPushes, total - made) {
      let binding = page.bindings[next]
      if traffic.distinctDigits > 0 { writeTokenEnd(of: binding) }
      let payload = batch.bytes.append(traffic.payload.bytes)
      traffic.payload.write(
        made,
        to: UnsafeMutableRawBufferPointer(
          start: batch.bytes.base + Int(payload.offset), count: Int(payload.count)))
      batch.append(recipient: page.recipients[next], binding: binding, of: page, payload: payload)
      made += 1
      next = next + 1 == page.bindings.count ? 0 : next + 1
    }
    tally.pushes = made
    return batch
  }

  /// As `SenderTraffic.tokenEnd`, without a text.
  private func writeTokenEnd(of binding: RecipientPage.Binding) {
    let digits = traffic.distinctDigits
    let value = SplitMix64.value(of: UInt64(truncatingIfNeeded: made))
    let end = page.bytes.base + Int(binding.token.offset) + Int(binding.token.count) - digits
    for index in 0..<digits {
      let digit = UInt8(truncatingIfNeeded: value >> UInt64(60 - 4 * index)).lastHexDigit
      end.storeBytes(of: digit, toByteOffset: index, as: UInt8.self)
    }
  }
}
