import Model

/// Decides whether tokens that Apple calls unusable may be set aside: a pure machine that watches
/// one lane over time. A wrong environment or app makes Apple refuse every token of it, in many
/// small fan-outs as well as in a large one, so what counts is what Apple takes of the same topic
/// and environment, not how many tokens of one segment it refuses.
struct UnusableTokenJudge: Sendable, Equatable {
  private struct Place: Hashable {
    let topic: String
    let environment: APNsEnvironment
  }

  private struct Evidence: Equatable {
    var accepted = 0
    var unusable = 0
    /// Ms since 1970 of the last halving.
    var since: Int64
  }

  /// What is older counts half, and so on: a configuration that was right yesterday proves little.
  static let halfLifeMilliseconds: Int64 = 10 * 60 * 1000
  /// Topics times environments at most; the least watched one goes.
  static let maximumPlaces = 256

  private let ratio: Int
  private let minimum: Int
  private var places: [Place: Evidence] = [:]

  init(_ options: RecordOptions) {
    ratio = options.acceptedForEachUnusable
    minimum = options.acceptedMinimum
  }

  /// Takes in what a tally has gathered since it was heard of last.
  mutating func hear(of tally: SegmentTally, topic: String, now: Int64) {
    for environment in APNsEnvironment.allCases {
      let (accepted, unusable) = tally.takeEvidence(of: environment)
      guard accepted > 0 || unusable > 0 else { continue }
      let place = Place(topic: topic, environment: environment)
      var evidence = places[place] ?? Evidence(since: now)
      if now - evidence.since > Self.halfLifeMilliseconds || now < evidence.since {
        evidence = Evidence(
          accepted: evidence.accepted / 2, unusable: evidence.unusable / 2, since: now)
      }
      evidence.accepted += accepted
      evidence.unusable += unusable
      places[place] = evidence
      makeRoom()
    }
  }

  func maySetAside(_ verdict: TokenVerdict, topic: String) -> Bool {
    let place = Place(topic: topic, environment: verdict.environment)
    guard let evidence = places[place] else { return false }
    return evidence.accepted >= max(minimum, ratio * evidence.unusable)
  }

  private mutating func makeRoom() {
    guard places.count > Self.maximumPlaces else { return }
    let least = places.min {
      $0.value.accepted + $0.value.unusable < $1.value.accepted + $1.value.unusable
    }
    if let least { places[least.key] = nil }
  }
}
