import Keyspace
import Model

/// How `plan` stands in the event's hash: `generation:<n>`, `plain:<key>`, `parts`,
/// `named` or `none`.
enum Plan {
  static func text(_ audience: Audience) -> String {
    switch audience {
    case .sharded(_, let generation, _): "generation:\(generation)"
    case .plain(let key): "plain:\(key)"
    case .selected: "parts"
    case .named: "named"
    case .none: "none"
    }
  }

  /// Nil for what no `text` wrote. The number of followers is not kept: 0.
  /// - Parameters:
  ///   - segments: of all waves.
  ///   - waves: in how many the event is sent.
  static func audience(_ text: String, segments: String, waves: Int = 1) -> Audience? {
    guard waves > 1 else { return wave(text, segments: segments) }
    guard let all = Int(segments), all % waves == 0 else { return nil }
    return wave(text, segments: String(all / waves))
  }

  private static func wave(_ text: String, segments: String) -> Audience? {
    switch text {
    case "none": return segments == "0" ? Audience.none : nil
    case "named": return segments == "1" ? .named : nil
    case "parts":
      guard let parts = Int(segments), Keyspace.isShardCount(parts) else { return nil }
      return .selected(parts: parts)
    default: break
    }
    guard let colon = text.firstIndex(of: ":") else { return nil }
    let value = String(text[text.index(after: colon)...])
    switch text[..<colon] {
    case "plain": return value.isEmpty || segments != "1" ? nil : .plain(key: value)
    case "generation":
      guard let generation = Int(value), generation >= 0, let shards = Int(segments),
        Keyspace.isShardCount(shards)
      else { return nil }
      return .sharded(shards: shards, generation: generation, followers: 0)
    default: return nil
    }
  }
}
