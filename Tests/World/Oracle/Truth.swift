/// A time in which something was so: it began between two moments, and ended between two others.
/// Nanoseconds of the world.
struct Span {
  /// When it was asked for, and when the answer came.
  let begins: UInt64
  var begun: UInt64 = .max
  var ends: UInt64 = .max
  var ended: UInt64 = .max
  /// That it ended may have been lost.
  var mayGoOn = false

  /// Whether it was so in all of that time, whatever the order of events.
  func covers(_ from: UInt64, _ to: UInt64) -> Bool { begun <= from && ends > to }

  /// Whether it may have been so at some moment of it.
  func touches(_ from: UInt64, _ to: UInt64) -> Bool {
    begins <= to && (ended >= from || mayGoOn)
  }
}

/// What the backends of a world have done: who has which device, and who follows whom. The oracle
/// compares with it; nothing of the product has written it.
package final class Truth {
  struct Owner {
    let user: Int
    var span: Span
  }

  /// By device: who had it, in the order of time.
  private var owners: [[Owner]] = []
  /// Whatever a user has ever had.
  private var devicesByUser: [Int: [Int]] = [:]
  /// By streamer and user.
  private var follows: [[Int: [Span]]]
  private var muted: Set<Int> = []
  /// Whose profile is erased, or soon will be, and with it that the user has muted everything.
  private var forgotten: Set<Int> = []
  /// When a backend said that a device was bound, ms since 1970, and to whom.
  private(set) var boundAt: [Int: (user: Int, at: Int64)] = [:]
  private let now: () -> UInt64

  package init(streamers: Int, now: @escaping () -> UInt64) {
    follows = Array(repeating: [:], count: streamers)
    self.now = now
  }

  package var devices: Int { owners.count }

  // MARK: from the beginning

  package func addDevice(to user: Int) -> Int {
    owners.append([Owner(user: user, span: Span(begins: 0, begun: 0))])
    devicesByUser[user, default: []].append(owners.count - 1)
    return owners.count - 1
  }

  package func addFollow(_ user: Int, of streamer: Int) {
    follows[streamer][user] = [Span(begins: 0, begun: 0)]
  }

  package func mute(_ user: Int) { muted.insert(user) }

  package func beginForget(_ user: Int) { forgotten.insert(user) }

  // MARK: changes

  /// A number for a device that nobody has.
  package func newDevice() -> Int {
    owners.append([])
    return owners.count - 1
  }

  /// Somebody asks that a user gets the device; whoever had it may lose it from now on.
  package func beginBind(_ device: Int, to user: Int, at: Int64 = 0) {
    boundAt[device] = (user, at)
    if owners[device].last?.user == user, owners[device].last?.span.ends == .max { return }
    beginUnbind(device)
    owners[device].append(Owner(user: user, span: Span(begins: now())))
    if devicesByUser[user]?.contains(device) != true {
      devicesByUser[user, default: []].append(device)
    }
  }

  package func endBind(_ device: Int) {
    let last = owners[device].count - 1
    for index in owners[device].indices {
      if index == last {
        owners[device][index].span.begun = min(owners[device][index].span.begun, now())
      } else {
        owners[device][index].span.ended = min(owners[device][index].span.ended, now())
      }
    }
  }

  package func beginUnbind(_ device: Int) {
    for index in owners[device].indices {
      owners[device][index].span.ends = min(owners[device][index].span.ends, now())
    }
  }

  package func endUnbind(_ device: Int) {
    for index in owners[device].indices {
      owners[device][index].span.ended = min(owners[device][index].span.ended, now())
    }
  }

  package func beginFollow(_ user: Int, of streamer: Int) {
    let spans = follows[streamer][user, default: []]
    if let last = spans.last, last.ends == .max { return }
    follows[streamer][user] = spans + [Span(begins: now())]
  }

  package func endFollow(_ user: Int, of streamer: Int) {
    change(user, streamer) { $0.begun = min($0.begun, now()) }
  }

  package func beginUnfollow(_ user: Int, of streamer: Int) {
    change(user, streamer) { $0.ends = min($0.ends, now()) }
  }

  package func endUnfollow(_ user: Int, of streamer: Int) {
    change(user, streamer) { $0.ended = min($0.ended, now()) }
  }

  private func change(_ user: Int, _ streamer: Int, _ body: (inout Span) -> Void) {
    guard var spans = follows[streamer][user], !spans.isEmpty else { return }
    body(&spans[spans.count - 1])
    follows[streamer][user] = spans
  }

  /// Whatever was changed since then may be as it was before.
  package func doubtChanges(since time: UInt64) {
    func doubt(_ span: inout Span) {
      if span.begins >= time, span.begun != .max { span.begun = .max }
      if span.ends >= time, span.ends != .max { span.mayGoOn = true }
    }
    for device in owners.indices {
      for index in owners[device].indices { doubt(&owners[device][index].span) }
    }
    for streamer in follows.indices {
      for user in follows[streamer].keys {
        for index in follows[streamer][user, default: []].indices {
          doubt(&follows[streamer][user, default: []][index])
        }
      }
    }
  }

  // MARK: questions

  /// Devices that a user may have now.
  package func devices(of user: Int) -> [Int] {
    (devicesByUser[user] ?? []).filter { device in
      owners[device].contains { $0.user == user && $0.span.ended == .max }
    }
  }

  func isMuted(_ user: Int) -> Bool { muted.contains(user) }

  /// Whoever has ever followed the streamer, in order.
  func everFollowed(_ streamer: Int) -> [Int] { follows[streamer].keys.sorted() }

  /// Whether the user must have been found by whoever looked for followers in that time, whenever
  /// that was.
  func mustFollow(_ user: Int, _ streamer: Int, _ from: UInt64, _ to: UInt64) -> Bool {
    (follows[streamer][user] ?? []).contains { $0.covers(from, to) }
  }

  /// Whether it may have been.
  func mayFollow(_ user: Int, _ streamer: Int, _ from: UInt64, _ to: UInt64) -> Bool {
    (follows[streamer][user] ?? []).contains { $0.touches(from, to) }
  }

  /// The user's devices in all of that time.
  func certainDevices(of user: Int, _ from: UInt64, _ to: UInt64) -> [Int] {
    (devicesByUser[user] ?? []).filter { device in
      owners[device].contains { $0.user == user && $0.span.covers(from, to) }
    }
  }

  /// And at some moment of it.
  func possibleDevices(of user: Int, _ from: UInt64, _ to: UInt64) -> [Int] {
    (devicesByUser[user] ?? []).filter { device in
      owners[device].contains { $0.user == user && $0.span.touches(from, to) }
    }
  }

  /// Whether a push to the device may have been meant for somebody who had it in that time.
  func mayReach(_ device: Int, of streamer: Int, _ from: UInt64, _ to: UInt64) -> Bool {
    owners[device].contains { owner in
      (!muted.contains(owner.user) || forgotten.contains(owner.user))
        && owner.span.touches(from, to)
        && mayFollow(owner.user, streamer, from, to)
    }
  }

  /// Whether one user has it from the beginning to now, and nobody has asked for a change.
  func isStatic(_ device: Int) -> Bool {
    owners[device].count == 1 && owners[device][0].span.begins == 0
      && owners[device][0].span.ends == .max
  }

  func owners(of device: Int) -> [Owner] { owners[device] }

  /// Whether the user follows by the last word of a backend.
  func follows(_ user: Int, _ streamer: Int) -> Bool {
    follows[streamer][user]?.last?.ends == .max
  }

  func owner(of device: Int) -> Int? { owners[device].last?.user }
}
