import Keyspace
import Model
import Redis

/// The Lua that counts how many of an app's answers are 410s, for all workers and lanes together:
/// what each of them counted alone would be known too late. Counts and decides in one step.
enum RemovalScript {
  static let ask = RedisScript(askBody)

  /// So many times as many answers as it takes are remembered: what was taken long ago must not
  /// cover for a wave of 410s.
  static let remembered = 10

  /// KEYS: removals. ARGV: answers, how many of them would remove a device, answers that it takes,
  /// per cent that may be removals, window in ms, seconds that the key lives. Answers 1 when these
  /// devices may be removed. What is older than a window counts half, and so on.
  ///
  /// While nobody can count, since the key holds something else, nothing is removed.
  private static let askBody = """
    local known = redis.pcall('HMGET', KEYS[1], 'answers', 'removals', 'since_ms')
    if known.err then return 0 end
    local clock = redis.call('TIME')
    local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
    local answers, removals = tonumber(known[1] or '') or 0, tonumber(known[2] or '') or 0
    local since = tonumber(known[3] or '') or now
    local windows = math.floor((now - since) / tonumber(ARGV[5]))
    if windows ~= 0 then
      local part = windows > 0 and 0.5 ^ windows or 0.5
      answers, removals, since = answers * part, removals * part, now
    end
    answers, removals = answers + tonumber(ARGV[1]), removals + tonumber(ARGV[2])
    local most = \(remembered) * tonumber(ARGV[3])
    if answers > most then answers, removals = most, removals * most / answers end
    redis.call('HSET', KEYS[1], 'answers', string.format('%.3f', answers),
      'removals', string.format('%.3f', removals), 'since_ms', string.format('%.0f', since))
    redis.call('EXPIRE', KEYS[1], ARGV[6])
    local is_wave = answers >= tonumber(ARGV[3]) and removals * 100 > tonumber(ARGV[4]) * answers
    return is_wave and 0 or 1
    """
}

extension RecordStage {
  /// Whether devices may be removed that Apple calls gone. They count, whatever is said.
  /// - Parameter answers: for the same app and environment since the last call, these among them.
  func mayRemove(
    _ removals: Int, of answers: Int, topic: String, _ destination: Destination
  ) async throws(RecordError) -> Bool {
    guard options.removalShare < 100 else { return true }
    let reply = try await evaluate(
      RemovalScript.ask,
      keys: [keyspace.removals(topic: topic, environment: destination.name)],
      arguments: [
        String(answers), String(removals), String(options.removalSamples),
        String(options.removalShare), String(options.removalWindow.wholeMilliseconds),
        String(Keyspace.removalsLifetimeSeconds),
      ])
    guard let may = reply.integer else {
      throw .unexpected(reply.kind, from: "the script that counts removals")
    }
    return may == 1
  }
}
