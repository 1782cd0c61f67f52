/// Rendered pushes of one segment, at most a few hundred, with all their bytes in one arena: what
/// Render hands to Deliver. Confined to one lane. Sealed before it is sent, so that its bytes stay
/// where they are until the last of its pushes has an outcome.
package final class PushBatch {
  package struct Entry {
    package var user: ByteSlice
    package var member: ByteSlice
    package var token: ByteSlice
    package var payload: ByteSlice
    /// 36 characters; the same on every try, also after a crash.
    package var apnsID: ByteSlice
    package var destination: Destination
    /// Bytes of `keys`.
    package var keyCount: UInt8 = 0
    /// Which of a lane's routes the push takes: set and read by Deliver alone.
    package var route: UInt16 = .max
    /// The history from earlier tries in other segments; empty but for stragglers.
    package var history = PushHistory()
    fileprivate var isSettled = false
    /// Its outcome is noted, or it has left without one.
    fileprivate var isNoted = false

    /// As `Binding.keys`: they stand in the member before the token.
    package var keys: ByteSlice {
      ByteSlice(offset: Int(token.offset) - 1 - Int(keyCount), count: Int(keyCount))
    }
  }

  package let headers: PushHeaders
  package let tally: SegmentTally
  package let bytes: ByteArena
  /// Called once, when the last push has its outcome (at once when the batch is sealed empty).
  package var whenSettled: (() -> Void)?
  private let seed: PushIdentifier.Seed

  private struct State {
    var entries: [Entry] = []
    var unsettled = 0
    var isSealed = false
  }

  /// Behind a constant pointer, as in `ByteArena`: every push touches it several times.
  private let state: UnsafeMutablePointer<State>

  package var entries: [Entry] { state.pointee.entries }
  /// One push, without a hold on the list of all.
  package subscript(index: Int) -> Entry { state.pointee.entries[index] }
  /// Pushes without an outcome.
  package var unsettled: Int { state.pointee.unsettled }
  package var isSealed: Bool { state.pointee.isSealed }

  package init(event: String, headers: PushHeaders, tally: SegmentTally, capacity: Int = 256 * 1024)
  {
    self.headers = headers
    self.tally = tally
    bytes = ByteArena(capacity: capacity)
    seed = PushIdentifier.Seed(event: event)
    state = .allocate(capacity: 1)
    state.initialize(to: State())
  }

  deinit {
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// Appends a push whose payload has just been rendered into `bytes`. Copies the names it needs
  /// from `page`: to keep the page instead would save 27 ns a push of more than 7,000, and cost a
  /// quarter more memory for each batch that waits, for the page's profile fields and its rows.
  package func append(
    recipient: RecipientPage.Recipient, binding: RecipientPage.Binding, of page: RecipientPage,
    payload: ByteSlice
  ) {
    let user = bytes.append(page.bytes[recipient.user])
    append(user: user, binding: binding, of: page, payload: payload)
  }

  /// As above for a further device of the same recipient: `user` and `payload` are already in
  /// `bytes`.
  package func append(
    user: ByteSlice, binding: RecipientPage.Binding, of page: RecipientPage, payload: ByteSlice
  ) {
    precondition(!state.pointee.isSealed, "a sealed batch takes no more pushes")
    let member = bytes.append(page.bytes[binding.member])
    let token = member.last(Int(binding.token.count))
    let identifier = PushIdentifier(seed: seed, token: bytes[token])
    let apnsID = bytes.append(atMost: PushIdentifier.length) { identifier.write(to: $0) }
    state.pointee.entries.append(
      Entry(
        user: user, member: member, token: token, payload: payload, apnsID: apnsID,
        destination: binding.destination, keyCount: binding.keyCount))
    state.pointee.unsettled += 1
  }

  /// No pushes are added after this; outcomes come only after it.
  package func seal() {
    state.pointee.isSealed = true
    if state.pointee.unsettled == 0 { finish() }
  }

  /// The outcome of one push. Each push settles exactly once: the counters are promised to be
  /// exact, so a second outcome is an error of ours and stops the process before it is recorded.
  ///
  /// - Parameter sentAt: monotonic nanoseconds of the request whose answer gives the outcome; 0:
  ///   there was no answer.
  package func settle(_ index: Int, _ outcome: Outcome, sentAt: UInt64 = 0) {
    takeOut(index)
    let outcome = tally.known(outcome)
    tally.count(outcome)
    if let observer = tally.observer, observer.isListening {
      report(index, outcome, sentAt: sentAt, to: observer)
    }
    if outcome == .accepted {
      let destination = state.pointee.entries[index].destination
      if destination != .production { tally.wasAccepted(at: destination) }
    } else {
      note(index, .outcome(outcome))
    }
    finishIfSettled()
  }

  /// Takes a push out without an outcome: it becomes a straggler, which is counted where it gets
  /// its outcome.
  package func postpone(_ index: Int, history: PushHistory, askAgainAt: Int64 = 0) {
    takeOut(index)
    var history = history
    if tally.mayHaveBeenSent { history.mayHaveArrived = true }
    let entry = state.pointee.entries[index]
    tally.postpone(
      Straggler(
        user: bytes.string(entry.user), member: bytes.string(entry.member), history: history,
        askAgainAt: askAgainAt))
    setHistory(index, history)
    note(index, .waiting)
    finishIfSettled()
  }

  /// Nothing more of it is sent: the event has expired at `milliseconds` since 1970, or somebody
  /// has cancelled it.
  package func isOver(at milliseconds: Int64) -> Bool {
    headers.expiresAt <= milliseconds || tally.fanOut.halt == .cancelled
  }

  /// Gives each push its route.
  package func setRoutes(_ route: (Entry) -> UInt16) {
    for index in state.pointee.entries.indices {
      state.pointee.entries[index].route = route(state.pointee.entries[index])
    }
  }

  /// Sets the history from earlier tries of a push.
  package func setHistory(_ index: Int, _ history: PushHistory) {
    state.pointee.entries[index].history = history
  }

  private func takeOut(_ index: Int) {
    precondition(state.pointee.isSealed, "a push settled before its batch was sealed")
    precondition(!state.pointee.entries[index].isSettled, "a push settled twice")
    state.pointee.entries[index].isSettled = true
    state.pointee.unsettled -= 1
  }

  private func finishIfSettled() { if state.pointee.unsettled == 0 { finish() } }

  /// Notes what Apple said about the token of one push.
  package func addVerdict(_ index: Int, _ finding: TokenVerdict.Finding) {
    let entry = state.pointee.entries[index]
    tally.add(
      TokenVerdict(
        user: bytes.string(entry.user), member: bytes.string(entry.member), finding: finding))
  }

  @inline(never)
  private func report(
    _ index: Int, _ outcome: Outcome, sentAt: UInt64, to observer: any OutcomeObserver
  ) {
    let entry = state.pointee.entries[index]
    observer.settled(
      SettledPush(
        outcome: outcome, destination: entry.destination, token: bytes[entry.token],
        topic: headers.topic, sends: sends(of: entry, outcome == .accepted), sentAt: sentAt))
  }

  /// Of those that were accepted the try that was is none of those that came to nothing.
  private func sends(of entry: Entry, _ isAccepted: Bool) -> Int {
    entry.history.sends + (isAccepted ? 1 : 0)
  }

  private func note(_ index: Int, _ fate: NotedFate) {
    guard tally.hearsOfPushes else { return }
    state.pointee.entries[index].isNoted = true
    let entry = state.pointee.entries[index]
    let sends = sends(of: entry, fate == .outcome(.accepted))
    tally.note(user: bytes[entry.user], member: bytes[entry.member], fate, sends: sends)
  }

  /// Once for all accepted pushes, and only where somebody wants to hear of them: each alone would
  /// cost something on the way that most go.
  private func noteAccepted() {
    guard tally.hearsAccepted else { return }
    for index in state.pointee.entries.indices where !state.pointee.entries[index].isNoted {
      note(index, .outcome(.accepted))
    }
  }

  private func finish() {
    noteAccepted()
    let callback = whenSettled
    whenSettled = nil
    callback?()
  }
}
