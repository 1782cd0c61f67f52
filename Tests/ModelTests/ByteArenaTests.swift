import Model
import Testing

@Suite struct ByteArenaTests {
  @Test func slicesKeepTheirBytesWhileTheArenaGrows() {
    let arena = ByteArena(capacity: 0)
    #expect(arena.capacity == 64)
    var slices: [ByteSlice] = []
    for index in 0..<10_000 { slices.append(arena.append(utf8: "value \(index) é")) }
    for (index, slice) in slices.enumerated() {
      guard arena.string(slice) == "value \(index) é" else {
        Issue.record("slice \(index) is \(arena.string(slice))")
        return
      }
    }
    #expect(arena.count == slices.reduce(0) { $0 + Int($1.count) })
    #expect(arena.capacity >= arena.count)
  }

  @Test func readsWhatWasAppended() {
    let arena = ByteArena()
    let first = arena.append([1, 2, 3])
    let empty = arena.append([])
    let second = arena.append([4, 5])
    #expect(Array(arena[first]) == [1, 2, 3])
    #expect(Array(arena[empty]) == [])
    #expect(!empty.isMissing)
    #expect(Array(arena[second]) == [4, 5])
    #expect(Array(arena[second.last(1)]) == [5])
    #expect(Array(arena[second.last(0)]) == [])
    #expect(Array(arena[.missing]) == [])
    #expect(arena.string(.missing) == "")
    #expect(ByteSlice.missing.isMissing)
    #expect(
      Array(UnsafeRawBufferPointer(start: arena.base, count: arena.count)) == [1, 2, 3, 4, 5])
  }

  @Test func fillsExactlyItsCapacityWithoutMoving() {
    let arena = ByteArena(capacity: 128)
    let base = arena.base
    arena.append([UInt8](repeating: 7, count: 128))
    #expect(arena.base == base)
    #expect(arena.capacity == 128)
    let last = arena.append([8])
    #expect(arena.capacity == 256)
    #expect(arena.count == 129)
    #expect(Array(arena[last]) == [8])
    #expect(Array(arena[ByteSlice(offset: 0, count: 128)]) == [UInt8](repeating: 7, count: 128))
  }

  @Test func reservesMoreThanTwice() {
    let arena = ByteArena(capacity: 64)
    arena.append([1])
    arena.reserve(10_000)
    #expect(arena.capacity >= 10_001)
    let base = arena.base
    arena.append([UInt8](repeating: 2, count: 10_000))
    #expect(arena.base == base)
    #expect(arena[ByteSlice(offset: 0, count: 1)].first == 1)
  }

  @Test func lendsRoom() {
    let arena = ByteArena(capacity: 64)
    arena.append([9])
    let slice = arena.append(atMost: 100) { room in
      #expect(room.count == 100)
      room.copyBytes(from: [1, 2, 3])
      return 3
    }
    #expect(Array(arena[slice]) == [1, 2, 3])
    #expect(arena.count == 4)
    let none = arena.append(atMost: 100) { _ in 0 }
    #expect(none.count == 0)
    #expect(!none.isMissing)
    #expect(arena.count == 4)
  }

  @Test func takesBack() {
    let arena = ByteArena()
    let kept = arena.append([1, 2])
    let mark = arena.count
    arena.append([3, 4])
    arena.truncate(to: mark)
    #expect(arena.count == 2)
    let next = arena.append([5])
    #expect(next.offset == 2)
    #expect(Array(arena[kept]) == [1, 2])
    let capacity = arena.capacity
    arena.removeAll()
    #expect(arena.count == 0)
    #expect(arena.capacity == capacity)
  }

  @Test func bytesThatAreNotUTF8BecomeReplacements() {
    let arena = ByteArena()
    #expect(arena.string(arena.append([0x61, 0xFF, 0x62])) == "a\u{FFFD}b")
  }

  @Test func moreIsWrittenThanLent() async {
    await #expect(processExitsWith: .failure) {
      _ = ByteArena().append(atMost: 4) { _ in 5 }
    }
  }

  @Test func moreThanSlicesCanCount() async {
    await #expect(processExitsWith: .failure) {
      ByteArena().reserve(ByteArena.maximumBytes + 1)
    }
  }
}
