import Model
import Testing

@Suite struct AudienceExpressionTests {
  typealias E = AudienceExpression

  private static let sizes: [E.List: Int] = [.followers: 1000, .tag("a"): 10, .tag("b"): 20]

  private func sources(_ expression: E) -> [E.List]? {
    expression.sources { Self.sizes[$0] ?? 0 }
  }

  @Test func readsTheFewestUsers() {
    #expect(sources(.followers) == [.followers])
    #expect(sources(.and([.followers, .tag("b"), .tag("a")])) == [.tag("a")])
    #expect(sources(.or([.tag("b"), .tag("a"), .tag("b")])) == [.tag("b"), .tag("a")])
    #expect(sources(.and([.followers, .or([.tag("a"), .tag("b")])])) == [.tag("a"), .tag("b")])
    #expect(sources(.and([.not(.tag("a")), .followers])) == [.followers])
    #expect(
      sources(.or([.and([.followers, .not(.tag("b"))]), .tag("a")])) == [.followers, .tag("a")])
  }

  @Test(arguments: [
    E.not(.tag("a")), .and([.not(.followers)]), .or([.tag("a"), .not(.tag("b"))]),
    .and([.or([.tag("a"), .not(.tag("b"))]), .not(.followers)]),
  ])
  func everybodyButSomeAreInNoList(_ expression: E) {
    #expect(sources(expression) == nil)
    #expect(!expression.isEnumerable)
  }

  @Test func holdsAsItSays() {
    let expression = E.and([.or([.followers, .tag("a")]), .not(.tag("b"))])
    #expect(expression.lists == [.followers, .tag("a"), .tag("b")])
    var holding: [Int] = []
    for mask in 0..<8 {
      let isIn = { (list: E.List) in
        expression.lists.firstIndex(of: list).map { mask >> $0 & 1 == 1 } ?? false
      }
      if expression.holds(isIn) { holding.append(mask) }
    }
    #expect(holding == [0b001, 0b010, 0b011])
  }

  /// A cooldown takes two of one text for the same.
  @Test func textsTellExpressionsApart() {
    let all: [E] = [
      .followers, .tag("followers"), .tag("a"), .tag("a,tag(1:b)"), .or([.tag("a"), .tag("b")]),
      .and([.tag("a"), .tag("b")]), .or([.tag("b"), .tag("a")]), .not(.tag("a")),
      .or([.tag("a,tag(1:b)")]), .or([.or([.tag("a")]), .tag("b")]),
    ]
    #expect(Set(all.map(\.text)).count == all.count)
  }
}
