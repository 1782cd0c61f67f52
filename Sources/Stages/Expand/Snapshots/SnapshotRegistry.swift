import Redis

/// What a server's registry of snapshots says: the epoch, and up to which batch each writer vouches
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
  static let maximumWriters = 2_048
  /// Of the registry, after the last word of a member. Longer than a member is silent.
  static let lifetimeMilliseconds = 5_000

  /// KEYS: the registry. ARGV: the process' run id, something random, most writers, lifetime.
  /// Answers the registry: a new one when there is none of this process.
  static let look = """
    local epoch = redis.call('HGET', KEYS[1], 'epoch')
    if epoch and string.sub(epoch, 1, #ARGV[1] + 1) == ARGV[1] .. ':'
      and redis.call('HLEN', KEYS[1]) <= tonumber(ARGV[3])
    then
      return redis.call('HGETALL', KEYS[1])
    end
    redis.call('DEL', KEYS[1])
    redis.call('HSET', KEYS[1], 'epoch', ARGV[1] .. ':' .. ARGV[2])
    redis.call('PEXPIRE', KEYS[1], ARGV[4])
    return redis.call('HGETALL', KEYS[1])
    """

  /// KEYS: the registry. ARGV: the epoch, a member's writer, the batch up to which it vouches,
  /// lifetime. Answers the registry; nothing, and vouches for nothing, when the epoch is over.
  static let vouch = """
    if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return false end
    redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
    redis.call('PEXPIRE', KEYS[1], ARGV[4])
    return redis.call('HGETALL', KEYS[1])
    """

  /// KEYS: the registry. ARGV: an epoch, which ends.
  static let end = """
    if redis.call('HGET', KEYS[1], 'epoch') == ARGV[1] then redis.call('DEL', KEYS[1]) end
    return 1
    """
}
