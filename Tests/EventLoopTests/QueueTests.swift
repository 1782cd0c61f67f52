import Testing

@testable import EventLoop

@Suite struct QueueTests {
  @Test func keepsOrderWhileItShrinksAndGrows() {
    var queue = Queue<Int>()
    var next = 0
    for item in 0..<5_000 {
      queue.append(item)
      if item % 3 != 0 {
        #expect(queue.popFirst() == next)
        next += 1
      }
    }
    queue.remove { $0 == next }
    #expect(queue.first == next + 1)
    #expect(queue.count == 5_000 - next - 1)
    #expect(queue.takeAll() == Array(next + 1..<5_000))
    #expect(queue.isEmpty && queue.popFirst() == nil && queue.first == nil)
  }

  /// What has left is not kept alive until others have left too.
  @Test func whatHasLeftIsNotKept() {
    final class Item {}
    var queue = Queue<Item>()
    weak var first: Item?
    do {
      let item = Item()
      first = item
      queue.append(item)
    }
    queue.append(Item())
    #expect(first != nil)
    _ = queue.popFirst()
    #expect(first == nil && queue.count == 1)
  }

  @Test func theFirstIsReplacedInItsPlace() {
    var queue = Queue<Int>()
    queue.replaceFirst(by: 1)
    #expect(queue.isEmpty)
    for item in 0..<3 { queue.append(item) }
    _ = queue.popFirst()
    queue.replaceFirst(by: 7)
    #expect(queue.all == [7, 2])
  }
}
