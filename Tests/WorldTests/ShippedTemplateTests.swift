import APNsSimulator
import Assembly
import Checkout
import Render
import Testing
import World

/// The templates in Config/templates, each sent on its whole way: the simulator takes every push.
@Suite struct ShippedTemplateTests {
  @Test func everyPushIsAccepted() throws {
    try WorldHarness.live { harness in
      let templates = try TemplateFile.readAll(in: Checkout.path("Config/templates")).map {
        try Template.compile($0)
      }
      let topics = Set(templates.map { WorldHarness.app + $0.pushType.topicSuffix })
      let devices = topics.sorted().enumerated().map { (token: paddedHex($0 + 1), topic: $1) }
      harness.follow("s1", device: devices)
      let worker = try harness.startWorker()
      #expect(templates.count >= 7)
      for template in templates {
        harness.emit(template.name, template: template.name)
        let status = try harness.finished(template.name)
        #expect(status.accepted == 1 && status.pushes == 1, "\(template.name)")
      }
      #expect(harness.stop(worker))
      #expect(harness.summary.byReason == [:])
    }
  }
}
