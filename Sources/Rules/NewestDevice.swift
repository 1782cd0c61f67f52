import Glibc
import Text

/// Of a user's devices for one app, in whatever environment, the one that was bound last. A device
/// of which no time is known is older than any other, and of two that are equally old the one
/// counts whose member comes first, so that whoever looks finds the same.
package struct NewestDevice {
  package private(set) var index: Int
  private var member: UnsafeRawBufferPointer
  /// Ms since 1970; -1: not known.
  private var boundAt: Int64

  /// - Parameter member: what the user's set holds; somebody else's bytes.
  package init(index: Int, member: UnsafeRawBufferPointer) {
    self.index = index
    self.member = member
    boundAt = -1
  }

  /// Whether a device would take the first one's place. Asked before it is known that the user has
  /// this device still, which takes longer to find out.
  package func isOlder(than member: UnsafeRawBufferPointer, boundAt time: Int64) -> Bool {
    time == boundAt ? Self.precedes(member, self.member) : time > boundAt
  }

  package mutating func offer(
    index: Int, member: UnsafeRawBufferPointer, boundAt time: Int64 = -1
  ) {
    guard isOlder(than: member, boundAt: time) else { return }
    self.index = index
    self.member = member
    boundAt = time
  }

  /// A time as `bound` has it: digits; -1 for what is none.
  package static func time(_ text: UnsafeRawBufferPointer) -> Int64 {
    guard (1...18).contains(text.count), text.allSatisfy(\.isASCIIDigit) else { return -1 }
    return text.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
  }

  private static func precedes(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer
  ) -> Bool {
    guard let one = first.baseAddress, let other = second.baseAddress else {
      return first.count < second.count
    }
    let order = memcmp(one, other, min(first.count, second.count))
    return order == 0 ? first.count < second.count : order < 0
  }
}
