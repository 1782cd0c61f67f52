import HTTP2
import SimulatorSupport
import Transport

/// One client's connection: joins transport, HTTP/2 session and the requests that are open.
/// Confined to the loop; the service keeps it until it has closed.
final class SimulatedConnection: SimulatorConnection {
  /// Bytes for the socket beyond which no more frames are made, until it has drained.
  private static let outputLimit = 256 * 1024

  /// Strong, and a ring with the service's table of connections, which `close` and
  /// `connectionClosed` break.
  let service: SimulatorService
  let transport: Connection
  var session: HTTP2ServerSession?
  private var records: UnsafeMutablePointer<RequestRecord>
  private var recordCount = 0
  private var shown: ClientCredentials
  private var sideRequests: [Int: any SideRequest] = [:]
  private var isUnlocked = false
  private var mustClose = false
  private var closesWhenDrained = false
  /// Microseconds since 1970, read once for all that came in one piece.
  private var arrival: Int64 = 0
  /// Monotonic nanoseconds of the last bytes.
  private(set) var heardAt: UInt64
  // Faults.
  private var requestCount = 0
  var lastProcessedStream: Int32 = 0
  var goAwayStream: Int32?
  var held: [(slot: Int, stream: Int32)] = []
  private var errors = CountedErrors()
  private var told: ToldLimits
  private var attack: RunningAttack?
  var isHalfClosed = false

  init(_ service: SimulatorService, _ transport: Connection) throws(HTTP2Error) {
    self.service = service
    self.transport = transport
    heardAt = service.loop.now
    records = .allocate(capacity: 1)
    shown = ClientCredentials(
      service.tokens, areRequired: service.options.requiresProviderToken)
    var options = HTTP2ServerOptions()
    options.maximumConcurrentStreams = service.options.firstStreams
    told = ToldLimits(options)
    session = try HTTP2ServerSession(options: options)
    followScript()
  }

  deinit {
    for (_, request) in sideRequests.sorted(by: { $0.key < $1.key }) { request.forget(service) }
    for index in 0..<recordCount { records[index].deallocate() }
    records.deallocate()
  }

  func close() {
    session?.abandon()
    transport.close()
    service.connections.remove(self)
  }

  /// Says goodbye as a server does that wants its memory back; who does not take even that is
  /// closed the next time.
  func closeBecauseIdle() {
    guard !closesWhenDrained else { return close() }
    session?.goAway(lastStreamID: lastProcessedStream, errorCode: HTTP2ErrorCode.noError)
    flush()
    closesWhenDrained = true
    if transport.pendingBytes == 0 { close() }
  }

  /// Follows the new script. Errors counted under the old one are forgotten.
  func scriptChanged() {
    errors = CountedErrors()
    followScript()
    // No GOAWAY comes any more for which they were held.
    if service.script.goAwayAfter == nil { answerHeld(below: .max) }
    tellStreamLimit()
    flush()
  }

  private func followScript() {
    transport.largestPiece = service.script.sliceBytes ?? Connection.usualPiece
    told.tell(session, window: service.script.window)
  }

  private func tellStreamLimit() {
    guard isUnlocked else { return }
    told.tell(session, streams: errors.streamLimit(of: service.streamLimit))
  }

  /// Puts on the wire what the session has to say.
  func flush() {
    guard !mustClose else { return close() }
    guard let session, !isHalfClosed else { return }
    attack?.goOn(transport, upTo: Self.outputLimit)
    guard attack == nil else { return }
    do {
      while transport.pendingBytes < Self.outputLimit, let bytes = try session.nextOutput() {
        transport.write(bytes)
      }
    } catch {
      service.log("closed a connection: \(error)")
      return close()
    }
    if !session.wantsIO {
      if transport.pendingBytes == 0 { close() } else { closesWhenDrained = true }
    }
  }

  /// Gives a request its answer, unless its stream is over.
  func perform(_ answer: SimulatedAnswer, slot: Int, stream: Int32) {
    guard let session, session.stream(of: slot) == stream else { return }
    let record = records + slot
    switch answer {
    case .accept:
      if !record.pointee.hasIdentifier { makeIdentifier(record) }
      service.accept(session, slot: slot, identifier: record.pointee.identifierBytes)
    case .refuse(let refusal):
      if !record.pointee.hasIdentifier { makeIdentifier(record) }
      service.heads.refuse(
        session, slot: slot, refusal, identifier: record.pointee.identifierBytes,
        nowMilliseconds: service.options.clock() / 1000)
      switch errors.refused(refusal, service.script) {
      case .none: break
      case .cut: tellStreamLimit()
      case .end: if goAwayStream == nil { goAway() }
      }
    case .reset(let code): session.reset(slot: slot, errorCode: code)
    case .silence: return
    case .drop: mustClose = true
    }
  }

