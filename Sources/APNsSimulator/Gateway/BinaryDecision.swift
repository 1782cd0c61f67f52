/// The legacy gateway's decision about a notification.
enum BinaryDecision {
  case taken
  /// Nothing is ever heard of it, and the ledger has it as unanswered.
  case unknown
  case shutdown
  case refused(BinaryStatus)
  case drop
}

extension SimulatorService {
  func add(_ gateway: SimulatedGateway) {
    binary.connections.append((ObjectIdentifier(gateway), { gateway.close() }))
  }

  func add(_ feedback: SimulatedFeedback) {
    binary.connections.append((ObjectIdentifier(feedback), { feedback.close() }))
  }

  func removeBinary(_ connection: AnyObject) {
    binary.connections.removeAll { $0.connection == ObjectIdentifier(connection) }
  }

  var acceptsBinaryConnections: Bool { binary.connections.count < options.maximumConnections }

  /// The same ledger, script and magic tokens as HTTP/2 has, in what the binary interface can say.
  func decideBinary(
    _ record: RequestRecord, _ token: [UInt8], isSilent: Bool, arrival: Int64
  ) -> BinaryDecision {
    let entry = ledger.entry(record.token, record.tokenCount, arrival: arrival)
    let tries = entry.pointee.requests
    entry.pointee.requests = tries &+ 1
    let answer: SimulatedAnswer
    if !PayloadScan.isObject(record.body) {
      // There is no status for it.
      answer = .refuse(Refusal(status: 400, reason: "BadPayload"))
    } else {
      answer = isSilent ? .silence : choose(record, tries: tries)
    }
    count(answer, entry, arrival: arrival)
    pushes.add(record, accepted: answer.isAcceptance)
    switch answer {
    case .accept: return .taken
    case .silence: return .unknown
    case .drop, .reset: return .drop
    case .refuse(let refusal): return decision(refusal, token, arrival: arrival)
    }
  }

  private func decision(
    _ refusal: Refusal, _ token: [UInt8], arrival: Int64
  ) -> BinaryDecision {
    switch (refusal.status, refusal.reason) {
    case (_, AppleReason.badDeviceToken.rawValue),
      (_, AppleReason.deviceTokenNotForTopic.rawValue):
      return .refused(.invalidToken)
    case (410, _):
      // The gateway takes it. Only the feedback service tells that no device got it.
      let since =
        switch refusal.timestamp {
        case .absent, .now: arrival / 1000
        case .fixed(let time): time
        }
      binary.isGone(token, since: since)
      return .taken
    case (413, _): return .refused(.invalidPayloadSize)
    case (_, AppleReason.shutdown.rawValue): return .shutdown
    case (429, _), (500...599, _): return .refused(.processingError)
    default: return .refused(.unknown)
    }
  }
}

/// The status codes that the legacy gateway says (Apple, "Binary Provider API", "Codes in
/// error-response packet"). The simulator keeps its own table and takes nothing from the rooms that
/// it is there to check.
enum BinaryStatus: UInt8 {
  case processingError = 1
  case missingToken = 2
  case missingPayload = 4
  case invalidTokenSize = 5
  case invalidPayloadSize = 7
  case invalidToken = 8
  case shutdown = 10
  case protocolError = 128
  case unknown = 255
}
