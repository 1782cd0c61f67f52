import Model
import Testing

@testable import Pipeline

@Suite struct LaneFanOutsTests {
  private func segment(_ event: String, _ index: Int, of count: Int) -> Segment {
    let event = Event(
      id: event, app: "a.b", streamer: "s", stream: "t", template: "live", occurredAt: 0,
      expiresAt: 1, fields: [:], document: [])
    return Segment(event: event, slice: .shard(index: index, generation: 1), count: count)
  }

  @Test func theSegmentsOfAnEventShareOne() {
    var shared = LaneFanOuts()
    let first = shared.fanOut(of: segment("e1", 0, of: 4))
    let second = shared.fanOut(of: segment("e1", 1, of: 4))
    let other = shared.fanOut(of: segment("e2", 0, of: 1))
    #expect(first === second && first !== other)
    #expect(shared.fanOut(ofEvent: "e1") === first && shared.fanOut(ofEvent: "e3") == nil)
    #expect(!first.isSmall && other.isSmall)
  }

  @Test func thoseThatEndedAreForgotten() {
    var shared = LaneFanOuts()
    let kept = shared.fanOut(of: segment("kept", 0, of: 2))
    for number in 0..<10_000 { _ = shared.fanOut(of: segment("e\(number)", 0, of: 1)) }
    #expect(shared.count < 200)
    let again = shared.fanOut(of: segment("kept", 1, of: 2))
    #expect(again === kept)
  }
}