  private func makeIdentifier(_ record: UnsafeMutablePointer<RequestRecord>) {
    service.makeIdentifier(into: record.pointee.identifier)
    record.pointee.hasIdentifier = true
  }

  private func ended(_ slot: Int) {
    let record = records + slot
    shown.judge(record)
    if let topic = shown.defaultTopic, !record.pointee.has(.topic) {
      topic.withUnsafeBytes { take(slot, .topic, $0) }
    }
    if shown.isTokenInOrder(record) { unlock() }
    shown.judgeTopic(of: record)
    requestCount += 1
    guard attack == nil, !isHalfClosed else { return }
    let stream = record.pointee.stream
    if let last = goAwayStream {
      // Those below the GOAWAY's last stream that come to their end after it.
      if stream <= last { process(slot, stream) }
      return
    }
    if let limit = service.script.dropAfter, requestCount >= limit {
      mustClose = true
      return
    }
    if let limit = service.script.halfCloseAfter, requestCount >= limit { return halfClose() }
    if let wanted = service.script.attack, requestCount >= service.script.attackAfter {
      // The session's pending output goes first: an attack begins at the start of a frame.
      flush()
      attack = RunningAttack(wanted, stream: stream)
      return
    }
    if let limit = service.script.goAwayAfter {
      if requestCount > limit - service.script.goAwayBehind {
        held.append((slot, stream))
      } else {
        process(slot, stream)
      }
      if requestCount >= limit { goAway() }
      return
    }
    process(slot, stream)
  }

  func process(_ slot: Int, _ stream: Int32) {
    lastProcessedStream = max(lastProcessedStream, stream)
    let isSilent = service.script.silentAfter.map { requestCount >= $0 } ?? false
    let answer = service.decide(records[slot], isSilent: isSilent, arrival: arrival)
    service.connections.answer(
      self, answer, slot: slot, stream: stream, after: service.nextDelay())
  }

  private func unlock() {
    guard !isUnlocked else { return }
    isUnlocked = true
    tellStreamLimit()
  }
}

/// Input from the client.
extension SimulatedConnection {
  private func hear(_ session: HTTP2ServerSession) {
    while let heard = session.nextHeard() {
      switch heard {
      case .began(let slot, let stream):
        if slot >= recordCount { RequestRecord.grow(&records, &recordCount, to: slot + 1) }
        records[slot].begin(stream: stream)
      case .field(let slot, let name, let value): take(slot, name, value)
      case .body(let slot, let bytes):
        if records[slot].path == .side {
          sideRequests[slot]?.append(bytes, service)
        } else {
          records[slot].append(bytes)
        }
      case .ended(let slot):
        if records[slot].path == .side, let request = sideRequests[slot] {
          shown.judge(records + slot)
          request.answer(service, session, slot: slot, records[slot], shown.proof)
        } else {
          ended(slot)
        }
      case .closed(let slot, _):
        if !sideRequests.isEmpty { sideRequests.removeValue(forKey: slot)?.forget(service) }
      }
    }
  }

  private func take(
    _ slot: Int, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) {
    let record = records + slot
    if record.pointee.path == .side { sideRequests[slot]?.take(name, value, service) }
    if let field = KnownField(name) { take(slot, field, value) }
  }

  private func take(_ slot: Int, _ field: KnownField, _ value: UnsafeRawBufferPointer) {
    let record = records + slot
    let bit: UInt32 = 1 << field.rawValue
    guard record.pointee.seen & bit == 0 else {
      record.pointee.faults |= RequestFault.duplicateField.bit
      return
    }
    record.pointee.seen |= bit
    if field == .authorization {
      return shown.take(value, record, nowSeconds: arrival / 1_000_000)
    }
    RequestRules.take(field, value, into: &record.pointee, nowSeconds: arrival / 1_000_000)
    if field == .path && record.pointee.path == .side {
      let path = String(decoding: value, as: UTF8.self)
      sideRequests[slot] =
        ChannelExchange.isPath(value)
        ? ChannelExchange(path: path) : ControlRequest(path: path, service.access)
    }
  }
}

