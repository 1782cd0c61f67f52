import EventLoop
import HTTP2
import JSON
import SimulatorSupport
import Text

/// The state that all connections of a simulator share: rules, access tokens, ledger, counters,
/// script, delayed answers. Confined to its loop.
final class SimulatorService {
  let options: FCMSimulatorOptions
  let loop: EventLoop
  let log: @Sendable (String) -> Void
  let tokens: AccessTokens
  let heads: AnswerHeads
  let ledger: DeviceLedger
  /// The paths that send messages of the project, by its id and by its number.
  let sendPaths: [[UInt8]]
  var counters = FCMSimulatorSummary()
  private(set) var script = FCMSimulatorScript()
  private var rules = ScriptRules([])
  private var tokenTries = 0
  private var random: SplitMix64
  private var quota = TokenBucket(tokens: .infinity)
  let connections: SimulatorConnections<SimulatedConnection>
  /// Of control requests.
  let access: ControlAccess

  init(
    _ options: FCMSimulatorOptions, _ tokens: AccessTokens, loop: EventLoop,
    log: @escaping @Sendable (String) -> Void
  ) throws(HTTP2Error) {
    self.options = options
    self.tokens = tokens
    self.loop = loop
    self.log = log
    heads = try AnswerHeads()
    ledger = DeviceLedger(keptBodies: options.keptBodies)
    access = ControlAccess(token: options.controlToken)
    random = SplitMix64(seed: options.seed)
    connections = SimulatorConnections(loop: loop, idleTimeout: options.idleTimeout)
    sendPaths = [options.projectID, options.projectNumber].map {
      Array("/v1/projects/\($0)/messages:send".utf8)
    }
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

  func replaceScript(_ new: FCMSimulatorScript) {
    script = new
    tokenTries = 0
    quota = TokenBucket(tokens: .infinity)
    rules = ScriptRules(new.rules.map { ($0.tokens, $0.prefix) })
    for connection in connections.all { connection.scriptChanged() }
  }

  /// Forgets tokens and numbers; connections, access tokens and script stay.
  func reset() {
    ledger.removeAll()
    counters = FCMSimulatorSummary()
    counters.connections = connections.count
  }

  var summary: FCMSimulatorSummary {
    var summary = counters
    summary.tokens = ledger.count
    summary.openConnections = connections.count
    summary.accessTokensIssued = tokens.issued.count
    summary.accessTokensUsed = tokens.issued.count { $0.isUsed }
    return summary
  }

  // MARK: Access tokens

  /// Answers a request for an access token; nil: with silence.
  func exchange(_ request: OpenRequest) -> OAuthAnswer? {
    counters.tokenRequests += 1
    defer { tokenTries += 1 }
    let answer: OAuthAnswer?
    if let fault = script.tokenAnswers.answer(tries: tokenTries) {
      answer = OAuthAnswer(fault)
    } else {
      answer = exchangeInOrder(request)
    }
    if let answer, answer.status != 200 { counters.tokenRefusals += 1 }
    return answer
  }

  private func exchangeInOrder(_ request: OpenRequest) -> OAuthAnswer {
    guard request.isForm, !request.isTooLong else {
      return OAuthAnswer(400, "invalid_request", "Bad Request")
    }
    return tokens.exchange(
      request.body, nowSeconds: options.clock() / 1_000_000,
      lifetimeSeconds: script.accessTokenSeconds.map(Int64.init) ?? options.accessTokenSeconds)
  }

  // MARK: Messages

  /// Judges a request that is complete, counts it and chooses its answer.
  /// - Parameter isSilent: a request in order is not answered.
  func decide(_ request: OpenRequest, isSilent: Bool, arrival: Int64) -> FCMAnswer {
    var place: Int?
    let answer: FCMAnswer
    do {
      let message = try judge(request, nowSeconds: arrival / 1_000_000)
      var tries: UInt32 = 0
      if let device = message.device {
        let found = ledger.place(of: device, arrival: arrival)
        tries = ledger[found].requests
        ledger[found].requests = tries &+ 1
        ledger.keep(request.body, at: found)
        place = found
      }
      request.isValidateOnly = message.isValidateOnly
      answer = isSilent ? .silence : choose(message, tries: tries)
    } catch {
      answer = .refuse(error)
    }
    if answer == .expireBearer, let bearer = request.bearer {
      tokens.issued[bearer].isExpired = true
    }
    count(answer, request, at: place, arrival: arrival)
    if let place { tell(answer, request, of: ledger.token(at: place)) }
    return answer
  }

  private func tell(_ answer: FCMAnswer, _ request: OpenRequest, of token: [UInt8]) {
    guard let observe = options.observe else { return }
    token.withUnsafeBufferPointer { token in
      request.body.withUnsafeBytes {
        observe(ObservedMessage(token: token, request: $0, answer: answer))
      }
    }
  }

  private func judge(
    _ request: OpenRequest, nowSeconds: Int64
  ) throws(FCMRefusal) -> ScannedMessage {
    guard request.isPost, request.path != .unknown else { throw .noPage }
    guard request.hasAuthorization else { throw .missingBearer }
    guard let bearer = request.bearer else { throw .unknownBearer }
    let issued = tokens.issued[bearer]
    guard !issued.isExpired, issued.expiresAt > nowSeconds,
      !script.expiredAccessTokens.contains(bearer + 1)
    else { throw .expiredBearer }
    guard request.path == .send else { throw .wrongProject }
    guard issued.allowsMessaging else { throw .narrowBearer }
    if let limit = script.quotaPerMinute {
      quota.fill(Double(limit) / 60, burst: Double(limit), at: loop.now)
      guard quota.tokens >= 1 else { throw .projectQuota }
      quota.take()
    }
    guard !request.isTooLong else {
      throw .unreadable("", "Request payload size exceeds the limit")
    }
    let scanned = request.body.withUnsafeBufferPointer { body in
      Result { () throws(FCMRefusal) in try MessageScan.read(body) }
    }
    return try scanned.get()
  }

  private func choose(_ message: ScannedMessage, tries: UInt32) -> FCMAnswer {
    if let magic = MagicTokens.answer(message.name, tries: tries) { return magic }
    if !script.rules.isEmpty, let rule = rules.rule(for: message.name) {
      return script.rules[rule].steps.answer(tries: Int(tries)) ?? .accept
    }
    return script.mix.draw(&random).map { FCMAnswer($0) } ?? .accept
  }

  private func count(
    _ answer: FCMAnswer, _ request: OpenRequest, at place: Int?, arrival: Int64
  ) {
    counters.requests += 1
    if counters.firstArrival == 0 { counters.firstArrival = arrival }
    counters.lastArrival = arrival
    switch answer {
    case .accept: countAcceptance(request, at: place)
    case .expireBearer: count(.expiredBearer, at: place)
    case .refuse(let refusal): count(refusal, at: place)
    case .reset: counters.resets += 1
    case .silence, .drop: counters.unanswered += 1
    }
  }

  private func count(_ refusal: FCMRefusal, at place: Int?) {
    counters.byStatus[refusal.status, default: 0] += 1
    counters.byErrorCode[refusal.errorCode ?? "none", default: 0] += 1
    if let place { ledger[place].lastStatus = UInt16(clamping: refusal.status) }
  }

  private func countAcceptance(_ request: OpenRequest, at place: Int?) {
    counters.byStatus[200, default: 0] += 1
    if let place { ledger[place].lastStatus = 200 }
    guard !request.isValidateOnly else {
      counters.validated += 1
      return
    }
    counters.accepted += 1
    if let bearer = request.bearer { tokens.issued[bearer].isUsed = true }
    guard let place else { return }
    let before = ledger[place].accepted
    ledger[place].accepted = before &+ 1
    if before == 0 { counters.tokensAccepted += 1 } else { counters.duplicates += 1 }
  }

  /// The body of a 200.
  func acceptance(_ request: OpenRequest) -> [UInt8] {
    let identifier =
      request.isValidateOnly
      ? "fake_message_id"
      : "0:\(options.clock())%\(Hexadecimal.text(random.next(), digits: 16))"
    let name = "projects/\(options.projectID)/messages/\(identifier)"
    return Array("{\n  \"name\": \"\(name)\"\n}\n".utf8)
  }

  /// How long the next answer waits, in nanoseconds.
  func nextDelay() -> UInt64 { random.delay(latency: script.latency, jitter: script.jitter) }
}

extension SimulatorService: ControlledSimulator {
  var ledgerCount: Int { ledger.count }

