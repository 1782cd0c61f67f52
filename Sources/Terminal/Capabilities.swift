import Glibc

/// How a descriptor may be drawn on.
package struct Capabilities: Sendable, Equatable {
  package let isTerminal: Bool
  /// A line may be drawn over: a terminal that is not dumb.
  package let redraws: Bool
  package let coloured: Bool
  /// The locale says UTF-8: bars and ellipses may leave ASCII.
  let unicode: Bool

  package init(isTerminal: Bool, redraws: Bool, coloured: Bool, unicode: Bool) {
    self.isTerminal = isTerminal
    self.redraws = redraws
    self.coloured = coloured
    self.unicode = unicode
  }

  /// Neither colours nor redrawing: a pipe or a file.
  package static let plain = Capabilities(
    isTerminal: false, redraws: false, coloured: false, unicode: true)

  /// Obeys `NO_COLOR` (no-color.org: present and not empty), `TERM=dumb` and the locale's
  /// encoding. What is not a terminal gets UTF-8: files have no locale.
  package init(isTerminal: Bool, environment: (String) -> String?) {
    let isDumb = (environment("TERM") ?? "dumb") == "dumb"
    let refusesColour = !(environment("NO_COLOR") ?? "").isEmpty
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(environment).first { !$0.isEmpty }
    let encoding = (locale ?? "").lowercased()
    self.init(
      isTerminal: isTerminal, redraws: isTerminal && !isDumb,
      coloured: isTerminal && !isDumb && !refusesColour,
      unicode: !isTerminal || encoding.contains("utf-8") || encoding.contains("utf8"))
  }
}
