import Model
import Redis

/// The script that opens a fan-out and, when that is one segment, claims it in the same breath.
enum OpenScript {
  static let open = RedisScript(
    RecordScripts.event + [PackageResources.fan_out_end_lua] + ClaimScripts.rules
      + [PackageResources.scheduled_lua, PackageResources.open_lua])
}

extension RecordStage {
  /// Opens the fan-out of an event, or says why not. `source` is the record's
  /// `topic/partition/offset`: the same source again is a redelivery, another one a duplicate.
  /// `now` is in ms since 1970. `replayed`: the source of the record that this one repeats, when it
  /// comes back from the dead letters; it then goes on where that one ended.
  ///
  /// - Parameters:
  ///   - replayed: see above; of a scheduled event it also opens it, when that is due.
  ///   - released: the source of the record that brought a scheduled event, when this one releases
  ///     it; it stands for that one.
  ///   - refusal: what `register` said: why a new event is not sent.
  ///   - claim: on the audience's only segment, as `claim` asks for it; the same owner may ask
  ///     again.
  ///   - lifetime: how long the claim holds without being renewed.
  ///
  /// Of what goes on from here the statistics are told when it settles, or by `handOver`.
  ///
  /// - Returns: with it what the claim came to; nil when it was not asked for, or the event was
  ///   opened before with another plan, in which its segment is another one.
  package func open(
    event: Event, audience: Audience, source: String, replayed: String? = nil,
    released: String? = nil, refusal: String? = nil, claim: Claim?, lifetime: Duration, now: Int64
  ) async throws(RecordError) -> (result: OpenResult, claim: ClaimResult?) {
    let waves = event.waveCount > 1 ? event.sendAt : nil
    let isRelease = released != nil
    let reply: RedisReply
    do {
      reply = try await run(
        OpenScript.open, event, keys: [keyspace.document(event: event.id)], now: now,
        arguments: [
          "source": source, "released": released ?? "",
          "segments": String(audience.segmentCount * event.waveCount),
          "waves": waves == nil ? "" : String(event.waveCount),
          "plan": Plan.text(audience), "replayed": replayed ?? "",
          "segment": claim?.segment.id ?? "", "owner": claim?.owner ?? "",
          "claim_ms": Self.milliseconds(lifetime),
          "over": event.isExpired(at: now) ? "over" : "", "refusal": refusal ?? "",
          "trace": options.trace?.rawValue ?? "",
          "document": options.trace == nil && event.waveCount == 1
            ? "" : String(decoding: event.document, as: UTF8.self),
          "expires_ms": String(event.expiresAt),
        ] + (waves.map { Self.times(of: event, $0) } ?? [:]))
    } catch {
      // It goes to the dead letters.
      if !error.isTransient {
        try? await takeBack(event, isOver: false, isRelease: isRelease)
      }
      throw error
    }
    let opened = try opened(reply, event)
    if isScheduled(reply) { try await takeBack(event, isOver: false, isRelease: isRelease) }
    if case .waits = opened.result { return opened }
    switch opened.result {
    // It tells nobody. Should this fail, the streamer's next event may be refused for a cooldown.
    case .empty, .stopped: try? await takeBack(event, isOver: true, isRelease: isRelease)
    default: break
    }
    switch (opened.result, opened.claim) {
    case (.new, _), (.resumed, nil), (.resumed, .yours?), (.resumed, .claimed?),
      (.resumed, .paused?):
      break
    default: try await handOver(event.id, now: now)
    }
    return opened
  }

  /// Whether the event of this id waits for its time: it was registered too early.
  private func isScheduled(_ reply: RedisReply) -> Bool {
    switch reply[0].text {
    case "waits": true
    case "duplicate": reply[1].text == FanOutStatus.State.scheduled.rawValue
    default: false
    }
  }

  private func opened(
    _ reply: RedisReply, _ event: Event
  ) throws(RecordError) -> (result: OpenResult, claim: ClaimResult?) {
    switch reply[0].text {
    case "new": return (.new, try Self.claimed(reply[4]))
    case "empty":
      let figures = Self.outcomes(reply[4])
      guard let reason = reply[5].text, !reason.isEmpty else { return (.empty(figures), nil) }
      return (.stopped(reason, figures), nil)
    case "duplicate": return (.duplicate, nil)
    case "finished": return (.finished, nil)
    case "waits": return (.waits(try Self.due(reply[1])), nil)
    case "resumed":
      guard
        let plan = Plan.audience(
          reply[1].text ?? "", segments: reply[2].text ?? "", waves: event.waveCount)
      else {
        throw .badContent(
          "\(keyspace.event(id: event.id)) has no usable plan (fields plan and segments): "
            + "DEL it to fan the event out again")
      }
      let published = max(Int(reply[3].text ?? "") ?? 0, 0)
      return (.resumed(plan: plan, published: published), try Self.claimed(reply[4]))
    default: throw .unexpected(reply.kind, from: "the script that opens an event")
    }
  }

  private static func claimed(_ reply: RedisReply) throws(RecordError) -> ClaimResult? {
    reply.count == 0 ? nil : try result(reply)
  }
}

/// The result of `RecordStage.open` for an event.
package enum OpenResult: Sendable, Equatable {
  /// Not seen before.
  case new
  /// Not seen before and done already: nobody follows the streamer.
  case empty([FanOutFigure])
  /// Not seen before, and not to be sent: its stream has ended, or the streamer's followers were
  /// told a short while ago.
  case stopped(String, [FanOutFigure])
  /// Redelivered before it was done. `plan` is the audience it was planned with: go on with that
  /// one, so that its settled marks keep their meaning when the followers were resharded in
  /// between. The first `published` of its segments are in Kafka.
  case resumed(plan: Audience, published: Int)
  /// Another record brought the same id before: drop it.
  case duplicate
  /// Redelivered after it was done or had expired: commit its offset.
  case finished
  /// It is scheduled, and due at this time, in ms since 1970: it was put off meanwhile.
  case waits(Int64)
}
