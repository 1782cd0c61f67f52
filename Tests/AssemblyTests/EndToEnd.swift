import Deliver
import EventLoop
import Model
import Render
import Settings
import Telemetry
import Testing

@testable import Assembly

/// From settings and a template named `live` to a platform's wire, as a lane of a worker does it.
enum EndToEnd {
  struct Tally: Equatable {
    let pushes: Int
    let accepted: Int
    let verdicts: Int
  }

  /// Sends an event to one user with these devices, and waits until each has its outcome.
  static func send(_ devices: [Binding], _ settings: Settings) async throws -> Tally {
    let render = RenderStage(templates: try Assembly.templates(settings))
    let credentials = try AppCredentialFiles(settings).credentials
    let options = try Assembly.deliverOptions(settings) { _ in }
    return try await EventLoop.temporary("test") {
      (_: isolated LoopActor, loop: EventLoop) async throws -> Tally in
      let stage = DeliverStage(
        options: options, credentials: credentials, loop: loop,
        randomNumber: { .random(in: .min ... .max) })
      stage.start()
      let tally = SegmentTally()
      let prepared = try render.prepare(event)
      let rendering = render.batches(
        of: page(devices), for: prepared, tally: tally, maximumPushes: 1_000)
      let batch = try #require(rendering.next())
      await stage.admit(batch)
      await withCheckedContinuation { done in
        if batch.unsettled == 0 { done.resume() } else { batch.whenSettled = { done.resume() } }
      }
      stage.stop()
      return Tally(
        pushes: tally.pushes, accepted: tally.accepted, verdicts: tally.verdicts.count)
    }
  }

  private static let event: Event = {
    let now = WallClock.nowMilliseconds()
    return Event(
      id: "e1", app: "com.example.live", streamer: "s1", stream: "x1", template: "live",
      occurredAt: now, expiresAt: now + 60_000, fields: [:], document: [])
  }()

  private static func page(_ devices: [Binding]) -> RecipientPage {
    let page = RecipientPage(fieldNames: ["locale"])
    let user = page.bytes.append(utf8: "u1")
    page.recipients = [
      RecipientPage.Recipient(user: user, firstBinding: 0, bindingCount: devices.count)
    ]
    page.fields = [.missing]
    page.bindings = devices.map { device in
      let member = page.bytes.append(utf8: device.member)
      return RecipientPage.Binding(
        member: member, token: member.last(device.token.utf8.count),
        keyCount: device.keys.utf8.count, destination: device.destination)
    }
    page.followers = 1
    return page
  }
}
