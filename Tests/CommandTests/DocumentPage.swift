import Checkout
import Testing

/// A document of the repository, for tests that run what it shows.
struct DocumentPage {
  let text: String

  init(_ path: String) throws { text = try Checkout.text(path) }

  private init(text: String) { self.text = text }

  /// What is under a heading, up to the next one of the same rank.
  func section(_ heading: String) throws -> DocumentPage {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let start = try #require(lines.firstIndex { $0 == heading }, "\(heading)")
    let rank = heading.prefix { $0 == "#" } + " "
    let rest = lines[(start + 1)...].prefix { !$0.hasPrefix(rank) }
    return DocumentPage(text: rest.joined(separator: "\n"))
  }

  /// The blocks of a language, each with a line break at its end.
  func blocks(of language: String) -> [String] {
    var blocks: [String] = []
    var open: [Substring]?
    var isOther = false
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") {
        if let lines = open {
          blocks.append(lines.joined(separator: "\n") + "\n")
          open = nil
        } else if isOther || line != "```" + language {
          isOther.toggle()
        } else {
          open = []
        }
      } else {
        open?.append(line)
      }
    }
    return blocks
  }
}
