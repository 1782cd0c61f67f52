import Redis

/// Reads the users of one page, from snapshots as far as they can be trusted. What it returns is
/// what SMEMBERS and HMGET of each user would have answered at one moment since it was called.
struct SnapshotPage {
  private let snapshots: Snapshots
  private let users: [UnsafeRawBufferPointer]
  private let wanted: [String]
  private let vocabulary: [String]
  /// What all that is read the long way may take together.
  private var bytesLeft: Int
  private var gathered: GatheredReplies
  private var groups: [SnapshotGroup] = []
  /// Who is read as if there were no snapshots.
  private var plainUsers: [Int] = []
  private var hits = 0
  private var stored = 0

  /// What a user's snapshot takes among replies: its bytes, and the arrays that are made of it.
  private static let bytesAUser = SnapshotLayout.maximumBytes + 16 * RedisReplies.elementBytes

  /// Users of a page at most, whose snapshots take no more than a page's replies may.
  static func maximumUsers(bytes: Int) -> Int { max(1, bytes / bytesAUser) }

  /// - Parameters:
  ///   - users: good until the page is read.
  ///   - wanted: fields of profiles, all of them in `vocabulary`.
  ///   - maximumBytes: of what is read the long way; of the snapshots as much again.
  init(
    _ snapshots: Snapshots, _ users: [UnsafeRawBufferPointer], wanted: [String],
    vocabulary: [String], maximumBytes: Int
  ) {
    self.snapshots = snapshots
    self.users = users
    self.wanted = wanted
    self.vocabulary = vocabulary
    bytesLeft = maximumBytes
    gathered = GatheredReplies(count: 2 * users.count)
  }

  /// - Parameter plainly: reads users, by their places in the page, without snapshots, into replies
  ///   of so many bytes at most.
  /// - Returns: two replies a user: SMEMBERS' and HMGET's.
  mutating func read(
    plainly: ([Int], Int) async throws(RedisError) -> RedisReplies
  ) async throws(RedisError) -> RedisReplies {
    divide()
    await ask()
    sort()
    let fences = Countdown(of: groups.count)
    for group in groups { group.server.server.fence { fences.arrive() } }
    await fill()
    try await read(plainUsers, plainly)
    await fences.wait()
    try await read(whatWasWritten(), plainly)
    for group in groups { stored += group.store(users, snapshots.keyspace, vocabulary) }
    snapshots.count(hits: hits, misses: users.count - hits, stored: stored)
    return RedisReplies(gathered)
  }

  /// By the servers that have their snapshots.
  private mutating func divide() {
    guard snapshots.isOfCluster else {
      // All are at the one server.
      guard let server = snapshots.onlyServer else {
        plainUsers = Array(users.indices)
        return
      }
      groups = [SnapshotGroup(server, users: Array(users.indices))]
      return
    }
    var last: SnapshotGroup?
    for index in users.indices {
      guard let server = snapshots.server(of: users[index]) else {
        plainUsers.append(index)
        continue
      }
      if last?.server !== server {
        last = groups.first { $0.server === server }
        if last == nil {
          let new = SnapshotGroup(server, users: [])
          groups.append(new)
          last = new
        }
      }
      last?.users.append(index)
    }
  }

  private func ask() async {
    let answers = Countdown(of: groups.count)
    for group in groups {
      let pipeline = snapshots.question(about: group.users.count) { users[group.users[$0]] }
      let limit = group.users.count * Self.bytesAUser
      group.server.server.send(pipeline, maximumReplyBytes: limit) {
        group.replies = $0
        answers.arrive()
      }
    }
    await answers.wait()
  }

  /// Who has a snapshot, who is to get one, who is read as ever.
  private mutating func sort() {
    var reader = SnapshotReader(fields: wanted)
    for group in groups {
      let plain = group.sort(&reader, snapshots) { put($0, bindings: $1, profile: $2) }
      plainUsers += plain
    }
  }

  /// Reads who is to get a snapshot from the server that would tell of writes.
  private mutating func fill() async {
    let reading = groups.filter { !$0.toFill.isEmpty }
    guard !reading.isEmpty else { return }
    let answers = Countdown(of: reading.count)
    // A quarter of the page: what is left does for the others.
    let limit = bytesLeft / 2 / reading.count
    for group in reading {
      group.fill(users, snapshots.keyspace, vocabulary, maximumBytes: limit) { answers.arrive() }
    }
    await answers.wait()
    let places = wanted.map { vocabulary.firstIndex(of: $0) ?? -1 }
    for group in reading {
      bytesLeft -= group.filledBytes
      if !group.isFilled { snapshots.rest() }
      let plain = group.takeFilled(places, inCluster: snapshots.isOfCluster) {
        put($0, bindings: $1, profile: $2)
      }
      plainUsers += plain
    }
  }

  private mutating func read(
    _ some: [Int], _ plainly: ([Int], Int) async throws(RedisError) -> RedisReplies
  ) async throws(RedisError) {
    guard !some.isEmpty else { return }
    let replies = try await plainly(some, bytesLeft)
    bytesLeft -= replies.byteCount
    for (place, user) in some.enumerated() {
      put(user, bindings: replies[2 * place], profile: replies[2 * place + 1])
    }
  }

  private mutating func put(_ user: Int, bindings: RedisReply, profile: RedisReply) {
    gathered.set(2 * user, to: bindings)
    gathered.set(2 * user + 1, to: profile)
  }

  /// Whose snapshots cannot be trusted after all.
  private mutating func whatWasWritten() -> [Int] {
    var again: [Int] = []
    for group in groups {
      let back = group.takeBack(users)
      hits += group.hits.count - back.count
      again += back
    }
    return again
  }
}
