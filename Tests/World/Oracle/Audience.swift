/// Who was to get an event, by what the backends did while it was looked up.
struct Audience {
  /// Devices that their users had in all of that time, while they followed.
  private(set) var certain: [Int] = []
  /// Those of them whose users have muted everything.
  private(set) var muted: Set<Int> = []
  /// How many devices may have been found in it.
  private(set) var possible = 0
  private(set) var certainUsers = 0
  private(set) var possibleUsers = 0

  init(of event: EventTruth, _ truth: Truth) {
    let (from, to) = (event.begins, event.over)
    for user in truth.everFollowed(event.streamer) {
      if truth.mustFollow(user, event.streamer, from, to) {
        certainUsers += 1
        let devices = truth.certainDevices(of: user, from, to)
        certain += devices
        if truth.isMuted(user) { muted.formUnion(devices) }
      }
      if truth.mayFollow(user, event.streamer, from, to) {
        possibleUsers += 1
        possible += truth.possibleDevices(of: user, from, to).count
      }
    }
  }
}
