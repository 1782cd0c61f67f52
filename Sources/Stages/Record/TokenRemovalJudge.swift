import Model

/// What Apple takes and refuses of each topic and environment, as one lane sees it over time: a
/// pure machine.
///
/// It decides whether tokens that Apple calls unusable may be quarantined. A wrong environment or
/// app makes Apple refuse every token of it, in many small fan-outs as well as in a large one, so
/// what counts is what Apple takes of the same topic and environment, not how many tokens of one
/// segment it refuses. Whether tokens may be removed that Apple calls gone is decided for all lanes
/// together (`RemovalScript`); what this lane has seen of others is reported with them.
struct TokenRemovalJudge: Sendable, Equatable {
  private struct Place: Hashable {
    let topic: String
    let destination: Destination
  }

  private struct Evidence: Equatable {
    var accepted = 0
    var unusable = 0
    /// Accepted, and not reported beside removals.
    var unreported = 0
    /// Ms since 1970 of the last halving.
    var since: Int64
  }

  /// What is older counts half, and so on: a configuration that was right yesterday proves little.
  static let halfLifeMilliseconds: Int64 = 10 * 60 * 1000
  /// Topics times environments at most; the least watched one goes.
  static let maximumPlaces = 256
  /// Accepted pushes of other segments that are reported beside removals of one that has too few
  /// answers of its own: they must not cover for a wave.
  static let borrowedMaximum = 20

  private let ratio: Int
  private let minimum: Int
  private let samples: Int
  private var places: [Place: Evidence] = [:]

  init(_ options: RecordOptions) {
    ratio = options.acceptedForEachUnusable
    minimum = options.acceptedMinimum
    samples = options.removalSamples
  }

  /// Takes in what a tally has gathered since it was heard of last.
  mutating func hear(of tally: SegmentTally, topic: String, now: Int64) {
    for destination in Destination.all {
      let (accepted, unusable) = tally.takeEvidence(of: destination)
      guard accepted > 0 || unusable > 0 else { continue }
      let place = Place(topic: topic, destination: destination)
      var evidence = places[place] ?? Evidence(since: now)
      if now - evidence.since > Self.halfLifeMilliseconds || now < evidence.since {
        evidence = Evidence(
          accepted: evidence.accepted / 2, unusable: evidence.unusable / 2,
          unreported: evidence.unreported / 2, since: now)
      }
      evidence.accepted += accepted
      evidence.unreported += accepted
      evidence.unusable += unusable
      places[place] = evidence
      makeRoom()
    }
  }

  /// Decides what may be done of a tally's verdicts, and what Redis is to be asked. The accepted
  /// pushes that the questions report count beside no other removal.
  mutating func admission(of tally: SegmentTally, topic: String) -> VerdictAdmission {
    var questions: [VerdictAdmission.Question] = []
    for destination in Destination.all {
      let removals = tally.verdicts.count {
        !$0.finding.isUnusable && $0.destination == destination
      }
      guard removals > 0 else { continue }
      let answers = takeAnswers(of: tally, topic: topic, destination, removals: removals)
      questions.append(.init(destination, removals: removals, answers: answers))
    }
    return VerdictAdmission(tally.verdicts, questions: questions) {
      mayQuarantine($0, topic: topic)
    }
  }

  func mayQuarantine(_ verdict: TokenVerdict, topic: String) -> Bool {
    let place = Place(topic: topic, destination: verdict.destination)
    guard let evidence = places[place] else { return false }
    return evidence.accepted >= max(minimum, ratio * evidence.unusable)
  }

  /// Answers to report with so many that would remove a device, these among them: the segment's
  /// own, and where they are too few to have a share, some of others.
  private mutating func takeAnswers(
    of tally: SegmentTally, topic: String, _ destination: Destination, removals: Int
  ) -> Int {
    let place = Place(topic: topic, destination: destination)
    let accepted = tally.takeAccepted(of: destination)
    let others = max(0, (places[place]?.unreported ?? 0) - accepted)
    places[place]?.unreported = 0
    let own = removals + accepted
    return own < samples ? own + min(others, Self.borrowedMaximum) : own
  }

  private mutating func makeRoom() {
    guard places.count > Self.maximumPlaces else { return }
    func rank(_ place: Place, _ evidence: Evidence) -> (Int, String, UInt8) {
      (evidence.accepted + evidence.unusable, place.topic, place.destination.index)
    }
    let least = places.min { rank($0.key, $0.value) < rank($1.key, $1.value) }
    if let least { places[least.key] = nil }
  }
}