extension SimulatedConnection: ConnectionDelegate {
  func connectionOpened(_ connection: Connection) {
    shown.take(connection.peer, isDevelopment: service.options.isDevelopment)
    if shown.isCertificateInOrder { unlock() }
    flush()
  }

  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    arrival = service.options.clock()
    heardAt = service.loop.now
    do {
      try session?.receive(bytes)
    } catch {
      service.log("closed a connection: \(error)")
      return close()
    }
    if let session { hear(session) }
    flush()
  }

  func connectionDrained(_ connection: Connection) {
    if closesWhenDrained { close() } else { flush() }
  }

  func connectionClosed(_ connection: Connection, error: TransportError?) {
    if let error { service.log("a connection broke: \(error)") }
    session?.abandon()
    service.connections.remove(self)
  }
}

/// The limits that the client was told last: a limit that has not changed is not sent again.
struct ToldLimits {
  private var streams: Int
  private var window: Int

  init(_ options: HTTP2ServerOptions) {
    streams = options.maximumConcurrentStreams
    window = options.limits.streamWindowBytes
  }

  mutating func tell(_ session: HTTP2ServerSession?, streams limit: Int) {
    guard limit != streams else { return }
    streams = limit
    session?.setMaximumConcurrentStreams(limit)
  }

  /// - Parameter bytes: of a body that each stream may send ahead; nil: as HTTP/2 has it.
  mutating func tell(_ session: HTTP2ServerSession?, window bytes: Int?) {
    let bytes = bytes ?? HTTP2ServerOptions().limits.streamWindowBytes
    guard bytes != window else { return }
    window = bytes
    session?.setStreamWindow(bytes)
  }
}

/// How a script ends a connection.
extension SimulatedConnection {
  func halfClose() {
    flush()
    isHalfClosed = true
    transport.finishWriting()
  }

  func goAway() {
    let last = lastProcessedStream
    goAwayStream = last
    answerHeld(below: last)
    let debug = Array(#"{"reason":"Shutdown"}"#.utf8)
    debug.withUnsafeBytes {
      session?.goAway(lastStreamID: last, errorCode: service.script.goAwayCode, debug: $0)
    }
  }

  /// Those that the client still waits for.
  func answerHeld(below last: Int32) {
    for (slot, stream) in held where stream < last && session?.stream(of: slot) == stream {
      process(slot, stream)
    }
    held = []
  }
}

/// The consequences of a connection's refusals. Apple: 4xx must slow a provider down; too many
/// errors end the connection, BadDeviceToken sooner than others, and 410 is not counted ("Handling
/// notification responses from APNs"). Providers report that the limit of streams falls first
/// (pushy #476 and #732, openradar 27870881).
struct CountedErrors {
  /// Apple gives no number: a BadDeviceToken counts as so many.
  static let badDeviceToken = 4

  enum Consequence: Equatable {
    case none
    /// Its limit of streams has changed.
    case cut
    case end
  }

  private var count = 0
  private var cuts = 0

  mutating func refused(_ refusal: Refusal, _ script: SimulatorScript) -> Consequence {
    guard (400...499).contains(refusal.status), refusal.status != 410 else { return .none }
    let isBadToken = refusal.reason == AppleReason.badDeviceToken.rawValue
    count += isBadToken ? Self.badDeviceToken : 1
    if let limit = script.endAfter, count >= limit { return .end }
    guard let limit = script.cutAfter, count / limit > cuts else { return .none }
    cuts = count / limit
    return .cut
  }

  /// Halved with each cut, down to one stream.
  func streamLimit(of limit: Int) -> Int { max(min(limit, 1), limit >> cuts) }
}

/// An attack in progress on one client.
struct RunningAttack {
  private let attack: Attack
  private let stream: Int32
  private var bytes = 0
  private var hasBegun = false

  init(_ attack: Attack, stream: Int32) {
    self.attack = attack
    self.stream = stream
  }

  /// Writes more of it while the socket takes it.
  /// - Parameter limit: bytes that wait for the socket at most, but for what comes first.
  mutating func goOn(_ transport: Connection, upTo limit: Int) {
    if !hasBegun {
      hasBegun = true
      write(attack.opening(stream: stream), to: transport)
    }
    while transport.pendingBytes < limit, bytes < Attack.longest,
      let more = attack.more(stream: stream)
    {
      write(more, to: transport)
    }
  }

  private mutating func write(_ more: [UInt8], to transport: Connection) {
    bytes += more.count
    more.withUnsafeBytes { transport.write($0) }
  }
}
