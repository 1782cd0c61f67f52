import Checkout
import HTTPServer
import Testing

@testable import Dashboard

/// The page's files.
@Suite struct DashboardPageTests {
  @Test func everyFileIsServedAndAllTogetherAreSmall() throws {
    let names = try Checkout.names(in: "Sources/Dashboard/Page")
    #expect(names.count == DashboardPage.files.count && names.count > 3)
    var bytes = 0
    for name in names {
      let response = try #require(DashboardPage.response(to: name, known: nil), "\(name)")
      #expect(response.status == 200 && response.canBeSent)
      bytes += response.body.count
    }
    #expect(bytes < 100 << 10)
    #expect(DashboardPage.response(to: "other.js", known: nil) == nil)
  }

  @Test func nothingOfAnotherHostIsLoaded() throws {
    let response = try #require(DashboardPage.response(to: "index.html", known: nil))
    #expect(response.contentType == "text/html; charset=utf-8")
    #expect(response.headers["Content-Security-Policy"]?.contains("default-src 'self'") == true)
    for (name, bytes) in DashboardPage.files where !name.hasSuffix(".svg") {
      let text = String(decoding: bytes, as: UTF8.self)
      #expect(!text.contains("src=\"http") && !text.contains("@import"), "\(name)")
    }
  }

  @Test func aBrowserThatHasTheFileIsToldSo() throws {
    let first = try #require(DashboardPage.response(to: "app.js", known: nil))
    let tag = try #require(first.headers["ETag"])
    let again = try #require(DashboardPage.response(to: "app.js", known: "W/\"x\", \(tag)"))
    #expect(again.status == 304 && again.body.isEmpty && again.headers["ETag"] == tag)
    let other = try #require(DashboardPage.response(to: "dom.js", known: tag))
    #expect(other.status == 200)
  }
}
