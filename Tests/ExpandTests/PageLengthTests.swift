import Testing

@testable import Expand

/// How many users a page asks for.
@Suite struct PageLengthTests {
  private static func lengths(_ batch: Int, size: Int) -> [Int] {
    let pace = PagePace(maximumUsers: size, maximumBytes: 1_000_000)
    var (lengths, left): ([Int], Int) = ([], batch)
    while left > 0 {
      lengths.append(pace.length(left, of: batch))
      left -= max(1, lengths[lengths.count - 1])
    }
    return lengths
  }

  @Test func aBatchOfUpToTwoPagesStaysWhole() {
    #expect(Self.lengths(1, size: 512) == [1])
    #expect(Self.lengths(1_024, size: 512) == [1_024])
    #expect(Self.lengths(2, size: 1) == [2])
  }

  /// No short last page, which would cost as many round trips as the others.
  @Test func aLargerOneIsDividedEvenly() {
    #expect(Self.lengths(1_025, size: 512) == [513, 512])
    #expect(Self.lengths(1_172, size: 512) == [586, 586])
    #expect(Self.lengths(2_048, size: 512) == [512, 512, 512, 512])
    #expect(Self.lengths(3, size: 1) == [1, 1, 1])
    for batch in stride(from: 1, through: 20_000, by: 7) {
      let lengths = Self.lengths(batch, size: 100)
      #expect(lengths.reduce(0, +) == batch)
      guard batch > 200 else { continue }
      #expect(lengths.allSatisfy { (100...150).contains($0) }, "\(batch): \(lengths)")
    }
  }

  @Test func aSlowedPaceAsksForWhatFits() {
    var pace = PagePace(maximumUsers: 512, maximumBytes: 1_000_000)
    pace.tooMuch(512)
    #expect(pace.length(1_000, of: 1_000) == 256)
    #expect(pace.length(10, of: 1_000) == 10)
  }

  /// What others found is known from the start, and goes on to be found.
  @Test func aPaceBeginsWithWhatUsersTook() {
    let light = PagePace(maximumUsers: 512, maximumBytes: 1_000_000, bytesAUser: 976)
    #expect(!light.isSlowed && light.length(1_024, of: 1_024) == 1_024)
    var heavy = PagePace(maximumUsers: 512, maximumBytes: 1_000_000, bytesAUser: 1_000)
    #expect(heavy.isSlowed && heavy.length(1_024, of: 1_024) == 500)
    heavy.fitted(500, bytes: 50_000)
    #expect(heavy.bytesAUser == 100 && !heavy.isSlowed)
    let vast = PagePace(maximumUsers: 512, maximumBytes: 1_000_000, bytesAUser: 2_000_000)
    #expect(vast.length(3, of: 2_048) == 1)
  }

  /// Whatever was left when the pace had come back.
  @Test func whatIsLeftOfADividedBatchIsAPage() {
    let pace = PagePace(maximumUsers: 512, maximumBytes: 1_000_000)
    #expect(pace.length(100, of: 2_000) == 100)
    #expect(pace.length(1_023, of: 2_000) == 1_023)
    #expect(pace.length(1_024, of: 2_000) == 512)
  }

  /// Each master is asked for as many as one Redis would be, as long as a shard is a page.
  @Test func pagesGrowWithTheMastersThatTheyAreDividedAmong() {
    var options = ExpandOptions(pageSize: 100)
    #expect(options.pageSize(masters: 0) == 100)
    #expect(options.pageSize(masters: 1) == 100)
    #expect(options.pageSize(masters: 3) == 300)
    #expect(options.pageSize(masters: 1_000) == 1_024)
    options.pageSize = 2_000
    #expect(options.pageSize(masters: 3) == 2_000)
  }

  @Test func paceHalvesAndComesBack() {
    var pace = PagePace(maximumUsers: 512, maximumBytes: 1_000_000)
    pace.fitted(512, bytes: 300_000)
    #expect(pace.users == 512 && !pace.isSlowed)
    pace.tooMuch(512)
    #expect(pace.users == 256 && pace.isSlowed)
    // A page that was longer than asked for, as a scan's may be.
    pace.tooMuch(700)
    #expect(pace.users == 128)
    for _ in 0..<10 { pace.tooMuch(1) }
    #expect(pace.users == 1)
    pace.fitted(1, bytes: 100_000)
    #expect(pace.users == 2)
    for _ in 0..<4 { pace.fitted(pace.users, bytes: pace.users * 100_000) }
    #expect(pace.users == 5)
    for _ in 0..<10 { pace.fitted(pace.users, bytes: pace.users * 100) }
    #expect(pace.users == 512)
    pace.fitted(512, bytes: 0)
    #expect(pace.users == 512)
  }
}
