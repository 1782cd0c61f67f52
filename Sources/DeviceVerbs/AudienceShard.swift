import Assembly
import Devices
import Terminal
import VerbSupport

/// `audience shard`: a plain set, or shards that have grown too large, into new shards.
enum AudienceShard {
  private static let streamer = Option(
    required: "streamer", .text, value: "ID", help: "Whose followers")
  private static let fromKey = Option<String?>(
    "from-key", .text, value: "KEY",
    help: "The plain set that holds them; unless given, their shards or, where there are none, "
      + "audience.plain_set_key")
  private static let replace = Option(
    flag: "replace", help: "Put the plain set in the place of followers that are in shards")

  static let verb = Verb(
    "shard", summary: "Divide a streamer's followers into shards of about 2,048",
    discussion: """
      Shards are what lanes and workers divide among themselves: a streamer with many followers in \
      one set is served by one lane. Fan-outs, follows and unfollows may go on meanwhile; the new \
      shards take over in one step. A plain set stays as it is and is not read from then on: let \
      the backend follow and unfollow by Config/redis/follow.lua before you divide it, which \
      writes to the right place before, during and after. Followers that are in shards already \
      are replaced by a plain set only with --replace; by an empty one they never are.
      """,
    options: [streamer, fromKey, replace],
    examples: [
      .init("fanfare audience shard --streamer s42 --from-key followers:s42", "A plain set"),
      .init("fanfare audience shard --streamer s42", "Shards that have grown"),
    ], exitCodes: [.ok, .failed, .unavailable, .retryLater, .config], handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    if let problem = AudienceFollows.problem(streamer: invocation[streamer]) {
      throw CommandFailure(.usage, problem)
    }
    let settings = try invocation.loadSettings()
    let keyspace = Assembly.keyspace(settings)
    let plainSet = settings.audience.plainSetKey.map { PlainSetPattern($0) }
    let summary = try await CommandRedis.lend(settings) {
      (_, redis) async throws(CommandFailure) -> AudienceSummary in
      var progress = ProgressLine(
        "dividing", total: nil, on: invocation.errors, at: invocation.nowNanoseconds)
      do throws(DevicesError) {
        let sharding = AudienceSharding(redis: redis, keyspace: keyspace)
        let source = try await source(invocation, plainSet, sharding)
        let summary =
          try await sharding
          .run(
            streamer: invocation[streamer], from: source, replaces: invocation[replace]
          ) { done, expected in
            progress.update(
              done: done, total: expected, at: invocation.nowNanoseconds)
          }
        progress.finish(at: invocation.nowNanoseconds)
        return summary
      } catch {
        progress.clear()
        throw CommandFailure(error)
      }
    }
    tell(summary, invocation)
    return .ok
  }

  private static func source(
    _ invocation: Invocation, _ plainSet: PlainSetPattern?, _ sharding: AudienceSharding
  ) async throws(DevicesError) -> AudienceSource {
    let streamer = invocation[streamer]
    if let key = invocation[fromKey] { return .plain(key: key) }
    guard let plainSet else { return .current }
    return try await sharding.hasShards(streamer)
      ? .current : .plain(key: plainSet.key(of: streamer))
  }

  private static func tell(_ summary: AudienceSummary, _ invocation: Invocation) {
    guard invocation[AudienceVerb.json] else {
      var text = Summary()
      text.add("followers", summary.followers)
      text.add("shards", summary.shards, note: "generation \(summary.generation)")
      if summary.skipped > 0 {
        text.add("left out", summary.skipped, note: "members that are no user ids", mark: .bad)
      }
      text.write(to: invocation.output)
      return
    }
    let line: JSONOutput = [
      "streamer": .text(invocation[streamer]), "followers": .integer(summary.followers),
      "shards": .integer(summary.shards), "generation": .integer(summary.generation),
      "skipped": .integer(summary.skipped),
    ]
    invocation.output.line(line.serialized())
  }
}
