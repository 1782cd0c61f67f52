import Text

/// Which dead letters are meant. Every condition that is set must hold.
package struct LetterFilter: Sendable, Equatable {
  package var event: String?
  package var streamer: String?
  package var code: String?
  /// Occurs in the reason, or in the name or the value of a header (in the first 4 KiB of them);
  /// ASCII letters may be upper or lower case.
  package var text: String?
  /// Written at this time or later, in ms since 1970.
  package var since: Int64?
  /// Written before this time, in ms since 1970.
  package var until: Int64?
  package var state: LetterState?
  /// With the dropped ones. `state` says that by itself.
  package var includesDropped = false

  package init() {}

  /// Whether it names letters by anything but their state: nothing is done to all letters at once.
  package var isSelective: Bool {
    event != nil || streamer != nil || code != nil || text != nil || since != nil || until != nil
  }

  package func matches(_ letter: LetterSummary, state now: LetterState) -> Bool {
    if let state {
      guard state == now else { return false }
    } else if now == .dropped, !includesDropped {
      return false
    }
    if let event, letter.event?.isExactly(event) != true { return false }
    if let streamer, letter.streamer?.isExactly(streamer) != true { return false }
    if let code, !letter.code.isExactly(code) { return false }
    if let since, letter.writtenAt < since { return false }
    if let until, letter.writtenAt >= until { return false }
    guard let text else { return true }
    return letter.reason.holds(text) || letter.headerText.holds(text)
  }
}

extension String {
  fileprivate func holds(_ part: String) -> Bool {
    let (text, part) = (utf8.map(Self.lower), part.utf8.map(Self.lower))
    guard !part.isEmpty, text.count >= part.count else { return part.isEmpty }
    return (0...text.count - part.count).contains { start in
      text[start] == part[0] && text[start..<start + part.count].elementsEqual(part)
    }
  }

  private static func lower(_ byte: UInt8) -> UInt8 {
    (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
  }
}