  /// Tokens that the rules take need no escapes in JSON.
  func appendLedgerEntry(_ position: Int, to output: inout [UInt8]) {
    let entry = ledger[position]
    output.append(UInt8(ascii: "\""))
    output += ledger.token(at: position)
    output += "\":{\"requests\":\(entry.requests),\"accepted\":\(entry.accepted),".utf8
    output += "\"first_us\":\(entry.firstArrival),\"last_status\":\(entry.lastStatus)}".utf8
  }

  var summaryJSON: JSONValue { summary.json }

  /// The body stands in it as it came: the rules have found it to be JSON.
  func lastPush(to token: String) -> String? {
    let name = Array(token.utf8)
    guard let entry = ledger.find(name), let body = ledger.body(of: name) else { return nil }
    return "{\"token\":\(JSONString.quoted(token)),\"status\":\(entry.lastStatus),"
      + "\"request\":\(String(decoding: body, as: UTF8.self))}"
  }

  func replaceScript(_ text: [UInt8]) throws(SimulatorError) {
    replaceScript(try FCMSimulatorScript.parse(text))
  }
}

extension OAuthAnswer {
  /// The faults of a script; nil: silence.
  init?(_ fault: OAuthFault) {
    switch fault {
    case .invalidGrant: self.init(400, "invalid_grant", "Invalid JWT Signature.")
    case .invalidScope: self.init(400, "invalid_scope", "Invalid OAuth scope.")
    case .invalidClient: self.init(401, "invalid_client", "The OAuth client was not found.")
    case .internalFailure: self.init(500, "internal_failure", "Internal failure")
    case .unavailable: self.init(503, "temporarily_unavailable", "Try again later")
    case .notJSON: self.init(status: 200, body: "<html>proxy</html>")
    case .long:
      let padding = String(repeating: " ", count: 64 << 10)
      self.init(status: 200, body: padding + "{\"access_token\": \"x\", \"expires_in\": 3599}")
    case .silence: return nil
    }
  }
}
