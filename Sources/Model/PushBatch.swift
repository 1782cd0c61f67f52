/// Rendered pushes of one segment, at most a few hundred, with all their bytes in one arena: what Render
/// hands to Deliver. Confined to one lane. Sealed before it is sent, so that its bytes stay where they are
/// until the last of its pushes has an outcome.
package final class PushBatch {
  package struct Entry {
    package var user: ByteSlice
    package var member: ByteSlice
    package var token: ByteSlice
    package var payload: ByteSlice
    /// 36 characters; the same on every try, also after a crash.
    package var apnsID: ByteSlice
    package var environment: APNsEnvironment
  }

  package let headers: PushHeaders
  package let tally: SegmentTally
  package let bytes: ByteArena
  package private(set) var entries: [Entry] = []
  package private(set) var unsettled = 0
  package private(set) var isSealed = false
  /// Called once, when the last push has its outcome (at once when the batch is sealed empty).
  package var whenSettled: (() -> Void)?
  private let seed: PushIdentifier.Seed

  package init(event: String, headers: PushHeaders, tally: SegmentTally, capacity: Int = 256 * 1024)
  {
    self.headers = headers
    self.tally = tally
    bytes = ByteArena(capacity: capacity)
    seed = PushIdentifier.Seed(event: event)
  }

  /// Appends a push whose payload has just been rendered into `bytes`; copies the names it needs from `page`.
  package func append(
    recipient: RecipientPage.Recipient, binding: RecipientPage.Binding, of page: RecipientPage,
    payload: ByteSlice
  ) {
    let user = bytes.append(page.bytes[recipient.user])
    append(user: user, binding: binding, of: page, payload: payload)
  }

  /// As above for a further device of the same recipient: `user` and `payload` are already in `bytes`.
  package func append(
    user: ByteSlice, binding: RecipientPage.Binding, of page: RecipientPage, payload: ByteSlice
  ) {
    precondition(!isSealed, "a sealed batch takes no more pushes")
    let member = bytes.append(page.bytes[binding.member])
    let token = member.last(Int(binding.token.count))
    let identifier = PushIdentifier(seed: seed, token: bytes[token])
    let apnsID = bytes.append(atMost: PushIdentifier.length) { identifier.write(to: $0) }
    entries.append(
      Entry(
        user: user, member: member, token: token, payload: payload, apnsID: apnsID,
        environment: binding.environment))
    unsettled += 1
  }

  package func seal() {
    isSealed = true
    if unsettled == 0 { finish() }
  }

  /// The outcome of one push. Each push settles exactly once.
  package func settle(_ index: Int, _ outcome: Outcome) {
    precondition(isSealed && unsettled > 0, "a push settled twice")
    tally.count(outcome)
    unsettled -= 1
    if unsettled == 0 { finish() }
  }

  /// Notes what Apple said about the token of one push.
  package func condemn(_ index: Int, _ finding: TokenVerdict.Finding) {
    let entry = entries[index]
    tally.verdicts.append(
      TokenVerdict(
        user: bytes.string(entry.user), member: bytes.string(entry.member), finding: finding))
  }

  private func finish() {
    let callback = whenSettled
    whenSettled = nil
    callback?()
  }
}
