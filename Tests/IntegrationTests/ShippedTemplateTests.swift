import APNsSimulator
import TestBed
import Testing

/// The templates in Config/templates, each sent on its whole way: the simulator takes every push.
@Suite(.serialized) struct ShippedTemplateTests {
  @Test func everyPushIsAccepted() async throws {
    let bed = try await WorkerBed()
    let options = try bed.options()
    let topics = Set(options.templates.map { WorkerBed.app + $0.pushType.topicSuffix })
    let devices = topics.sorted().enumerated().map { (token: paddedHex($0 + 1), topic: $1) }
    try await bed.follow("s1", device: devices)
    let worker = try await bed.startWorker()
    #expect(options.templates.count >= 7)
    for template in options.templates {
      try await bed.emit(template.name, template: template.name)
      let status = try await bed.finished(template.name)
      #expect(status.accepted == 1 && status.pushes == 1, "\(template.name)")
    }
    #expect(await worker.stop())
    #expect(await bed.simulator.summary().byReason == [:])
  }
}
