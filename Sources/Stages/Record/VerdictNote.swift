import Model

/// What Apple said of a token, as it stands in Redis from before it is written until others were
/// told: a text of one line for each of its parts, none of which may hold a line break.
struct VerdictNote {
  let verdict: TokenVerdict
  /// Ms since 1970.
  let at: Int64

  init(_ verdict: TokenVerdict, at: Int64) {
    self.verdict = verdict
    self.at = at
  }

  var text: String {
    let (since, reason) =
      switch verdict.finding {
      case .gone(let since, let reason): (String(since), reason)
      case .unusable(let reason): ("", reason)
      }
    return [String(at), since, reason.name, verdict.user, verdict.member].joined(separator: "\n")
  }

  init?(_ text: String) {
    let parts = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 5, let at = Int64(parts[0]) else { return nil }
    let reason = RejectionReason(name: parts[2])
    let finding: TokenVerdict.Finding
    if parts[1].isEmpty {
      finding = .unusable(reason)
    } else {
      guard let since = Int64(parts[1]) else { return nil }
      finding = .gone(since: since, reason: reason)
    }
    self.init(TokenVerdict(user: parts[3], member: parts[4], finding: finding), at: at)
  }

  /// nil: the member is none of ours, and nobody gets pushes on it.
  /// - Parameter isQuarantined: Apple called the device gone, and it was quarantined instead of
  ///   removed.
  func news(of event: String, isQuarantined: Bool) -> TokenNews? {
    guard let binding = Binding(member: verdict.member) else { return nil }
    return switch verdict.finding {
    case .gone(_, let reason) where isQuarantined:
      TokenNews(
        .quarantined, user: verdict.user, binding, reason: reason.name, event: event, at: at)
    case .gone(let since, let reason):
      TokenNews(
        .pruned(since: since), user: verdict.user, binding, reason: reason.name, event: event,
        at: at)
    case .unusable(let reason):
      TokenNews(
        .quarantined, user: verdict.user, binding, reason: reason.name, event: event, at: at)
    }
  }
}
