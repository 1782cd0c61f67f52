import Text

/// The kind of value that an option or an argument takes: enough for help and completions to speak
/// of it.
package enum ValueKind: Sendable, Equatable {
  case flag
  case text
  case integer(ClosedRange<Int>)
  case number(ClosedRange<Double>)
  case duration(ClosedRange<Duration>)
  case path
  case choice([String])

  /// The bounds as help shows them; nil where there is nothing to say.
  var bounds: String? {
    switch self {
    case .flag, .text, .path: nil
    case .integer(let range): Self.integerBounds(range)
    case .number(let range):
      "\(Figures.number(range.lowerBound))…\(Figures.number(range.upperBound))"
    case .duration(let range):
      "\(DurationText.text(range.lowerBound))…\(DurationText.text(range.upperBound))"
    case .choice(let names): names.joined(separator: " | ")
    }
  }

  private static func integerBounds(_ range: ClosedRange<Int>) -> String? {
    switch (range.lowerBound, range.upperBound) {
    case (.min, .max): nil
    case (let low, .max): "\(Figures.grouped(low)) or more"
    case (.min, let high): "at most \(Figures.grouped(high))"
    case (let low, let high): "\(Figures.grouped(low))…\(Figures.grouped(high))"
    }
  }

  /// Stands for the value in usage lines when the declaration gives no name.
  var placeholder: String {
    switch self {
    case .flag: ""
    case .text: "TEXT"
    case .integer, .number: "N"
    case .duration: "TIME"
    case .path: "PATH"
    case .choice: "NAME"
    }
  }
}
