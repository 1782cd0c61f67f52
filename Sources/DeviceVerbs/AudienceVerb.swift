import Terminal
import VerbSupport

package enum AudienceVerb {
  static let json = Option(flag: "json", help: "Print the summary as one JSON object")

  package static let verb = Verb(
    group: "audience", summary: "Write users, devices and followers to Redis, and look at them",
    discussion: """
      What these verbs write is what the worker reads: the keys under redis.prefix.data. \
      docs/redis.md says how they look, for backends that write them themselves.
      """,
    options: [json] + ConfigurationOptions.all,
    verbs: [AudienceImport.verb, AudienceSeed.verb, AudienceShard.verb, AudienceShow.verb],
    examples: [
      .init("fanfare audience import followers.ndjson", "Users, devices and follows of your own"),
      .init(
        "fanfare audience seed --streamer s42 --followers 100k --app com.example.live",
        "Made-up followers, to try things out"),
      .init(
        "fanfare audience shard --streamer s42 --from-key followers:s42",
        "Divide a large set of followers into shards"),
    ])
}
