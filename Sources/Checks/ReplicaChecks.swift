import EventLoop
import Redis
import Text

/// Whether there are replicas that bindings and profiles would be read from.
enum ReplicaChecks {
  private static let area = "redis"
  private static let key = "redis.read_from_replicas"
  private static let pause: Duration = .milliseconds(20)

  /// They have as long as a connection to become of use.
  static func run(
    _ client: RedisClient, _ options: RedisOptions, _ loop: EventLoop, _ list: inout CheckList
  ) async {
    guard let limit = options.replicaLagLimit else { return }
    var left = options.connectTimeout
    while left > .zero, client.replicaFigures?.isComplete != true {
      await loop.wait(pause)
      left -= pause
    }
    guard let figures = client.replicaFigures else { return }
    for replica in figures.replicas {
      let name = "\(replica.name), a replica of \(replica.master)"
      if let obstacle = replica.obstacle {
        list.warning(area, .dependency, "\(name), is not read from: \(obstacle)", key: key)
      } else {
        list.ok(area, "\(name): at most \(DurationText.text(replica.lag)) behind")
      }
    }
    for master in figures.mastersAlone {
      list.warning(
        area, .dependency,
        "\(master) has no replica within \(DurationText.text(limit)): bindings and profiles are "
          + "read from the master", key: key)
    }
  }
}
