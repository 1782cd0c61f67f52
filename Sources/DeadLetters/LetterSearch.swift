import Redis

/// The letters of a scan that a filter means, with what was done to each.
package struct LetterSearch: Sendable {
  package struct Row: Sendable, Equatable {
    package let letter: LetterSummary
    package let mark: LetterMark

    package init(letter: LetterSummary, mark: LetterMark) {
      self.letter = letter
      self.mark = mark
    }
  }

  /// The newest first.
  package let rows: [Row]
  /// Letters that were looked at.
  package let scanned: Int
  /// Which letters the numbers are of, in words.
  package let window: String

  package var matched: Int { rows.count }

  package init(
    _ scan: LetterScan, _ filter: LetterFilter, marks: LetterMarks
  ) async throws(DeadLettersError) {
    let known: [LetterID: LetterMark]
    do throws(RedisError) {
      known = try await marks.marks(of: scan.letters)
    } catch {
      throw .redis(error)
    }
    self.init(scan, filter, known)
  }

  /// - Parameter known: what was done to letters; the others are new.
  init(_ scan: LetterScan, _ filter: LetterFilter, _ known: [LetterID: LetterMark]) {
    rows = scan.letters.compactMap { letter in
      let mark = known[letter.id] ?? .new
      return filter.matches(letter, state: mark.state) ? Row(letter: letter, mark: mark) : nil
    }
    scanned = scan.letters.count
    window = scan.window
  }
}
