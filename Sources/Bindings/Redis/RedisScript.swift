/// A Lua script that runs in Redis in one go.
package struct RedisScript: Sendable, Hashable {
  package let source: String
  /// Of the source, once: it has kilobytes, and each call looks for its digest.
  private let sourceHash: Int

  /// A script that reads KEYS and ARGV as they are.
  package init(_ source: String) {
    self.source = source
    sourceHash = source.hashValue
  }

  /// A script of embedded files, each behind those whose functions it calls. It reads its arguments
  /// by their names (`arguments.lua`).
  package init(_ files: [[UInt8]]) {
    self.init(Self.text([PackageResources.arguments_lua] + files))
  }

  /// A script that runs so often that its arguments have no names.
  package init(positional file: [UInt8]) { self.init(Self.text([file])) }

  /// Without the lines that are comments: where Redis keeps no scripts, each call sends the text.
  private static func text(_ files: [[UInt8]]) -> String {
    let newline = UInt8(ascii: "\n")
    let lines = files.joined(separator: [newline]).split(separator: newline)
    let code = lines.filter { !$0.drop { $0 == UInt8(ascii: " ") }.starts(with: "--".utf8) }
    return String(decoding: Array(code.joined(separator: [newline])), as: UTF8.self)
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(sourceHash) }
}

/// The named arguments of a script, its `args`. A name whose value is nil is left out.
package struct ScriptArguments: Sendable, ExpressibleByDictionaryLiteral {
  private var named: [String] = []

  package init(dictionaryLiteral elements: (String, String?)...) {
    named.reserveCapacity(2 * elements.count)
    for (name, value) in elements {
      guard let value else { continue }
      assert(!name.isEmpty, "an empty name ends the arguments")
      named.append(name)
      named.append(value)
    }
  }

  package static func + (first: Self, second: Self) -> Self {
    var all = first
    all.named += second.named
    return all
  }

  /// As they are sent (`arguments.lua`).
  /// - Parameter list: what the script reads as `list`.
  package func words(_ list: [String] = []) -> [String] {
    list.isEmpty ? named : named + [""] + list
  }
}

/// The keys and arguments of a script.
package struct ScriptCall: Sendable {
  package let keys: [String]
  /// ARGV.
  package let words: [String]

  package init(keys: [String], arguments: ScriptArguments = [:], list: [String] = []) {
    self.init(keys: keys, positional: arguments.words(list))
  }

  package init(keys: [String], positional words: [String]) {
    self.keys = keys
    self.words = words
  }

  fileprivate var parameters: [String] { [String(keys.count)] + keys + words }
}

extension RedisClient {
  /// Whether what must last is waited for.
  package var waitsForReplicas: Bool { options.replicasToWaitFor > 0 }

  /// Runs a script by its digest, which Redis computes at the script's first use; where Redis does
  /// not have the script (any more) its source is sent. One reply.
  ///
  /// After `connectionLost` or `timeout` it may have run: a script that must not run twice has to
  /// see that itself.
  ///
  /// - Parameter isLasting: what it writes must outlive its server: `notCopied` is thrown as long
  ///   as fewer replicas have it than `replicasToWaitFor`. It has run then.
  package func evaluate(
    _ script: RedisScript, _ call: ScriptCall, isLasting: Bool = false
  ) async throws(RedisError) -> RedisReplies {
    let parameters = call.parameters
    if let digest = try await digest(of: script) {
      let replies = try await execute(["EVALSHA", digest] + parameters, isLasting: isLasting)
      if replies[0].error?.kind != .noScript { return replies }
    }
    return try await execute(["EVAL", script.source] + parameters, isLasting: isLasting)
  }

  /// Redis waits so long for replicas before it says how many there are: everybody else on the
  /// connection waits as long.
  private static let replicaMilliseconds = 100

  /// WAIT counts replicas that have all that the connection was told so far.
  private func execute(
    _ command: [String], isLasting: Bool
  ) async throws(RedisError) -> RedisReplies {
    let wanted = isLasting ? options.replicasToWaitFor : 0
    let pipeline = RedisPipeline(command)
    if wanted > 0 { pipeline.append("WAIT", "\(wanted)", "\(Self.replicaMilliseconds)") }
    let replies = try await execute(pipeline)
    guard wanted > 0, replies[0].error == nil else { return replies }
    if let error = replies[1].error { throw RedisError(error) }
    guard let there = replies[1].integer else {
      throw RedisError.unexpected(replies[1].kind, from: "WAIT")
    }
    guard there >= wanted else {
      throw RedisError(
        .notCopied, "\(there) of \(wanted) replicas have what was written",
        cause: "redis.wait_for_replicas waits for them")
    }
    return replies
  }

  /// Runs a script on many keys in one round trip, with one reply each: `fill` appends a call for
  /// each of them to the pipeline, which is emptied before. The arguments have no names. Where
  /// Redis does not have the script `fill` is called once more, and some of the calls run twice:
  /// the script must not mind.
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

  /// Runs a script several times in one round trip, with one reply each. A node of a cluster that
  /// does not have the script is sent its source with the calls that it has refused.
  package func evaluate(
    _ script: RedisScript, _ calls: [ScriptCall]
  ) async throws(RedisError) -> RedisReplies {
    let pipeline = RedisPipeline()
    guard let digest = try await digest(of: script) else {
      for call in calls { pipeline.append(["EVAL", script.source] + call.parameters) }
      return try await execute(pipeline)
    }
    for call in calls { pipeline.append(["EVALSHA", digest] + call.parameters) }
    let replies = try await execute(pipeline)
    let refused = calls.indices.filter { replies[$0].error?.kind == .noScript }
    guard !refused.isEmpty else { return replies }
    pipeline.removeAll()
    for index in refused { pipeline.append(["EVAL", script.source] + calls[index].parameters) }
    return RedisReplies(replies, replacing: refused, by: try await execute(pipeline))
  }

  /// Asks for the digests of scripts before they are needed: their first use then takes one round
  /// trip and not two. A digest that Redis does not tell now is asked for then.
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
    if let known = scriptDigests[script] { return known }
    let replies = try await execute(RedisPipeline(["SCRIPT", "LOAD", script.source]))
    note(replies[0], script)
    return scriptDigests[script]
  }

  private func note(_ reply: RedisReply, _ script: RedisScript) {
    guard let digest = reply.text, digest.utf8.count == 40 else { return }
    scriptDigests[script] = digest
  }
}
