import Model

extension Template {
  /// Values of an event that the template gives a type which they do not have, in words: their
  /// fallback stands there, or their key is left out.
  package func mistypedValues(of event: Event) -> [String] {
    distinct { piece in
      guard case .value(_, let value) = piece, case .event(let path) = value.source else {
        return nil
      }
      let text = event.value(of: path)
      guard !text.isEmpty, value.type.written(text) == nil else { return nil }
      let instead = value.fallback == nil ? "its key is left out" : "its fallback stands there"
      return "\(path) is not \(value.type.words): \(instead)"
    }
  }

  /// Values without a fallback that the event does not have, in words: nothing stands there.
  package func missingValues(of event: Event) -> [String] {
    distinct { piece in
      switch piece {
      case .event(let path, let fallback) where fallback.isEmpty && event.value(of: path).isEmpty:
        return "the event has no \(path), and it has no fallback: nothing stands there"
      case .value:
        guard let path = Self.absentValue(piece, of: event) else { return nil }
        return "the event has no \(path), and it has no fallback: its key is left out"
      default: return nil
      }
    }
  }

  /// Paths of the values with a type and without a fallback that the event does not have: every
  /// payload lacks their keys.
  package func absentValues(of event: Event) -> [String] {
    distinct { Self.absentValue($0, of: event) }
  }

  private static func absentValue(_ piece: Piece, of event: Event) -> String? {
    guard case .value(_, let value) = piece, value.fallback == nil,
      case .event(let path) = value.source, event.value(of: path).isEmpty
    else { return nil }
    return path
  }

  private func distinct(_ words: (Piece) -> String?) -> [String] {
    var found: [String] = []
    for piece in variants.joined() {
      if let words = words(piece), !found.contains(words) { found.append(words) }
    }
    return found
  }
}
