import EventLoop
import HTTP2
import SimulatorSupport
import TLS
import Text

/// The state that all connections of a simulator share: subscriptions, rules, ledger, counters,
/// script, delayed answers. Confined to its loop.
final class SimulatorService {
  let options: WebPushSimulatorOptions
  let loop: EventLoop
  let log: @Sendable (String) -> Void
  let subscriptions: Subscriptions
  let heads = AnswerHeads()
  let ledger: DeviceLedger
  var counters = WebPushSimulatorSummary()
  private(set) var script = WebPushSimulatorScript()
  private let requestRules: RequestRules
  private var scriptRules = ScriptRules([])
  private var random: SplitMix64
  let connections: SimulatorConnections<SimulatedConnection>
  /// Of control requests.
  let access: ControlAccess

  init(
    _ options: WebPushSimulatorOptions, _ subscriptions: Subscriptions, loop: EventLoop,
    log: @escaping @Sendable (String) -> Void
  ) throws(TLSError) {
    self.options = options
    self.subscriptions = subscriptions
    self.loop = loop
    self.log = log
    access = ControlAccess(token: options.controlToken)
    requestRules = RequestRules(
      subscriptions, try MessageReader(), checksSignatures: options.checksSignatures)
    ledger = DeviceLedger(keptBodies: options.keptMessages)
    random = SplitMix64(seed: options.seed)
    connections = SimulatorConnections(loop: loop, idleTimeout: options.idleTimeout)
    replaceScript(options.script)
  }

  // MARK: Connections

  var acceptsConnections: Bool { connections.count < options.maximumConnections }

  func add(_ connection: SimulatedConnection) {
    connections.add(connection)
    counters.connections += 1
  }

  var streamLimit: Int { script.streams ?? options.streams }

  // MARK: Control

  func replaceScript(_ new: WebPushSimulatorScript) {
    script = new
    scriptRules = ScriptRules(new.rules.map { ($0.tokens, $0.prefix) })
    for connection in connections.all { connection.scriptChanged() }
  }

  /// Forgets ledger and numbers; subscriptions, connections and script stay.
  func reset() {
    ledger.removeAll()
    counters = WebPushSimulatorSummary()
    counters.connections = connections.count
  }

  var summary: WebPushSimulatorSummary {
    var summary = counters
    summary.subscriptions = ledger.count
    summary.openConnections = connections.count
    summary.tokenVerifications = requestRules.tokens.verifications
    return summary
  }

  // MARK: Messages

  /// Judges a request that is complete, counts it and chooses its answer.
  /// - Parameter isSilent: a request in order is not answered.
  func decide(_ request: OpenRequest, isSilent: Bool, arrival: Int64) -> WebPushAnswer {
    var place: Int?
    var message: [UInt8] = []
    let answer: WebPushAnswer
    do {
      let judged = try requestRules.judge(request, nowSeconds: arrival / 1_000_000)
      message = judged.message
      request.ttl = min(judged.ttl, options.longestTTLSeconds)
      let found = ledger.place(of: judged.subscription.id, arrival: arrival)
      let tries = ledger[found].requests
      ledger[found].requests = tries &+ 1
      ledger.keep(judged.message, at: found)
      place = found
      answer = isSilent ? .silence : choose(request, judged.subscription.magic, tries: Int(tries))
    } catch {
      answer = .refuse(error)
    }
    count(answer, request, at: place, arrival: arrival)
    if let place { tell(answer, message, request, of: ledger.token(at: place)) }
    return answer
  }

  private func tell(
    _ answer: WebPushAnswer, _ message: [UInt8], _ request: OpenRequest, of id: [UInt8]
  ) {
    guard let observe = options.observe else { return }
    let status: Int? =
      switch answer {
      case .accept, .acceptSlowly: 201
      case .refuse(let refusal): ServiceDialect(host: request.host).answer(to: refusal).status
      case .respond(let answer): answer.status
      case .reset, .goAway, .silence, .drop: nil
      }
    message.withUnsafeBytes {
      observe(
        ObservedWebPush(
          number: subscriptions.number(of: id), host: request.host, message: $0, answer: answer,
          status: status))
    }
  }

