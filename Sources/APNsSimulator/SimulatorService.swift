import EventLoop
import HTTP2
import JSON
import SimulatorSupport
import TLS
import Text

/// The state that all connections of a simulator share: rules, ledger, counters, script, delayed
/// answers. Confined to its loop.
final class SimulatorService {
  let options: APNsSimulatorOptions
  let loop: EventLoop
  let log: @Sendable (String) -> Void
  private let observe: (@Sendable (ObservedPush) -> Void)?
  let tokens: ProviderTokens
  let heads: AnswerHeads
  let ledger = TokenLedger()
  let pushes = RecentPushes()
  private var channels = BroadcastChannels()
  /// Of the legacy gateway, where there is one.
  let binary = BinaryState()
  /// Of control requests.
  let access: ControlAccess
  private(set) var script: SimulatorScript
  private var rules = ScriptRules([])
  private var counters = SimulatorSummary()
  private var random: SplitMix64
  let connections: SimulatorConnections<SimulatedConnection>
  private var bucket = RateBucket()
  private let topics: [[UInt8]]
  private var topicNames = TopicNames()

  init(
    _ options: APNsSimulatorOptions, loop: EventLoop, log: @escaping @Sendable (String) -> Void
  ) throws {
    self.options = options
    self.loop = loop
    self.log = log
    observe = options.observe
    tokens = try ProviderTokens(options.providerKeys)
    heads = try AnswerHeads(isDevelopment: options.isDevelopment)
    topics = options.topics.map { Array($0.utf8) }
    access = ControlAccess(token: options.controlToken)
    random = SplitMix64(seed: options.seed)
    connections = SimulatorConnections(loop: loop, idleTimeout: options.idleTimeout)
    script = SimulatorScript()
    replaceScript(options.script)
  }

  // MARK: Connections

  var acceptsConnections: Bool { connections.count < options.maximumConnections }

  func add(_ connection: SimulatedConnection) {
    connections.add(connection)
    counters.connections += 1
  }

  func closeAll() {
    connections.closeAll()
    for (_, close) in binary.connections { close() }
  }

  /// MAX_CONCURRENT_STREAMS for connections that have shown a valid provider token.
  var streamLimit: Int { script.streams ?? options.streams }

  // MARK: Control

  func replaceScript(_ new: SimulatorScript) {
    script = new
    rules = ScriptRules(new.rules.map { ($0.tokens, $0.prefix) })
    for connection in connections.all { connection.scriptChanged() }
  }

  /// Forgets tokens and numbers; connections and script stay.
  func reset() {
    ledger.removeAll()
    pushes.removeAll()
    channels = BroadcastChannels()
    _ = binary.takeFeedback()
    counters = SimulatorSummary()
    counters.connections = connections.count
  }

  var summary: SimulatorSummary {
    var summary = counters
    summary.tokens = ledger.count
    summary.openConnections = connections.count
    summary.providerTokens = tokens.soundCount
    return summary
  }

  // MARK: Requests

  func isTopicAllowed(_ topic: UnsafeRawBufferPointer) -> Bool {
    topics.isEmpty || topics.contains { topic.elementsEqualBytes($0) }
  }

  /// Judges a request that is complete, counts it and chooses its answer.
  func decide(
    _ record: RequestRecord, isSilent: Bool, arrival: Int64
  ) -> SimulatedAnswer {
    var entry: UnsafeMutablePointer<TokenLedger.Entry>?
    var tries: UInt32 = 0
    if record.tokenCount > 0 {
      let found = ledger.entry(record.token, record.tokenCount, arrival: arrival)
      tries = found.pointee.requests
      found.pointee.requests = tries &+ 1
      entry = found
    }
    let answer: SimulatedAnswer
    if let reason = RequestRules.judge(record, isTopicAllowed: isTopicAllowed) {
      answer = .refuse(reason)
    } else if let entry, entry.pointee.topic != TopicNames.unknown,
      !topicNames.isName(entry.pointee.topic, of: record.topicBytes)
    {
      // A token is registered for one topic: that which a push of its was accepted for.
      answer = .refuse(.deviceTokenNotForTopic)
    } else {
      answer = isSilent ? .silence : choose(record, tries: tries)
    }
    if answer.isAcceptance, let entry, entry.pointee.topic == TopicNames.unknown {
      entry.pointee.topic = topicNames.number(of: record.topicBytes)
    }
    count(answer, entry, arrival: arrival)
    if entry != nil {
      pushes.add(record, accepted: answer.isAcceptance)
      observe?(record.observed(answer))
    }
    return answer
  }

