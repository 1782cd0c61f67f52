import Rules
import Testing

@Suite struct NewestDeviceTests {
  /// The index of the newest of devices, offered in this order.
  private func newest(_ devices: [(member: String, boundAt: Int64)]) -> Int {
    let members = devices.map { Array($0.member.utf8) }
    func look(_ index: Int, _ found: NewestDevice?) -> Int {
      guard index < devices.count else { return found?.index ?? -1 }
      return members[index].withUnsafeBytes { member in
        var found = found ?? NewestDevice(index: index, member: member)
        found.offer(index: index, member: member, boundAt: devices[index].boundAt)
        return look(index + 1, found)
      }
    }
    return look(0, nil)
  }

  @Test func isTheOneBoundLast() {
    #expect(newest([("a", 5), ("b", 7), ("c", 6)]) == 1)
    #expect(newest([("a", 9), ("b", 7)]) == 0)
    #expect(newest([("a", 0), ("b", -1)]) == 0)
    #expect(newest([("a", -1), ("b", 0)]) == 1)
  }

  @Test func ofEquallyOldOnesTheFirstMemberCounts() {
    for time: Int64 in [-1, 0, 5] {
      #expect(newest([("b", time), ("a", time), ("c", time)]) == 1)
      #expect(newest([("a", time), ("aa", time)]) == 0)
      #expect(newest([("aa", time), ("a", time)]) == 1)
    }
  }

  @Test(arguments: [
    ("0", 0), ("1767225600000", 1_767_225_600_000), ("", -1), ("-1", -1), ("1e9", -1), (" 1", -1),
    ("999999999999999999", 999_999_999_999_999_999), ("1000000000000000000", -1), ("x", -1),
  ])
  func aTimeIsDigits(text: String, time: Int64) {
    #expect(Array(text.utf8).withUnsafeBytes { NewestDevice.time($0) } == time)
  }
}
