/// When the provider tokens of a key are issued: at the same moments by all who have it, so that
/// they make the very same ones. "Refresh your token no more than once every 20 minutes and no less
/// than once every 60 minutes" (Apple, "Establishing a token-based connection to APNs").
///
/// With a lifetime of 50 minutes tokens are issued at every half hour. Who needs one takes the last
/// and keeps it until it is 50 minutes old: at least 20 minutes, and then 30 at a time. Since at
/// least 20 minutes lie between the times of issue, no more than two are in use at once.
struct ProviderTokenTimes {
  /// Milliseconds. Not renewed sooner than this, whatever Apple says of it.
  static let minimumUse: Int64 = 20 * 60_000

  /// Milliseconds: the age at which a token is renewed.
  let lifetime: Int64

  /// - Parameter lifetime: kept between 40 and 60 minutes.
  init(lifetime: Duration) {
    let seconds = min(max(lifetime.components.seconds, 40 * 60), 60 * 60)
    self.lifetime = seconds * 1000
  }

  /// Milliseconds between one time of issue and the next.
  var interval: Int64 { lifetime - Self.minimumUse }

  /// The last time of issue at `now` (both ms since 1970).
  func issueTime(at now: Int64) -> Int64 {
    let since = now % interval
    return now - (since < 0 ? since + interval : since)
  }
}
