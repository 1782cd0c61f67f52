import Keyspace
import Redis

/// A server's registry of snapshots: the epoch, and up to which batch each writer vouches
/// for what it wrote.
struct SnapshotRegistry: Equatable {
  /// The process' run id and something random.
  let epoch: String
  let batches: [UInt64: UInt32]

  init(epoch: String, batches: [UInt64: UInt32]) {
    self.epoch = epoch
    self.batches = batches
  }

  /// Of a script's reply; nil when it is no registry.
  init?(_ reply: RedisReply) {
    guard let fields = reply.dictionary, let epoch = fields["epoch"] else { return nil }
    var batches: [UInt64: UInt32] = [:]
    for (field, value) in fields where field != "epoch" {
      guard let writer = UInt64(field, radix: 16), let batch = UInt32(value) else { return nil }
      batches[writer] = batch
    }
    self.init(epoch: epoch, batches: batches)
  }

  /// Writers of an epoch at most; then another epoch begins. Some 60 KB.
  private static let maximumWriters = 2_048

  /// Answers the registry: a new one, whose epoch is `<run>:<nonce>`, when there is none of this
  /// process.
  static func look(_ key: String, run: String, nonce: String) -> RedisPipeline {
    call(lookScript, key, [run, nonce, "\(maximumWriters)", lifetime])
  }

  /// Answers the registry; nothing, and vouches for nothing, when the epoch is over.
  static func vouch(_ key: String, _ word: SnapshotMembership.Word) -> RedisPipeline {
    call(
      vouchScript, key,
      [word.epoch, String(word.writer, radix: 16), "\(word.batch)", lifetime])
  }

  static func end(_ key: String, epoch: String) -> RedisPipeline {
    call(endScript, key, [epoch])
  }

  private static var lifetime: String { "\(Keyspace.snapshotRegistryLifetimeMilliseconds)" }

  private static func call(
    _ script: String, _ key: String, _ arguments: [String]
  ) -> RedisPipeline {
    RedisPipeline(["EVAL", script, "1", key] + arguments)
  }

  /// KEYS: the registry. ARGV: the process' run id, something random, most writers, lifetime.
  private static let lookScript = """
    local epoch = redis.call('HGET', KEYS[1], 'epoch')
    if epoch and string.sub(epoch, 1, #ARGV[1] + 1) == ARGV[1] .. ':'
      and redis.call('HLEN', KEYS[1]) <= tonumber(ARGV[3])
      -- One without an end has nobody whose silence would end it.
      and redis.call('PTTL', KEYS[1]) > 0
    then
      return redis.call('HGETALL', KEYS[1])
    end
    redis.call('DEL', KEYS[1])
    redis.call('HSET', KEYS[1], 'epoch', ARGV[1] .. ':' .. ARGV[2])
    redis.call('PEXPIRE', KEYS[1], ARGV[4])
    return redis.call('HGETALL', KEYS[1])
    """

  /// KEYS: the registry. ARGV: the epoch, the writer, the batch, lifetime.
  private static let vouchScript = """
    if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return false end
    -- The first write: a Redis that is full refuses no others behind it.
    redis.call('PEXPIRE', KEYS[1], ARGV[4])
    redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
    return redis.call('HGETALL', KEYS[1])
    """

  /// KEYS: the registry. ARGV: the epoch that ends.
  private static let endScript = """
    if redis.call('HGET', KEYS[1], 'epoch') == ARGV[1] then redis.call('DEL', KEYS[1]) end
    return 1
    """
}
