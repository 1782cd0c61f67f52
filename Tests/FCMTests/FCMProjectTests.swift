import Deliver
import HTTP2
import Model
import Testing

@testable import FCM

@Suite struct FCMProjectTests {
  @Test(arguments: ["a", "my-project-1", "example.com:old", String(repeating: "a", count: 64)])
  func anIDIsPartOfAPath(id: String) { #expect(FCMProject.isID(id)) }

  @Test(arguments: ["", "a/b", "a b", "{a}", "ä", "a?b", String(repeating: "a", count: 65)])
  func anotherTextIsNoID(id: String) { #expect(!FCMProject.isID(id)) }

  @Test func theFirstIDCounts() {
    let project = FCMProject(nil)
    #expect(project.id == nil && project.path == nil)
    project.learn("p-1")
    project.learn("p-2")
    #expect(project.id == "p-1" && project.path == "/v1/projects/p-1/messages:send")
  }

  @Test(arguments: [(0, nil), (1, 1), (540_000, 9_000), (90_000_000, 1_000_000)] as [(Int, Int?)])
  func aQuotaIsOfTheProject(perMinute: Int, rate: Int?) {
    let project = FCMProject(nil)
    let source = AccessTokenSource(
      .file(path: "/none"), monotonic: { 0 }, wallClock: { 0 }, randomNumber: { 0 },
      exchange: { _ in .failure("") })
    let account = FCMCredentials(
      project: project, messagesPerMinute: perMinute, tokens: source, wallClock: { 0 })
    #expect(account.quota == nil)
    project.learn("p-1")
    #expect(account.quota == rate.map { PushQuota(project: "p-1", rate: $0) })
  }

  /// As from the metadata server: a connection may be open before.
  @Test func aWriterWaitsForTheProject() throws {
    let project = FCMProject(nil)
    let writer = try FCMRequestWriter(
      authority: "a.b", project: project, slots: 1, wallClock: { 0 })
    let token = AccessToken("t")
    let headers = PushHeaders(
      pushType: .alert, priority: 10, topic: "a.b", collapseID: nil, expiration: 1,
      expiresAt: 1_000)
    let shared = SharedHeaders(headers, token, fields: token)
    #expect(writer.fields(sharing: shared) == nil)
    project.learn("p-1")
    #expect(writer.fields(sharing: shared) != nil)
  }
}
