/// A Lua script that runs in Redis in one go.
package struct RedisScript: Sendable, Equatable {
  package let source: String

  package init(_ source: String) { self.source = source }
}

/// What a script is run on.
package struct ScriptCall: Sendable {
  package let keys: [String]
  package let arguments: [String]

  package init(keys: [String], arguments: [String]) {
    self.keys = keys
    self.arguments = arguments
  }

  fileprivate var parameters: [String] { [String(keys.count)] + keys + arguments }
}

extension RedisClient {
  /// Runs a script by its digest, which Redis computes at the script's first use; where Redis does
  /// not have the script (any more) its source is sent. One reply.
  ///
  /// After `connectionLost` or `timeout` it may have run: a script that must not run twice has to
  /// see that itself.
  package func evaluate(
    _ script: RedisScript, keys: [String], arguments: [String]
  ) async throws(RedisError) -> RedisReplies {
    let parameters = [String(keys.count)] + keys + arguments
    if let digest = try await digest(of: script) {
      let replies = try await execute(RedisPipeline(["EVALSHA", digest] + parameters))
      if replies[0].error?.kind != .noScript { return replies }
    }
    return try await execute(RedisPipeline(["EVAL", script.source] + parameters))
  }

  /// Runs a script on many keys in one round trip, with one reply each: `fill` appends a call for
  /// each of them to the pipeline, which is emptied before. Where Redis does not have the script
  /// `fill` is called once more, and some of the calls run twice: the script must not mind.
  package func evaluate(
    _ script: RedisScript, key: (prefix: [UInt8], suffix: [UInt8]), arguments: [String],
    pipeline: RedisPipeline, fill: (RedisCommandTemplate) -> Void
  ) async throws(RedisError) -> RedisReplies {
    if let digest = try await digest(of: script) {
      pipeline.removeAll()
      fill(RedisCommandTemplate("EVALSHA", digest, "1", key: key, after: arguments))
      let replies = try await execute(pipeline)
      let isMissing = (0..<replies.count).contains { replies[$0].error?.kind == .noScript }
      if !isMissing { return replies }
    }
    pipeline.removeAll()
    fill(RedisCommandTemplate("EVAL", script.source, "1", key: key, after: arguments))
    return try await execute(pipeline)
  }

  /// Runs a script several times in one round trip, with one reply each. Where Redis does not have
  /// the script some of the calls run twice: the script must not mind.
  package func evaluate(
    _ script: RedisScript, _ calls: [ScriptCall]
  ) async throws(RedisError) -> RedisReplies {
    let pipeline = RedisPipeline()
    if let digest = try await digest(of: script) {
      for call in calls { pipeline.append(["EVALSHA", digest] + call.parameters) }
      let replies = try await execute(pipeline)
      let isMissing = (0..<replies.count).contains { replies[$0].error?.kind == .noScript }
      if !isMissing { return replies }
      pipeline.removeAll()
    }
    for call in calls { pipeline.append(["EVAL", script.source] + call.parameters) }
    return try await execute(pipeline)
  }

  /// Asks for the digests of scripts before they are needed: their first use then takes one round
  /// trip and not two. What Redis does not tell now is asked for then.
  package func prepare(_ scripts: [RedisScript]) async {
    let pipeline = RedisPipeline()
    for script in scripts { pipeline.append("SCRIPT", "LOAD", script.source) }
    guard let answers = try? await executeOnMasters(pipeline) else { return }
    for (_, replies) in answers {
      for (index, script) in scripts.enumerated() { note(replies[index], script) }
    }
  }

  /// Nil when Redis does not tell it, for instance to a user without SCRIPT LOAD.
  private func digest(of script: RedisScript) async throws(RedisError) -> String? {
    if let known = scriptDigests[script.source] { return known }
    let replies = try await execute(RedisPipeline(["SCRIPT", "LOAD", script.source]))
    note(replies[0], script)
    return scriptDigests[script.source]
  }

  private func note(_ reply: RedisReply, _ script: RedisScript) {
    guard let digest = reply.text, digest.utf8.count == 40 else { return }
    scriptDigests[script.source] = digest
  }
}
