import Text

/// The meaning of the difference between this machine's clock and another's.
struct ClockJudge {
  /// Events are sent and expire to the second.
  private static let usual = Duration.seconds(1)
  /// A worker that is further ahead leaves its group (docs/operations.md, "Clocks that differ").
  private static let most = Duration.seconds(60)

  let id: String
  /// Whose clock it is: `Redis 127.0.0.1:6379`.
  let name: String

  /// The same by the `Date` of an HTTP answer. Nothing is said where there was none: not every
  /// server gives it.
  func judge(date: String?, asked: Int64, answered: Int64, _ list: inout CheckList) {
    guard let theirs = date.flatMap(HTTPDate.milliseconds) else { return }
    judge(theirs: theirs, asked: asked, answered: answered, resolution: 1_000, &list)
  }

  /// - Parameters:
  ///   - theirs: their time, ms since 1970.
  ///   - asked, answered: our time before and after the question.
  ///   - resolution: of their time, ms: 1000 where it is told in whole seconds.
  func judge(
    theirs: Int64, asked: Int64, answered: Int64, resolution: Int64 = 1, _ list: inout CheckList
  ) {
    // Their time was read at some moment between, and was cut to the resolution.
    let ours = asked / 2 + answered / 2
    let middle = theirs + resolution / 2
    let doubt = Duration.milliseconds((max(0, answered - asked) + resolution) / 2)
    let difference = Duration.milliseconds(ours - middle)
    let size = difference < .zero ? .zero - difference : difference
    guard size > Self.usual + doubt else {
      list.ok(id, "\(name): its clock and ours agree within \(DurationText.text(size + doubt))")
      return
    }
    let direction = difference > .zero ? "ahead of" : "behind"
    let words = "this machine's clock is \(DurationText.text(size)) \(direction) that of \(name)"
    let limit = "at most \(DurationText.text(Self.usual)) is well"
    let hint = "date -u on both says which one is wrong; NTP (chrony) keeps it right"
    if size > Self.most + doubt {
      list.problem(
        id, .dependency,
        difference > .zero ? "\(words): a worker leaves its group until they agree" : words,
        hint: hint)
    } else {
      list.warning(id, .dependency, "\(words): \(limit)", hint: hint)
    }
  }
}

/// The `Date` of an HTTP answer (RFC 9110, section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Ms since 1970; nil for what is no such date. The two obsolete forms are not read.
  static func milliseconds(_ text: String) -> Int64? {
    let words = text.split(separator: " ")
    guard words.count == 6, words[5] == "GMT", let day = Int64(words[1]),
      let month = months.firstIndex(of: String(words[2])), let year = Int64(words[3])
    else { return nil }
    let time = words[4].split(separator: ":").compactMap { Int64($0) }
    guard time.count == 3, (1...31).contains(day), (1970...9999).contains(year),
      (0...23).contains(time[0]), (0...59).contains(time[1]), (0...60).contains(time[2])
    else { return nil }
    let seconds = days(year, Int64(month + 1), day) * 86_400 + time[0] * 3_600 + time[1] * 60
    return (seconds + time[2]) * 1_000
  }

  /// Days since 1970-01-01 of the Gregorian calendar.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    // The year begins in March, so that the leap day is its last.
    let shifted = month <= 2 ? year - 1 : year
    let ofYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let leapDays = shifted / 4 - shifted / 100 + shifted / 400
    return shifted * 365 + leapDays + ofYear - 719_468
  }
}
