import EventLoop
import Testing

/// What waits for its time: timers, retries, answers of the simulator.
@Suite struct DueHeapTests {
  @Test func givesTheEarliestFirstAndKeepsTheOrderOfEquals() {
    var heap = DueHeap<Int>()
    // The same few times over and over, in an order that is neither up nor down.
    let times = (0..<200).map { UInt64($0 * 7 % 13) }
    for (number, time) in times.enumerated() { heap.insert(number, due: time) }
    var taken: [Int] = []
    while let next = heap.popFirst() { taken.append(next) }
    let expected = times.indices.sorted { (times[$0], $0) < (times[$1], $1) }
    #expect(taken == expected)
    #expect(heap.isEmpty && heap.nextDue == nil && heap.first == nil)
  }

  @Test func givesNothingBeforeItsTime() {
    var heap = DueHeap<String>()
    heap.insert("late", due: 20)
    heap.insert("early", due: 10)
    var seen: [String?] = []
    for now in [9, 10, 10, 19, 20, 21] as [UInt64] { seen.append(heap.popFirst(dueAt: now)) }
    #expect(seen == [nil, "early", nil, nil, "late", nil])
  }

  @Test func staysAHeapWhenSomeAreTakenOut() {
    var heap = DueHeap<Int>()
    for number in 0..<100 { heap.insert(number, due: UInt64(number * 37 % 101)) }
    let taken = heap.take { $0 % 3 == 0 }
    #expect(taken.sorted() == stride(from: 0, to: 100, by: 3).map { $0 })
    #expect(!heap.contains { $0 % 3 == 0 } && heap.contains { $0 == 1 } && heap.count == 66)
    var times: [Int] = []
    while let next = heap.popFirst() { times.append(next * 37 % 101) }
    #expect(times == times.sorted() && times.count == 66)
  }
}