  /// Answers a request about channels, or a broadcast.
  func answer(
    _ request: ChannelRequest, credentialFault: BroadcastReason?, _ proof: ClientProof?
  ) -> ChannelAnswer {
    let answer = ChannelRules.answer(
      request, &channels, credentialFault: credentialFault,
      isTopicAllowed: { app in
        Array(app.utf8).withUnsafeBytes { self.isTopicAllowed($0) && proof?.allows($0) ?? true }
      },
      nowSeconds: options.clock() / 1_000_000, makeIdentifier: makeIdentifier)
    if answer.status == 200, request.path.hasPrefix("/4/") { counters.broadcasts += 1 }
    return answer
  }

  func choose(_ record: RequestRecord, tries: UInt32) -> SimulatedAnswer {
    if let magic = MagicTokens.answer(record.token, record.tokenCount, tries: tries) {
      return magic
    }
    if !script.rules.isEmpty, let scripted = scripted(record, tries: tries) { return scripted }
    if let rate = script.rate, !bucket.take(rate: rate, now: loop.now) {
      return .refuse(.serviceUnavailable)
    }
    return script.mix.draw(&random) ?? .accept
  }

  private func scripted(_ record: RequestRecord, tries: UInt32) -> SimulatedAnswer? {
    let token = UnsafeBufferPointer(start: record.token, count: record.tokenCount)
    guard let place = rules.rule(for: Array(token)) else { return nil }
    let rule = script.rules[place]
    // The legacy gateway is told no topic.
    if let topic = rule.topic, record.topicCount > 0,
      !record.topicBytes.elementsEqualBytes(Array(topic.utf8))
    {
      return .refuse(.deviceTokenNotForTopic)
    }
    return rule.steps.answer(tries: Int(tries))
  }

  func count(
    _ answer: SimulatedAnswer, _ entry: UnsafeMutablePointer<TokenLedger.Entry>?, arrival: Int64
  ) {
    counters.requests += 1
    if counters.firstArrival == 0 { counters.firstArrival = arrival }
    counters.lastArrival = arrival
    switch answer {
    case .accept:
      counters.accepted += 1
      guard let entry else { return }
      let before = entry.pointee.accepted
      entry.pointee.accepted = before &+ 1
      entry.pointee.lastStatus = 200
      if before == 0 { counters.tokensAccepted += 1 } else { counters.duplicates += 1 }
      if before == 1 { counters.tokensAcceptedMoreThanOnce += 1 }
    case .refuse(let refusal):
      counters.byReason[refusal.reason, default: 0] += 1
      entry?.pointee.lastStatus = UInt16(clamping: refusal.status)
    case .reset: counters.resets += 1
    case .silence, .drop: counters.unanswered += 1
    }
  }

  /// A UUID of version 4, as 36 characters.
  func makeIdentifier(into target: UnsafeMutablePointer<UInt8>) {
    let words = (random.next(), random.next())
    var place = 0
    for (position, character) in "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx".utf8.enumerated() {
      guard character == UInt8(ascii: "x") else {
        target[position] = character
        continue
      }
      let word = place < 16 ? words.0 : words.1
      target[position] =
        UInt8(truncatingIfNeeded: word >> UInt64(place % 16 * 4)).lastHexDigit
      place += 1
    }
  }

  func makeIdentifier() -> String {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: RequestRules.identifierCount) {
      if let start = $0.baseAddress { makeIdentifier(into: start) }
      return String(decoding: $0, as: UTF8.self)
    }
  }

  /// How long the next answer waits, in nanoseconds.
  func nextDelay() -> UInt64 { random.delay(latency: script.latency, jitter: script.jitter) }
}

extension SimulatorService: ControlledSimulator {
  var ledgerCount: Int { ledger.count }

  func appendLedgerEntry(_ position: Int, to output: inout [UInt8]) {
    let entry = ledger[position]
    output.append(UInt8(ascii: "\""))
    ledger.appendToken(of: entry, to: &output)
    output += "\":{\"requests\":\(entry.requests),\"accepted\":\(entry.accepted),".utf8
    output += "\"first_us\":\(entry.firstArrival),\"last_status\":\(entry.lastStatus)}".utf8
  }

  var summaryJSON: JSONValue { summary.json }

  func lastPush(to token: String) -> String? { pushes.json(of: Array(token.lowercased().utf8)) }

  func replaceScript(_ text: [UInt8]) throws(SimulatorError) {
    let script = text.withUnsafeBytes { bytes in
      Result { () throws(SimulatorError) in try SimulatorScript.parse(bytes) }
    }
    replaceScript(try script.get())
  }
}

/// Answers that need more than the connection knows.
extension SimulatorService {
  /// Answers that a push was taken. The development environment gives it an identifier of its own,
  /// which Apple's console shows.
  func accept(_ session: HTTP2ServerSession, slot: Int, identifier: UnsafeRawBufferPointer) {
    guard options.isDevelopment else {
      let none = UnsafeRawBufferPointer(start: nil, count: 0)
      return heads.accept(session, slot: slot, identifier: identifier, unique: none)
    }
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: RequestRules.identifierCount) {
      if let start = $0.baseAddress { makeIdentifier(into: start) }
      heads.accept(
        session, slot: slot, identifier: identifier, unique: UnsafeRawBufferPointer($0))
    }
  }
}