  private func choose(_ request: OpenRequest, _ magic: MagicFault?, tries: Int) -> WebPushAnswer {
    if let magic, magic.tries == 0 || tries < magic.tries { return WebPushAnswer(magic.fault) }
    if !script.rules.isEmpty, let rule = scriptRules.rule(for: request.endpoint) {
      return script.rules[rule].steps.answer(tries: tries) ?? .accept
    }
    return script.mix.draw(&random).map { WebPushAnswer($0) } ?? .accept
  }

  private func count(
    _ answer: WebPushAnswer, _ request: OpenRequest, at place: Int?, arrival: Int64
  ) {
    counters.requests += 1
    if counters.firstArrival == 0 { counters.firstArrival = arrival }
    counters.lastArrival = arrival
    switch answer {
    case .accept, .acceptSlowly: countAcceptance(request, at: place)
    case .refuse(let refusal):
      let status = ServiceDialect(host: request.host).answer(to: refusal).status
      countRefusal(status, refusal.reason.rawValue, at: place)
    case .respond(let answer): countRefusal(answer.status, "script", at: place)
    case .reset, .goAway: counters.resets += 1
    case .silence, .drop: counters.unanswered += 1
    }
  }

  private func countRefusal(_ status: Int, _ reason: String, at place: Int?) {
    counters.byStatus[status, default: 0] += 1
    counters.byReason[reason, default: 0] += 1
    if let place { ledger[place].lastStatus = UInt16(clamping: status) }
  }

  private func countAcceptance(_ request: OpenRequest, at place: Int?) {
    counters.byStatus[201, default: 0] += 1
    counters.byService[ServiceDialect(host: request.host).rawValue, default: 0] += 1
    counters.accepted += 1
    guard let place else { return }
    ledger[place].lastStatus = 201
    let before = ledger[place].accepted
    ledger[place].accepted = before &+ 1
    if before == 0 { counters.subscriptionsAccepted += 1 } else { counters.duplicates += 1 }
  }

  /// The 201 for a message (RFC 8030, section 5), with what its service adds.
  func acceptance(_ request: OpenRequest) -> ServiceAnswer {
    let identifier =
      Hexadecimal.text(random.next(), digits: 16) + Hexadecimal.text(random.next(), digits: 16)
    var answer = ServiceAnswer(status: 201)
    answer.add("location", "\(request.origin)/m/\(identifier)")
    answer.add("ttl", String(request.ttl))
    switch ServiceDialect(host: request.host) {
    case .apple: answer.add("apns-id", Self.uuid(identifier))
    case .windows:
      answer.add("x-wns-status", "received")
      answer.add("x-wns-notificationstatus", "received")
      answer.add("x-wns-msg-id", identifier)
    case .google, .mozilla, .other: break
    }
    return answer
  }

  /// In groups of 8, 4, 4, 4 and 12 digits.
  private static func uuid(_ digits: String) -> String {
    var text = ""
    for (index, digit) in digits.uppercased().enumerated() {
      if [8, 12, 16, 20].contains(index) { text.append("-") }
      text.append(digit)
    }
    return text
  }

  /// The response of an answer that is one.
  func response(_ answer: WebPushAnswer, to request: OpenRequest) -> ServiceAnswer? {
    switch answer {
    case .accept, .acceptSlowly: acceptance(request)
    case .refuse(let refusal): ServiceDialect(host: request.host).answer(to: refusal)
    case .respond(let answer): answer
    case .reset, .goAway, .silence, .drop: nil
    }
  }

  /// How long this answer waits, in nanoseconds.
  func delay(of answer: WebPushAnswer) -> UInt64 {
    let usual = random.delay(latency: script.latency, jitter: script.jitter)
    return answer == .acceptSlowly ? usual &+ script.slowness.nanoseconds : usual
  }
}
