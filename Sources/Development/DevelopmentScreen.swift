import Terminal

/// Lines, and below them a footer of keys that stays the last one. Confined to one loop.
final class DevelopmentScreen {
  private let console: Console
  /// The footer below the lines.
  private var footer = ""
  private let hasFooter: Bool

  init(_ console: Console, hasFooter: Bool) {
    self.console = console
    self.hasFooter = hasFooter
  }

  func say(_ text: String) {
    clear()
    console.line(text)
  }

  /// Draws it where it is not there.
  func showFooter(isLogShown: Bool) {
    let whole =
      "e send an event   u undo the text   b dashboard   "
      + "l \(isLogShown ? "hide" : "show") the worker's log   q stop"
    let text = whole.count < console.width ? whole : "e send  u undo  b link  l log  q stop"
    guard hasFooter, text != footer else { return }
    guard console.capabilities.redraws else {
      // Once, where nothing can be drawn over.
      if footer.isEmpty { console.line(text) }
      footer = text
      return
    }
    clear()
    // The last column stays free: writing into it makes some terminals wrap.
    let shown = TextLayout.truncated(text, to: max(1, console.width - 1), ellipsis: "")
    console.write("\r" + console.styled(shown, .dim) + "\u{1B}[K")
    footer = text
  }

  /// Takes the footer away.
  func clear() {
    guard console.capabilities.redraws, !footer.isEmpty else { return }
    console.write("\r\u{1B}[K")
    footer = ""
  }
}
