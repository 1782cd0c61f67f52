import CLinux
import Glibc

/// The events that a handler waits for. Errors and hang-ups are always reported, as both.
package struct Interest: OptionSet, Sendable {
  package let rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let read = Interest(rawValue: 1)
  package static let write = Interest(rawValue: 2)

  fileprivate var events: UInt32 {
    (contains(.read) ? EPOLLIN.rawValue | EPOLLRDHUP.rawValue : 0)
      | (contains(.write) ? EPOLLOUT.rawValue : 0)
  }
}

package protocol LoopHandler: AnyObject {
  /// On the loop's thread. May remove its own registration or any other.
  func descriptorReady(_ readiness: Interest)
}

/// Names a descriptor in the loop; good until it is removed.
package struct Registration: Equatable {
  fileprivate let index: Int
  fileprivate let generation: UInt32
}

package struct LoopError: Error, Sendable, CustomStringConvertible {
  let systemError: Int32
  package var description: String {
    "epoll refused a descriptor: \(String(cString: strerror(systemError)))"
  }
}

/// The epoll set and who waits for what. Confined to the loop's thread but for `wake`.
final class Poller {
  private struct Entry {
    let descriptor: Int32
    let handler: any LoopHandler
    let generation: UInt32
  }

  private let epoll: Int32
  private let wakeDescriptor: Int32
  private var entries: [Entry?] = []
  private var free: [Int] = []
  private var generation: UInt32 = 0
  private var ready = [epoll_event](repeating: epoll_event(), count: 256)
  private var readyCount = 0
  private static let wakeData = UInt64.max

  init?() {
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard epoll >= 0 else { return nil }
    wakeDescriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    guard wakeDescriptor >= 0 else {
      close(epoll)
      return nil
    }
    var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: Self.wakeData))
    guard epoll_ctl(epoll, EPOLL_CTL_ADD, wakeDescriptor, &event) == 0 else {
      close(wakeDescriptor)
      close(epoll)
      return nil
    }
  }

  deinit {
    close(wakeDescriptor)
    close(epoll)
  }

  /// From any thread: ends the wait that is on, or the next one.
  func wake() {
    var one: UInt64 = 1
    _ = write(wakeDescriptor, &one, 8)
  }

  func add(
    _ descriptor: Int32, _ interest: Interest, _ handler: any LoopHandler
  ) throws(LoopError) -> Registration {
    generation &+= 1
    let index = free.popLast() ?? entries.count
    let registration = Registration(index: index, generation: generation)
    var event = epoll_event(events: interest.events, data: epoll_data_t(u64: registration.data))
    guard epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 else {
      let failure = errno
      if index < entries.count { free.append(index) }
      throw LoopError(systemError: failure)
    }
    let entry = Entry(descriptor: descriptor, handler: handler, generation: generation)
    if index == entries.count { entries.append(entry) } else { entries[index] = entry }
    return registration
  }

  func change(_ registration: Registration, to interest: Interest) {
    guard let entry = entry(registration) else { return }
    var event = epoll_event(events: interest.events, data: epoll_data_t(u64: registration.data))
    _ = epoll_ctl(epoll, EPOLL_CTL_MOD, entry.descriptor, &event)
  }

  func remove(_ registration: Registration) {
    guard let entry = entry(registration) else { return }
    _ = epoll_ctl(epoll, EPOLL_CTL_DEL, entry.descriptor, nil)
    entries[registration.index] = nil
    free.append(registration.index)
  }

  func removeAll() {
    // A handler that is released here may remove another one.
    let all = entries
    entries = []
    free = []
    for entry in all.compactMap({ $0 }) {
      _ = epoll_ctl(epoll, EPOLL_CTL_DEL, entry.descriptor, nil)
    }
  }

  func wait(milliseconds: Int32) {
    let capacity = Int32(ready.count)
    let count = ready.withUnsafeMutableBufferPointer {
      epoll_wait(epoll, $0.baseAddress, capacity, milliseconds)
    }
    readyCount = max(0, Int(count))
  }

  /// Calls the handlers of what the last wait found. One that was removed meanwhile is not called.
  func dispatch() {
    let count = readyCount
    readyCount = 0
    for position in 0..<count {
      let event = ready[position]
      guard event.data.u64 != Self.wakeData else {
        var value: UInt64 = 0
        _ = read(wakeDescriptor, &value, 8)
        continue
      }
      guard let entry = entry(Registration(data: event.data.u64)) else { continue }
      let broken = event.events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0
      var readiness: Interest = broken ? [.read, .write] : []
      if event.events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 { readiness.insert(.read) }
      if event.events & EPOLLOUT.rawValue != 0 { readiness.insert(.write) }
      entry.handler.descriptorReady(readiness)
    }
  }

  private func entry(_ registration: Registration) -> Entry? {
    guard registration.index < entries.count, let entry = entries[registration.index],
      entry.generation == registration.generation
    else { return nil }
    return entry
  }
}

extension Registration {
  fileprivate var data: UInt64 { UInt64(generation) << 32 | UInt64(index) }
  fileprivate init(data: UInt64) {
    index = Int(data & 0xFFFF_FFFF)
    generation = UInt32(truncatingIfNeeded: data >> 32)
  }
}
