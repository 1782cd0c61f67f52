import Keyspace
import Model
import Redis
import Tokens

/// How the stage talks to Redis: keys and arguments of the scripts, errors told apart.
extension RecordStage {
  /// Runs a script with the keys and arguments that all of them share (`event.lua`).
  /// - Parameter more: keys of the event's that are the script's own, behind those.
  func run(
    _ script: RedisScript, _ event: Event, keys more: [String] = [], now: Int64,
    arguments own: ScriptArguments, list: [String] = []
  ) async throws(RecordError) -> RedisReply {
    try await run(
      script, id: event.id, streamer: event.streamer, template: event.template, keys: more,
      now: now, arguments: own, list: list)
  }

  /// As above for an event of which no more is known.
  func run(
    _ script: RedisScript, id: String, streamer: String, template: String,
    keys more: [String] = [], now: Int64, arguments own: ScriptArguments, list: [String] = []
  ) async throws(RecordError) -> RedisReply {
    let keys =
      [
        keyspace.event(id: id), keyspace.settled(id: id), keyspace.claims(id: id),
        keyspace.stragglers(id: id), keyspace.receipts(id: id), keyspace.deadLetters(id: id),
        keyspace.sums(id: id),
      ] + more
    let common: ScriptArguments = [
      "now": String(now), "id": id, "streamer": streamer, "template": template,
      "lifetime_seconds": String(Keyspace.eventLifetimeSeconds),
    ]
    return try await evaluate(
      script, keys: keys, arguments: common + own, list: list, isLasting: true)
  }

  /// The outcomes of a segment's pushes as arguments of scripts.
  /// - Parameter known: keys that the script has before these.
  func notes(of tally: SegmentTally, _ segment: Segment, known: Int = 7) -> NotesCall {
    NotesCall(of: tally, segment, maximum: options.traceMaximum, known: known, keyspace)
  }

  /// - Parameter isLasting: somebody relies on it for longer than its server may live.
  func evaluate(
    _ script: RedisScript, keys: [String], arguments: ScriptArguments = [:],
    list: [String] = [], isLasting: Bool = false
  ) async throws(RecordError) -> RedisReply {
    assert(Keyspace.haveOneHashTag(keys), "Redis Cluster refuses a script on these: \(keys)")
    let replies: RedisReplies
    do {
      replies = try await redis.evaluate(
        script, ScriptCall(keys: keys, arguments: arguments, list: list), isLasting: isLasting)
    } catch {
      throw RecordError(error)
    }
    return try Self.checked(replies[0], RedisRead("run a script on", keys.first ?? "no key"))
  }

  /// Runs a script once for each call, in one round trip; an error of any is thrown.
  func evaluate(
    _ script: RedisScript, _ calls: [ScriptCall]
  ) async throws(RecordError) -> RedisReplies {
    let replies: RedisReplies
    do {
      replies = try await redis.replies(of: script, calls)
    } catch {
      throw RecordError(error)
    }
    for (index, call) in calls.enumerated() {
      _ = try Self.checked(replies[index], RedisRead("run a script on", call.keys[0]))
    }
    return replies
  }

  func execute(_ command: [String]) async throws(RecordError) -> RedisReply {
    let pipeline = RedisPipeline()
    pipeline.append(command)
    return try await execute(pipeline, to: command)
  }

  /// The reply to the pipeline's first command; an error of any is thrown.
  func execute(
    _ pipeline: RedisPipeline, to command: [String]
  ) async throws(RecordError) -> RedisReply {
    let replies = try await replies(to: pipeline)
    let read = RedisRead(command.first ?? "", command.dropFirst().first ?? "")
    for index in 0..<replies.count { _ = try Self.checked(replies[index], read) }
    return replies[0]
  }

  /// One command for each of several events, whatever Redis answers to each.
  func ask(
    ofEach events: [String], _ command: (_ key: String) -> [String]
  ) async throws(RecordError) -> RedisReplies {
    let pipeline = RedisPipeline()
    for event in events { pipeline.append(command(keyspace.event(id: event))) }
    return try await replies(to: pipeline)
  }

  /// Several commands, each of which Redis must take.
  func checkedReplies(to commands: [[String]]) async throws(RecordError) -> RedisReplies {
    let pipeline = RedisPipeline()
    for command in commands { pipeline.append(command) }
    let replies = try await replies(to: pipeline)
    for (index, command) in commands.enumerated() {
      _ = try Self.checked(replies[index], RedisRead(command[0], command[1]))
    }
    return replies
  }

  private func replies(to pipeline: RedisPipeline) async throws(RecordError) -> RedisReplies {
    do {
      return try await redis.execute(pipeline)
    } catch {
      throw RecordError(error)
    }
  }

  private static func checked(
    _ reply: RedisReply, _ read: RedisRead
  ) throws(RecordError) -> RedisReply {
    guard let error = reply.error else { return reply }
    // A script has several keys; Redis itself names the one that holds another type.
    throw RecordError(RedisError(error, to: error.kind == .other ? read : nil))
  }
}