/// A server that accepts so many requests a second: what it has left for a burst of a tenth of
/// that.
struct RateBucket {
  /// Full at first, whatever the rate.
  private var bucket = TokenBucket(tokens: .infinity)

  /// - Parameter rate: requests a second.
  /// - Returns: whether there was one left.
  mutating func take(rate: Int, now: UInt64) -> Bool {
    bucket.fill(Double(rate), burst: max(1, Double(rate) / 10), at: now)
    guard bucket.tokens >= 1 else { return false }
    bucket.take()
    return true
  }
}

/// State that the legacy gateway and its feedback service share: the connections, and the tokens
/// that are gone.
final class BinaryState {
  /// Beyond it the oldest are forgotten.
  private static let feedbackLimit = 100_000

  /// In the order in which they came.
  var connections: [(connection: ObjectIdentifier, close: () -> Void)] = []
  private var feedback: [[UInt8]] = []

  /// - Parameter since: ms since 1970; the service tells seconds.
  func isGone(_ token: [UInt8], since: Int64) {
    if feedback.count >= Self.feedbackLimit { feedback.removeFirst() }
    let seconds = UInt32(clamping: since / 1000)
    let time = (0..<4).map { UInt8(truncatingIfNeeded: seconds >> (24 - 8 * $0)) }
    feedback.append(time + [0, UInt8(clamping: token.count)] + token)
  }

  /// Returns the feedback, and forgets it: nobody is told twice.
  func takeFeedback() -> [UInt8] {
    defer { feedback = [] }
    return feedback.flatMap { $0 }
  }
}

/// The last pushes that came in, so that somebody can see what a device would have got. Bounded by
/// bytes: two halves are filled in turn, and the older one is forgotten as a whole. Written for
/// each push, read when somebody asks.
final class RecentPushes {
  /// Together some 20,000 pushes of a usual size.
  private static let bytesOfHalf = 4 << 20
  private static let headBytes = 8

  private var current: [UInt8] = []
  private var older: [UInt8] = []

  func removeAll() {
    current = []
    older = []
  }

  func add(_ record: RequestRecord, accepted: Bool) {
    let size = Self.headBytes + record.tokenCount + record.topicCount + record.bodyCount
    if current.isEmpty { current.reserveCapacity(Self.bytesOfHalf) }
    if current.count + size > Self.bytesOfHalf {
      swap(&current, &older)
      current.removeAll(keepingCapacity: true)
    }
    for count in [record.tokenCount, record.topicCount, record.bodyCount] {
      current.append(UInt8(truncatingIfNeeded: count))
      current.append(UInt8(truncatingIfNeeded: count >> 8))
    }
    current.append(accepted ? 1 : 0)
    current.append(record.pushType.rawValue)
    current.append(contentsOf: UnsafeBufferPointer(start: record.token, count: record.tokenCount))
    current.append(contentsOf: UnsafeBufferPointer(start: record.topic, count: record.topicCount))
    current.append(contentsOf: record.body)
  }

  /// The last push to a token (lower-case hex), as JSON; nil when there is none or it is too long
  /// ago.
  func json(of token: [UInt8]) -> String? {
    guard !token.isEmpty, let push = last(of: token, in: current) ?? last(of: token, in: older)
    else { return nil }
    let type = SimulatedPushType(rawValue: push.pushType) ?? .none
    let payload = push.payload.withUnsafeBytes {
      PayloadScan.isObject($0) ? String(decoding: $0, as: UTF8.self) : nil
    }
    let quoted = payload ?? JSONString.quoted(String(decoding: push.payload, as: UTF8.self))
    return "{\"token\":\(JSONString.quoted(String(decoding: token, as: UTF8.self))),"
      + "\"topic\":\(JSONString.quoted(String(decoding: push.topic, as: UTF8.self))),"
      + "\"push_type\":\"\(type.name)\",\"accepted\":\(push.isAccepted),\"payload\":\(quoted)}"
  }

  private struct Push {
    let topic: ArraySlice<UInt8>
    let payload: ArraySlice<UInt8>
    let isAccepted: Bool
    let pushType: UInt8
  }

  private func last(of token: [UInt8], in half: [UInt8]) -> Push? {
    var found: Push?
    var place = 0
    while place + Self.headBytes <= half.count {
      func count(_ offset: Int) -> Int {
        Int(half[place + offset]) | Int(half[place + offset + 1]) << 8
      }
      let topic = place + Self.headBytes + count(0)
      let payload = topic + count(2)
      let end = payload + count(4)
      if half[(topic - count(0))..<topic].elementsEqual(token) {
        found = Push(
          topic: half[topic..<payload], payload: half[payload..<end],
          isAccepted: half[place + 6] == 1, pushType: half[place + 7])
      }
      place = end
    }
    return found
  }
}
