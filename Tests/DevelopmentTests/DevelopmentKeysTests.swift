import Testing

@testable import Development

@Suite struct DevelopmentKeysTests {
  private func wishes(_ parts: String...) -> [DevelopmentKeys.Wish] {
    var keys = DevelopmentKeys()
    return parts.flatMap { keys.wishes(Array($0.utf8)) }
  }

  @Test(arguments: [
    ("e", DevelopmentKeys.Wish.sendExample), ("b", .showDashboard), ("l", .toggleLog),
    ("u", .undoTemplate), ("q", .stop), ("\u{3}", .stop), ("E", .sendExample), ("Q", .stop),
  ])
  func eachKeyHasItsMeaning(key: String, wish: DevelopmentKeys.Wish) {
    #expect(wishes(key) == [wish])
  }

  @Test func whatHasNoMeaningIsPassedOver() {
    #expect(wishes("x \n\té", "") == [])
    #expect(wishes("xexle") == [.sendExample, .toggleLog, .sendExample])
  }

  @Test func noByteOfASequenceIsAKey() {
    // An arrow, a function key, a pasted mark, and a word with the meta key.
    #expect(wishes("\u{1B}[B", "\u{1B}OQ", "\u{1B}[200~", "\u{1B}b") == [])
    #expect(wishes("\u{1B}[Be", "q") == [.sendExample, .stop])
    #expect(wishes("\u{1B}[1;", "5Be") == [.sendExample])
  }

  @Test func theKeyEscapeAloneHoldsNothingUp() {
    #expect(wishes("\u{1B}", "e") == [.sendExample])
  }
}
